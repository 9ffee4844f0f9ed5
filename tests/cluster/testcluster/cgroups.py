"""The cgroup subtree that holds the real node's pods, in cgroup version 1 and 2."""

from __future__ import annotations

import os
import time
from pathlib import Path

from testcluster.layout import CGROUP

BASE = Path("/sys/fs/cgroup")


def hierarchies(base: Path = BASE) -> list[Path]:
    """Where a subtree has to be made: one place in version 2, one for each controller in 1."""
    if (base / "cgroup.controllers").exists():
        return [base]
    return sorted({p.resolve() for p in base.iterdir() if (p / "cgroup.procs").exists()})


def make(base: Path = BASE) -> None:
    for hierarchy in hierarchies(base):
        group = hierarchy / CGROUP
        group.mkdir(exist_ok=True)
        # A version 1 cpuset starts without processors and takes no process until it has some.
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (group / name).exists() and (hierarchy / name).exists():
                (group / name).write_text((hierarchy / name).read_text())
        if (hierarchy / "cgroup.subtree_control").exists():
            controllers = (group / "cgroup.controllers").read_text().split()
            (group / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in controllers))


def found(base: Path = BASE) -> list[Path]:
    """Every directory of ours, innermost first."""
    out: list[Path] = []
    for hierarchy in hierarchies(base):
        for folder, _, _ in os.walk(hierarchy / CGROUP, topdown=False):
            out.append(Path(folder))
    return out


def remove(seconds: float = 5) -> list[Path]:
    """Removes the subtree once its processes are gone; returns what resisted until the deadline."""
    end = time.monotonic() + seconds
    while True:
        for group in found():
            try:
                group.rmdir()
            except OSError:
                continue  # its last process is still being reaped
        left = found()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)
