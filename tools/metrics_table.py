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
NUMBERS = re.compile(r"\{((?:\s*-?[\d.]+\s*,?)+)\}")
SECONDS = "seconds_buckets()"
# What the design names and no code measures yet, with the reason.
NOT_YET = {
    "swage_controller_workqueue_depth": "a keeper for each object takes the place of a work queue",
    "swage_k8s_requests_total": "the Kubernetes client has no metrics yet",
    "swage_k8s_watch_restarts_total": "the Kubernetes client has no metrics yet",
    "swage_learner_mfu_ratio": "a share of the device's peak arithmetic, which no CPU states",
    "swage_pool_scale_events_total": "the keeper of a pool has no metrics yet",
}


class Metric(NamedTuple):
    """One family: where it is registered, what it is, and the labels that its call names."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...]
    component: str
    buckets: str  # upper bounds of a histogram, ascending, without +Inf; else empty


def call_rest(text: str, begin: int) -> str:
    """What follows the help text inside the call's parentheses."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    return ""


def buckets_in(rest: str, seconds: str) -> str:
    """The upper bounds that a histogram's call gives: a list of numbers, or the usual seconds."""
    if rest.lstrip(", \n").startswith(SECONDS):
        return seconds
    found = NUMBERS.search(rest)
    return ", ".join(re.findall(r"-?[\d.]+", found[1])) if found else ""


def usual_seconds() -> str:
    text = (ROOT / "common" / "metrics" / "metrics.cpp").read_text()
    return buckets_in(text[text.index(SECONDS) + len(SECONDS) :], "")


def metrics_in(source: str, text: str) -> list[Metric]:
    component = source.split("/")[0]
    seconds = usual_seconds()
    out = []
    for found in CALL.finditer(text):
        words = "".join(re.findall(r'"([^"]*)"', found[3]))
        rest = call_rest(text, found.end())
        labels = tuple(sorted(set(LABEL.findall(rest))))
        buckets = buckets_in(rest, seconds) if found[1] == "histogram" else ""
        out.append(Metric(found[2], found[1], words.rstrip("."), labels, component, buckets))
    return out


def calls() -> list[Metric]:
    """Every call that registers a metric, in the order of the files."""
    done = subprocess.run(
        ["git", "ls-files", "--", "*.cpp", "*.hpp"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    sources = [
        source
        for source in done.stdout.split()
        if not source.startswith(("tests/", "common/")) and (ROOT / source).exists()
    ]
    return [m for source in sources for m in metrics_in(source, (ROOT / source).read_text())]


def registered() -> list[Metric]:
    """Every metric of the code, by name; labels of several calls are joined."""
    merged: dict[str, Metric] = {}
    for metric in calls():
        known = merged.get(metric.name)
        labels = tuple(sorted({*metric.labels, *(known.labels if known else ())}))
        merged[metric.name] = metric._replace(labels=labels)
    return [merged[name] for name in sorted(merged)]


def conflicts(metrics: list[Metric]) -> list[str]:
    """Where one name means two things: two components, kinds, help texts or lists of buckets."""
    first: dict[str, Metric] = {}
    out = []
    for metric in metrics:
        known = first.setdefault(metric.name, metric)
        if known._replace(labels=()) != metric._replace(labels=()):
            out.append(f"{metric.name}: {known} and {metric}")
    return out


def page() -> str:
    lines = [
        "# Metrics",
        "Made by `tools/metrics_table.py` from the code; a test keeps it true. Every learner,",
        "rollout and policy series also carries the label `run`. Buckets are upper bounds;",
        "`+Inf` is always the last.",
        "",
        "| metric | type | labels | of | meaning | buckets |",
        "|---|---|---|---|---|---|",
    ]
    for metric in registered():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(
            f"| `{metric.name}` | {metric.kind} | {labels} | {metric.component} | {metric.text} "
            f"| {metric.buckets} |"
        )
    lines += ["", "Named by the design and not measured yet:", "", "| metric | why |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in sorted(NOT_YET.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
