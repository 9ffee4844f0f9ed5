//go:build tools

// Package tools pins the programs beside Kubernetes that the test cluster uses.
package tools

import (
	_ "helm.sh/helm/v4/cmd/helm"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
