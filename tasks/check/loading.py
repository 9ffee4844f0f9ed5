"""Loads a task file (KernelBench format) and runs its model in eager mode."""

from __future__ import annotations

import importlib.util
import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


class TaskError(Exception):
    """The file is no admissible task. code: one of the reason codes of README.md."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Task:
    """The three names a task file must define."""

    model: type[torch.nn.Module]
    get_inputs: Callable[[], Sequence[Any]]
    get_init_inputs: Callable[[], Sequence[Any]]


def explain(error: BaseException, file: Path) -> str:
    """`file:line: Type: text`, the line being the innermost one inside the file."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}: {error.msg}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    place = f"{file}:{lines[-1]}" if lines else str(file)
    return f"{place}: {type(error).__name__}: {error}"


def _import(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("task_model", file)
    if spec is None or spec.loader is None:
        raise TaskError("import_failed", f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        remedy = (
            "; install it, or import only torch and the standard library"
            if isinstance(error, ImportError)
            else ""
        )
        raise TaskError("import_failed", explain(error, file) + remedy) from error
    return module


def load(file: Path) -> Task:
    """Imports the file and takes its three names. Raises TaskError."""
    module = _import(file)
    model = getattr(module, "Model", None)
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        raise TaskError("no_model", f"{file}: define class Model(nn.Module)")
    functions = []
    for name in ("get_inputs", "get_init_inputs"):
        function = getattr(module, name, None)
        if not callable(function):
            raise TaskError(f"no_{name}", f"{file}: define {name}() that returns a list")
        functions.append(function)
    return Task(model, functions[0], functions[1])


def build(task: Task, file: Path, seed: int) -> torch.nn.Module:
    """A model in evaluation mode, its weights drawn under `seed`. Raises TaskError."""
    torch.manual_seed(seed)
    try:
        return task.model(*task.get_init_inputs()).eval()
    except Exception as error:
        raise TaskError("init_failed", explain(error, file)) from error


def draw_inputs(task: Task, file: Path, seed: int) -> list[Any]:
    """The inputs that get_inputs() makes under `seed`. Raises TaskError."""
    torch.manual_seed(seed)
    try:
        inputs = list(task.get_inputs())
    except Exception as error:
        raise TaskError("inputs_failed", explain(error, file)) from error
    if not any(isinstance(value, torch.Tensor) for value in inputs):
        raise TaskError("inputs_failed", f"{file}: get_inputs() returns no tensor")
    return inputs


def _place_of_forward(model: torch.nn.Module, file: Path) -> str:
    """`file:line` where the model's class defines forward; the file alone if it is not there."""
    code = getattr(inspect.unwrap(type(model).forward), "__code__", None)
    if code is None or code.co_filename != str(file):
        return str(file)
    return f"{file}:{code.co_firstlineno}"


def forward(model: torch.nn.Module, inputs: Sequence[Any], file: Path) -> list[torch.Tensor]:
    """The output tensors of one eager call. Raises TaskError."""
    try:
        output = model(*inputs)
    except Exception as error:
        raise TaskError("eager_failed", explain(error, file)) from error
    leaves = list(output) if isinstance(output, (tuple, list)) else [output]
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        kinds = ", ".join(type(leaf).__name__ for leaf in leaves) or "nothing"
        raise TaskError(
            "no_tensor_output",
            f"{_place_of_forward(model, file)}: forward returns {kinds}, not tensors; "
            "return a tensor or a tuple of them",
        )
    if sum(leaf.numel() for leaf in leaves) == 0:
        raise TaskError(
            "no_tensor_output",
            f"{_place_of_forward(model, file)}: forward returns empty tensors; "
            "make get_inputs() draw larger ones",
        )
    return leaves
