"""A TrainingRun in a cluster as a user has it: the chart's release, a volume, objects of a file."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swage_images.build import default_place
from test_chart import GROUP, Release
from testcluster import lifecycle
from testcluster.api import Api, Object

SWAGE = (
    Path(__file__).resolve().parents[2] / "build" / os.environ.get("PRESET", "dev") / "bin/swage"
)
REAL_NODE = "real-0"
WORKLOAD_USER = 10001
# As tests/system/short.yaml, with time for compilers that find nothing in their caches.
SHORT: Object = {
    "apiVersion": "swage.dev/v1alpha1",
    "kind": "TrainingRun",
    "metadata": {"name": "short"},
    "spec": {
        "preset": "OneMachine",
        "deviceKind": "cpu",
        "model": {"source": "scratch:tiny"},
        "tasks": [{"set": "builtin-cpu"}],
        "rollouts": {"concurrency": 4, "wallClockSeconds": 900},
        "stages": {
            "collect": {"trajectories": 8},
            "rft": {"epochs": 1, "minKept": 1},
            "critic": {"maxPasses": 1},
            "agentic": {"steps": 1},
        },
        "learning": {"batch": 4, "groupSize": 2},
        "sandbox": {"warmMin": 2},
        "learner": {"storage": {"size": "2Gi", "retain": False}},
    },
}
COLLECTED, PPO, EVALUATED = 8, 4, 2 * 2


@dataclass(frozen=True)
class ClusterRun:
    """One TrainingRun of a release, its pool in the release's pool namespace."""

    release: Release
    name: str

    @property
    def api(self) -> Api:
        return self.release.api

    @property
    def space(self) -> str:
        return self.release.name

    @property
    def pool_space(self) -> str:
        return f"{self.release.name}-pool"

    @property
    def path(self) -> str:
        return f"{GROUP}/{self.space}/trainingruns/{self.name}"

    def read(self) -> Object:
        found: Object = self.api.get(self.path)
        return found

    def status(self) -> Object:
        found: Object = self.read().get("status", {})
        return found

    def pods(self, component: str = "") -> list[Object]:
        selector = f"swage.dev/run={self.name}"
        selector += f",swage.dev/component={component}" if component else ""
        path = f"/api/v1/namespaces/{self.space}/pods?labelSelector={selector}"
        items: list[Object] = self.api.get(path)["items"]
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    def gpu_pods(self) -> list[Object]:
        path = f"/api/v1/namespaces/{self.pool_space}/pods"
        items: list[Object] = self.api.get(path)["items"]
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    def gpu_log(self) -> str:
        name = self.gpu_pods()[0]["metadata"]["name"]
        return self.release.run("kubectl", "-n", self.pool_space, "logs", name).stdout

    def completed(self) -> int:
        count: int = self.status().get("rollouts", {}).get("completed", 0)
        return count

    def leader(self) -> str:
        """The controller's pod that leads; empty: none, for the moment."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.space}/leases/swage-controller"
        holder = self.api.get(path)["spec"].get("holderIdentity") or ""
        names = [pod["metadata"]["name"] for pod in self.release.pods_of("controller")]
        return next((name for name in names if holder.startswith(name + "-")), "")

    def kill_pod(self, space: str, name: str) -> None:
        """Without grace, as when its node is lost."""
        self.api.raw("DELETE", f"/api/v1/namespaces/{space}/pods/{name}?gracePeriodSeconds=0")

    def swage(self, *arguments: str) -> str:
        """The command line, from inside the cluster's network, asking any controller."""
        address = self.release.pods_of("controller")[0]["status"]["podIP"]
        secret = self.api.get(f"/api/v1/namespaces/{self.space}/secrets/swage-internal")
        token = base64.b64decode(secret["data"]["token"]).decode()
        done = subprocess.run(
            [*lifecycle.enter(self.release.layout), SWAGE, *arguments, "--server",
             f"http://{address}:8081"],
            env={**os.environ, "SWAGE_TOKEN": token}, capture_output=True, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def until(self, what: str, true: Callable[[], object], seconds: float) -> None:
        """Fails at once when the run has failed; says in what state it was."""
        end = time.monotonic() + seconds
        while not true():
            status = self.status()
            failed = status.get("phase") == "Failed"
            if failed or time.monotonic() > end:
                raise TimeoutError(f"{what}: not so\n{self.told(status)}")
            time.sleep(0.5)

    def told(self, status: Object) -> str:
        """What a person would look at."""
        out = [json.dumps(status, indent=1)]
        for space in (self.space, self.pool_space):
            for what in (("get", "pods", "-o", "wide"), ("get", "events.events.k8s.io")):
                out.append(self.release.run("kubectl", "-n", space, *what).stdout[-6000:])
        for pod in self.release.pods_of("controller"):
            name = pod["metadata"]["name"]
            log = self.release.run("kubectl", "-n", self.space, "logs", name, "--tail=60")
            out.append(f"--- {name}\n{log.stdout}{log.stderr}")
        for pod in [*self.pods(), *self.gpu_pods()]:
            space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            log = self.release.run("kubectl", "-n", space, "logs", name, "--tail=15")
            out.append(f"--- {name}\n{log.stdout}{log.stderr}")
        return "\n".join(out)

    def summary(self) -> Object:
        path = f"/api/v1/namespaces/{self.space}/configmaps/{self.name}-summary"
        found: Object = json.loads(self.api.get(path)["data"]["summary.json"])
        return found


def make_volume(release: Release, run: str, folder: Path) -> str:
    """A volume of this machine for the learner's claim; the test cluster provisions none."""
    folder.mkdir()
    shutil.chown(folder, WORKLOAD_USER, WORKLOAD_USER)
    name = f"{release.name}-{run}"
    spec: Object = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": release.name, "name": f"{run}-learner"},
        "hostPath": {"path": str(folder), "type": "Directory"},
    }
    release.api.create("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    return name


def install(release: Release, *settings: str) -> None:
    """The chart with torch from this machine."""
    python = str(default_place().environment)
    chosen = ",".join([f"gpu.pythonHostPath={python}", *settings])
    release.install("install", "--set", chosen)


def apply(release: Release, file: Path, objects: list[Object]) -> str:
    """By the command line, as a user would."""
    file.write_text("\n---\n".join(json.dumps(one) for one in objects))
    done = subprocess.run(
        [SWAGE, "run", file],
        env={**os.environ, "KUBECONFIG": str(release.layout.admin_kubeconfig)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def start(release: Release, run: Object, folder: Path, pool: str = "local") -> ClusterRun:
    """Makes the pool, its GPU worker on the node that is real, and the run."""
    out = ClusterRun(release, run["metadata"]["name"])
    pool_object: Object = {
        "apiVersion": "swage.dev/v1alpha1",
        "kind": "ProfilingPool",
        "metadata": {"name": pool, "namespace": out.pool_space},
        "spec": {
            "deviceKind": "cpu",
            "replicas": 1,
            "scaling": {"mode": "Fixed", "maxReplicas": 1},
            "nodeSelector": {"kubernetes.io/hostname": REAL_NODE},
        },
    }
    spec = {
        **run["spec"],
        "evaluation": {
            "poolRef": {"name": pool, "namespace": out.pool_space},
            "allowReducedTrust": True,
        },
    }
    metadata = {**run["metadata"], "namespace": release.name}
    said = apply(
        release,
        folder / "run.yaml",
        [pool_object, {**run, "metadata": metadata, "spec": spec}],
    )
    assert f"TrainingRun {release.name}/{out.name} applied" in said
    return out
