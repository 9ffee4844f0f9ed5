"""Draws a run's steps.csv as reward.png: the mean reward of each optimiser step, and the length."""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def read(path: Path) -> tuple[list[int], list[float], list[float]]:
    """Step numbers, mean rewards and mean lengths of the agentic stage, in order."""
    steps, rewards, lengths = [], [], []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row.get("stage") != "agentic" or not row.get("reward_mean"):
                continue
            steps.append(int(row["step"]))
            rewards.append(float(row["reward_mean"]))
            lengths.append(float(row.get("length_mean") or "nan"))
    return steps, rewards, lengths


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: reward_plot.py steps.csv reward.png", file=sys.stderr)
        return 64
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps, rewards, lengths = read(Path(sys.argv[1]))
    figure, left = pyplot.subplots(figsize=(8, 4.5), dpi=120)
    left.plot(steps, rewards, marker="o", color="tab:blue", label="mean reward")
    left.set_xlabel("PPO step")
    left.set_ylabel("mean reward of the batch (-1 … 3)")
    left.set_ylim(-1.1, 3.1)
    left.grid(alpha=0.3)
    right = left.twinx()
    right.plot(steps, lengths, linestyle=":", color="tab:grey", label="mean length")
    right.set_ylabel("mean trajectory length (tokens)")
    figure.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
