"""The layers of the cage, each tried in a process of its own."""

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

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
        return seen == [1] and any(Path("/").iterdir())

    assert filtered(threads)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_caged_process_sees_its_workspace_and_nothing_of_ours(tmp_path: Path) -> None:
    for name in ("work", "root", "secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "work/model_new.py").touch()
    group = cgroup.Group(f"swage-test-{os.getpid()}", 1 << 30, 64)
    cage = isolate.Cage(
        uid=64003,
        cpus=tuple(os.sched_getaffinity(0)),
        workspace=str(tmp_path / "work"),
        mount_point=str(tmp_path / "root"),
        readable=isolate.runtime_folders(),
        group=group,
    )

    def body() -> bool:
        missing = isolate.enter(cage)
        hidden = not (tmp_path / "secret").exists() and not Path("/etc/shadow").exists()
        names = [path.name for path in Path.cwd().iterdir()]
        read_only = all(unwritable(Path(path)) for path in ("/workspace/x", "/usr/x", "/x"))
        return (
            (names, os.geteuid()) == (["model_new.py"], 64003)
            and hidden
            and read_only
            and not unwritable(Path("/tmp/x"))
            and not {"namespaces", "separate uids", "seccomp"} & set(missing)
        )

    assert in_child(body)
    group.remove()


def unwritable(path: Path) -> bool:
    try:
        path.touch()
    except OSError:
        return True
    return False
