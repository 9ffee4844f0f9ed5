#!/usr/bin/env python3
"""Judges every teacher variant of the built-in tasks many times: which tier does it earn?

    tests/bench/tiers.py [--times 20] [--variant fast] [TASK ...]

Prints a table for docs/BENCHMARKS.md: verdicts by code and tier, the median ratio to
torch.compile, and the seconds that one warm evaluation took. Exit code 1 when a fast variant did
not earn tier 3 every time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SWAGE_BIN_DIR", ROOT / "build" / "dev" / "bin"))
TASKS = ROOT / "tasks" / "builtin-cpu"


def lay_solution(task: str, variant: str, into: Path) -> None:
    """The folder that the teacher leaves behind when it plays this variant."""
    teacher = TASKS / task / "teacher"
    deck = json.loads((teacher / "deck.json").read_text())
    kernel = next(card["kernel"] for card in deck["cards"] if card["variant"] == variant)
    (into / "kernels").mkdir(parents=True)
    shutil.copy(teacher / deck["model_new"], into / "model_new.py")
    shutil.copy(teacher / deck["binding"], into / "kernels" / f"{deck['name']}_binding.cpp")
    shutil.copy(teacher / kernel, into / "kernels" / f"{deck['name']}.cpp")


def judge(task: str, variant: str, times: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        solution = Path(folder) / "solution"
        lay_solution(task, variant, solution)
        done = subprocess.run(
            [BIN / "swage", "judge", "--task", TASKS / task / "model.py", "--solution", solution,
             "--json", "--repeat", str(times)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{task} {variant}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(task: str, variant: str, verdicts: list[dict[str, Any]]) -> str:
    outcomes = Counter(
        f"tier {verdict['tier']}" if verdict["code"] == "ok" else verdict["code"]
        for verdict in verdicts
    )
    ratios = [
        verdict["timing"]["q_compile"]["median"]
        for verdict in verdicts
        if verdict.get("timing", {}).get("q_compile")
    ]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "none"
    text = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    return f"| {task} | {variant} | {text} | {ratio} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="all by default")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--variant", action="append", help="wrong, slow, mid, fast (all)")
    asked = parser.parse_args()
    index = json.loads((TASKS / "index.json").read_text())
    tasks = asked.tasks or [entry["id"] for entry in index]
    good = True
    print("| task | variant | verdicts | candidate / compile |\n|---|---|---|---|", flush=True)
    for task in tasks:
        for variant in asked.variant or ["wrong", "slow", "mid", "fast"]:
            verdicts = judge(task, variant, asked.times)
            print(row(task, variant, verdicts), flush=True)
            if variant == "fast":
                good = good and all(verdict.get("tier") == 3 for verdict in verdicts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
