"""The chart rendered, as objects."""

from __future__ import annotations

import copy
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chart
import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]

Object = dict[str, Any]
# What a cluster with the Prometheus operator and KEDA serves.
MONITORING = ("ServiceMonitor", "PodMonitor", "PrometheusRule")
OPTIONAL = ",".join(f"monitoring.coreos.com/v1/{kind}" for kind in MONITORING)
OPTIONAL += ",keda.sh/v1alpha1/ScaledObject"
CASES = ["", *(file.name for file in sorted((chart.CHART / "ci").glob("*-values.yaml")))]


def helm() -> str:
    program = chart.helm()
    if program is None:
        pytest.skip("no helm: make cluster-up builds one")
    return program


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([helm(), *arguments], capture_output=True, text=True, check=False)


def template(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("template", "swage", str(chart.CHART), "--namespace", "swage", *arguments)


def parse(text: str) -> list[Object]:
    return [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]


def render(case: str, *arguments: str) -> list[Object]:
    """Every object of one file of ci/ (or of the defaults), hooks and tests included."""
    return copy.deepcopy(rendered(case, *arguments))


@functools.cache
def rendered(case: str, *arguments: str) -> list[Object]:
    chosen = ["--values", str(chart.CHART / "ci" / case)] if case else []
    done = template(*chosen, "--api-versions", OPTIONAL, *arguments)
    assert done.returncode == 0, done.stderr
    return parse(done.stdout)


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    return [one for one in objects if one["kind"] in kinds]


def named(objects: list[Object], kind: str, name: str, namespace: str = "swage") -> Object:
    (found,) = (
        one
        for one in of_kind(objects, kind)
        if one["metadata"]["name"] == name and one["metadata"].get("namespace") == namespace
    )
    return found


def pods(objects: list[Object]) -> Iterator[tuple[str, Object]]:
    """(name, pod spec) of everything that makes pods."""
    for one in objects:
        if one["kind"] == "Pod":
            yield one["metadata"]["name"], one["spec"]
        elif "template" in one.get("spec", {}):
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def is_hook(one: Object) -> bool:
    return "helm.sh/hook" in one["metadata"].get("annotations", {})
