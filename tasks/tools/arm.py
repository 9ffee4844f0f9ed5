"""One arm of a measurement: a process that runs eager, torch.compile or a candidate when told.

Arms are forked from a process that has imported torch and probed the vector instructions, but has
run no operator yet (`start_arm`): so a new arm costs a fraction of a second.
"""

from __future__ import annotations

import importlib
import multiprocessing
import multiprocessing.connection
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

FLUSH_BYTES = 64 * 1024 * 1024
ATOL = RTOL = 1e-2
Distortion = Callable[[torch.Tensor], torch.Tensor]


def _sparse(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.rand_like(x) < 0.9, torch.zeros_like(x), x)


# Value ranges are no part of a task's contract: a kernel must stand all of these.
DISTORTIONS: dict[str, Distortion] = {
    "shift100": lambda x: x + 100,
    "scale1e3": lambda x: x * 1e3,
    "scale1e-3": lambda x: x * 1e-3,
    "lognormal": lambda x: x.exp(),
    "sparse": _sparse,
    "constant": lambda x: torch.full_like(x, 0.7),
    "sorted": lambda x: x.sort(dim=-1).values,
    "plus80": lambda x: torch.full_like(x, 80) + x * 0.1,
    "minus80": lambda x: torch.full_like(x, -80) + x * 0.1,
    "denormal": lambda x: x * 1e-41,
}


def _distort(inputs: list[Any], change: Distortion) -> list[Any]:
    return [change(x) if x.is_floating_point() else x for x in inputs]


def _leaves(output: torch.Tensor | Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    return [output] if isinstance(output, torch.Tensor) else list(output)


@dataclass(frozen=True)
class ArmSpec:
    """What an arm runs: role is eager, compile or candidate; workspace only for a candidate."""

    name: str
    role: str
    model: Path
    core: int
    workspace: Path | None = None
    cpu_time: bool = False  # count the thread's CPU time instead of the clock's


class _Runner:
    """Holds the module of one arm, inside the forked process."""

    def __init__(self, spec: ArmSpec) -> None:
        os.sched_setaffinity(0, {spec.core})
        torch.set_num_threads(1)
        self._now = time.thread_time_ns if spec.cpu_time else time.perf_counter_ns
        self._space = runpy.run_path(str(spec.model))
        torch.manual_seed(7)
        init = self._space["get_init_inputs"]()
        self._eager = self._space["Model"](*init).eval()
        self._module: Callable[..., Any] = self._eager
        if spec.role == "compile":
            self._module = torch.compile(self._eager, dynamic=False)
        if spec.role == "candidate":
            sys.path.insert(0, str(spec.workspace))
            module = importlib.import_module("model_new").ModelNew(*init).eval()
            module.load_state_dict(self._eager.state_dict())
            self._module = module
        self._flush = torch.empty(FLUSH_BYTES // 4)
        self._held: Any = None

    def call(self, seed: int) -> float:
        """Milliseconds of one cold call on fresh inputs."""
        torch.manual_seed(seed)
        inputs = self._space["get_inputs"]()
        self._flush.fill_(float(seed))
        begin = self._now()
        output = self._module(*inputs)
        spent = self._now() - begin
        self._held = output
        return spent / 1e6

    def check(self, seed: int) -> dict[str, float]:
        """Largest error in units of the gate (below 1 passes), per input distribution."""
        torch.manual_seed(seed)
        inputs = self._space["get_inputs"]()
        errors = {"given": self._error(inputs)}
        for name, change in DISTORTIONS.items():
            errors[name] = self._error(_distort(inputs, change))
        return errors

    def _error(self, inputs: list[Any]) -> float:
        pairs = zip(_leaves(self._module(*inputs)), _leaves(self._eager(*inputs)), strict=True)
        worst = 0.0
        for got, want in pairs:
            limit = ATOL + RTOL * want.abs()
            gap = (got - want).abs() / limit
            same = (got == want) | (got.isnan() & want.isnan())
            gap = torch.where(same, torch.zeros_like(gap), gap)
            worst = max(worst, float(gap.nan_to_num(nan=1e9, posinf=1e9).max()))
        return worst


def _serve(spec: ArmSpec, pipe: multiprocessing.connection.Connection) -> None:
    runner = _Runner(spec)
    pipe.send("ready")
    with torch.no_grad():
        while (ask := pipe.recv()) is not None:
            operation, seed = ask
            pipe.send(runner.call(seed) if operation == "call" else runner.check(seed))


class Arm:
    """Handle of a running arm and the times of its counted calls. close() ends the process."""

    def __init__(self, spec: ArmSpec) -> None:
        self.spec = spec
        self.times: list[float] = []
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(spec, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()  # EOFError: the arm could not start, its traceback is on stderr

    def call(self, seed: int) -> float:
        self._pipe.send(("call", seed))
        return float(self._pipe.recv())

    def check(self, seed: int) -> dict[str, float]:
        self._pipe.send(("check", seed))
        errors: dict[str, float] = self._pipe.recv()
        return errors

    def median(self) -> float:
        return statistics.median(self.times)

    def close(self) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join()


def prepare_zygote() -> None:
    """Does once what every arm would do first. No operator may run before the forks."""
    import torch._dynamo
    import torch._inductor.cpu_vec_isa

    torch._inductor.cpu_vec_isa.pick_vec_isa()
