"""A short run: what Prometheus sees while it lives, and what the user sees when it has ended."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import api_schema
import pytest
from harness import BIN, ROOT, TINY_TOKENIZER, LocalRun, RunError, until
from test_faults import ARGUMENTS, EXPECTED, SHORT, check_complete

DASHBOARD = ROOT / "dashboards" / "training.json"


def swage(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "swage"), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def endpoints(run: LocalRun) -> list[str]:
    """Where the processes of a run serve /metrics: the controller and its pods."""
    view = run.api(f"/api/v1/runs/{run.run_json().get('run', '')}") or {}
    pods = view.get("pods") or []
    found = [pod["http"] for pod in pods if pod.get("http")]
    return [run.run_json()["http"], *found] if len(found) >= 4 else []


class Prometheus:
    """A real Prometheus that scrapes these addresses every half second."""

    def __init__(self, folder: Path, targets: list[str], token: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        folder.mkdir()
        config = folder / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
                    "rule_files": [str(ROOT / "dashboards" / "alerts.yaml")],
                    "scrape_configs": [
                        {
                            "job_name": "swage",
                            "authorization": {"credentials_file": str(token)},
                            "static_configs": [{"targets": targets}],
                        }
                    ],
                }
            )
        )
        self.log = folder / "prometheus.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={self.address}",
                ],
                stdout=log,
                stderr=log,
            )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)

    def ask(self, path: str, **query: str) -> dict[str, Any] | None:
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return dict(json.load(answer))
        except OSError as error:
            if hasattr(error, "read"):
                raise RunError(f"{query}: {error.read().decode()}") from error
            return None

    def series(self, expression: str) -> list[Any]:
        answer = self.ask("query", query=expression)
        assert answer is not None and answer["status"] == "success", expression
        return list(answer["data"]["result"])


def expressions() -> list[str]:
    """Every query of the dashboard, for all runs, over a window that a short run fills."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    # Of what need not happen in a run (a guardrail acts), the series that would show it.
    marks = [mark["expr"].removesuffix(" > 0") for mark in dashboard["annotations"]["list"]]
    assert len(marks) >= 2
    found += marks
    return [e.replace("$run", ".*").replace("[5m]", "[10m]") for e in found]


class Seen(NamedTuple):
    """A run that has ended, a Prometheus that has watched it, and what its API said meanwhile."""

    run: LocalRun
    prometheus: Prometheus
    answers: list[tuple[str, api_schema.Answer]]


def logged_rollout(run: LocalRun) -> str | None:
    """A trajectory in the log while another rollout is on its way, so that both are shown."""
    page = run.api(f"/api/v1/runs/{run.run_json()['run']}/rollouts") or {}
    items = page.get("items") or []
    return str(items[0]["rollout_id"]) if items and page.get("live") else None


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("ended")
    with LocalRun(SHORT, folder / "run", *ARGUMENTS) as run:
        targets = until("every process serves metrics", lambda: endpoints(run), 180)
        prometheus = Prometheus(folder / "prometheus", targets, run.out / "secrets" / "token")
        try:
            rollout = until("a trajectory is logged", lambda: logged_rollout(run), 200)
            answers = api_schema.collect(run, rollout)
            assert run.wait(300) == 0, run.tail()
            check_complete(run)
            yield Seen(run, prometheus, answers)
        finally:
            prometheus.stop()


def test_the_api_answers_as_its_document_says(seen: Seen) -> None:
    assert {path for path, _ in seen.answers} == set(api_schema.GETS)
    good = {path for path, answer in seen.answers if answer.status == 200}
    assert good == set(api_schema.GETS)
    refused = {path for path, answer in seen.answers if answer.status == 401}
    assert refused == set(api_schema.SECURED)
    assert {answer.status for _, answer in seen.answers} >= {200, 401, 404, 405, 413}
    complaints = [c for path, answer in seen.answers for c in api_schema.complaints(path, answer)]
    assert not complaints, "\n".join(complaints)


def test_an_answer_that_the_document_does_not_know_is_found(seen: Seen) -> None:
    path, answer = next(pair for pair in seen.answers if pair[0] == "/api/v1/runs/{run}")
    body = json.loads(answer.body)
    for changed in (
        answer._replace(status=418),
        answer._replace(media="text/html"),
        answer._replace(body=json.dumps({**body, "extra": 1})),
        answer._replace(body=json.dumps({k: v for k, v in body.items() if k != "status"})),
        answer._replace(body=json.dumps({**body, "uid": 7})),
        answer._replace(body=json.dumps({**body, "status": {**body["status"], "new": 1}})),
    ):
        assert api_schema.complaints(path, changed), changed.body[:100]


def test_every_query_of_the_dashboard_finds_series(seen: Seen) -> None:
    prometheus = seen.prometheus
    empty = [e for e in expressions() if not prometheus.series(over_time(e))]
    assert empty == []


def over_time(expression: str) -> str:
    """The last value within the run: it has ended, and a plain query sees the present only."""
    return f"last_over_time(({expression})[10m:500ms])"


def test_prometheus_takes_the_alert_rules(seen: Seen) -> None:
    prometheus = seen.prometheus
    answer = prometheus.ask("rules")
    assert answer is not None
    groups = answer["data"]["groups"]
    rules = {rule["name"]: rule for group in groups for rule in group["rules"]}
    assert {"RewardCollapse", "LengthExplosion"} <= {name.removeprefix("Swage") for name in rules}
    assert all(rule["health"] == "ok" for rule in rules.values()), rules


def test_status_shows_the_summary_of_an_ended_run(seen: Seen) -> None:
    run = seen.run
    shown = swage("status", "--out", run.out)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("run short has ended")
    items = json.loads(swage("status", "--json", "--out", run.out).stdout)["items"]
    assert [item["state"] for item in items] == ["succeeded"]
    assert items[0]["summary"] == run.summary()
    other = swage("status", "another", "--out", run.out)
    assert other.returncode == 1
    assert "no run `another`" in other.stderr


def test_show_reads_the_trajectories_of_an_ended_run(seen: Seen) -> None:
    run = seen.run
    ids = run.rollout_ids()
    assert len(ids) == EXPECTED
    listed = swage("show", "--out", run.out)
    assert all(rollout in listed.stdout for rollout in ids)
    one = swage("show", ids[0], "--out", run.out)
    assert one.returncode == 0, one.stderr
    for part in (ids[0], "── prompt", "── turn 1", "── verdict 1", "reward"):
        assert part in one.stdout
    assert json.loads(swage("show", ids[0], "--json", "--out", run.out).stdout)
    absent = swage("show", "no-such-rollout", "--out", run.out)
    assert absent.returncode == 1
    assert str(run.out) in absent.stderr
    assert swage("show", "a b", "--out", run.out).returncode == 64


def test_a_run_does_not_resume_as_another_model(seen: Seen, tmp_path: Path) -> None:
    run = seen.run
    other = tmp_path / "run.yaml"
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "model.safetensors"):
        (model / name).write_text("{}")
    shutil.copy(TINY_TOKENIZER, model / "tokenizer.json")
    other.write_text(SHORT.read_text().replace("scratch:tiny", str(model)))
    before = (run.out / "run.yaml").read_text()
    done = swage("run", other, "--local", "--resume", "--out", run.out)
    assert done.returncode == 64, done.stderr
    assert "spec.model.source is `scratch:tiny`" in done.stderr
    assert "give another --out" in done.stderr
    assert (run.out / "run.yaml").read_text() == before
