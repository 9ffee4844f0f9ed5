"""Images as they are built: the same input, the same digest, and in them only what belongs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from archives import make_place, unpacked
from swage_images import build, program, wheels
from swage_images.build import Made, Place
from swage_images.definition import PREFIX, load
from swage_images.layer import Entry
from swage_images.oci import place as blob_place
from swage_images.program import ProgramError


class Archive:
    """What an archive says of itself, read as a container runtime would."""

    def __init__(self, made: Made) -> None:
        self.tar = tarfile.open(made.archive)  # noqa: SIM115 - lives as long as the test
        self.index = self.json("index.json")
        self.manifest = self.json(blob_place(self.index["manifests"][0]["digest"]))
        self.config = self.json(blob_place(self.manifest["config"]["digest"]))

    def json(self, name: str) -> Any:  # noqa: ANN401 - JSON has no better type
        stream = self.tar.extractfile(name)
        assert stream
        return json.load(stream)

    def layer(self, part: Any) -> tarfile.TarFile:  # noqa: ANN401
        stream = self.tar.extractfile(blob_place(part["digest"]))
        assert stream
        return unpacked(stream.read())

    def files(self) -> dict[str, tarfile.TarInfo]:
        found = {}
        for part in self.manifest["layers"]:
            with self.layer(part) as layer:
                found.update({member.name: member for member in layer})
        return found


def test_the_same_input_gives_the_same_digest_twice(redis: Made, tmp_path: Path) -> None:
    (again,) = build.build(make_place(tmp_path / "other"), load(), ["redis"])
    assert again.digest == redis.digest
    assert Path(again.archive).read_bytes() == Path(redis.archive).read_bytes()


def test_another_input_gives_another_digest(place: Place, redis: Made, tmp_path: Path) -> None:
    definitions = load()
    changed = replace(definitions.images["redis"], entrypoint=["/usr/bin/redis-cli"])
    other = replace(definitions, images={"redis": changed})
    shutil.copytree(place.cache, tmp_path / "cache")
    kept = replace(place, cache=tmp_path / "cache", fresh=False)
    usual, unusual = (
        build.build_image(kept, one, one.images["redis"], "elsewhere")
        for one in (definitions, other)
    )
    assert usual.digest == redis.digest  # a name is no part of an image
    assert unusual.digest != usual.digest


def test_an_image_says_what_it_is_and_runs_as_nobody_special(redis: Made) -> None:
    archive = Archive(redis)
    assert archive.index["manifests"][0]["digest"] == redis.digest
    run = archive.config["config"]
    assert run["User"] == "10001:10001"
    assert run["Labels"]["org.opencontainers.image.title"] == "Redis for swage"
    assert run["Labels"]["org.opencontainers.image.revision"] == program.revision()[0]
    files = archive.files()
    assert [n for n, m in files.items() if m.mode & 0o6000] == []
    writable = [n for n, m in files.items() if m.mode & 0o002 and not m.issym()]
    assert set(writable) <= {"tmp", "var/tmp", "var/lock"}
    assert not [n for n in files if n.startswith(("etc/apt", "var/lib/apt/", "var/cache/apt/"))]
    recorded = {n.rpartition("/")[2] for n in files if n.startswith("var/lib/dpkg/status.d/")}
    bill = {p["name"] for p in bill_of(archive)["packages"]}
    assert {"redis-server", "libc6"} <= recorded
    assert recorded - {"status.d"} <= bill


def bill_of(archive: Archive) -> Any:  # noqa: ANN401
    with archive.layer(archive.manifest["layers"][-1]) as layer:
        bill = layer.extractfile("usr/share/swage/sbom.spdx.json")
        assert bill
        return json.load(bill)


def test_a_program_that_is_not_built_is_named_with_its_remedy(place: Place, tmp_path: Path) -> None:
    empty = replace(place, build=tmp_path / "nowhere")
    with pytest.raises(ProgramError, match=r"swage-controller is missing: make build|bin/swage is"):
        build.build(empty, load(), ["controller"])


def test_an_unknown_image_is_refused_with_the_names_there_are(place: Place) -> None:
    with pytest.raises(ProgramError, match="there is no image tiny; there are controller"):
        build.build(place, load(), ["tiny"])


def lay_out(entries: list[Entry], root: Path) -> None:
    """The entries as files: hard links, so that libraries find their neighbours and no others."""
    for entry in entries:
        file = root / entry.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if entry.target:
            file.symlink_to(entry.target)
        elif isinstance(entry.content, Path):
            os.link(entry.content, file)
        else:
            file.write_bytes(entry.content)


def test_the_torch_of_the_large_gpu_worker_is_complete() -> None:
    usual = build.default_place()
    image = load().images["gpu-worker-torch"]
    with tempfile.TemporaryDirectory(dir=usual.cache.parent) as folder:
        lay_out(wheels.entries(image, usual.environment), Path(folder))
        python = Path(folder, PREFIX, "python/bin/python3")
        names = "import torch, triton, numpy; print(torch.__file__, int(torch.arange(4).sum()))"
        done = subprocess.run(
            [python, "-B", "-c", names], capture_output=True, text=True, check=False, env={}
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(folder)
        assert done.stdout.endswith(" 6\n")
