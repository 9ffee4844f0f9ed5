"""Each kernel of the teacher is what it was written as: wrong, slow, faster than eager, fast.

Whether it is right is asked of every kernel of one task in each `make test`. How fast it came out
is a matter of the machine and of what else it does, so tiers belong to the slow tests, once each;
`tests/bench/tiers.py` asks 20 times and writes down how often.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from teacher import TASKS, earned, judged_right, lay_solution, task_names, variants_of
from test_judge_command import records

SHORT = ("gelu",)


def of_all_tasks() -> list[object]:
    return [
        pytest.param(task, marks=() if task in SHORT else pytest.mark.slow) for task in task_names()
    ]


def verdict_of(task: str, variant: str, directory: Path) -> dict[str, Any]:
    lay_solution(task, variant, directory / variant)
    _, (verdict,) = records("--task", TASKS / task / "model.py", "--solution", directory / variant)
    return verdict


@pytest.mark.parametrize("task", of_all_tasks())
def test_every_variant_is_right_or_wrong_as_it_was_written(task: str, tmp_path: Path) -> None:
    variants = variants_of(task)
    assert {"wrong", "slow", "fast"} <= set(variants)
    for variant in variants:
        verdict = verdict_of(task, variant, tmp_path)
        assert judged_right(variant, verdict), (variant, verdict)


@pytest.mark.slow
@pytest.mark.parametrize("task", task_names())
def test_every_variant_earns_its_tier(task: str, tmp_path: Path) -> None:
    for variant in variants_of(task):
        verdict = verdict_of(task, variant, tmp_path)
        assert earned(variant, verdict), (variant, verdict)
