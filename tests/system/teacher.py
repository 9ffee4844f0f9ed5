"""What the scripted teacher leaves behind, without playing it: for tests and benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from harness import ROOT

TASKS = ROOT / "tasks" / "builtin-cpu"
# Code and tiers that a kernel of each variant is written for (deck.json names the variants). A mid
# kernel beats eager; that of some tasks beats the compiled reference too.
EARNS = {
    "wrong": ("mismatch", {0}),
    "slow": ("ok", {1}),
    "mid": ("ok", {2, 3}),
    "fast": ("ok", {3}),
}


def judged_right(variant: str, verdict: dict[str, Any]) -> bool:
    """Whether the judge took its results for what they are, however fast they came."""
    wrong = EARNS[variant][0] == "mismatch"
    return verdict["code"] in (("mismatch",) if wrong else ("ok", "timing_unstable"))


def earned(variant: str, verdict: dict[str, Any]) -> bool:
    """Whether a verdict is what this variant was written for."""
    code, tiers = EARNS[variant]
    return verdict["code"] == code and verdict.get("tier", 0) in tiers


def task_names() -> list[str]:
    return [entry["id"] for entry in json.loads((TASKS / "index.json").read_text())]


def deck_of(task: str) -> dict[str, Any]:
    deck: dict[str, Any] = json.loads((TASKS / task / "teacher" / "deck.json").read_text())
    return deck


def variants_of(task: str) -> list[str]:
    """Each variant once, in the order of the deck."""
    return list(dict.fromkeys(card["variant"] for card in deck_of(task)["cards"]))


def lay_solution(task: str, variant: str, into: Path) -> None:
    """Makes the folder that the teacher leaves behind when it plays this variant."""
    deck = deck_of(task)
    teacher = TASKS / task / "teacher"
    kernel = next(card["kernel"] for card in deck["cards"] if card["variant"] == variant)
    (into / "kernels").mkdir(parents=True)
    shutil.copy(teacher / deck["model_new"], into / "model_new.py")
    shutil.copy(teacher / deck["binding"], into / "kernels" / f"{deck['name']}_binding.cpp")
    shutil.copy(teacher / kernel, into / "kernels" / f"{deck['name']}.cpp")
