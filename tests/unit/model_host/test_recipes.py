"""What the recorder recognises in get_inputs(), and what it must not."""

from collections.abc import Callable

import pytest
import torch
from swage_model_host.recipes import Law, Recorder


def law(make: Callable[[], torch.Tensor]) -> Law | None:
    with Recorder() as recorder:
        made = make()
    found: Law | None = recorder.law_of(made)
    return found


def expected(name: str, a: float, b: float) -> Law:
    return {"law": name, "a": a, "b": b}


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: torch.randn(4), expected("normal", 0, 1)),
        (lambda: torch.randn(4) * 2 + 1, expected("normal", 1, 2)),
        (lambda: torch.rand(4), expected("uniform", 0, 1)),
        (lambda: torch.rand(4) * 2 - 1, expected("uniform", -1, 1)),
        (lambda: 1 - torch.rand(4), expected("uniform", 0, 1)),
        (lambda: torch.rand(4) / 4, expected("uniform", 0, 0.25)),
        (lambda: torch.randn(2, 3).t(), expected("normal", 0, 1)),
        (lambda: torch.randn(4).half(), expected("normal", 0, 1)),
        (lambda: torch.randint(0, 9, (4,)), expected("randint", 0, 9)),
        (lambda: torch.randint(3, 9, (4,)), expected("randint", 3, 9)),
        (lambda: torch.randint(9, (4,)).float(), expected("randint", 0, 9)),
        (lambda: torch.randperm(6), expected("perm", 0, 6)),
        (lambda: torch.ones(4) * 3, expected("const", 3, 0)),
        (lambda: torch.full((4,), 2.5), expected("const", 2.5, 0)),
        (lambda: torch.empty(4).uniform_(-2, 2), expected("uniform", -2, 2)),
        (lambda: torch.empty(4).normal_(1, 3), expected("normal", 1, 3)),
    ],
)
def test_a_factory_with_scalar_steps_has_a_recipe(
    make: Callable[[], torch.Tensor], found: Law
) -> None:
    assert law(make) == found


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(4).abs(),
        lambda: torch.randn(4) + torch.randn(4),
        lambda: torch.rand(4).cumsum(0),
        lambda: torch.softmax(torch.randn(4), 0),
        lambda: torch.randn(4)[:2],
        lambda: torch.randn(4, 1).expand(4, 4),
        lambda: torch.rand(4).long(),
        lambda: torch.randint(0, 9, (4,)) * 2,
        lambda: torch.tensor([1.0, 2.0]),
        lambda: torch.arange(4),
        lambda: torch.randn(4).clamp_(0),
    ],
)
def test_anything_else_is_opaque(make: Callable[[], torch.Tensor]) -> None:
    assert law(make) is None
