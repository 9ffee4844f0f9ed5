"""The `swage` command against one short run: stopped before its first trajectory, resumed, watched,
suspended, resumed, shown, and finished. The tests build on each other, in order."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import BIN, LocalRun, until

SHORT = Path(__file__).parent / "short.yaml"
BAD_INPUT, NOT_WRITABLE = 64, 74


def swage(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "swage"), *map(str, arguments)], capture_output=True, text=True, check=False,
        timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


def printed(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a command with --json printed: one JSON object, and nothing else."""
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def interrupt(run: LocalRun) -> None:
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    assert run.wait(60) == 0, run.tail()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    out = tmp_path_factory.mktemp("cli") / "run"
    with LocalRun(SHORT, out, "--evaluation-rollouts", "2", "--json") as run:
        until("the controller serves", lambda: run.run_json().get("http"), 30)
        yield run


def log_of(run: LocalRun) -> Path:
    return run.out.parent / f"{run.out.name}.controller.log"


@pytest.mark.parametrize("words", [["nonsense"], ["tasks", "nonsense"], ["status", "a", "b"]])
def test_a_word_that_nothing_takes_is_refused_with_help_too(words: list[str]) -> None:
    for asked in ([], ["--help"], ["-h"]):
        done = swage(*words, *asked)
        assert done.returncode == BAD_INPUT, done.stdout
        assert done.stdout == ""
    assert words[-1] in done.stderr and "--help" in done.stderr
    for good in ([], words[:-1] if words[0] != "nonsense" else []):
        helped = swage(*good, "--help")
        assert helped.returncode == 0 and "Usage" in helped.stdout


def test_a_stopped_run_prints_only_how_it_stands(run: LocalRun) -> None:
    interrupt(run)
    record = json.loads(run.log_text())
    assert record["state"] == "stopped"
    assert record["exit_code"] == 0
    assert record["run_uid"] == run.run_json()["run_uid"]


def test_a_run_stopped_before_its_first_trajectory_lists_none(run: LocalRun) -> None:
    assert printed(swage("show", "--json", "--out", run.out))["items"] == []
    shown = swage("show", "--out", run.out)
    assert shown.returncode == 0
    assert shown.stdout.startswith("ROLLOUT") and shown.stderr == ""


def test_a_resume_with_another_number_of_evaluations_is_refused(run: LocalRun) -> None:
    before = log_of(run).read_text()
    done = swage("run", "--resume", "--evaluation-rollouts", "64", "--out", run.out)
    assert done.returncode == BAD_INPUT
    assert "--evaluation-rollouts 2, not 64" in done.stderr
    assert len(done.stderr.splitlines()) == 1, "the log of an earlier life is no part of it"
    assert log_of(run).read_text() == before


def test_a_resume_without_the_flags_goes_on_with_the_same_evaluations(run: LocalRun) -> None:
    uid = run.run_json()["run_uid"]
    run.log.unlink()
    run.arguments = [str(BIN / "swage"), "run", "--resume", "--out", str(run.out), "--json"]
    run.start()
    until("a rollout has been delivered", lambda: run.completed() >= 1, 120)
    assert run.run_json()["run_uid"] == uid
    assert run.run_json()["evaluation_rollouts"] == 2
    learner = json.loads((run.out / "pods" / "short-learner-0.conf").read_text())
    assert learner["evaluation_rollouts"] == 2


def test_status_shows_how_long_and_what(run: LocalRun) -> None:
    listed = swage("status", "--out", run.out).stdout
    assert re.search(r"^short +Running +(?!0:00)\d+:\d\d  ", listed), listed
    assert " | length " in listed
    one = swage("status", "short", "--out", run.out).stdout
    assert one.startswith("run short: Running\n")
    assert "short-learner-0" in one
    assert printed(swage("status", "short", "--json", "--out", run.out))["name"] == "short"


def test_another_run_leaves_a_live_one_alone(run: LocalRun) -> None:
    before = run.run_json()
    for arguments in ([SHORT, "--local"], [SHORT, "--local", "--again"], ["--resume"]):
        refused = swage("run", *arguments, "--out", run.out)
        assert refused.returncode == BAD_INPUT
        assert "used by a live controller" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    assert run.run_json() == before
    assert "used by a live controller" not in log_of(run).read_text()


def test_a_suspended_run_goes_on_after_resume(run: LocalRun) -> None:
    def phase() -> str:
        return str(run.status().get("phase"))

    assert printed(swage("suspend", "short", "--json", "--out", run.out)) == {
        "run": "short", "suspended": True,
    }  # fmt: skip
    until("the run is suspended", lambda: phase() == "Suspended", 10)
    assert printed(swage("resume", "short", "--json", "--out", run.out)) == {
        "run": "short", "resumed": True,
    }  # fmt: skip
    until("the run goes on", lambda: phase() == "Running", 10)
    again = swage("resume", "short", "--out", run.out)
    assert again.returncode == 1
    assert "neither paused nor suspended" in again.stderr


def test_a_server_is_asked_with_its_token(run: LocalRun) -> None:
    server = f"http://{run.run_json()['http']}"
    token = (run.out / "secrets" / "token").read_text().strip()
    for wrong in ({}, {"SWAGE_TOKEN": "wrong"}):
        refused = swage("status", "--server", server, **wrong)
        assert refused.returncode == 1
        assert "set SWAGE_TOKEN" in refused.stderr
    assert swage("status", "short", "--server", server, SWAGE_TOKEN=token).returncode == 0
    known = {"SWAGE_TOKEN": token, "SWAGE_SERVER": server}
    items = printed(swage("show", "--json", **known))["items"]
    assert items and all(item["rollout_id"] for item in items)
    one = swage("show", items[0]["rollout_id"], **known)
    assert "── turn 1" in one.stdout, one.stderr


def test_the_built_in_tasks_are_listed(tmp_path: Path) -> None:
    tasks = json.loads(swage("tasks", "list", "--json").stdout)
    assert len(tasks) >= 12
    shown = swage("tasks", "list").stdout
    assert all(task["id"] in shown for task in tasks)
    missing = swage("tasks", "check", tmp_path / "missing.py")
    assert missing.returncode == BAD_INPUT
    assert "no such file" in missing.stderr


@pytest.mark.parametrize("out", ["/dev/null", "/proc/foo/bar", "/proc/bar"])
def test_where_nothing_can_be_written_nothing_is_said_of_space(out: str) -> None:
    done = swage("run", SHORT, "--local", "--out", out)
    assert done.returncode == NOT_WRITABLE, done.stderr
    assert "choose another --out" in done.stderr
    assert "space" not in done.stderr


def test_a_run_ends_with_its_summary_alone(run: LocalRun) -> None:
    assert run.wait(300) == 0, run.tail()
    summary = json.loads(run.log_text())
    assert summary == run.summary()
    assert summary["evaluation_rollouts"] == 2
    assert summary["reward_is"] == "mean of 2 evaluation rollouts"
    shown = swage("status", "--out", run.out).stdout
    assert shown.count("(mean of 2 evaluation rollouts)") == 2


def test_a_finished_run_is_kept_and_moves_aside_when_asked(run: LocalRun) -> None:
    uid = run.run_json()["run_uid"]
    refused = swage("run", SHORT, "--local", "--out", run.out)
    assert refused.returncode == BAD_INPUT
    assert "holds a run already (succeeded)" in refused.stderr
    again = LocalRun(SHORT, run.out, "--again", "--evaluation-rollouts", "3")
    with again:
        until("another run lies there", lambda: again.run_json().get("run_uid", uid) != uid, 30)
        interrupt(again)
    assert f"the finished run in {run.out} is now in {run.out}.1" in again.log_text()
    assert f"`swage run --resume --out {run.out}` goes on" in again.log_text()
    aside = Path(f"{run.out}.1")
    assert json.loads((aside / "run.json").read_text())["run_uid"] == uid
    assert len(printed(swage("show", "--json", "--out", aside))["items"]) == 12
