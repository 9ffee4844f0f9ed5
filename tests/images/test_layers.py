"""A layer's bytes follow from what it holds, and from nothing else."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from archives import make_place, unpacked
from swage_images import build, debian, layer, program, sbom
from swage_images.debian import Package
from swage_images.definition import SOURCE, DefinitionError, load, parse
from swage_images.layer import Entry

GOOD = """
[root.small]
variant = "extract"
packages = []
[image.one]
title = "one"
description = "an image"
root = "small"
entrypoint = ["/bin/one"]
"""


def test_a_layer_does_not_depend_on_times_and_order(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    entries = [Entry("b/file", file), Entry("a/text", b"text"), Entry("a/link", target="text")]
    first = layer.write_entries(tmp_path / "first", entries)
    os.utime(file, (1, 1))
    file.chmod(0o600)
    second = layer.write_entries(tmp_path / "second", reversed(entries))
    assert (first.digest, first.diff_id) == (second.digest, second.diff_id)


@pytest.mark.parametrize(
    "other", [Entry("file", b"other"), Entry("file", b"text", mode=0o755), Entry("name", b"text")]
)
def test_a_layer_depends_on_content_mode_and_name(tmp_path: Path, other: Entry) -> None:
    first = layer.write_entries(tmp_path / "first", [Entry("file", b"text")])
    assert layer.write_entries(tmp_path / "second", [other]).digest != first.digest


def test_every_folder_is_named_before_what_it_holds(tmp_path: Path) -> None:
    made = layer.write_entries(tmp_path, [Entry("a/b/c", b"x"), Entry("a/", mode=0o1777)])
    with unpacked(made.blob.read_bytes()) as tar:
        assert [(m.name, oct(m.mode)) for m in tar] == [
            ("a", "0o1777"),
            ("a/b", "0o755"),
            ("a/b/c", "0o644"),
        ]


def tree_of(folder: Path, members: list[tuple[str, int]]) -> debian.Tree:
    archive = folder / "tree.tar"
    with tarfile.open(archive, "w") as tar:
        for name, mode in members:
            info = tarfile.TarInfo(name)
            info.mode, info.uid, info.mtime, info.uname = mode, 42, 12345, "_apt"
            tar.addfile(info)
    return debian.Tree(archive)


def test_a_tree_loses_what_belongs_to_one_machine(tmp_path: Path) -> None:
    kept = ["./etc/passwd", "./usr/bin/rg", "./usr/share/doc/rg/copyright", "./tmp"]
    gone = [
        "./etc/apt/sources.list",
        "./etc/resolv.conf",
        "./etc/hostname",
        "./var/log/a",
        "./usr/share/doc/rg/README",
        "./usr/share/man/man1/rg.1",
        "./var/cache/x",
    ]
    tree = tree_of(tmp_path, [(name, 0o644) for name in kept + gone])
    made = debian.normalised(tmp_path / "store", tree)
    with unpacked(made.blob.read_bytes()) as tar:
        assert sorted(tar.getnames()) == sorted(name.removeprefix("./") for name in kept)


def test_nothing_in_a_tree_runs_as_its_owner(tmp_path: Path) -> None:
    made = debian.normalised(tmp_path / "store", tree_of(tmp_path, [("./usr/bin/su", 0o4755)]))
    with unpacked(made.blob.read_bytes()) as tar:
        (member,) = tar.getmembers()
    assert (member.mode, member.uid, member.uname, member.mtime) == (0o755, 0, "", 0)


def test_dpkg_status_becomes_packages() -> None:
    text = "Package: b\nVersion: 2\nSource: big (1)\nDescription: x\n Version: 3\n"
    text += "\nPackage: a\nVersion: 1\n"
    assert debian.parse_status(text) == [Package("a", "1", "a"), Package("b", "2", "big")]


def test_a_bill_of_materials_names_the_image_first_and_every_package() -> None:
    parts = sbom.of_debian([Package("libc6", "2.36-9+deb12u1", "glibc")])
    bill = sbom.document("one", "1.0", "abc", "2026-01-01T00:00:00Z", parts).decode()
    assert '"name": "swage-one"' in bill
    assert "pkg:deb/debian/libc6@2.36-9%2Bdeb12u1?arch=amd64&distro=debian-12" in bill


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("packages = []", "package = []"), "root.small: unknown field package"),
        (("extract", "tiny"), "variant must be one of"),
        (('root = "small"', 'root = "big"'), "image.one: there is no root big"),
        (("title", "titel"), "image.one: unknown field titel"),
        (("[image.one]", "[imag.one]"), "unknown table imag"),
    ],
)
def test_a_definition_with_a_mistake_is_refused(change: tuple[str, str], complaint: str) -> None:
    assert parse(GOOD).images["one"].root == "small"
    with pytest.raises(DefinitionError, match=complaint):
        parse(GOOD.replace(*change))


def test_the_images_are_defined_and_have_their_users() -> None:
    images = load().images
    usual = [name for name, image in images.items() if not image.on_request]
    assert usual == [
        "controller",
        "rollout-worker",
        "policy-learner",
        "sandbox",
        "gpu-worker",
        "redis",
    ]
    readme = (SOURCE / "README.md").read_text()
    assert [name for name in images if f"`{name}`" not in readme] == []
    assert "swage:x:10001:10001" in str(program.accounts("", "")[0].content)


def test_what_a_killed_build_left_goes_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "tmpleft" / "deep").mkdir(parents=True)
    (tmp_path / "kept.tar").touch()
    with build.locked(make_place(tmp_path)):
        assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "kept.tar"]
