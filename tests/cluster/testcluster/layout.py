"""Where everything of the test cluster lies, and its fixed names and addresses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# The cluster lives in a network namespace of its own: these addresses exist nowhere else.
BRIDGE = "swage0"
NODE_ADDRESS = "10.217.0.1"
POD_RANGE = "10.217.0.0/20"
SERVICE_RANGE = "10.218.0.0/20"
# The first address of the service range is the API server's. The bridge carries it, so pods reach
# the API server by KUBERNETES_SERVICE_HOST although no kube-proxy runs.
API_SERVICE_ADDRESS = "10.218.0.1"
# Cluster DNS, for the names of headless Services.
DNS_ADDRESS = "10.218.0.10"
API_PORT = 443
ETCD_URL = "http://127.0.0.1:2379"
NODE_NAME = "real-0"
FAKE_NODES = 16
GPUS_PER_NODE = 8
CGROUP = "swage-test-cluster"
KUBERNETES_VERSION = "v1.34.4"


@dataclass(frozen=True)
class Layout:
    """The one directory that a running cluster writes; `down` removes it."""

    root: Path

    @classmethod
    def default(cls) -> Layout:
        return cls(Path(os.environ.get("SWAGE_CLUSTER_DIR", "/var/tmp/swage-test-cluster")))

    @property
    def lock(self) -> Path:
        return self.root.with_name(self.root.name + ".lock")

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def control(self) -> Path:
        return self.root / "control"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def containerd_socket(self) -> Path:
        return self.root / "containerd.sock"

    def kubeconfig(self, user: str) -> Path:
        return self.config / f"{user}.kubeconfig"

    @property
    def admin_kubeconfig(self) -> Path:
        """For people and tests on this machine; the others are for use inside the cluster."""
        return self.root / "kubeconfig"


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "swage" / "cluster"


SOURCE = Path(__file__).resolve().parent.parent
