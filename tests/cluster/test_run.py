"""From `helm install` to a run that has succeeded, every process a pod of a real image."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from kit import install_crds
from run_kit import COLLECTED, EVALUATED, PPO, SHORT, ClusterRun, install, make_volume, start
from swage_images.build import Made
from test_chart import GROUP, Release
from test_chart import release as release
from test_images import images as images
from testcluster import lifecycle
from testcluster.api import Api, Object, until
from testcluster.layout import Layout


@pytest.fixture
def volume(release: Release, tmp_path: Path) -> Iterator[str]:
    name = make_volume(release, "short", tmp_path / "learner")
    yield name
    release.api.raw("DELETE", f"/api/v1/persistentvolumes/{name}")


@pytest.fixture
def kind() -> Object:
    return SHORT


@pytest.fixture
def run(
    layout: Layout,
    api: Api,
    images: dict[str, Made],
    release: Release,
    volume: str,
    kind: Object,
    tmp_path: Path,
) -> Iterator[ClusterRun]:
    install_crds(layout, api)
    install(release, "controller.evaluationRollouts=2")
    yield start(release, kind, tmp_path)
    for plural, space in (
        ("trainingruns", release.name),
        ("profilingpools", f"{release.name}-pool"),
    ):
        path = f"{GROUP}/{space}/{plural}"
        for item in api.get(path)["items"]:
            api.raw("DELETE", f"{path}/{item['metadata']['name']}")
    release.helm("uninstall", "--ignore-not-found", "--wait", "--timeout", "280s")


def check_complete(run: ClusterRun, collected: int = COLLECTED) -> None:
    """The right number of trajectories, and nothing of the run's is left running."""
    summary = run.summary()
    assert summary["rollouts"] == collected + PPO + EVALUATED, summary
    assert summary["trajectories"] == collected + PPO + EVALUATED, summary
    assert summary["duplicate_trajectories_refused"] == 0, summary  # nothing was assigned twice
    until("the run's pods are gone", lambda: not run.pods(), 60)
    assert len(run.gpu_pods()) == 1  # the pool is another object


def check_uninstalled(run: ClusterRun) -> None:
    """Of ours only CRDs, runs and volumes are left."""
    run.release.helm("uninstall", "--wait", "--timeout", "280s")
    until("nothing of the release is left", lambda: not run.release.labelled(), 120)
    kinds = "pods,services,configmaps,secrets,serviceaccounts,leases.coordination.k8s.io"
    done = run.release.run("kubectl", "-n", run.space, "get", kinds, "-o", "name")
    assert set(done.stdout.split()) == {"configmap/kube-root-ca.crt", "serviceaccount/default"}
    assert run.api.raw("GET", f"/api/v1/namespaces/{run.pool_space}")[0] == 404
    assert not run.read()["metadata"].get("finalizers")


def test_a_run_succeeds_as_pods_of_the_chart(run: ClusterRun) -> None:
    run.until("a rollout is delivered", lambda: run.completed() > 0, 600)
    assert "collect" in run.swage("status", "short")
    listed = run.release.run("kubectl", "-n", run.space, "get", "trainingruns").stdout
    assert "Running" in listed, listed
    run.until("the run is over", lambda: run.status().get("phase") == "Succeeded", 1200)
    check_complete(run)
    assert "layer namespaces" not in run.gpu_log()  # what is judged has a root of its own there
    assert run.summary()["infrastructure_failures"] == 0
    check_uninstalled(run)


def kill_leader(run: ClusterRun) -> None:
    run.kill_pod(run.space, run.leader())


def kill_worker(run: ClusterRun) -> None:
    run.kill_pod(run.space, f"{run.name}-rollout-0")


def kill_gpu_worker(run: ClusterRun) -> None:
    run.kill_pod(run.pool_space, run.gpu_pods()[0]["metadata"]["name"])


def kill_sandbox(run: ClusterRun) -> None:
    """One that a rollout has."""

    def claimed() -> list[str]:
        return [
            pod["metadata"]["name"]
            for pod in run.pods("sandbox")
            if pod["metadata"]["labels"].get("swage.dev/sandbox") == "claimed"
        ]

    run.until("a sandbox is claimed", claimed, 120)
    run.kill_pod(run.space, claimed()[0])


def kill_redis(run: ClusterRun) -> None:
    run.kill_pod(run.space, run.release.pods_of("redis")[0]["metadata"]["name"])


def restart_api_server(run: ClusterRun) -> None:
    layout = run.release.layout
    lifecycle.stop(layout, "apiserver")
    lifecycle.start(layout, "apiserver")
    until("the API server is ready", run.api.ready, 60)


def delivered(run: ClusterRun, count: int) -> bool:
    return run.completed() >= count


FAULTS = (kill_leader, kill_worker, kill_gpu_worker, kill_sandbox, kill_redis, restart_api_server)
LONG: Object = copy.deepcopy(SHORT)
LONG["spec"]["stages"]["collect"]["trajectories"] = 24


@pytest.mark.parametrize("kind", [LONG])
def test_a_run_goes_on_whatever_is_killed(run: ClusterRun) -> None:
    run.until("a rollout is delivered", lambda: run.completed() > 0, 600)
    for fault in FAULTS:
        more = partial(delivered, run, run.completed() + 2)
        fault(run)
        run.until(f"after {fault.__name__} it goes on", more, 300)
        print(f"{fault.__name__}: {run.completed()} rollouts are delivered", flush=True)
    run.until("the run is over", lambda: run.status().get("phase") == "Succeeded", 1200)
    check_complete(run, LONG["spec"]["stages"]["collect"]["trajectories"])
    check_uninstalled(run)
