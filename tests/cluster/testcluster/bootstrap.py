"""The objects that make the control plane a cluster: rights of its parts, and the fake nodes."""

from __future__ import annotations

from testcluster.api import Api, Object
from testcluster.layout import FAKE_NODES, GPUS_PER_NODE

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GPU = "nvidia.com/gpu"


def rule(resources: str, verbs: str, group: str = "") -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def binding(name: str, role: str, user: str) -> Object:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }


def rights() -> list[tuple[str, Object]]:
    """(path, object): the API server may ask kubelets for logs and exec; kwok plays its nodes;
    DNS reads Services and who serves them."""
    kwok: Object = {
        "metadata": {"name": "swage-test-kwok"},
        "rules": [
            rule("nodes", "get list watch"),
            rule("nodes/status pods/status", "patch update"),
            rule("pods", "get list watch patch update delete"),
            rule("events", "create patch update"),
            rule("leases", "get list watch create patch update", "coordination.k8s.io"),
        ],
    }
    dns: Object = {
        "metadata": {"name": "swage-test-dns"},
        "rules": [
            rule("services namespaces pods", "get list watch"),
            rule("endpointslices", "list watch", "discovery.k8s.io"),
        ],
    }
    return [
        (f"{RBAC}/clusterroles", dns),
        (
            f"{RBAC}/clusterrolebindings",
            binding("swage-test-dns", "swage-test-dns", "swage-test-dns"),
        ),
        (f"{RBAC}/clusterroles", kwok),
        (
            f"{RBAC}/clusterrolebindings",
            binding("swage-test-kwok", "swage-test-kwok", "swage-test-kwok"),
        ),
        (
            f"{RBAC}/clusterrolebindings",
            binding("swage-test-apiserver", "system:kubelet-api-admin", "swage-test-apiserver"),
        ),
    ]


def fake_node(index: int) -> Object:
    """A node with eight GPUs that only pods tolerating the GPU taint come to, as in production."""
    resources = {"cpu": "96", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "512"}
    resources[GPU] = str(GPUS_PER_NODE)
    return {
        "metadata": {
            "name": f"gpu-{index:02}",
            "labels": {
                "swage.dev/test-node": "fake",
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": f"gpu-{index:02}",
            },
        },
        "spec": {"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]},
        "status": {"capacity": resources, "allocatable": resources},
    }


def apply(api: Api) -> None:
    for path, body in rights():
        api.create(path, body)
    for index in range(FAKE_NODES):
        api.create("/api/v1/nodes", fake_node(index))


def unready(api: Api) -> list[str]:
    """Names of nodes that are not Ready; also when some have not registered."""
    nodes = api.get("/api/v1/nodes")["items"]
    names = [
        node["metadata"]["name"]
        for node in nodes
        if not any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in node.get("status", {}).get("conditions", [])
        )
    ]
    return names + ["unregistered"] * (FAKE_NODES + 1 - len(nodes))
