"""Builds the cage of one host, layer by layer, in the freshly forked process.

Each layer is attempted; the names of those that could not be had are returned, and the judge turns
them into `trust=reduced`. Order: namespaces, a root of read-only binds, limits, user; close_calls()
adds the filter.
"""

import contextlib
import os
import resource
import signal
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swage_model_host import cgroup, linux, seccomp

SCRATCH_BYTES = 256 << 20
MAX_PROCESSES = 64
LOG_BYTES = 64 << 20  # largest file a host may write, its log included
ARTEFACT_BYTES = 4 << 30  # the same for the compile host: precompiled headers are large
WORK = "/workspace"

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_DEVICES = ("null", "zero", "random", "urandom")
_FIXED_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/alternatives")


@dataclass(frozen=True)
class Cage:
    """What one host is confined to."""

    uid: int
    cpus: tuple[int, ...]
    workspace: str  # folder shown read-only as /workspace; empty: none
    mount_point: str  # an empty folder over which the new root is built
    writable: tuple[str, ...] = ()  # folders kept writable under their own names
    readable: tuple[str, ...] = ()  # folders kept readable under their own names
    devices: tuple[str, ...] = ()  # files under /dev beside the usual ones
    bound_addresses: bool = True  # memory_bytes bounds the address space, not only the group
    memory_bytes: int = 0  # address space beyond what the process has now; 0: no limit
    may_execute: bool = False  # the compile host starts the C++ compiler
    few_processes: bool = False  # a candidate: the only process of its user
    without: tuple[str, ...] = ()  # layers left out, in tests
    group: cgroup.Group | None = None
    missing: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        """Where the process finds its workspace, once it has entered."""
        return self.workspace if "namespaces" in self.missing else WORK


def runtime_folders() -> tuple[str, ...]:
    """Where the interpreter, its packages and this program lie."""
    folders = {sysconfig.get_paths()[key] for key in ("stdlib", "include")}
    folders |= {sys.prefix, sys.base_prefix, str(Path(sys.executable).parent.parent)}
    folders |= {entry for entry in sys.path if Path(entry).is_dir()}
    real = {str(Path(folder).resolve()) for folder in folders} | folders
    return tuple(sorted(name for name in real if not name.startswith("/usr")))


def enter(cage: Cage) -> list[str]:
    """Confines this process and returns the names of the layers that are missing."""
    root = os.geteuid() == 0
    if cage.group is not None:
        _attempt(cage, "cgroup", cage.group.join)
    _attempt(cage, "namespaces", lambda: _namespaces(cage))
    if "namespaces" in cage.missing and cage.workspace:
        os.chdir(cage.workspace)
    _limits(cage)
    os.sched_setaffinity(0, cage.cpus)
    if root:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -15)
    _attempt(cage, "separate uids", lambda: _become(cage))
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    return cage.missing


def close_calls(cage: Cage) -> list[str]:
    """Refuses system calls from here on, in all threads. Apart from enter(), for the start of CUDA
    needs some of them (its driver makes a socket). Returns the layers that are missing.
    """
    if not cage.may_execute:
        program = seccomp.candidate_program()
        _attempt(cage, "seccomp", lambda: linux.seccomp_filter(program))
    return cage.missing


def _attempt(cage: Cage, layer: str, build: Callable[[], None]) -> None:
    try:
        if layer in cage.without:
            raise OSError("left out")
        build()
    except OSError as error:
        cage.missing.append(layer)
        print(f"layer {layer} is missing: {error}", file=sys.stderr)


def _namespaces(cage: Cage) -> None:
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS)
    linux.mount("none", "/", None, linux.MS_REC | linux.MS_PRIVATE)
    workspace = os.open(cage.workspace, os.O_PATH) if cage.workspace else None
    linux.mount("swage", cage.mount_point, "tmpfs", 0, "size=1m,mode=755")
    new = Path(cage.mount_point)
    _special(new, cage.devices)  # first: the folders below may lie in /tmp
    for folder in _SYSTEM:
        _show_system(new, folder)
    for folder in cage.readable:
        _bind(folder, new / folder.lstrip("/"), writable=False)
    for folder in cage.writable:
        _bind(folder, new / folder.lstrip("/"), writable=True)
    for file in _FIXED_FILES:
        if Path(file).exists():
            _bind(file, new / file.lstrip("/"), writable=False)
    (new / "etc").mkdir(exist_ok=True)
    (new / "etc/passwd").write_text(f"host:x:{cage.uid}:{cage.uid}::/tmp:/bin/false\n")
    (new / WORK.lstrip("/")).mkdir(exist_ok=True)
    if workspace is not None:
        _bind(f"/proc/self/fd/{workspace}", new / WORK.lstrip("/"), writable=False)
        os.close(workspace)
    _pivot(new)


def _show_system(new: Path, folder: str) -> None:
    if Path(folder).is_symlink():
        (new / folder.lstrip("/")).symlink_to(Path(folder).readlink())
    elif Path(folder).is_dir():
        _bind(folder, new / folder.lstrip("/"), writable=False)


def _bind(source: str, target: Path, *, writable: bool) -> None:
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    recursive = 0 if source.startswith("/proc/self/fd") else linux.MS_REC
    linux.mount(source, str(target), None, linux.MS_BIND | recursive)
    flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_NOSUID
    linux.mount("none", str(target), None, flags | (0 if writable else linux.MS_RDONLY))


def _special(new: Path, devices: tuple[str, ...]) -> None:
    scratch = f"size={SCRATCH_BYTES},mode=1777"
    for folder in ("tmp", "dev", "proc"):
        (new / folder).mkdir()
    flags = linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("tmp", str(new / "tmp"), "tmpfs", flags, scratch)
    (new / "dev/shm").mkdir()
    linux.mount("shm", str(new / "dev/shm"), "tmpfs", flags, scratch)
    for device in (*(f"/dev/{name}" for name in _DEVICES), *devices):
        target = new / device.lstrip("/")
        target.mkdir() if Path(device).is_dir() else target.touch()
        linux.mount(device, str(target), None, linux.MS_BIND)
    linux.mount("proc", str(new / "proc"), "proc", flags | linux.MS_NOEXEC)


def _pivot(new: Path) -> None:
    os.chdir(new)
    try:
        linux.pivot_root(".", ".")
        linux.umount(".", linux.MNT_DETACH)
    except PermissionError:  # a pod's filter refuses pivot_root, whatever its capabilities
        linux.mount(".", "/", None, linux.MS_MOVE)
        os.chroot(".")  # what lies below cannot be reached without CAP_SYS_CHROOT or CAP_SYS_ADMIN
    os.chdir(WORK)
    flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | linux.MS_NOSUID
    linux.mount("none", "/", None, flags)


def _limits(cage: Cage) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    largest = ARTEFACT_BYTES if cage.may_execute else LOG_BYTES
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if cage.memory_bytes and cage.bound_addresses:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + cage.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _become(cage: Cage) -> None:
    if os.geteuid() != 0:
        raise OSError("not root")
    os.setgroups([])
    os.setresgid(cage.uid, cage.uid, cage.uid)
    os.setresuid(cage.uid, cage.uid, cage.uid)
    if cage.few_processes:
        resource.setrlimit(resource.RLIMIT_NPROC, (MAX_PROCESSES, MAX_PROCESSES))


def give_folder(path: str, uid: int) -> None:
    """Makes `uid` owner of a folder and what is in it, where we may."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return
    for at, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            with contextlib.suppress(OSError):
                os.lchown(Path(at) / name, uid, uid)
