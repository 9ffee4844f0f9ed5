"""The operator on the real API server: what it makes, what it says, and who takes over."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import Namespace, install_crds
from operator_kit import (
    GROUP,
    Operator,
    binary,
    condition,
    free_port,
    grant,
    pool_object,
    run_object,
    until_condition,
    until_gone,
)
from testcluster.api import Api, Object, until
from testcluster.layout import Layout


@pytest.fixture(scope="module")
def crds(layout: Layout, api: Api) -> None:
    if not binary().exists():
        pytest.skip(f"{binary()} is not built: make build")
    install_crds(layout, api)


@pytest.fixture
def pools(api: Api, layout: Layout) -> Iterator[Namespace]:
    """A namespace of pools: their pods are privileged."""
    name = f"test-pool-{uuid.uuid4().hex[:8]}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    space = Namespace(api, layout, name)
    account = f"{space.path}/serviceaccounts/default"
    until("the namespace has its account", lambda: api.raw("GET", account)[0] == 200, 30)
    yield space
    api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
         str(tmp_path), "--requirepass", "redis-password", "--maxmemory-policy", "noeviction"],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    yield f"127.0.0.1:{port}"
    server.terminate()
    server.wait(timeout=20)


@pytest.fixture
def operators(
    crds: None, namespace: Namespace, pools: Namespace, redis: str, tmp_path: Path
) -> Iterator[list[Operator]]:
    """The first runs; the second is for who wants a standby."""
    token = grant(namespace, [namespace, pools])
    both = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "account").write_text(token)
        both.append(Operator(namespace, pools, folder, name, redis))
    both[0].start()
    yield both
    for one in both:
        if one.process and one.process.poll() is None:
            one.end(signal.SIGKILL)
    # Nobody is left to take the finalizers.
    for space, plural in ((namespace, "trainingruns"), (pools, "profilingpools")):
        path = f"{GROUP}/namespaces/{space.name}/{plural}"
        for item in space.api.get(path)["items"]:
            name = item["metadata"]["name"]
            space.api.merge(f"{path}/{name}", {"metadata": {"finalizers": None}})


def runs_path(space: Namespace) -> str:
    return f"{GROUP}/namespaces/{space.name}/trainingruns"


def pools_path(space: Namespace) -> str:
    return f"{GROUP}/namespaces/{space.name}/profilingpools"


def pods_of(space: Namespace, component: str = "") -> list[Object]:
    items: list[Object] = space.api.get(f"{space.path}/pods")["items"]
    return [
        pod
        for pod in items
        if pod["metadata"]["labels"].get("swage.dev/component", "").startswith(component or "")
        and "deletionTimestamp" not in pod["metadata"]
    ]


def test_a_pool_is_filled_scaled_and_emptied(operators: list[Operator], pools: Namespace) -> None:
    path = f"{pools_path(pools)}/gpus"
    pools.api.create(pools_path(pools), pool_object("gpus", 3, fake=True))

    def ready(count: int) -> None:
        until(
            f"{count} GPU pods are ready",
            lambda: (
                pools.api.get(path).get("status", {}).get("readyReplicas") == count
                and len(pods_of(pools)) == count
            ),
            60,
        )

    ready(3)
    pool = pools.api.get(path)
    assert condition(pool, "RedisReachable")["status"] == "True"
    assert condition(pool, "LeasesFlowing")["status"] == "True"
    assert pool["status"]["selector"].startswith("swage.dev/pool-uid=")
    pods = pods_of(pools)
    assert all(pod["metadata"]["ownerReferences"][0]["kind"] == "ProfilingPool" for pod in pods)
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 5}})
    ready(5)
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 1}})
    ready(1)
    names = pools.kubectl("get", "profilingpools").stdout
    assert names.splitlines()[1].split()[:2] == ["gpus", "1"]
    pools.api.delete(path)
    until_gone(pools, path)
    assert pods_of(pools) == []


def test_a_pool_takes_every_gpu_says_what_does_not_fit_and_shrinks(
    operators: list[Operator], pools: Namespace
) -> None:
    path = f"{pools_path(pools)}/gpus"
    pool = pool_object("gpus", 8, fake=True)
    pool["spec"]["deviceKind"] = "cuda"  # one GPU each; the fake nodes have 128
    pools.api.create(pools_path(pools), pool)

    def counts() -> tuple[int, int]:
        status = pools.api.get(path).get("status", {})
        return status.get("readyReplicas", 0), status.get("replicas", 0)

    until("8 serve", lambda: counts() == (8, 8), 60)
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 128}})
    until("128 serve", lambda: counts() == (128, 128), 120)
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 160}})
    until_condition(lambda: pools.api.get(path), "Scaling", "False", "Unschedulable")
    until("32 wait", lambda: counts() == (128, 160), 60)
    victim = next(pod for pod in pods_of(pools) if pod["status"].get("phase") == "Running")
    pools.api.raw("DELETE", f"{pools.path}/pods/{victim['metadata']['name']}?gracePeriodSeconds=0")
    until("a freed GPU is taken", lambda: counts() == (128, 160), 60)
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 8}})
    until("8 are left", lambda: counts() == (8, 8) and len(pods_of(pools)) == 8, 120)
    until_condition(lambda: pools.api.get(path), "Scaling", "True")


def test_what_is_in_the_way_is_said_and_clears_by_itself(
    operators: list[Operator], namespace: Namespace, pools: Namespace
) -> None:
    path = f"{runs_path(namespace)}/small"
    namespace.api.create(runs_path(namespace), run_object("small", pools))

    def read() -> Object:
        return namespace.api.get(path)

    run = until_condition(read, "PoolAvailable", "False", "PoolNotFound")
    assert "spec.evaluation.poolRef" in condition(run, "PoolAvailable")["message"]
    assert run["status"]["phase"] == "Pending"
    wrong = pool_object("gpus", 1, fake=True)
    wrong["spec"]["deviceKind"] = "cuda"
    pools.api.create(pools_path(pools), wrong)
    until_condition(read, "PoolAvailable", "False", "DeviceMismatch")
    pools.api.delete(f"{pools_path(pools)}/gpus")
    until_gone(pools, f"{pools_path(pools)}/gpus")

    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    namespace.api.create(f"{namespace.path}/resourcequotas", quota)
    pools.api.create(pools_path(pools), pool_object("gpus", 1, fake=True))
    until_condition(read, "PoolAvailable", "True")
    run = until_condition(read, "WorkloadsReady", "False", "QuotaExceeded")
    assert "raise the namespace's quota" in condition(run, "WorkloadsReady")["message"]
    namespace.api.delete(f"{namespace.path}/resourcequotas/none")
    # Next: no volume for the learner, and no such image on the node.
    run = until_condition(read, "WorkloadsReady", "False", "Unschedulable", 90)
    assert "add nodes" in condition(run, "WorkloadsReady")["message"]
    until_condition(read, "SandboxesHealthy", "False", "ErrImageNeverPull")
    described = namespace.kubectl("describe", "trainingrun", "small").stdout
    for word in ("PoolNotFound", "DeviceMismatch", "QuotaExceeded", "ErrImageNeverPull"):
        assert word in described, described


def test_a_deleted_run_leaves_nothing(
    operators: list[Operator], namespace: Namespace, pools: Namespace
) -> None:
    path = f"{runs_path(namespace)}/small"
    pools.api.create(pools_path(pools), pool_object("gpus", 1, fake=True))
    for name in ("small", "other"):
        namespace.api.create(runs_path(namespace), run_object(name, pools))
    until("pods are there", lambda: len(pods_of(namespace, "rollout-worker")) == 4, 60)
    owner = namespace.api.get(path)["metadata"]["uid"]
    for pod in pods_of(namespace):
        assert "swage.dev/config" in pod["metadata"]["annotations"]
        assert pod["spec"]["automountServiceAccountToken"] is False
    namespace.api.delete(path)
    until_gone(namespace, path)
    left = [pod["metadata"]["labels"]["swage.dev/run-uid"] for pod in pods_of(namespace)]
    assert owner not in left
    assert len(pods_of(namespace, "rollout-worker")) == 2  # the other one is untouched
    for kind in ("services", "persistentvolumeclaims"):
        until_gone(namespace, f"{namespace.path}/{kind}/small", 30)
    until_gone(namespace, f"{namespace.path}/persistentvolumeclaims/small-learner", 30)


def test_the_next_leader_takes_over_what_is_there(
    operators: list[Operator], namespace: Namespace, pools: Namespace
) -> None:
    first, second = operators
    pools.api.create(pools_path(pools), pool_object("gpus", 3, fake=True))
    path = f"{pools_path(pools)}/gpus"
    until(
        "3 are ready",
        lambda: pools.api.get(path).get("status", {}).get("readyReplicas") == 3,
        60,
    )
    before = sorted(pod["metadata"]["uid"] for pod in pods_of(pools))
    second.start()
    until("the standby waits", lambda: "takes part in the election" in second.log, 20)
    killed = time.monotonic()
    first.end(signal.SIGKILL)
    until("the standby leads", lambda: "epoch=2" in second.log, 20)
    assert time.monotonic() - killed < 15
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 4}})
    until("a fourth is there", lambda: len(pods_of(pools)) == 4, 30)
    after = {pod["metadata"]["uid"] for pod in pods_of(pools)}
    assert set(before) <= after
    listed = second.api("/api/v1/pools")["items"]
    assert [pool["name"] for pool in listed] == ["gpus"]
    assert second.end() == 0
    holder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace.name}/leases/swage-controller"
    assert not namespace.api.get(holder)["spec"].get("holderIdentity")


def test_the_next_leader_counts_on(
    operators: list[Operator], namespace: Namespace, pools: Namespace
) -> None:
    first, second = operators
    pools.api.create(pools_path(pools), pool_object("gpus", 1, fake=True))
    namespace.api.create(runs_path(namespace), run_object("small", pools))
    record = f"{namespace.path}/configmaps/small-totals"
    until("the first has counted", lambda: namespace.api.raw("GET", record)[0] == 200, 60)
    first.end(signal.SIGKILL)
    counted = json.loads(namespace.api.get(record)["data"]["totals.json"])
    counted |= {"reissued": 7, "infrastructure_failures": 3}
    namespace.api.merge(record, {"data": {"totals.json": json.dumps(counted)}})
    second.start()

    def told() -> tuple[int, int]:
        rollouts = namespace.api.get(f"{runs_path(namespace)}/small")["status"].get("rollouts", {})
        return rollouts.get("reissued", 0), rollouts.get("infrastructureFailed", 0)

    until("the second says the same", lambda: told() == (7, 3), 60)
    namespace.api.delete(f"{runs_path(namespace)}/small")
    until_gone(namespace, record)


def test_a_leader_that_was_stopped_for_a_while_writes_no_more(
    operators: list[Operator], namespace: Namespace, pools: Namespace
) -> None:
    first, second = operators
    until("the first leads", lambda: "leads" in first.log, 30)
    pools.api.create(pools_path(pools), pool_object("gpus", 2, fake=True))
    until("both are there", lambda: len(pods_of(pools)) == 2, 60)
    second.start()
    until("the standby waits", lambda: "takes part in the election" in second.log, 20)
    assert first.process
    stopped = time.monotonic()
    first.process.send_signal(signal.SIGSTOP)
    until("the standby leads", lambda: "epoch=2" in second.log, 20)
    assert time.monotonic() - stopped < 15
    path = f"{pools_path(pools)}/gpus"
    pools.api.merge(f"{path}/scale", {"spec": {"replicas": 1}})
    until("one is left", lambda: len(pods_of(pools)) == 1, 60)
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(timeout=10) == 1
    assert "the Lease is lost" in first.log
    assert len(pods_of(pools)) == 1
    assert pools.api.get(path)["status"]["epoch"] >> 20 == 2


def test_a_standby_shows_the_way(operators: list[Operator], namespace: Namespace) -> None:
    first, second = operators
    until("the first leads", lambda: "leads" in first.log, 30)
    second.start()
    until("the standby serves", lambda: "takes part in the election" in second.log, 20)

    def location() -> str:
        link = http.client.HTTPConnection("127.0.0.1", second.port, timeout=10)
        link.request("GET", "/api/v1/runs", headers={"Authorization": "Bearer internal"})
        answer = link.getresponse()
        return answer.getheader("location", "") if answer.status == 307 else ""

    where = until("307", location, 20)
    assert where == f"http://127.0.0.1:{second.port}/api/v1/runs"
    for one in (first, second):
        ready = http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)
        ready.request("GET", "/readyz")
        assert ready.getresponse().status == 200
