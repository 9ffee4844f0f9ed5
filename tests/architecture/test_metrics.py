"""Code, table, dashboard and alert rules name the same metrics."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "dashboards")]

import make_training  # noqa: E402
import metrics_table  # noqa: E402

NAME = re.compile(r"\bswage_[a-z0-9_]+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def unknown(expressions: list[str]) -> set[str]:
    """Names in PromQL that no code registers."""
    known = {metric.name for metric in metrics_table.registered()}
    used = {name for expression in expressions for name in NAME.findall(expression)}
    return {name for name in used if name not in known and SUFFIX.sub("", name) not in known}


def test_the_table_is_what_the_code_says() -> None:
    assert metrics_table.PAGE.read_text() == metrics_table.page(), "run tools/metrics_table.py"


def test_the_dashboard_is_what_its_generator_writes() -> None:
    assert make_training.OUT.read_text() == make_training.text(), "run dashboards/make_training.py"


def test_every_panel_has_a_unit_and_a_sentence_and_asks_for_metrics_that_exist() -> None:
    panels = json.loads(make_training.OUT.read_text())["panels"]
    for panel in panels:
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["description"].endswith("."), panel["title"]
    assert not unknown([target["expr"] for panel in panels for target in panel["targets"]])


def test_every_alert_asks_for_metrics_that_exist() -> None:
    text = (ROOT / "dashboards" / "alerts.yaml").read_text()
    assert not unknown(re.findall(r"expr: >-\n((?:\s{10}.*\n)+)", text))


def test_the_rule_fires_for_a_metric_that_nobody_registers() -> None:
    assert unknown(["rate(swage_no_such_total[5m])"]) == {"swage_no_such_total"}


def promised_actions(text: str) -> set[str]:
    """What a text for operators says that a guardrail does by itself."""
    words = {
        "rollback": r"\brolls? back\b|(?<!helm )\brollback",
        "pause": r"\bpauses?\b|\bpaused\b",
    }
    return {action for action, word in words.items() if re.search(word, text)}


def test_operators_are_promised_only_actions_that_the_learner_counts() -> None:
    code = (ROOT / "learner" / "adapters" / "learner_metrics.cpp").read_text()
    counted = set(re.findall(r'\{"action", "(\w+)"\}', code))
    assert counted == {"pause"}
    for name in ("dashboards/alerts.yaml", "dashboards/training.json", "docs/OPERATIONS.md"):
        assert promised_actions((ROOT / name).read_text()) <= counted, name


def test_the_promise_rule_fires() -> None:
    assert promised_actions("the learner rolls back by itself") == {"rollback"}
    assert promised_actions("the guardrail pauses the run") == {"pause"}
    assert promised_actions("a rollout begins") == set()


@pytest.mark.parametrize(
    "command",
    [
        ["promtool", "check", "rules", "dashboards/alerts.yaml"],
        ["promtool", "test", "rules", "tests/alerts/training.yaml"],
    ],
)
def test_promtool_agrees(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
