"""A real Kubernetes cluster on one machine, for tests: see tests/cluster/README.md."""
