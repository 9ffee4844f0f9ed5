#!/usr/bin/env python3
"""Judges every teacher variant of the built-in tasks many times: which tier does it earn?

    tests/bench/tiers.py [--times 20] [--variant fast] [TASK ...]

Prints a table for docs/BENCHMARKS.md: verdicts by code and tier, the median ratio to
torch.compile. Exit code 1 when a variant did not earn what it was written for every time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from harness import BIN
from teacher import TASKS, earned, lay_solution, task_names, variants_of


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
    good = True
    print("| task | variant | verdicts | candidate / compile |\n|---|---|---|---|", flush=True)
    for task in asked.tasks or task_names():
        for variant in variants_of(task):
            if asked.variant and variant not in asked.variant:
                continue
            verdicts = judge(task, variant, asked.times)
            print(row(task, variant, verdicts), flush=True)
            good = good and all(earned(variant, verdict) for verdict in verdicts)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
