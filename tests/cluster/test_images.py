"""The images run where they will: loaded into the node, one restricted pod for each program."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import Namespace, restricted_pod
from swage_images import build
from swage_images.build import Made
from swage_images.definition import Image, load
from testcluster import lifecycle
from testcluster.api import Api, Object, until
from testcluster.layout import Layout

IMAGES = {name: image for name, image in load().images.items() if not image.on_request}
PROGRAMS = [
    *((name, f"/opt/swage/bin/{p}", "--help") for name, i in IMAGES.items() for p in i.programs),
    ("redis", "/usr/bin/redis-server", "--version"),
    ("redis", "/usr/bin/redis-cli", "--version"),
    ("sandbox", "/usr/bin/g++", "--version"),
    ("sandbox", "/usr/bin/rg", "--version"),
    ("sandbox", "/opt/swage/python/bin/python3", "--version"),
]


def loaded(layout: Layout) -> set[tuple[str, str]]:
    """(reference, digest) of what the node has already."""
    argv = [
        "ctr",
        "--address",
        str(layout.containerd_socket),
        "--namespace",
        "k8s.io",
        "images",
        "list",
    ]
    done = subprocess.run(
        [*lifecycle.enter(layout), *argv], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {(row[0], row[2]) for row in rows}


@pytest.fixture(scope="session")
def images(layout: Layout) -> dict[str, Made]:
    """Every usual image, built (what has not changed is kept) and loaded into the node."""
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is missing: make setup")
    made = build.build(build.default_place(), load(), [])
    there = loaded(layout)
    lifecycle.load_images(
        layout, [Path(m.archive) for m in made if (m.reference, m.digest) not in there]
    )
    return {one.name: one for one in made}


def pod_of(made: Made, command: list[str]) -> Object:
    """A pod that runs one command of an image as the image's own user."""
    pod = restricted_pod("program", "")
    del pod["spec"]["securityContext"]["runAsUser"], pod["spec"]["securityContext"]["runAsGroup"]
    container = pod["spec"]["containers"][0]
    container |= {"image": made.reference, "command": command}
    container["resources"] = {"limits": {"cpu": "1", "memory": "512Mi"}}
    return pod


@pytest.mark.parametrize(("image", "program", "argument"), PROGRAMS)
def test_each_program_starts_in_a_restricted_pod(
    namespace: Namespace, images: dict[str, Made], image: str, program: str, argument: str
) -> None:
    pods = f"{namespace.path}/pods"
    namespace.api.create(pods, pod_of(images[image], [program, argument]))
    pod = namespace.wait_for_phase("program", "Succeeded", 60)
    log = namespace.kubectl("logs", "program").stdout
    assert log.strip(), "it says nothing"
    state = pod["status"]["containerStatuses"][0]
    assert state["image"] == images[image].reference


def test_a_program_that_is_not_there_fails_its_pod(
    namespace: Namespace, images: dict[str, Made]
) -> None:
    """The twin of the test above: a pod that cannot start is seen."""
    namespace.api.create(
        f"{namespace.path}/pods", pod_of(images["redis"], ["/opt/swage/bin/swage"])
    )
    pod = namespace.wait_for_phase("program", "Failed", 60)
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert state["reason"] in ("StartError", "ContainerCannotRun"), state


def compile_in_sandbox(image: Image) -> str:
    """A Python extension against torch's headers, as the compile service makes them."""
    assert image.python
    site = "/opt/swage/python/lib/python3.11/site-packages/torch"
    return (
        f"echo '#include <torch/types.h>' > /tmp/a.cpp && g++ -std=c++17 -fsyntax-only "
        f"-I{site}/include -I{site}/include/torch/csrc/api/include -I/usr/include/python3.11 "
        "/tmp/a.cpp && echo compiled"
    )


def test_the_sandbox_compiles_against_torchs_headers_without_torch(
    namespace: Namespace, images: dict[str, Made]
) -> None:
    script = compile_in_sandbox(IMAGES["sandbox"])
    pod = pod_of(images["sandbox"], ["/bin/bash", "-c", script])
    container = pod["spec"]["containers"][0]
    container["resources"] = {"limits": {"cpu": "2", "memory": "2Gi"}}
    container["volumeMounts"] = [{"name": "tmp", "mountPath": "/tmp"}]
    pod["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]
    namespace.api.create(f"{namespace.path}/pods", pod)
    namespace.wait_for_phase("program", "Succeeded", 120)
    assert namespace.kubectl("logs", "program").stdout == "compiled\n"


@pytest.fixture
def privileged(api: Api, layout: Layout) -> Iterator[Namespace]:
    """Where GPU workers live: Pod Security `privileged`."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until("the namespace has its account", lambda: api.raw("GET", account)[0] == 200, 30)
    yield Namespace(api, layout, name)
    api.delete(f"/api/v1/namespaces/{name}")


def test_the_gpu_worker_takes_torch_from_the_node(
    privileged: Namespace, images: dict[str, Made]
) -> None:
    """As gpu.pythonHostPath of the chart mounts it; torch.compile finds all that it starts."""
    program = (
        "import torch; double = torch.compile(lambda x: (x + x).relu(), dynamic=False); "
        "print(torch.__version__, int(double(torch.arange(4.0)).sum()))"
    )
    pod = pod_of(images["gpu-worker"], ["/opt/swage/python/bin/python3", "-c", program])
    container = pod["spec"]["containers"][0]
    container["resources"] = {"limits": {"cpu": "2", "memory": "4Gi"}}
    container["env"] = [{"name": "TORCHINDUCTOR_CACHE_DIR", "value": "/tmp/inductor"}]
    container["volumeMounts"] = [
        {"name": "python", "mountPath": "/opt/swage/python", "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    environment = str(build.default_place().environment)
    pod["spec"]["volumes"] = [
        {"name": "python", "hostPath": {"path": environment, "type": "Directory"}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
    ]
    privileged.api.create(f"{privileged.path}/pods", pod)
    privileged.wait_for_phase("program", "Succeeded", 240)
    assert privileged.kubectl("logs", "program").stdout.split()[1] == "12"
