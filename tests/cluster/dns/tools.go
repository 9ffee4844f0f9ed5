//go:build tools

// Package tools names the program of this module.
package tools

import (
	_ "swage.dev/tests/cluster/dns/coredns"
)
