"""The chart on a real API server: every object is taken, it installs, and it goes again."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kit import restricted_pod
from swage_images.build import Made
from test_images import images as images
from testcluster import binaries
from testcluster.api import Api, Object, until
from testcluster.layout import Layout

CHART = Path(__file__).resolve().parents[2] / "charts" / "swage"
GROUP = "/apis/swage.dev/v1alpha1/namespaces"
RUN: Object = {
    "apiVersion": "swage.dev/v1alpha1",
    "kind": "TrainingRun",
    "metadata": {"name": "kept", "finalizers": ["swage.dev/run-cleanup", "example.com/other"]},
    "spec": {
        "deviceKind": "cpu",
        "model": {"source": "scratch:tiny"},
        "tasks": [{"set": "builtin-cpu"}],
    },
}
# Kinds that an installation may leave behind nothing of, cluster-wide ones too.
KINDS = (
    "deployments.apps,pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,jobs,"
    "networkpolicies,poddisruptionbudgets,priorityclasses,namespaces,leases.coordination.k8s.io"
)


@dataclass(frozen=True)
class Release:
    """One installation in a namespace of its own."""

    api: Api
    layout: Layout
    name: str

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binaries.program(program), *arguments],
            env={**os.environ, "KUBECONFIG": str(self.layout.admin_kubeconfig)},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def helm(self, verb: str, *arguments: str) -> str:
        done = self.run("helm", verb, self.name, *arguments, "--namespace", self.name)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, verb: str = "install", *arguments: str) -> str:
        settings = (
            f"image.pullPolicy=Never,sandbox.requireNetworkPolicy=false,"
            f"sandbox.priorityClass.name={self.name}-sandbox"
        )
        return self.helm(verb, str(CHART), "--take-ownership", "--set", settings, *arguments)

    def labelled(self) -> list[str]:
        selector = f"app.kubernetes.io/instance={self.name}"
        done = self.run("kubectl", "get", KINDS, "--all-namespaces", "-l", selector, "-o", "name")
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def pods_of(self, component: str) -> list[Object]:
        path = f"/api/v1/namespaces/{self.name}/pods?labelSelector=swage.dev/component={component}"
        found: list[Object] = self.api.get(path)["items"]
        return found

    def ready(self, component: str) -> bool:
        conditions = [
            c for pod in self.pods_of(component) for c in pod["status"].get("conditions", [])
        ]
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


@pytest.fixture
def release(api: Api, layout: Layout, images: dict[str, Made]) -> Iterator[Release]:
    """A namespace under Pod Security `restricted`. CRDs stay: other tests use them too."""
    name = f"chart-{uuid.uuid4().hex[:6]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    yield Release(api, layout, name)
    api.raw("DELETE", f"/api/v1/namespaces/{name}")


def test_the_api_server_takes_every_object_strictly(release: Release, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    values = CHART / "ci" / "everything-values.yaml"
    absent = ("serviceMonitor", "podMonitor", "prometheusRule")
    off = ",".join(f"metrics.{kind}.enabled=false" for kind in absent)
    off += ",autoscaling.mode=builtin"
    spaces = f"watchNamespaces={{{release.name}}},poolNamespaces={{{release.name}}}"
    # Pods of tests want accounts that a dry run does not make.
    chosen = ("--skip-tests", "--values", str(values), "--set", f"{off},{spaces}")
    file.write_text(release.helm("template", str(CHART), *chosen))
    done = release.run("kubectl", "apply", "--server-side", "--dry-run=server", "--validate=strict",
                       "--namespace", release.name, "-f", str(file))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("serverside-applied") > 30


def owned_pod(uid: str) -> Object:
    """A pod as the controller makes them: owned by a run."""
    pod = restricted_pod("sbx-kept-1", "exec sleep 600")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "swage.dev/v1alpha1", "kind": "TrainingRun", "name": "kept", "uid": uid}
    ]
    return pod


def leave_a_run(release: Release) -> str:
    """A run that a controller looked after: a finalizer, a pod, a volume claim."""
    runs, core = f"{GROUP}/{release.name}/trainingruns", f"/api/v1/namespaces/{release.name}"
    uid = release.api.create(runs, RUN)["metadata"]["uid"]
    release.api.create(f"{core}/pods", owned_pod(uid))
    release.api.create(f"{core}/pods", restricted_pod("of-somebody-else", "exec sleep 600"))
    claim: Object = {
        "metadata": {"name": "kept-learner"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    release.api.create(f"{core}/persistentvolumeclaims", claim)
    return runs


def test_it_installs_and_uninstalling_leaves_crds_runs_and_volumes_alone(release: Release) -> None:
    release.install()
    until("redis is ready", lambda: release.ready("redis"), 120)
    assert len(release.pods_of("controller")) == 2
    assert f"namespace/{release.name}-pool" in release.labelled()
    # The test of Redis needs names of Services resolved.
    tested = release.helm("test", "--filter", "!name=swage-test-redis", "--timeout", "280s")
    assert tested.count("Phase:          Succeeded") >= 1, tested
    runs, core = leave_a_run(release), f"/api/v1/namespaces/{release.name}"

    release.helm("uninstall", "--wait", "--timeout", "280s")

    until("nothing of the release is left", lambda: not release.labelled(), 120)
    names = {pod["metadata"]["name"] for pod in release.api.get(f"{core}/pods")["items"]}
    assert names == {"of-somebody-else"}
    assert release.api.get(f"{runs}/kept")["metadata"]["finalizers"] == ["example.com/other"]
    assert release.api.raw("GET", f"{core}/persistentvolumeclaims/kept-learner")[0] == 200
    release.api.merge(f"{runs}/kept", {"metadata": {"finalizers": []}})


def test_an_upgrade_and_a_new_installation_keep_secrets_and_crds(release: Release) -> None:
    def token() -> str:
        found = release.api.get(f"/api/v1/namespaces/{release.name}/secrets/swage-internal")
        return str(found["data"]["token"])

    release.install()
    before = token()
    release.install("upgrade", "--set", "controller.logLevel=debug")
    assert token() == before
    config = release.api.get(f"/api/v1/namespaces/{release.name}/configmaps/swage-controller")
    assert json.loads(config["data"]["config.json"])["log"]["level"] == "debug"
    release.helm("uninstall", "--wait", "--timeout", "280s")
    release.install()
    assert token() != before
    release.helm("uninstall", "--wait", "--timeout", "280s")
