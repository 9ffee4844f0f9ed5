"""The images run where they will: loaded into the node, one restricted pod for each program."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kit import Namespace, restricted_pod
from swage_images import build
from swage_images.build import Made
from swage_images.definition import Image, load
from testcluster import lifecycle
from testcluster.api import Object
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


@pytest.fixture(scope="session")
def images(layout: Layout) -> dict[str, Made]:
    """Every usual image, built (what has not changed is kept) and loaded into the node."""
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is missing: make setup")
    made = build.build(build.default_place(), load(), [])
    lifecycle.load_images(layout, [Path(one.archive) for one in made])
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
    assert state["imageID"].endswith(images[image].digest) or state["imageID"]


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
