"""Watches get_inputs() and describes each tensor it returns as a recipe that the judge can follow.

A tensor made by one factory call and scalar affine steps has a recipe; any other is opaque. The
judge compares drawn values before it trusts a recipe.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Law = dict[str, float | str]
Arguments = tuple[Any, ...]


def _uniform(low: float, high: float) -> Law:
    return {"law": "uniform", "a": min(low, high), "b": max(low, high)}


def _normal(mean: float, deviation: float) -> Law:
    return {"law": "normal", "a": mean, "b": abs(deviation)}


def _randint(args: Arguments) -> Law | None:
    bounds = [value for value in args if isinstance(value, int)]
    low, high = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    return {"law": "randint", "a": low, "b": high}


_FACTORIES: dict[str, Callable[[Arguments], Law | None]] = {
    "aten.rand.default": lambda _: _uniform(0.0, 1.0),
    "aten.randn.default": lambda _: _normal(0.0, 1.0),
    "aten.rand_like.default": lambda _: _uniform(0.0, 1.0),
    "aten.randn_like.default": lambda _: _normal(0.0, 1.0),
    "aten.randint.default": _randint,
    "aten.randint.low": _randint,
    "aten.randperm.default": lambda args: {"law": "perm", "a": 0, "b": args[0]},
    "aten.zeros.default": lambda _: {"law": "const", "a": 0.0, "b": 0.0},
    "aten.ones.default": lambda _: {"law": "const", "a": 1.0, "b": 0.0},
    "aten.full.default": lambda args: {"law": "const", "a": float(args[1]), "b": 0.0},
}
_KEEP = {
    "aten.view.default", "aten._unsafe_view.default", "aten.transpose.int", "aten.permute.default",
    "aten.t.default", "aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.default",
    "aten.clone.default", "aten.detach.default", "aten.alias.default", "aten.lift_fresh.default",
    "aten._to_copy.default", "aten.reshape.default",
}  # fmt: skip


def _affine(law: Law, scale: float, shift: float) -> Law | None:
    a, b = float(law["a"]), float(law["b"])
    if law["law"] == "uniform":
        return _uniform(a * scale + shift, b * scale + shift)
    if law["law"] == "normal":
        return _normal(a * scale + shift, b * scale)
    if law["law"] == "const":
        return {"law": "const", "a": a * scale + shift, "b": 0.0}
    return None


def _scalar(args: Arguments) -> float | None:
    value = args[1] if len(args) > 1 else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _arithmetic(name: str, law: Law, args: Arguments) -> Law | None:
    value = _scalar(args)
    if value is None or len(args) > 2:
        return None
    steps: dict[str, Callable[[float], tuple[float, float]]] = {
        "add": lambda v: (1.0, v),
        "sub": lambda v: (1.0, -v),
        "rsub": lambda v: (-1.0, v),
        "mul": lambda v: (v, 0.0),
        "div": lambda v: (1.0 / v if v else float("nan"), 0.0),
    }
    step = steps.get(name.removesuffix("_"))
    if step is None:
        return None
    return _affine(law, *step(value))


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Active while get_inputs() runs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._laws: dict[int, Law | None] = {}
        self._kept: list[torch.Tensor] = []  # so that no id is given out twice

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
        args: Arguments = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self._laws[id(made)] = self._law(str(func), args, made)
            self._kept.append(made)
        return made

    def _law(self, name: str, args: Arguments, made: torch.Tensor) -> Law | None:
        if name in _FACTORIES:
            return _FACTORIES[name](args)
        first = args[0] if args else None
        law = self._laws.get(id(first))
        if law is None or not isinstance(first, torch.Tensor):
            return self._filled(name, args, made)
        if name in _KEEP:
            integral = not made.dtype.is_floating_point
            whole = not first.dtype.is_floating_point or law["law"] == "const"
            same = made.numel() == first.numel() and (whole or not integral)
            return law if same else None
        filled = self._filled(name, args, made)
        return filled or _arithmetic(name.split(".")[1], law, args)

    @staticmethod
    def _filled(name: str, args: Arguments, made: torch.Tensor) -> Law | None:
        numbers = [float(value) for value in args[1:] if isinstance(value, int | float)]
        if name == "aten.uniform_.default" and made.is_contiguous():
            low, high = numbers if len(numbers) == 2 else (0.0, 1.0)
            return _uniform(low, high)
        if name == "aten.normal_.default" and made.is_contiguous():
            mean, deviation = numbers if len(numbers) == 2 else (0.0, 1.0)
            return _normal(mean, deviation)
        return None

    def law_of(self, tensor: torch.Tensor) -> Law | None:
        """The recipe of a tensor that get_inputs() returned, or nothing."""
        return self._laws.get(id(tensor))
