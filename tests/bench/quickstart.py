#!/usr/bin/env python3
"""Runs the quickstart and says how long it took and how much memory it had at its peak.

    tests/bench/quickstart.py [--out DIR]

Prints lines for docs/BENCHMARKS.md: seconds by stage, the rewards, the peak of the memory of all
processes together (proportional set size, looked at each second) and who held it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "system"))
from harness import LocalRun  # noqa: E402


def proportional_kib(pid: int) -> int:
    """Memory of one process with its share of shared pages; 0: it has gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def name_of(argv: list[str]) -> str:
    program = Path(argv[0]).name if argv else "?"
    return "model hosts" if "python" in program else program


def held_now(run: LocalRun) -> Counter[str]:
    held: Counter[str] = Counter()
    for pid, argv in run.look().items():
        held[name_of(argv)] += proportional_kib(pid)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench-quickstart")
    asked = parser.parse_args()
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    most: Counter[str] = Counter()
    began = time.monotonic()
    arguments = ("--evaluation-rollouts", "16")
    with LocalRun(ROOT / "examples" / "quickstart.yaml", asked.out, *arguments) as run:
        assert run.process is not None
        while run.process.poll() is None:
            most = max(most, held_now(run), key=lambda held: held.total())
            time.sleep(1)
        seconds = time.monotonic() - began
        if run.process.returncode != 0:
            sys.exit(run.tail())
    summary = json.loads((asked.out / "summary.json").read_text())
    print(f"wall: {seconds:.0f} s")
    for stage in summary["stages"]:
        print(f"  {json.dumps(stage)}")
    print(f"reward: {summary['reward_after_rft']} after RFT, {summary['reward_final']} at the end")
    print(f"verdicts: {json.dumps(summary['verdicts'])}")
    print(f"lost and re-issued: {summary['infrastructure_failures']}")
    print(f"peak memory: {most.total() / 2**20:.2f} GiB")
    for name, kib in most.most_common():
        print(f"  {kib / 2**10:7.0f} MiB  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
