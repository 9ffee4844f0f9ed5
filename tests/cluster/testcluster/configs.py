"""The configuration files of the cluster's programs, as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testcluster.images import PAUSE
from testcluster.layout import (
    API_PORT,
    BRIDGE,
    CGROUP,
    DNS_ADDRESS,
    NODE_ADDRESS,
    POD_RANGE,
    Layout,
)

CNI_PROGRAMS = "/usr/lib/cni"


def kubeconfig(layout: Layout, user: str, server: str) -> str:
    """Access as `user`, by certificate."""
    pki = layout.pki
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {"server": server, "certificate-authority": str(pki / "ca.crt")},
                }
            ],
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate": str(pki / f"{user}.crt"),
                        "client-key": str(pki / f"{user}.key"),
                    },
                }
            ],
        },
        indent=1,
    )


def containerd(layout: Layout) -> str:
    return f"""version = 2
root = "{layout.root}/containerd"
state = "/run/containerd-state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{layout.containerd_socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # Without it runc loses the child that may not lower its own score, and no pod starts.
  restrict_oom_score_adj = true
  disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PROGRAMS}"
  conf_dir = "{layout.config}/cni"
"""


def network(layout: Layout) -> str:
    """Pods hang on the bridge and reach each other, the node and the API server, nothing else."""
    return json.dumps(
        {
            "cniVersion": "0.4.0",
            "name": "swage-test",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": BRIDGE,
                    "isDefaultGateway": True,
                    "hairpinMode": True,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": f"{layout.root}/cni",
                        "ranges": [[{"subnet": POD_RANGE, "gateway": NODE_ADDRESS}]],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
    )


def kubelet(layout: Layout) -> str:
    pki = layout.pki
    settings: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pki / "kubelet-server.crt"),
        "tlsPrivateKeyFile": str(pki / "kubelet-server.key"),
        "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
        "maxPods": 250,
        "podLogsDir": f"{layout.root}/pod-logs",
        "resolvConf": str(layout.config / "resolv.conf"),
        "clusterDomain": "cluster.local",
        "clusterDNS": [DNS_ADDRESS],
        "volumePluginDir": f"{layout.root}/volume-plugins",
        "registerNode": True,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
        "shutdownGracePeriod": "0s",
    }
    return json.dumps(settings, indent=1)


def corefile(layout: Layout) -> str:
    """Names of Services and of their pods; nothing outside the cluster."""
    return f""".:53 {{
  bind {DNS_ADDRESS}
  ready 127.0.0.1:8181
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {layout.kubeconfig("dns")} test
    ttl 1
  }}
}}
"""


def write(layout: Layout, outside_port: int) -> None:
    """All of them, and the kubeconfigs of those inside and of people outside."""
    config = layout.config
    (config / "cni").mkdir(parents=True)
    (config / "containerd.toml").write_text(containerd(layout))
    (config / "cni" / "10-bridge.conflist").write_text(network(layout))
    (config / "kubelet.json").write_text(kubelet(layout))
    (config / "resolv.conf").write_text("")
    (config / "Corefile").write_text(corefile(layout))
    inside = f"https://{NODE_ADDRESS}:{API_PORT}"
    for user in ("controller-manager", "scheduler", "kubelet", "kwok", "dns", "admin"):
        write_private(layout.kubeconfig(user), kubeconfig(layout, user, inside))
    outside = f"https://127.0.0.1:{outside_port}"
    write_private(layout.admin_kubeconfig, kubeconfig(layout, "admin", outside))


def write_private(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text)
