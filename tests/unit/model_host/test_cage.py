"""The layers of the cage, each tried in a process of its own."""

import os
import socket
import subprocess
import threading
from collections.abc import Callable

import pytest
from swage_model_host import cgroup, isolate, linux, seccomp


def in_child(body: Callable[[], bool]) -> bool:
    """Whether `body` is true in a forked process."""
    pid = os.fork()
    if pid == 0:
        answer = 1
        try:
            answer = 0 if body() else 1
        finally:
            os._exit(answer)
    return os.waitpid(pid, 0)[1] == 0


def refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except PermissionError:
        return True
    return False


def filtered(body: Callable[[], bool]) -> bool:
    def run() -> bool:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        linux.seccomp_filter(seccomp.candidate_program())
        return body()

    return in_child(run)


def test_the_filter_refuses_sockets_processes_and_programs() -> None:
    assert filtered(lambda: refused(socket.socket))
    assert filtered(lambda: refused(socket.socketpair))
    assert filtered(lambda: refused(os.fork))
    assert filtered(lambda: refused(lambda: os.execv("/bin/true", ["true"])))
    assert filtered(lambda: refused(lambda: subprocess.run(["/bin/true"], check=False)))
    assert filtered(lambda: refused(lambda: os.sched_setaffinity(0, {0})))


def test_the_filter_lets_threads_and_files_through() -> None:
    def threads() -> bool:
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(1))
        thread.start()
        thread.join()
        return seen == [1] and bool(os.listdir("/"))

    assert filtered(threads)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_caged_process_sees_its_workspace_and_nothing_of_ours(tmp_path_factory: object) -> None:
    base = os.path.realpath(str(tmp_path_factory.mktemp("cage")))  # type: ignore[attr-defined]
    for name in ("work", "root", "secret"):
        os.mkdir(f"{base}/{name}")
    open(f"{base}/work/model_new.py", "w").close()
    cage = isolate.Cage(
        uid=64003, cpus=tuple(os.sched_getaffinity(0)), workspace=f"{base}/work",
        mount_point=f"{base}/root", readable=isolate.runtime_folders(),
        group=cgroup.Group(f"swage-test-{os.getpid()}", 1 << 30, 64),
    )  # fmt: skip

    def body() -> bool:
        isolate.enter(cage)
        seen = os.listdir(".") == ["model_new.py"] and not os.path.exists(f"{base}/secret")
        return (
            seen
            and os.geteuid() == 64003
            and refused(lambda: open("/etc/shadow").close()) is False
            and not os.path.exists("/etc/shadow")
            and _read_only("/workspace/x")
            and _read_only("/usr/x")
            and os.getpriority(os.PRIO_PROCESS, 0) <= 0
        )

    assert in_child(body)
    assert cage.group is not None
    cage.group.remove()
    assert not os.path.exists(f"/sys/fs/cgroup/memory/swage-test-{os.getpid()}")


def _read_only(path: str) -> bool:
    try:
        open(path, "w").close()
    except OSError:
        return True
    return False
