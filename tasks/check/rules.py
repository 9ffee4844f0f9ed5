"""The rules that decide whether a task is admissible; each raises TaskError with its code."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from loading import Task, TaskError, build, draw_inputs, forward

ATOL = RTOL = 1e-2  # the gate of a judgement
MIN_EAGER_MS = 1.0
MAX_EAGER_MS = 100.0
TIMED_CALLS = 7

Outputs = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Limits:
    """Bounds on the eager time of one call, milliseconds."""

    min_eager_ms: float = MIN_EAGER_MS
    max_eager_ms: float = MAX_EAGER_MS


def passes_gate(got: Outputs, want: Outputs) -> bool:
    """|got - want| <= 1e-2 + 1e-2 |want| everywhere; a NaN fails, infinities must match."""
    if [leaf.shape for leaf in got] != [leaf.shape for leaf in want]:
        return False
    return all(
        torch.allclose(a.double(), b.double(), rtol=RTOL, atol=ATOL)
        for a, b in zip(got, want, strict=True)
    )


def _copies(inputs: Sequence[Any]) -> list[Any]:
    return [copy.deepcopy(value) for value in inputs]


def _check_finite(outputs: Outputs, file: Path) -> None:
    for leaf in outputs:
        if leaf.is_floating_point() and not bool(torch.isfinite(leaf).all()):
            raise TaskError("nonfinite", f"{file}: the output holds infinities or NaN")


def _check_not_constant(outputs: Outputs, file: Path) -> None:
    flat = [torch.full_like(leaf, float(leaf.double().mean())) for leaf in outputs]
    if passes_gate(flat, outputs):
        raise TaskError("constant_output", f"{file}: a constant output passes as right")


def _check_inputs_kept(
    inputs: Sequence[Any], kept: Sequence[Any], out: Outputs, file: Path
) -> None:
    for i, (value, before) in enumerate(zip(inputs, kept, strict=True)):
        if not isinstance(value, torch.Tensor):
            continue
        if not torch.equal(value, before):
            raise TaskError("input_mutated", f"{file}: forward writes to input {i}")
        place = value.untyped_storage().data_ptr()
        if any(leaf.untyped_storage().data_ptr() == place for leaf in out):
            raise TaskError("input_returned", f"{file}: forward returns input {i} or a view of it")


def _check_each_input_counts(
    model: torch.nn.Module, inputs: list[Any], others: list[Any], out: Outputs, file: Path
) -> None:
    for i, other in enumerate(others):
        if not isinstance(other, torch.Tensor):
            continue
        changed = [*inputs[:i], other, *inputs[i + 1 :]]
        if passes_gate(forward(model, changed, file), out):
            raise TaskError("input_ignored", f"{file}: input {i} does not change the output")


def _disturbed(weight: torch.Tensor) -> torch.Tensor:
    if not weight.is_floating_point():
        return weight
    spread = float(weight.double().std(correction=0)) or 1.0
    return weight * (1 + torch.rand_like(weight)) + spread * torch.randn_like(weight)


def _check_each_weight_counts(
    model: torch.nn.Module, inputs: list[Any], out: Outputs, file: Path
) -> None:
    for name, weight in model.named_parameters():
        before = weight.detach().clone()
        weight.copy_(_disturbed(weight))
        same = passes_gate(forward(model, inputs, file), out)
        weight.copy_(before)
        if same:
            raise TaskError("weight_ignored", f"{file}: weight {name} does not change the output")


def eager_ms(call: Callable[[], Any]) -> float:
    """Median time of a warm call, milliseconds."""
    call()
    times = []
    for _ in range(TIMED_CALLS):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def _check_time(spent: float, limits: Limits, file: Path) -> None:
    if spent < limits.min_eager_ms:
        raise TaskError(
            "too_fast",
            f"{file}: eager takes {spent:.2f} ms, at least {limits.min_eager_ms:g} ms is needed;"
            " enlarge the inputs",
        )
    if spent > limits.max_eager_ms:
        raise TaskError(
            "too_slow",
            f"{file}: eager takes {spent:.1f} ms, at most {limits.max_eager_ms:g} ms is allowed;"
            " reduce the inputs",
        )


def shapes(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Shape and dtype of each tensor, for the report."""
    return [
        {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
        for value in values
        if isinstance(value, torch.Tensor)
    ]


@torch.no_grad()
def admit(task: Task, file: Path, limits: Limits) -> dict[str, Any]:
    """Runs every rule; returns eager_ms, inputs and outputs for the report. Raises TaskError."""
    model, twin = build(task, file, seed=1), build(task, file, seed=1)
    inputs, others = draw_inputs(task, file, seed=2), draw_inputs(task, file, seed=3)
    kept = _copies(inputs)
    torch.manual_seed(4)
    out = forward(model, inputs, file)
    _check_inputs_kept(inputs, kept, out, file)
    _check_finite(out, file)
    for other_model in (model, twin):
        torch.manual_seed(5)
        if not passes_gate(forward(other_model, inputs, file), out):
            raise TaskError("nondeterministic", f"{file}: the same inputs give different outputs")
    _check_not_constant(out, file)
    _check_each_input_counts(model, inputs, others, out, file)
    _check_each_weight_counts(model, inputs, out, file)
    spent = eager_ms(lambda: forward(model, inputs, file))
    _check_time(spent, limits, file)
    return {"eager_ms": round(spent, 3), "inputs": shapes(inputs), "outputs": shapes(out)}
