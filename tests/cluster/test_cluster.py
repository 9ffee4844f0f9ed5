"""The cluster behaves like one: nodes, pods on the real kubelet, fake GPUs, rights."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from functools import partial

import pytest
from kit import Namespace, restricted_pod
from testcluster import binaries, bootstrap, lifecycle
from testcluster.api import Api, ApiError, Object, until
from testcluster.layout import DNS_ADDRESS, FAKE_NODES, GPUS_PER_NODE, NODE_NAME, Layout


def test_every_node_is_ready_and_sixteen_carry_eight_gpus(api: Api) -> None:
    assert bootstrap.unready(api) == []
    nodes = {node["metadata"]["name"]: node for node in api.get("/api/v1/nodes")["items"]}
    real = nodes.pop(NODE_NAME)
    assert real["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")
    gpus = [node["status"]["allocatable"][bootstrap.GPU] for node in nodes.values()]
    assert gpus == [str(GPUS_PER_NODE)] * FAKE_NODES


def test_coming_up_twice_keeps_the_cluster(layout: Layout) -> None:
    before = lifecycle.read_state(layout)
    assert lifecycle.up(layout) < 5
    assert lifecycle.read_state(layout) == before


def test_a_restricted_pod_runs_on_the_real_node_with_logs_and_exec(namespace: Namespace) -> None:
    script = "echo it runs as $(id -u); exec sleep 600"
    namespace.api.create(f"{namespace.path}/pods", restricted_pod("worker", script))
    pod = namespace.wait_for_phase("worker", "Running")
    assert pod["spec"]["nodeName"] == NODE_NAME
    until(
        "the log has its line",
        lambda: namespace.kubectl("logs", "worker").stdout == "it runs as 10001\n",
        10,
    )
    status = namespace.kubectl("exec", "worker", "--", "cat", "/proc/self/status")
    assert status.returncode == 0, status.stderr
    fields = dict(line.split(":\t", 1) for line in status.stdout.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    assert int(fields["CapEff"], 16) == 0
    written = namespace.kubectl("exec", "worker", "--", "touch", "/file")
    assert "Read-only file system" in written.stderr


def test_a_pod_that_ends_tells_its_exit_code(namespace: Namespace) -> None:
    namespace.api.create(f"{namespace.path}/pods", restricted_pod("ends", "exit 3"))
    pod = namespace.wait_for_phase("ends", "Failed")
    ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 3


def test_a_pod_above_its_memory_limit_is_ended_alone(namespace: Namespace) -> None:
    script = 'x=aaaaaaaaaaaaaaaa; while :; do x="$x$x"; done'
    namespace.api.create(f"{namespace.path}/pods", restricted_pod("hog", script))
    pod = namespace.wait_for_phase("hog", "Failed")
    ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["reason"] == "OOMKilled"


def test_a_pod_that_is_not_restricted_is_refused(namespace: Namespace) -> None:
    pod = restricted_pod("bad", "true")
    pod["spec"]["securityContext"] = {}
    with pytest.raises(ApiError, match="violates PodSecurity"):
        namespace.api.create(f"{namespace.path}/pods", pod)


def gpu_pod(name: str, count: int) -> Object:
    pod = restricted_pod(name, "true")
    pod["spec"]["tolerations"] = [{"key": bootstrap.GPU, "operator": "Exists"}]
    pod["spec"]["containers"][0]["resources"] = {"limits": {bootstrap.GPU: str(count)}}
    return pod


def test_a_gpu_pod_runs_on_a_fake_node_and_its_removal_is_heard_of(namespace: Namespace) -> None:
    namespace.api.create(f"{namespace.path}/pods", gpu_pod("judge", 1))
    pod = namespace.wait_for_phase("judge", "Running")
    assert pod["spec"]["nodeName"].startswith("gpu-")
    conditions = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert pod["status"]["podIP"].startswith("10.219.")
    namespace.api.delete(f"{namespace.path}/pods/judge")
    until(
        "kwok lets the pod go",
        lambda: namespace.api.raw("GET", f"{namespace.path}/pods/judge")[0] == 404,
        10,
    )


def test_a_pod_that_wants_more_gpus_than_a_node_has_stays_pending(namespace: Namespace) -> None:
    namespace.api.create(f"{namespace.path}/pods", gpu_pod("greedy", GPUS_PER_NODE + 1))

    def reason() -> str:
        conditions = namespace.pod("greedy").get("status", {}).get("conditions", [])
        return "".join(c.get("message", "") for c in conditions if c["type"] == "PodScheduled")

    message = until("the scheduler says why", reason, 20)
    assert "Insufficient nvidia.com/gpu" in message


def test_an_account_may_do_what_its_role_says_and_nothing_else(
    namespace: Namespace, layout: Layout
) -> None:
    token = namespace.token("reader")
    reader = Api(layout.admin_kubeconfig, token)
    with pytest.raises(ApiError, match="cannot list resource") as refused:
        reader.get(f"{namespace.path}/pods")
    assert refused.value.status == 403

    rbac = f"{bootstrap.RBAC}/namespaces/{namespace.name}"
    role = {"metadata": {"name": "reader"}, "rules": [bootstrap.rule("pods", "get list")]}
    namespace.api.create(f"{rbac}/roles", role)
    bound = bootstrap.binding("reader", "reader", "")
    bound["roleRef"]["kind"] = "Role"
    account = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace.name}
    bound["subjects"] = [account]
    namespace.api.create(f"{rbac}/rolebindings", bound)
    until("the role is in force", lambda: reader.raw("GET", f"{namespace.path}/pods")[0] == 200, 10)
    for method, path in (
        ("DELETE", f"{namespace.path}/pods/any"),
        ("GET", f"{namespace.path}/secrets"),
        ("GET", "/api/v1/namespaces/kube-system/pods"),
        ("GET", "/api/v1/nodes"),
    ):
        assert reader.raw(method, path)[0] == 403, path


def test_nobody_comes_in_without_an_identity(layout: Layout) -> None:
    assert Api(layout.admin_kubeconfig, "not-a-token").raw("GET", "/version")[0] == 401


def test_a_node_may_change_no_other_node(layout: Layout) -> None:
    text = layout.kubeconfig("kubelet").read_text()
    outside = json.loads(layout.admin_kubeconfig.read_text())["clusters"]
    copy = layout.root / "kubelet-outside.kubeconfig"
    copy.write_text(json.dumps({**json.loads(text), "clusters": outside}))
    kubelet = Api(copy)
    label = {"metadata": {"labels": {"example.com/mark": "1"}}}
    assert kubelet.merge(f"/api/v1/nodes/{NODE_NAME}", label)
    with pytest.raises(ApiError, match="is not allowed to modify node"):
        kubelet.merge("/api/v1/nodes/gpu-00", label)


def test_the_api_server_comes_back_after_a_kill_with_what_it_knew(
    namespace: Namespace, layout: Layout
) -> None:
    data = base64.b64encode(b"kept").decode()
    namespace.api.create(
        f"{namespace.path}/configmaps", {"metadata": {"name": "kept"}, "binaryData": {"x": data}}
    )
    lifecycle.stop(layout, "apiserver")
    assert not namespace.api.ready()
    lifecycle.start(layout, "apiserver")
    until("the API server is back", namespace.api.ready, 60)
    assert namespace.api.get(f"{namespace.path}/configmaps/kept")["binaryData"]["x"] == data


def test_a_pod_reaches_the_api_server_by_its_service_address(namespace: Namespace) -> None:
    script = (
        'nc -w 5 "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" </dev/null && echo reached'
    )
    namespace.api.create(f"{namespace.path}/pods", restricted_pod("caller", script))
    namespace.wait_for_phase("caller", "Succeeded")
    assert namespace.kubectl("logs", "caller").stdout == "reached\n"


def test_helm_is_there(layout: Layout) -> None:
    assert binaries.program("helm").exists()


def ask_dns(layout: Layout, name: str) -> str:
    """The address of a name, asked inside the cluster's network; empty when there is none."""
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    packet = b"\0\7\1\0\0\1\0\0\0\0\0\0" + question + b"\0\0\1\0\1"
    script = (
        "import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(2);"
        f"s.sendto(bytes.fromhex('{packet.hex()}'), ('{DNS_ADDRESS}', 53));"
        "r = s.recv(512); print(socket.inet_ntoa(r[-4:]) if r[7] else '')"
    )
    command = [*lifecycle.enter(layout), sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def dns_says(layout: Layout, name: str, address: str) -> bool:
    return ask_dns(layout, name) == address


def test_a_pod_behind_a_headless_service_has_a_name(namespace: Namespace) -> None:
    service = {
        "metadata": {"name": "group"},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"app": "member"},
            "ports": [{"port": 7070}],
        },
    }
    namespace.api.create(f"{namespace.path}/services", service)
    pod = restricted_pod("first", "sleep 600")
    pod["metadata"]["labels"] = {"app": "member"}
    pod["spec"] |= {"hostname": "first", "subdomain": "group"}
    namespace.api.create(f"{namespace.path}/pods", pod)
    address = namespace.wait_for_phase("first", "Running")["status"]["podIP"]
    for name in ("first.group", "group"):
        whole = f"{name}.{namespace.name}.svc.cluster.local"
        until(f"{whole} is known", partial(dns_says, namespace.layout, whole, address), 10)
    assert ask_dns(namespace.layout, f"second.group.{namespace.name}.svc.cluster.local") == ""
