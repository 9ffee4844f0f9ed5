"""A run of a user who is not root and has no capabilities: what may be had is had, and what is
missing is said. Tests that run as root become such a user in a user namespace, in which every file
of root's still is their own; other users are themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import LocalRun
from test_bad_input import NOT_WRITABLE, with_cache
from test_faults import ARGUMENTS, EXPECTED, SHORT, check_complete

AS_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if not os.geteuid() else []


@pytest.fixture(scope="module", autouse=True)
def ordinary() -> None:
    """Checks that what AS_USER starts is no root and may do nothing that root may."""
    asked = "id -u; grep CapEff /proc/self/status"
    done = subprocess.run(
        [*AS_USER, "sh", "-c", asked], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"user namespaces are not permitted here: {done.stderr.strip()}")
    uid, capabilities = done.stdout.splitlines()
    assert uid != "0" and set(capabilities.split()[1]) == {"0"}


def run_of_user(folder: Path) -> LocalRun:
    """A run of SHORT with home and cache of its own; it is not started yet."""
    cache = with_cache(folder)["XDG_CACHE_HOME"]
    home = folder / "home"
    home.mkdir()
    run = LocalRun(SHORT, folder / "run", *ARGUMENTS)
    own = [f"HOME={home}", f"XDG_CACHE_HOME={cache}"]
    run.arguments = ["env", *own, *AS_USER, *run.arguments]
    return run


def keep_probe(cache: Path) -> None:
    """What the model hosts found out about this machine's processor: half a minute's work, or
    minutes beside other work, in which the first rollouts' time would be up."""
    cache.mkdir()
    own = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "swage" / "gpu-worker"
    for stamp in own.glob("isa-*"):
        shutil.copy(stamp, cache)


@pytest.mark.slow
def test_a_run_of_an_ordinary_user_ends_and_says_that_isolation_is_reduced(tmp_path: Path) -> None:
    run = run_of_user(tmp_path)
    keep_probe(tmp_path / "cache" / "swage" / "gpu-worker")
    with run:
        assert run.wait(540) == 0, run.tail()
        check_complete(run)
        summary = run.summary()
        assert summary["rollouts"] == EXPECTED == 12
        assert summary["evaluations"] == sum(summary["verdicts"].values()) >= 4
        assert "task_invalid" not in summary["verdicts"]
        assert (summary["isolation"], summary["trust"]) == ("reduced", "reduced")
        assert summary["infrastructure_failures"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_a_judges_cache_of_another_user_ends_the_run_with_the_remedy(tmp_path: Path) -> None:
    run = run_of_user(tmp_path)
    compiled = tmp_path / "cache" / "swage" / "gpu-worker" / "inductor"
    compiled.mkdir(parents=True)
    os.chown(compiled, 64002, 64002)  # as root's model host has left it
    with run:
        assert run.wait(120) == NOT_WRITABLE, run.tail()
        said = run.log_text()
        assert f"cannot write to {compiled}: Permission denied" in said
        assert "to user 1000 (`sudo chown -R`) or remove it" in said
