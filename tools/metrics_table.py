"""Writes docs/METRICS.md from the places in the code that register metrics.

`metrics.counter("swage_…", "help", {{"label", …}})`, and the same for gauges and histograms, is the
one place that says what a metric is. A test compares the page with what this writes.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "METRICS.md"
CALL = re.compile(r'\b(counter|gauge|histogram)\(\s*"(swage_[a-z0-9_]+)",\s*((?:"[^"]*"\s*)+)')
LABEL = re.compile(r'\{\s*"([a-z_]+)",')


class Metric(NamedTuple):
    """One family: where it is registered, what it is, and the labels that its call names."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]
    component: str


def call_rest(text: str, begin: int) -> str:
    """What follows the help text inside the call's parentheses."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    return ""


def metrics_in(source: str, text: str) -> list[Metric]:
    component = source.split("/")[0]
    out = []
    for found in CALL.finditer(text):
        words = "".join(re.findall(r'"([^"]*)"', found[3]))
        labels = tuple(sorted(set(LABEL.findall(call_rest(text, found.end())))))
        out.append(Metric(found[2], found[1], words.rstrip("."), labels, component))
    return out


def registered() -> list[Metric]:
    """Every metric of the code, by name; labels of several calls are joined."""
    done = subprocess.run(
        ["git", "ls-files", "--", "*.cpp", "*.hpp"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    merged: dict[str, Metric] = {}
    for source in done.stdout.split():
        if source.startswith(("tests/", "common/")) or not (ROOT / source).exists():
            continue
        for metric in metrics_in(source, (ROOT / source).read_text()):
            known = merged.get(metric.name)
            labels = tuple(sorted({*metric.labels, *(known.labels if known else ())}))
            merged[metric.name] = metric._replace(labels=labels)
    return [merged[name] for name in sorted(merged)]


def page() -> str:
    lines = [
        "# Metrics",
        "Made by `tools/metrics_table.py` from the code; a test keeps it true. Every learner,",
        "rollout and policy series also carries the label `run`.",
        "",
        "| metric | type | labels | of | meaning |",
        "|---|---|---|---|---|",
    ]
    for metric in registered():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(
            f"| `{metric.name}` | {metric.kind} | {labels} | {metric.component} | {metric.text} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
