"""What the cluster's tests share: a namespace of their own, and a pod that runs in it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testcluster import binaries
from testcluster.api import Api, Object, until
from testcluster.layout import Layout

CRDS = Path(__file__).resolve().parents[2] / "manifests" / "crds"


@dataclass(frozen=True)
class Namespace:
    """A namespace of one test, under Pod Security `restricted`."""

    api: Api
    layout: Layout
    name: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.name}"

    def pod(self, name: str) -> Object:
        return self.api.get(f"{self.path}/pods/{name}")

    def wait_for_phase(self, name: str, phase: str, seconds: float = 30) -> Object:
        def arrived() -> Object | None:
            pod = self.pod(name)
            return pod if pod.get("status", {}).get("phase") == phase else None

        pod = until(f"pod {name} is {phase}", arrived, seconds)
        assert pod is not None
        return pod

    def kubectl(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Runs it in this namespace; `text` is its input."""
        return subprocess.run(
            [binaries.program("kubectl"), "--namespace", self.name, *arguments],
            env={**os.environ, "KUBECONFIG": str(self.layout.admin_kubeconfig)}, input=text,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def token(self, account: str) -> str:
        """Makes a ServiceAccount and returns a token of it."""
        accounts = f"{self.path}/serviceaccounts"
        self.api.create(accounts, {"metadata": {"name": account}})
        answer = self.api.create(
            f"{accounts}/{account}/token",
            {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}},
        )
        token: str = answer["status"]["token"]
        return token


def serves(api: Api, path: str) -> bool:
    return bool(api.raw("GET", path)[0] == 200)


def install_crds(layout: Layout, api: Api) -> None:
    """Applies manifests/crds and waits until both kinds are served."""
    done = subprocess.run(
        [binaries.program("kubectl"), "apply", "--server-side", "-f", CRDS],
        env={**os.environ, "KUBECONFIG": str(layout.admin_kubeconfig)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for plural in ("trainingruns", "profilingpools"):
        path = f"/apis/swage.dev/v1alpha1/{plural}"
        until(f"{plural} are served", partial(serves, api, path), 10)


def restricted_pod(name: str, script: str) -> Object:
    """A pod that Pod Security `restricted` takes, with our busybox."""
    return {
        "metadata": {"name": name},
        "spec": {
            "automountServiceAccountToken": False,
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["127.0.0.1"]},
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "runAsGroup": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "main",
                    "image": "swage.test/busybox:1",
                    "imagePullPolicy": "Never",
                    "command": ["sh", "-c", script],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "resources": {"limits": {"cpu": "200m", "memory": "64Mi"}},
                }
            ],
        },
    }
