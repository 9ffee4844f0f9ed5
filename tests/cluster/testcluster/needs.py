"""What a machine must have to run the cluster. Each complaint names its remedy."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from testcluster import binaries
from testcluster.layout import SOURCE

CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID = 0x00020000, 0x40000000, 0x20000000
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
PROGRAMS = {
    "etcd": "etcd-server",
    "containerd": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "iptables": "iptables",
    "openssl": "openssl",
    "unshare": "util-linux",
    "busybox": "busybox-static",
    "cc": "g++",
}
CNI = Path("/usr/lib/cni")


def missing() -> list[str]:
    """Everything that this machine lacks; empty when the cluster can run."""
    checks: tuple[Callable[[], list[str]], ...] = (root, cgroups, namespaces, programs, go)
    return [complaint for check in checks for complaint in check()]


def root() -> list[str]:
    return [] if os.geteuid() == 0 else ["root is needed (kubelet and containerd): run it as root"]


def cgroups(base: Path = Path("/sys/fs/cgroup")) -> list[str]:
    """Writable cgroups with the controllers that a kubelet insists on, version 1 or 2."""
    unified = base / "cgroup.controllers"
    if unified.exists():
        have = set(unified.read_text().split())
    else:
        have = {c for c in CONTROLLERS if (base / c).is_dir()}
    lacking = sorted(set(CONTROLLERS) - have)
    if lacking:
        return [f"cgroup controllers are missing ({', '.join(lacking)}): enable them in the kernel"]
    place = base if unified.exists() else base / "memory"
    if not os.access(place, os.W_OK) or read_only(place):
        return [f"{place} is not writable: run on the host, or in a container with its cgroups"]
    return []


def read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def namespaces() -> list[str]:
    """Whether a child of ours may have its own mounts, network and processes."""
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) == 0 else 1)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return []
    return ["mount, network and process namespaces are refused: run with CAP_SYS_ADMIN"]


def programs() -> list[str]:
    packages = sorted({p for name, p in PROGRAMS.items() if not shutil.which(name)})
    if not (CNI / "bridge").exists():
        packages.append("containernetworking-plugins")
    if not packages:
        return []
    return [f"Debian packages are missing ({' '.join(packages)}): make setup, or apt-get install"]


def go() -> list[str]:
    """A Go compiler, unless every binary is in the cache already."""
    if not binaries.unbuilt():
        return []
    wanted = max(wanted_go(SOURCE / module / "go.mod") for module in binaries.MODULES)
    need = ".".join(map(str, wanted))
    if not shutil.which("go"):
        return [f"Go {need} or later is needed once, to build Kubernetes: install it"]
    text = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False)
    have = tuple(int(n) for n in re.findall(r"\d+", text.stdout)[:3])
    return (
        [] if have >= wanted else [f"Go {need} or later is needed; {text.stdout.strip()} is here"]
    )


def wanted_go(file: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", file.read_text(), re.MULTILINE)
    assert found, f"{file} names no Go version"
    return tuple(int(n or 0) for n in found.groups())
