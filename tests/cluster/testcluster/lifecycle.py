"""Brings the cluster up, takes it down, and says what is left of it.

There is at most one cluster on a machine: a lock file beside its directory serializes `up` and
`down`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testcluster import (
    binaries,
    bootstrap,
    cgroups,
    components,
    configs,
    images,
    needs,
    pki,
)
from testcluster.api import Api, until
from testcluster.layout import SOURCE, Layout

# A kubelet sets these for the whole machine: `down` sets them back.
SYSCTLS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


class ClusterError(Exception):
    """The cluster did not come up, or cannot; the text says why and where to look."""


@dataclass
class State:
    """What `down` has to know. `pid` is process 1 of the namespaces, seen from outside."""

    pid: int
    started: int
    port: int
    sysctls: dict[str, str]


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    layout.lock.parent.mkdir(parents=True, exist_ok=True)
    with layout.lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_state(layout: Layout) -> State | None:
    try:
        return State(**json.loads(layout.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def start_time(pid: int) -> int:
    """In clock ticks since boot; with the pid it names one process for ever. 0: no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def alive(state: State | None) -> bool:
    return state is not None and start_time(state.pid) == state.started


def healthy(layout: Layout) -> bool:
    """Up, every program running, every node ready."""
    if not alive(read_state(layout)) or not layout.admin_kubeconfig.exists():
        return False
    try:
        if command(layout, {"list": True})["ended"]:
            return False
        api = Api(layout.admin_kubeconfig)
        return api.ready() and not bootstrap.unready(api)
    except (OSError, ValueError):
        return False


def command(layout: Layout, request: dict[str, Any]) -> dict[str, Any]:
    """One command to process 1 (machine.py)."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10)
        link.connect(str(layout.control))
        with link.makefile("rw") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            answer: dict[str, Any] = json.loads(stream.readline())
    if "error" in answer:
        raise ClusterError(answer["error"])
    return answer


def up(layout: Layout) -> float:
    """A cluster that is ready: the one that runs, or a new one. Returns the seconds it took."""
    if complaints := needs.missing():
        raise ClusterError("this machine cannot run the cluster:\n  " + "\n  ".join(complaints))
    binaries.build()
    began = time.monotonic()
    with locked(layout):
        if healthy(layout):
            return time.monotonic() - began
        take_down(layout)
        try:
            bring_up(layout)
        except (OSError, TimeoutError, subprocess.CalledProcessError) as error:
            text = explain(layout, error)
            take_down(layout, keep_logs=True)
            raise ClusterError(text) from error
    return time.monotonic() - began


def explain(layout: Layout, error: Exception) -> str:
    try:
        ended = command(layout, {"list": True})["ended"]
    except (OSError, ValueError, ClusterError):
        ended = {}
    return f"{error}; ended programs: {ended or 'none'}; logs: {kept_logs(layout)}"


def kept_logs(layout: Layout) -> Path:
    return layout.root.with_name(layout.root.name + "-logs")


def bring_up(layout: Layout) -> None:
    layout.root.mkdir(parents=True, mode=0o755)
    port = start_machine(layout)
    pki.make(layout.pki)
    configs.write(layout, port)
    config = layout.config / "kwok.yaml"
    config.write_text((SOURCE / "testcluster" / "stages.yaml").read_text())
    until("process 1 listens", layout.control.exists, 10)
    start(layout, "etcd")
    start(layout, "containerd")
    start(layout, "apiserver")
    archives = images.make(layout.root / "images")
    until("containerd listens", layout.containerd_socket.exists, 15)
    load_images(layout, archives)
    api = Api(layout.admin_kubeconfig)
    until("the API server is ready", api.ready, 60)
    for name in ("controller_manager", "scheduler", "kubelet"):
        start(layout, name)
    bootstrap.apply(api)
    start(layout, "kwok")
    start(layout, "dns")
    until("all nodes are ready", lambda: not bootstrap.unready(api), 60)
    until("the default service account exists", lambda: has_account(api), 30)


def has_account(api: Api) -> bool:
    return api.raw("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200


def start(layout: Layout, name: str) -> None:
    command(layout, {"start": name, "argv": getattr(components, name)(layout)})


def stop(layout: Layout, name: str, number: int = signal.SIGKILL) -> None:
    """Ends one program of the cluster, as a fault would, and waits until it is gone."""
    command(layout, {"kill": name, "signal": int(number)})
    until(f"{name} ends", lambda: name not in command(layout, {"list": True})["running"], 30)


def start_machine(layout: Layout) -> int:
    """Starts process 1 in new namespaces. Returns the port that leads to the API server."""
    before = {name: Path("/proc/sys", name).read_text().strip() for name in SYSCTLS}
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port: int = outside.getsockname()[1]
        with (layout.root / "machine.log").open("wb") as log:
            child = subprocess.Popen(
                ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL",
                 "--propagation", "private", "--mount-proc", sys.executable, "-m",
                 "testcluster.machine", str(layout.root), str(outside.fileno())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                cwd="/", env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
                pass_fds=[outside.fileno()],
            )  # fmt: skip
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    pid = int(until("process 1 starts", lambda: children.read_text().split(), 10)[0])
    cgroups.make()
    state = State(pid, start_time(pid), port, before)
    layout.state.write_text(json.dumps(state.__dict__))
    return port


def enter(layout: Layout) -> list[str]:
    """Prefix of a command that shall run inside the cluster's namespaces."""
    state = read_state(layout)
    if state is None or not alive(state):
        raise ClusterError("the cluster is not up: make cluster-up")
    return ["nsenter", "--target", str(state.pid), "--mount", "--net", "--pid", "--"]


def load_images(layout: Layout, archives: list[Path]) -> None:
    """Puts `docker save` archives where the kubelet finds them; pods say imagePullPolicy: Never."""
    for archive in archives:
        subprocess.run(
            [*enter(layout), "ctr", "--address", layout.containerd_socket, "--namespace", "k8s.io",
             "images", "import", archive],
            check=True, capture_output=True,
        )  # fmt: skip


def down(layout: Layout) -> None:
    with locked(layout):
        take_down(layout)
    layout.lock.unlink(missing_ok=True)
    if left := leftovers(layout):
        raise ClusterError("left behind: " + ", ".join(left))


def take_down(layout: Layout, keep_logs: bool = False) -> None:
    """Ends everything, in any state: the kernel ends what process 1 started."""
    state = read_state(layout)
    if state is not None and alive(state):
        os.kill(state.pid, signal.SIGKILL)
        until("the cluster's processes end", lambda: not alive(state), 30)
    if state is not None:
        for name, value in state.sysctls.items():
            Path("/proc/sys", name).write_text(value)
    cgroups.remove()
    shutil.rmtree(kept_logs(layout), ignore_errors=True)
    if keep_logs and layout.logs.exists():
        shutil.move(layout.logs, kept_logs(layout))
    shutil.rmtree(layout.root, ignore_errors=True)


def leftovers(layout: Layout) -> list[str]:
    """What of the cluster still exists on this machine, as texts; empty after `down`."""
    root = str(layout.root)
    left = [f"cgroup {group}" for group in cgroups.found()]
    left += [root] if layout.root.exists() else []
    mounts = Path("/proc/self/mountinfo").read_text()
    left += [f"mount {line.split()[4]}" for line in mounts.splitlines() if root in line]
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (argv := arguments(folder)) and root in argv:
            left.append(f"process {folder.name}: {argv[:80]}")
    return left


def arguments(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
