"""The Debian part of an image: packages by mmdebstrap from the archives this machine's apt uses."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from swage_images import layer
from swage_images.definition import SOURCE, Root
from swage_images.layer import Layer

SUITE = "bookworm"
STATUS = "var/lib/dpkg/status"
# Manuals and what belongs to one machine: names of hosts, apt's sources, caches, logs, devices.
UNWANTED = re.compile(
    r"usr/share/(man|info|locale|lintian|bug|bash-completion|zsh|gdb)/."
    r"|usr/share/doc/(?!.*/copyright$|[^/]+$)."
    r"|etc/(apt|hostname|resolv\.conf|fstab|machine-id)(/|$)"
    r"|var/(cache|log|lib/apt|lib/systemd|backups)/."
    r"|var/lib/dpkg/(lock|lock-frontend|triggers/Lock|.*-old|status\.d/\.)"
    r"|etc/(passwd|group|shadow|gshadow)-$|dev/.|proc/.|sys/.|run/.|tmp/.|\.dockerenv$"
    r"|.*\.pyc$"
)
# Root's mmdebstrap mounts /proc, /sys and /dev: in a mount namespace of its own, so that none stays
# on this machine when it is killed. Without root it makes one itself.
ALONE = ("unshare", "--mount", "--propagation=private") if os.geteuid() == 0 else ()
# Programs that run as their owner have no place where nobody may become root.
SETUID = 0o6000


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    source: str


@dataclass(frozen=True)
class Tree:
    """A root made by mmdebstrap: an archive of files as they came."""

    archive: Path


class DebianError(Exception):
    """Packages cannot be had; the text says which and why."""


def sources() -> list[str]:
    """apt's sources of Debian itself, as lines of sources.list."""
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
         "Created-By: Packages", "Origin: Debian"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    lines = sorted({line for line in asked.stdout.splitlines() if SUITE in line.split()[2]})
    if not lines:
        raise DebianError(f"apt knows no source of Debian {SUITE}: run apt-get update first")
    return lines


def archive_state() -> str:
    """Changes whenever `apt-get update` has seen other packages."""
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages",
         "Origin: Debian"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    state = hashlib.sha256()
    for name in sorted(asked.stdout.split()):
        state.update(Path(name).read_bytes() if Path(name).exists() else b"")
    return state.hexdigest()


def make_tree(archive: Path, root: Root, packages: list[str]) -> Tree:
    """Downloads and lays out the packages and what they depend on."""
    argv = [
        *ALONE,
        "mmdebstrap",
        "--quiet",
        f"--variant={root.variant}",
        "--architectures=amd64",
        f"--include={','.join(packages)}",
        "--format=tar",
        "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    ]
    if root.variant == "extract":
        argv.append(f"--extract-hook={SOURCE / 'record-packages.sh'}")
    done = subprocess.run(
        [*argv, SUITE, str(archive), *sources()],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip
    if done.returncode != 0:
        raise DebianError(f"mmdebstrap: {done.stderr[-2000:]}")
    return Tree(archive)


def clean(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.name = member.name.removeprefix("./").rstrip("/")
    if member.islnk():
        member.linkname = member.linkname.removeprefix("./")
    member.mtime = layer.TIME
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode &= ~SETUID
    member.pax_headers = {}
    return member


def normalised(store: Path, tree: Tree) -> Layer:
    """The tree as a layer: sorted, without what is unwanted, every file root's."""

    def fill(out: tarfile.TarFile) -> None:
        with tarfile.open(tree.archive) as tar:
            members = {m.name.removeprefix("./").rstrip("/"): m for m in tar}
            wanted = sorted(n for n in members if n not in ("", ".") and not UNWANTED.match(n))
            # A hard link is written after the file that it names.
            for links in (False, True):
                for name in wanted:
                    member = members[name]
                    if member.islnk() == links and not member.isdev():
                        data = tar.extractfile(member) if member.isreg() else None
                        out.addfile(clean(member), data)

    return layer.write(store, fill)


def parse_status(text: str) -> list[Package]:
    """Packages of dpkg's status, or of several paragraphs of control files."""
    found = []
    for paragraph in text.split("\n\n"):
        rows = re.findall(r"^([A-Za-z-]+): *(.*)$", paragraph, re.MULTILINE)
        fields = dict(reversed(rows))
        if "Package" in fields and "Version" in fields:
            source = str(fields.get("Source", fields["Package"])).split()[0]
            found.append(Package(fields["Package"], fields["Version"], source))
    return sorted(found, key=lambda package: package.name)


def text_of(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    stream = tar.extractfile(member)
    assert stream is not None, f"{member.name} is no file"
    return stream.read().decode()


def packages_of(tree: Tree) -> list[Package]:
    with tarfile.open(tree.archive) as tar:
        texts = []
        for member in tar:
            name = member.name.removeprefix("./")
            if name == STATUS or (name.startswith(f"{STATUS}.d/") and member.isreg()):
                texts.append(text_of(tar, member))
    # The hook that merges /usr leaves a package of its own making.
    return [p for p in parse_status("\n\n".join(texts)) if p.name != "usr-is-merged"]


def file_of(tree: Tree, path: str) -> str:
    """One text file of the tree; empty when it has none."""
    with tarfile.open(tree.archive) as tar:
        for member in tar:
            if member.name.removeprefix("./") == path and member.isreg():
                return text_of(tar, member)
    return ""
