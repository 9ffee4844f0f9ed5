"""Documents: helm commands work with their flags, alerts have runbooks, tables add up."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from render import OPTIONAL, ROOT, helm, parse

DOCUMENTS = ("docs/OPERATIONS.md", "charts/swage/README.md", "manifests/README.md")


def commands(program: str) -> list[list[str]]:
    """Lines of fenced blocks that start with the program."""
    found = []
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for block in re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines = [line for line in block.splitlines() if line.startswith(f"{program} ")]
            found += [shlex.split(line) for line in lines]
    return found


@pytest.mark.parametrize("argv", commands("helm"), ids=" ".join)
def test_a_helm_command_of_the_documents_works(argv: list[str]) -> None:
    verb, flags = argv[1], argv[2:]
    if verb in ("install", "upgrade"):
        gone = ("--create-namespace", "--reset-then-reuse-values")
        flags = [flag for flag in flags if flag not in gone]
        flags = ["template", *flags, "--api-versions", OPTIONAL]
    else:
        flags = [verb, "--help", *flags]  # knows every flag, or says so
    done = subprocess.run([helm(), *flags], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    (rules,) = parse((ROOT / "dashboards" / "alerts.yaml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    runbooks = (ROOT / "docs" / "OPERATIONS.md").read_text().partition("# Alerts\n")[2]
    assert set(re.findall(r"^## (\w+)$", runbooks, re.MULTILINE)) == alerts


def test_the_sizing_table_is_right() -> None:
    text = (ROOT / "docs" / "OPERATIONS.md").read_text()
    for gpus, warm, cores, memory in ((8, 16, 40, "120 GiB"), (32, 64, 160, "480 GiB"),
                                      (128, 64, 544, "1.6 TiB")):  # fmt: skip
        sandboxes = 8 * gpus + warm
        assert sandboxes / 2 == cores
        gib = sandboxes * 1.5
        assert memory == (f"{gib:.0f} GiB" if gib < 1000 else f"{gib / 1024:.1f} TiB")
        assert f"{cores} cores, {memory}" in text
