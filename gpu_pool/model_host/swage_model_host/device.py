"""Where a host's tensors lie: on the processor, or on a CUDA device."""

from typing import Protocol

import torch

from swage_model_host.memory import Mapping


class Arena(Protocol):
    """The judge's output memory, mapped here and put behind torch's allocator."""

    base: int

    def on(self) -> None:
        """From here on torch allocates in the arena."""

    def off(self) -> None:
        """From here on torch allocates where it always does."""

    def exhausted(self) -> bool:
        """Whether an allocation was refused since the last time this was asked."""

    def contains(self, address: int, size: int) -> bool:
        """Whether the bytes lie wholly in the arena."""


class Device(Protocol):
    """One kind of device."""

    place: torch.device

    def arena(self, descriptor: int, size: int, *, poison: bool) -> Arena:
        """Maps the judge's output memory."""

    def map(self, descriptor: int, size: int, *, writable: bool) -> Mapping:
        """Maps memory of the judge's that holds inputs or weights."""

    def finish(self) -> None:
        """Waits until all work that was given to the device is done."""

    def nothing(self) -> torch.Tensor:
        """The smallest piece of work that there is, and its result."""

    def is_fault(self, error: BaseException) -> bool:
        """Whether a kernel broke the device's rules, after which this process can do no more."""
