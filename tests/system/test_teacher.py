"""Each kernel of the teacher earns what it was written for: wrong, slow, faster than eager, fast.

Once each; `tests/bench/tiers.py` asks 20 times and writes down how often.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from teacher import TASKS, earned, lay_solution, task_names, variants_of
from test_judge_command import records

SHORT = ("gelu",)


def of_all_tasks() -> list[object]:
    return [
        pytest.param(task, marks=() if task in SHORT else pytest.mark.slow) for task in task_names()
    ]


@pytest.mark.parametrize("task", of_all_tasks())
def test_every_variant_earns_its_tier(task: str, tmp_path: Path) -> None:
    variants = variants_of(task)
    assert {"wrong", "slow", "fast"} <= set(variants)
    for variant in variants:
        lay_solution(task, variant, tmp_path / variant)
        _, (verdict,) = records(
            "--task", TASKS / task / "model.py", "--solution", tmp_path / variant
        )
        assert earned(variant, verdict), (variant, verdict)
