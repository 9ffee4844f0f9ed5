"""A full disk under OUT in the middle of a run: a clear error, and the run resumes with room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import LocalRun, until
from test_faults import ARGUMENTS, SHORT, check_complete

DISK_FULL = 74


def mount(folder: Path, *options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 MiB of its own; unmounted afterwards."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mount(folder, "-o", "size=512m")
    except subprocess.CalledProcessError:
        pytest.skip("mounting is not permitted here (CAP_SYS_ADMIN)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes every byte that is free, and goes on taking what others free."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        while True:
            try:
                file.write(b"x" * (1 << 12))
            except OSError:
                return filler


def test_a_disk_that_fills_up_ends_the_run_and_room_lets_it_go_on(small_disk: Path) -> None:
    with LocalRun(SHORT, small_disk / "run", *ARGUMENTS) as run:
        until("a rollout has been delivered", lambda: run.completed() >= 1, 120)
        uid = run.run_json()["run_uid"]
        filler = fill(small_disk)
        assert run.wait(120) == DISK_FULL, run.tail()
        said = run.log_text()
        assert "No space left on device" in said
        assert str(small_disk / "run") in said
        assert "free some space" in said
        run.expect_nothing_left(10)
        filler.unlink()
        run.start("--resume")
        assert run.wait(300) == 0, run.tail()
        assert run.run_json()["run_uid"] == uid
        check_complete(run)


def test_a_disk_that_is_full_from_the_start_is_said_and_nothing_runs(small_disk: Path) -> None:
    fill(small_disk)
    run = LocalRun(SHORT, small_disk / "run", *ARGUMENTS)
    run.log = small_disk.parent / "cli.log"
    with run:
        assert run.wait(30) == DISK_FULL
        assert str(small_disk) in run.log_text()
        assert "free some space" in run.log_text()
