"""The layers of the cage, each tried in a process of its own."""

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from swage_model_host import cgroup, isolate, linux, program, seccomp

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


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


def cage_in(folder: Path, without: tuple[str, ...] = ()) -> isolate.Cage:
    """A cage with a candidate's file in its workspace, and something of ours beside it."""
    for name in ("work", "root", "secret"):
        (folder / name).mkdir()
    (folder / "work/model_new.py").write_text("ANSWER = 42\n")
    return isolate.Cage(
        uid=64003,
        cpus=tuple(os.sched_getaffinity(0)),
        workspace=str(folder / "work"),
        mount_point=str(folder / "root"),
        readable=isolate.runtime_folders(),
        without=without,
        group=cgroup.Group(f"swage-test-{os.getpid()}", 1 << 30, 64),
    )


def is_caged(cage: isolate.Cage) -> bool:
    isolate.enter(cage)
    missing = isolate.close_calls(cage)
    secret = Path(cage.workspace).parent / "secret"
    hidden = not secret.exists() and not Path("/etc/shadow").exists()
    names = [path.name for path in Path.cwd().iterdir()]
    read_only = all(unwritable(Path(path)) for path in ("/workspace/x", "/usr/x", "/x"))
    return (
        (names, os.geteuid(), cage.folder) == (["model_new.py"], 64003, "/workspace")
        and hidden
        and read_only
        and not unwritable(Path("/tmp/x"))
        and not {"namespaces", "separate uids", "seccomp"} & set(missing)
    )


@needs_root
def test_a_caged_process_sees_its_workspace_and_nothing_of_ours(tmp_path: Path) -> None:
    cage = cage_in(tmp_path)
    assert in_child(lambda: is_caged(cage))
    assert cage.group
    cage.group.remove()


@needs_root
def test_it_does_so_where_pivot_root_is_refused_as_in_a_pod(tmp_path: Path) -> None:
    """Container runtimes refuse it to every pod; chroot goes with its capability."""
    cage = cage_in(tmp_path)
    pivot, chroot = (seccomp.REFUSED[name] for name in ("pivot_root", "chroot"))

    def refusing(*numbers: int) -> bool:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        linux.seccomp_filter(seccomp.refusing_program(numbers))
        return is_caged(cage)

    assert in_child(lambda: refusing(pivot))
    assert not in_child(lambda: refusing(pivot, chroot))
    assert cage.group
    cage.group.remove()


@needs_root
def test_without_namespaces_the_workspace_is_where_it_lies() -> None:
    """Images have an empty /workspace of their own, which is not it."""
    with tempfile.TemporaryDirectory() as name:  # others may pass, unlike pytest's folders
        folder = Path(name)
        folder.chmod(0o755)
        check_workspace_without_namespaces(folder)


def check_workspace_without_namespaces(folder: Path) -> None:
    cage = cage_in(folder, without=("namespaces",))

    def loads() -> bool:
        isolate.enter(cage)
        module = program.load_module("model_new", cage.folder)
        return bool(module.ANSWER == 42) and cage.folder == cage.workspace

    assert in_child(loads)
    assert cage.group
    cage.group.remove()


def unwritable(path: Path) -> bool:
    try:
        path.touch()
    except OSError:
        return True
    return False
