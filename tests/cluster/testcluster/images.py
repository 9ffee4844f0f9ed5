"""Images of the test cluster, made here as `docker save` archives: there is no registry."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

PAUSE = "swage.test/pause:1"
BUSYBOX = "swage.test/busybox:1"
# Holds a pod's namespaces until it is told to go.
PAUSE_SOURCE = """#include <signal.h>
#include <unistd.h>
static void leave(int signal) { _exit(signal == SIGTERM || signal == SIGINT ? 0 : 1); }
int main(void) {
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  for (;;) pause();
}
"""
APPLETS = ("sh", "sleep", "cat", "echo", "id", "ls", "wget", "nc", "true", "false", "touch")


@dataclass(frozen=True)
class Entry:
    """One file of a layer: contents, or a link to `target`."""

    path: str
    content: bytes = b""
    target: str = ""
    mode: int = 0o755


def layer(entries: list[Entry]) -> bytes:
    """An uncompressed tar whose bytes depend on the entries alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode = entry.mode
            if entry.path.endswith("/"):
                info.type = tarfile.DIRTYPE
            elif entry.target:
                info.type, info.linkname = tarfile.SYMTYPE, entry.target
            info.size = len(entry.content)
            tar.addfile(info, io.BytesIO(entry.content))
    return out.getvalue()


def archive(file: Path, name: str, entries: list[Entry], entrypoint: list[str]) -> None:
    """Writes one image as `docker save` would, for `ctr images import`."""
    content = layer(entries)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": entrypoint, "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(content)]},
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(file, "w") as tar:
        for path, data in (
            ("config.json", config),
            ("layer.tar", content),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pause_program() -> bytes:
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / "pause.c", Path(work) / "pause"
        source.write_text(PAUSE_SOURCE)
        subprocess.run(["cc", "-Os", "-static", "-s", "-o", program, source], check=True)
        return program.read_bytes()


def make(folder: Path) -> list[Path]:
    """The pause image and a busybox; returns the archives."""
    folder.mkdir(parents=True, exist_ok=True)
    pause, busybox = folder / "pause.tar", folder / "busybox.tar"
    archive(pause, PAUSE, [Entry("pause", pause_program())], ["/pause"])
    found = shutil.which("busybox")
    assert found, "busybox-static is missing"
    entries = [Entry("bin/"), Entry("bin/busybox", Path(found).read_bytes())]
    entries += [Entry(f"bin/{applet}", target="busybox") for applet in APPLETS]
    archive(busybox, BUSYBOX, [*entries, Entry("tmp/", mode=0o1777)], ["/bin/sh"])
    return [pause, busybox]
