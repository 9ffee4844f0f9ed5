"""The zygote: imports torch once, then forks a host for whoever asks over its socket.

It runs no operator, so that no thread and no OpenMP state exists when it forks. It is
single-threaded and serves its parent and the judges one packet at a time. It ends, with all its
hosts, when the parent closes the socket.

Packets: {"op":"client"} gives a further socket; {"op":"spawn",...} gives a host as the descriptors
[control, fate, pidfd, log]; {"op":"clear","keep":[pids]} ends every other host. On `fate` one
packet tells the wait status and the most memory that the host had, in bytes, when it has ended;
when every copy of the other end of `fate` is closed the host has no owner and is killed.
"""

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from swage_model_host import cgroup, channel, cuda, host, isolate, linux

Address = int  # a file descriptor that the poller watches
MAX_GROUP_PROCESSES = 512  # threads count, and so do the compile host's compilers


@dataclass
class Child:
    """One host: its process and our end of `fate`."""

    pid: int
    fate: socket.socket
    group: cgroup.Group


class Zygote:
    """Owns the sockets and the hosts."""

    def __init__(self, parent: socket.socket, mount_point: str) -> None:
        self._parent = parent
        self._mount_point = mount_point
        self._made = 0
        self._clients = {parent.fileno(): parent}
        self._children: dict[int, Child] = {}  # by the descriptor of fate
        self._poller = select.poll()
        self._poller.register(parent, select.POLLIN)
        self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poller.register(self._ended, select.POLLIN)

    def serve(self) -> None:
        """Runs until the parent closes its socket, then kills every host."""
        while self._parent.fileno() in self._clients:
            ready = self._poller.poll()
            for descriptor, events in safe_order(ready, set(self._children), self._ended):
                self._handle(descriptor, events)
        self._clear(set())

    def _handle(self, descriptor: Address, events: int) -> None:
        if descriptor == self._ended:
            os.read(self._ended, 4096)
            self._reap()
        elif descriptor in self._children:
            if events & (select.POLLHUP | select.POLLERR):
                os.kill(self._children[descriptor].pid, signal.SIGKILL)
                self._poller.unregister(descriptor)
        elif descriptor in self._clients:
            self._serve_client(self._clients[descriptor])

    def _serve_client(self, client: socket.socket) -> None:
        try:
            packet = channel.receive(client)
            if packet is not None:
                self._answer(client, packet.message)
                return
        except (OSError, ValueError) as error:
            print(f"zygote: client dropped: {error}", file=sys.stderr)
        self._poller.unregister(client)
        del self._clients[client.fileno()]
        client.close()

    def _answer(self, client: socket.socket, message: channel.Message) -> None:
        if message["op"] == "client":
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._clients[ours.fileno()] = ours
            self._poller.register(ours, select.POLLIN)
            channel.send(client, {"ok": True}, [theirs.fileno()])
            theirs.close()
        elif message["op"] == "spawn":
            try:
                self._spawn(client, message)
            except OSError as error:
                channel.send(client, {"ok": False, "error": str(error)})
        elif message["op"] == "clear":
            self._clear({int(pid) for pid in message["keep"]})
            channel.send(client, {"ok": True})
        else:
            channel.send(client, {"ok": False, "error": "unknown op"})

    def _cage(self, message: dict[str, Any]) -> isolate.Cage:
        role = str(message["role"])
        on_cuda = message["device"] == "cuda"
        cache = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        return isolate.Cage(
            uid=host.UIDS[role],
            cpus=tuple(int(cpu) for cpu in message["cpus"]),
            workspace=str(message["workspace"]),
            mount_point=self._mount_point,
            writable=(cache,) if role == "compile" else (),
            readable=(*isolate.runtime_folders(), *(cuda.FOLDERS if on_cuda else ())),
            devices=cuda.nodes() if on_cuda else (),
            memory_bytes=int(message["memory_bytes"]),
            bound_addresses=not on_cuda,  # a CUDA process reserves more than there is memory
            may_execute=role == "compile",
            without=tuple(str(layer) for layer in message.get("without", ())),
            few_processes=role in ("candidate", "twin"),
            group=self._group(int(message["memory_bytes"])),
        )

    def _group(self, memory_bytes: int) -> cgroup.Group:
        self._made += 1
        name = f"swage-host-{os.getpid()}-{self._made}"
        return cgroup.Group(name, memory_bytes, MAX_GROUP_PROCESSES)

    def _spawn(self, client: socket.socket, message: channel.Message) -> None:
        cage = self._cage(message)
        control, far_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fate, far_fate = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log = os.memfd_create("log", os.MFD_CLOEXEC)
        role, kind = str(message["role"]), str(message["device"])
        pid = self._fork(lambda: host.main(role, kind, cage, control, log))
        pidfd = os.pidfd_open(pid)
        assert cage.group is not None
        self._children[fate.fileno()] = Child(pid, fate, cage.group)
        self._poller.register(fate, 0)
        given = [far_control.fileno(), far_fate.fileno(), pidfd, log]
        channel.send(client, {"ok": True, "pid": pid}, given)
        for end in (control, far_control, far_fate):
            end.close()
        os.close(pidfd)
        os.close(log)

    def _fork(self, body: Callable[[], None]) -> int:
        """Forks into a PID namespace of its own where that is allowed."""
        own_namespace = True
        try:
            linux.unshare(linux.CLONE_NEWPID)
        except OSError:
            own_namespace = False
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                body()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        if own_namespace:
            linux.setns(self._own_pids, linux.CLONE_NEWPID)
        return pid

    def _clear(self, keep: set[int]) -> None:
        doomed = [child.pid for child in self._children.values() if child.pid not in keep]
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        for pid in doomed:
            self._tell_fate(*os.wait4(pid, 0))

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._tell_fate(pid, status, used)

    def _tell_fate(self, pid: int, status: int, used: resource.struct_rusage) -> None:
        for descriptor, child in list(self._children.items()):
            if child.pid != pid:
                continue
            with contextlib.suppress(OSError):  # nobody owns it any more
                channel.send(child.fate, {"status": status, "peak_bytes": used.ru_maxrss << 10})
            if descriptor in self._children:
                del self._children[descriptor]
            with contextlib.suppress(KeyError):
                self._poller.unregister(descriptor)
            child.fate.close()
            child.group.remove()

    def probe(self) -> list[str]:
        """Forks a host that only enters its cage, and returns the layers it could not have."""
        reader, writer = os.pipe()
        empty = isolate.Cage(
            uid=host.UIDS["candidate"],
            cpus=tuple(sorted(os.sched_getaffinity(0))),
            workspace="",
            mount_point=self._mount_point,
            readable=isolate.runtime_folders(),
            group=self._group(0),
        )

        def body() -> None:
            isolate.enter(empty)
            missing = isolate.close_calls(empty)
            if os.getpid() != 1:
                missing.append("pid namespace")
            os.write(writer, (",".join(missing) or "-").encode())
            os._exit(0)

        pid = self._fork(body)
        os.close(writer)
        text = os.read(reader, 4096).decode()
        os.close(reader)
        os.waitpid(pid, 0)
        if empty.group is not None:
            empty.group.remove()
        if not text:
            return ["host cannot start"]
        return [] if text == "-" else text.split(",")


def safe_order(
    ready: list[tuple[Address, int]], fates: set[Address], ended: Address
) -> list[tuple[Address, int]]:
    """The order in which the events of one poll are handled: hosts without an owner, then hosts
    that have ended, then clients. Reaping frees descriptors and spawning takes them: an event of an
    old host that came after both would kill the new one that got its descriptor.
    """

    def rank(event: tuple[Address, int]) -> int:
        return 0 if event[0] in fates else 1 if event[0] == ended else 2

    return sorted(ready, key=rank)


def main(mount_point: str, cache: str, facts: dict[str, str]) -> int:
    """Tells the parent on descriptor 3 what is there, and serves. `facts` come from warm.up()."""
    parent = socket.socket(fileno=3)
    zygote = Zygote(parent, mount_point)
    missing = zygote.probe()
    isolate.give_folder(f"{cache}/inductor", host.UIDS["compile"])
    gc.collect()
    gc.freeze()
    channel.send(parent, {"ready": True, "missing": missing, **facts})
    zygote.serve()
    return 0
