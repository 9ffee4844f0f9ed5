"""The operator as a process of this machine, with the rights that docs/PROCESSES.md lists."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kit import Namespace
from testcluster.api import Object, until

ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/swage.dev/v1alpha1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def binary() -> Path:
    preset = os.environ.get("PRESET", "dev")
    return ROOT / "build" / preset / "bin" / "swage-controller"


def rule(group: str, resources: str, verbs: str) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


RULES = [
    rule("swage.dev", "trainingruns profilingpools", "get list watch patch"),
    rule("swage.dev", "trainingruns/status profilingpools/status", "get patch"),
    rule("swage.dev", "profilingpools/scale", "get patch"),
    rule("swage.dev", "trainingruns/finalizers profilingpools/finalizers", "update"),
    rule("", "pods", "get list watch create patch delete"),
    rule("", "services configmaps persistentvolumeclaims", "get list watch create patch delete"),
    rule("events.k8s.io", "events", "create patch"),
    rule("coordination.k8s.io", "leases", "create get list watch update patch"),
]


IMAGES = ("rollout_worker", "policy", "learner", "gpu_worker", "sandbox")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Operator:
    """One process. `space` holds the Lease and the runs, `pools` the ProfilingPools."""

    space: Namespace
    pools: Namespace
    folder: Path
    name: str
    redis: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in (
            ("token", "internal"),
            ("key", "sandbox-key"),
            ("url", f"redis://{self.redis}"),
            ("password", "redis-password"),
        ):
            (self.folder / name).write_text(text)
        config = {
            "service": f"swage-controller.{self.space.name}.svc.cluster.local:7070",
            "listen": f"unix:{self.folder}/grpc.sock",
            "http": f"127.0.0.1:{self.port}",
            "watch_namespaces": [self.space.name],
            "pool_namespaces": [self.pools.name],
            "token_file": f"{self.folder}/token",
            "sandbox_key_file": f"{self.folder}/key",
            "redis_directory": str(self.folder),
            "images": dict.fromkeys(IMAGES, "swage.test/none:1"),
            "image_pull_policy": "Never",
            "service_accounts": dict.fromkeys(("workload", "sandbox", "gpu"), "default"),
            "log": {"level": "info", "format": "text"},
        }
        (self.folder / "controller.json").write_text(json.dumps(config))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [binary(), "cluster", "--config", self.folder / "controller.json",
                 "--kubeconfig", kubeconfig(self.space, self.folder), "--name", self.name,
                 "--namespace", self.space.name, "--address", "127.0.0.1"],
                stdout=log, stderr=log,
            )  # fmt: skip

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def api(self, path: str) -> Object:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": "Bearer internal"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            value: Object = json.loads(answer.read())
        return value


def kubeconfig(space: Namespace, folder: Path) -> Path:
    """Access as the operator's own account: its token, no certificate."""
    admin = json.loads(space.layout.admin_kubeconfig.read_text())
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "operator",
        "contexts": [{"name": "operator", "context": {"cluster": "test", "user": "operator"}}],
        "clusters": admin["clusters"],
        "users": [{"name": "operator", "user": {"token": (folder / "account").read_text()}}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


def grant(space: Namespace, spaces: list[Namespace]) -> str:
    """An account with the operator's role in every namespace. Returns its token."""
    token = space.token("swage-controller")
    subject = {"kind": "ServiceAccount", "name": "swage-controller", "namespace": space.name}
    for one in spaces:
        path = f"{RBAC}/namespaces/{one.name}"
        space.api.create(f"{path}/roles", {"metadata": {"name": "swage"}, "rules": RULES})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "swage"}
        body = {"metadata": {"name": "swage"}, "roleRef": reference, "subjects": [subject]}
        space.api.create(f"{path}/rolebindings", body)
    return token


def condition(object_: Object, kind: str) -> Object:
    for one in object_.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            found: Object = one
            return found
    return {}


def until_condition(
    read: Callable[[], Object], kind: str, status: str, reason: str = "", seconds: float = 60
) -> Object:
    """The object once the condition is so; else the error tells what it was last."""
    end = time.monotonic() + seconds
    while True:
        object_ = read()
        now = condition(object_, kind)
        if now.get("status") == status and reason in now.get("reason", ""):
            return object_
        if time.monotonic() > end:
            raise TimeoutError(f"{kind} is not {status} {reason}: {object_.get('status')}")
        time.sleep(0.1)


def run_object(name: str, pool: Namespace, pool_name: str = "gpus") -> Object:
    return {
        "apiVersion": "swage.dev/v1alpha1",
        "kind": "TrainingRun",
        "metadata": {"name": name},
        "spec": {
            "preset": "OneMachine",
            "deviceKind": "cpu",
            "model": {"source": "scratch:tiny"},
            "tasks": [{"set": "builtin-cpu"}],
            "rollouts": {"concurrency": 4},
            "learner": {"storage": {"size": "1Gi", "retain": False}},
            "evaluation": {
                "poolRef": {"name": pool_name, "namespace": pool.name},
                "allowReducedTrust": True,
            },
        },
    }


def pool_object(name: str, replicas: int, *, fake: bool) -> Object:
    spec: Object = {"deviceKind": "cpu", "scaling": {"mode": "Fixed"}, "replicas": replicas}
    if fake:  # kwok plays these pods: they run and answer nothing
        spec["nodeSelector"] = {"swage.dev/test-node": "fake"}
    return {
        "apiVersion": "swage.dev/v1alpha1",
        "kind": "ProfilingPool",
        "metadata": {"name": name},
        "spec": spec,
    }


def until_gone(space: Namespace, path: str, seconds: float = 90) -> None:
    until(f"{path} is gone", lambda: space.api.raw("GET", path)[0] == 404, seconds)
