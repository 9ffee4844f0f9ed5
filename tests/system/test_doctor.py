"""`make doctor` looks at the disk of the caches too, not only at the repository's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from harness import ROOT


def doctor(cache: Path) -> str:
    done = subprocess.run(
        [ROOT / "tools" / "doctor.sh"], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )  # fmt: skip
    return done.stdout


def test_caches_on_the_repositorys_disk_are_counted_together() -> None:
    lines = [line for line in doctor(ROOT / "build").splitlines() if "GiB free on the disk" in line]
    assert len(lines) == 1
    assert str(ROOT) in lines[0]


def test_a_small_disk_of_the_caches_is_named_with_what_it_needs(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "t", tmp_path], check=True)
    except subprocess.CalledProcessError:
        pytest.skip("mounting is not permitted here (CAP_SYS_ADMIN)")
    try:
        said = doctor(tmp_path)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert f"MISSING  0 GiB free on the disk of {tmp_path}" in said
    assert "6 GiB are needed for LibTorch and caches" in said
