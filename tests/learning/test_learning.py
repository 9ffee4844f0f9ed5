"""The loop learns, and not by luck: the reward rises over three seeds, and not without learning.

Slow: four whole runs of the quickstart with 64 evaluation rollouts at both ends, one after the
other, on a machine that does nothing else. The figures go to `learning.json` under the directory
that SWAGE_LEARNING_OUT names (default: build/learning).
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, LocalRun

SEEDS = (1, 2, 3)
EVALUATION_ROLLOUTS = 64
RISE, STILL = 0.8, 0.3
OUT = Path(os.environ.get("SWAGE_LEARNING_OUT", ROOT / "build" / "learning"))

pytestmark = pytest.mark.slow


def training_run(name: str, seed: int, learning: str) -> str:
    """The quickstart with a seed of its own, and more under `learning`."""
    text = (ROOT / "examples" / "quickstart.yaml").read_text()
    changed = text.replace("name: quickstart", f"name: {name}")
    changed = changed.replace("  preset: OneMachine\n", f"  preset: OneMachine\n  seed: {seed}\n")
    changed = changed.replace("  deviceKind: cpu\n  model", f"{learning}  deviceKind: cpu\n  model")
    assert f"seed: {seed}" in changed and name in changed
    return changed


def reward_rise(name: str, seed: int, learning: str = "") -> float:
    """One run; its figures are added to learning.json."""
    OUT.mkdir(parents=True, exist_ok=True)
    file, out = OUT / f"{name}.yaml", OUT / name
    shutil.rmtree(out, ignore_errors=True)
    file.write_text(training_run(name, seed, learning))
    with LocalRun(file, out, "--evaluation-rollouts", str(EVALUATION_ROLLOUTS)) as run:
        assert run.wait(1800) == 0, run.tail()
        summary = run.summary()
    kept: dict[str, Any] = {}
    results = OUT / "learning.json"
    if results.exists():
        kept = json.loads(results.read_text())
    kept[name] = summary
    results.write_text(json.dumps(kept, indent=2) + "\n")
    assert summary["seed"] == seed
    return float(summary["reward_final"]) - float(summary["reward_after_rft"])


def test_the_reward_rises_over_three_seeds() -> None:
    rises = {seed: reward_rise(f"seed-{seed}", seed) for seed in SEEDS}
    print("rise of the mean reward by seed:", rises)
    assert sum(rises.values()) / len(rises) >= RISE, rises


def test_without_learning_rates_the_reward_stands_still() -> None:
    still = "  learning: {actorLearningRate: 0, criticLearningRate: 0}\n"
    assert abs(reward_rise("rates-zero", 1, still)) <= STILL
