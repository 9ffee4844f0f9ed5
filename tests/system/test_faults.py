"""kill -9 of every process of a running system: the run ends with the right trajectories."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from harness import LocalRun, until

SHORT = Path(__file__).parent / "short.yaml"
COLLECTED = 4
# stage, group, member
PLANNED = (
    [f"collect-{group}-0" for group in range(COLLECTED)]
    + [f"agentic-{group}-{member}" for group in range(2) for member in range(2)]
    + [f"eval{times}-{group}-0" for times in (1, 2) for group in range(2)]
)
EXPECTED = len(PLANNED)
TRAINS = ("rft", "critic", "agentic")
ARGUMENTS = ("--evaluation-rollouts", "2")


def check_complete(run: LocalRun) -> None:
    """The right number of trajectories, none twice, none invented."""
    summary = run.summary()
    ids = run.rollout_ids()
    assert len(ids) == EXPECTED, ids
    assert summary["rollouts"] == EXPECTED
    # A learner that went on from a checkpoint enters the stages since then once more.
    stages = list(dict.fromkeys(stage["stage"] for stage in summary["stages"]))
    assert stages == ["collect", "rft", "eval1", "critic", "agentic", "eval2"]
    uid = run.run_json()["run_uid"].replace("-", "")[:8]
    assert set(ids) == {f"{uid}-{planned}" for planned in PLANNED}


def test_nothing_is_killed(tmp_path: Path) -> None:
    with LocalRun(SHORT, tmp_path / "run", *ARGUMENTS) as run:
        assert run.wait(300) == 0, run.tail()
        check_complete(run)
        check_summary(run.summary())
        check_layout(run)


def check_summary(summary: dict[str, Any]) -> None:
    """Every field says what happened in a run that nothing disturbed."""
    assert summary["run"] == "short"
    assert summary["seed"] == 1
    assert summary["steps"] == 1
    stages = summary["stages"]
    assert all(stage["seconds"] > 0 for stage in stages)
    assert sum(stage["seconds"] for stage in stages) <= summary["wall_seconds"]
    assert all(stage["steps"] > 0 for stage in stages if stage["stage"] in TRAINS)
    for name in ("reward_after_rft", "reward_final"):
        assert -1 <= summary[name] <= 3
    assert summary["evaluations"] == sum(summary["verdicts"].values()) >= COLLECTED
    assert summary["verdicts"]["ok"] >= 1
    compiled = summary["compile"]
    assert compiled["count"] >= COLLECTED
    assert 0 <= compiled["cache_hits"] <= compiled["units"]
    assert summary["duplicate_trajectories_refused"] == 0
    assert summary["infrastructure_failures"] == summary["reissued"] == 0
    assert {summary["isolation"], summary["trust"]} <= {"full", "reduced"}


def check_layout(run: LocalRun) -> None:
    """What wire.md says that a run leaves, and no secret that others may read."""
    left = {path.name for path in run.out.iterdir()}
    assert left >= {"run.yaml", "run.json", "summary.json", "steps.csv", "logs", "checkpoints"}
    assert int((run.out / "epoch").read_text()) >= 1
    segments = list((run.out / "learner" / "log").glob("seg-*"))
    assert segments and all(segment.stat().st_size > 0 for segment in segments)
    assert (run.out / "reward.png").read_bytes().startswith(b"\x89PNG")
    for secret in (run.out / "secrets").iterdir():
        assert secret.stat().st_mode & 0o077 == 0, secret


def stage_at_work(run: LocalRun, stage: str) -> bool:
    """Rollouts of this stage are under way, and one of the run has been delivered."""
    status = run.status()
    rollouts = status.get("rollouts") or {}
    return (
        status.get("stage") == stage
        and rollouts.get("completed", 0) >= 1
        and rollouts.get("running", 0) >= 1
    )


@pytest.mark.parametrize(
    ("part", "stage"),
    [
        ("rollout-0", "collect"),
        ("gpu-0", "collect"),
        ("redis", "collect"),
        ("policy-0", "agentic"),
        ("learner-0", "agentic"),
    ],
)
def test_one_process_is_killed(part: str, stage: str, tmp_path: Path) -> None:
    with LocalRun(SHORT, tmp_path / "run", *ARGUMENTS) as run:
        until(f"rollouts of {stage} are under way", lambda: stage_at_work(run, stage), 180)
        run.kill(part)
        until(f"{part} is restarted", lambda: run.restarts(part) == 1, 60)
        assert run.wait(300) == 0, run.tail()
        check_complete(run)
        summary = run.summary()
        assert summary["reissued"] == summary["infrastructure_failures"]
        if part == "rollout-0":
            assert summary["infrastructure_failures"] >= 1
        if part == "learner-0":
            assert "continuing from a checkpoint" in run.log_of(part)


def test_a_sandbox_at_work_is_killed(tmp_path: Path) -> None:
    with LocalRun(SHORT, tmp_path / "run", *ARGUMENTS) as run:
        until("a rollout has been delivered", lambda: run.completed() >= 1, 120)
        pid = until("a sandbox is at work", run.pid_of_busy_sandbox, 60)
        os.kill(pid, signal.SIGKILL)
        assert run.wait(300) == 0, run.tail()
        check_complete(run)
        summary = run.summary()
        assert summary["infrastructure_failures"] == summary["reissued"] == 1


def test_the_controller_is_killed_and_the_run_resumes(tmp_path: Path) -> None:
    with LocalRun(SHORT, tmp_path / "run", *ARGUMENTS) as run:
        until("a rollout has been delivered", lambda: run.completed() >= 1, 120)
        before = run.run_json()["run_uid"]
        controller = run.controller()
        assert controller is not None
        killed = time.monotonic()
        os.kill(controller, signal.SIGKILL)
        assert run.wait(10) != 0
        run.expect_nothing_left(killed + 10 - time.monotonic())
        run.start("--resume")
        assert run.wait(300) == 0, run.tail()
        assert run.run_json()["run_uid"] == before
        check_complete(run)


def test_an_interrupt_ends_everything_in_order(tmp_path: Path) -> None:
    with LocalRun(SHORT, tmp_path / "run", *ARGUMENTS) as run:
        until("a rollout has been delivered", lambda: run.completed() >= 1, 120)
        assert run.process is not None
        run.process.send_signal(signal.SIGINT)
        assert run.wait(60) == 0, run.tail()
        run.expect_nothing_left(5)
        run.start("--resume")
        assert run.wait(300) == 0, run.tail()
        check_complete(run)
