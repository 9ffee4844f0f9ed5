"""Watches the torch operators that a candidate's forward uses.

An allow-list: a candidate may create tensors and look at them, and its own kernels do the work. The
mode lives in the candidate's process, so a hostile one can take it off; what catches that is the
judge (design judge.md, section 5).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

MAX_CONSTANT = 4096  # bytes of a constant tensor that forward may make

# Prefixes of operator names, up to the first dot.
_CREATE = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
    "zeros", "zeros_like", "new_zeros", "full", "full_like", "new_full",
}  # fmt: skip
_VIEW = {
    "view", "_unsafe_view", "_reshape_alias", "as_strided", "expand", "transpose", "t", "permute",
    "unsqueeze", "squeeze", "slice", "select", "split", "split_with_sizes", "unbind", "unfold",
    "alias", "detach", "diagonal", "narrow", "view_as_real", "view_as_complex",
}  # fmt: skip
_CONSTANT = {"lift_fresh", "scalar_tensor"}


class PolicyError(Exception):
    """Forward used an operator that it may not use; the text names it."""


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Active during one forward; remembers the first operator that is not allowed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.refused: str | None = None

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        if self.refused is None and not allowed(str(func), args):
            self.refused = str(func)
        return func(*args, **(kwargs or {}))


def allowed(name: str, args: tuple[Any, ...]) -> bool:
    """Whether forward may use this operator (`aten.relu.default`) on these arguments."""
    space, _, rest = name.partition(".")
    operator = rest.split(".")[0]
    if space != "aten":
        return space == "prim" and operator == "device"
    if operator in _CONSTANT:
        first = args[0] if args else None
        return not isinstance(first, torch.Tensor) or first.nbytes <= MAX_CONSTANT
    return operator in _CREATE or operator in _VIEW


def watched(model: Callable[..., Any]) -> Callable[..., Any]:
    """The same model, whose calls raise PolicyError after an operator that is not allowed."""

    def run(*args: object) -> object:
        with Watch() as watch:
            result = model(*args)
        if watch.refused is not None:
            raise PolicyError(f"forward used {watch.refused}; a kernel of its own must do the work")
        return result

    return run
