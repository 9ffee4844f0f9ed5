"""Values: documented in one place, closed, and every constraint refuses something."""

from __future__ import annotations

import json
import subprocess
import sys

import chart
import pytest
from render import ROOT, parse, template

SCHEMA = json.loads((chart.CHART / "values.schema.json").read_text())
REFUSED = [
    "image.pullPolicy=Sometimes",
    "image.tag=" + "x" * 129,
    "image.pullSecrets={Not_A_Name}",
    "images.redis.digest=sha256:short",
    "images.redis.repository=",
    "global.imageRegistry=",
    "controller.replicas=0",
    "controller.replicas=10",
    "controller.replicas=two",
    "controller.logLevel=loud",
    "controller.evaluationRollouts=-1",
    "controller.evaluationRollouts=100001",
    "controller.terminationGracePeriodSeconds=1",
    "controller.terminationGracePeriodSeconds=601",
    "controller.extraEnv={text}",
    "controller.resources.request.cpu=1",
    "watchNamespaces={Upper}",
    "poolNamespaces=text",
    "sandbox.createRate=0",
    "sandbox.createRate=1001",
    "sandbox.requireNetworkPolicy=perhaps",
    "sandbox.priorityClass.value=-1000001",
    "sandbox.priorityClass.value=1000000001",
    "gpu.pythonHostPath=relative/path",
    "redis.mode=cluster",
    "networkPolicy.dnsNamespace=",
    "metrics.interval=often",
    "autoscaling.mode=hpa",
    "autoscaling.pool=Upper",
    "autoscaling.minReplicas=-1",
    "autoscaling.maxReplicas=0",
    "autoscaling.outstandingPerGpu=0",
    "autoscaling.cooldownSeconds=1",
    "metrics.labels.release=1",
    "affinity.podAffinities.x=1",
    "clusterDomain=",
]


@pytest.mark.parametrize("setting", REFUSED)
def test_a_wrong_value_is_refused_and_named(setting: str) -> None:
    name = setting.partition("=")[0]
    done = template("--set", setting)
    assert done.returncode != 0, f"{setting} was taken"
    assert "don't meet the specifications of the schema" in done.stderr
    last = name.split(".")[-2:]
    assert any(part in done.stderr for part in last), done.stderr


def groups(node: chart.Schema, path: str = "") -> list[str]:
    found = [path]
    for name, child in node["properties"].items():
        if chart.is_group(child):
            found += groups(child, f"{path}.{name}".lstrip("."))
    return found


@pytest.mark.parametrize("group", groups(SCHEMA))
def test_an_unknown_value_is_refused_at_every_level(group: str) -> None:
    done = template("--set", f"{group}.unheardOf=1".lstrip("."))
    assert done.returncode != 0
    assert "unheardOf" in done.stderr


def test_values_and_their_table_follow_from_the_schema() -> None:
    assert list(chart.complaints(SCHEMA)) == []
    values = parse((chart.CHART / "values.yaml").read_text())[0]
    text = (chart.CHART / "README.md").read_text()
    for path, node in chart.leaves(SCHEMA):
        value = values
        for step in path.split("."):
            value = value[step]
        assert value == node["default"], path
        assert f"| `{path}` |" in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"description": None}, "x: no description"),
        ({"default": None}, "x: no default"),
        ({"type": "object"}, "x: additionalProperties must say"),
    ],
)
def test_the_rule_for_the_schema_fires(change: chart.Schema, complaint: str) -> None:
    leaf = {"description": "d", "type": "string", "default": "", **change}
    leaf = {name: value for name, value in leaf.items() if value is not None}
    schema = {"description": "d", "additionalProperties": False, "properties": {"x": leaf}}
    found = list(chart.complaints(schema))
    assert len(found) == 1
    assert found[0].startswith(complaint)


def test_files_made_from_others_are_fresh() -> None:
    """values.yaml, README.md, manifests/install.yaml, and the chart's copies."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "chart.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr + "run `make chart`"
