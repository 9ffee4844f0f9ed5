"""Tensors over memory that the judge shares: read-only inputs and weights, writable staging."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from swage_model_host import dtypes


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in a shared mapping."""

    offset: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @staticmethod
    def of(record: dict[str, object]) -> "Place":
        """From a control packet's object."""
        shape, stride = record["shape"], record["stride"]
        assert isinstance(shape, list) and isinstance(stride, list)
        return Place(
            int(str(record["offset"])),
            dtypes.BY_NAME[str(record["dtype"])],
            tuple(shape),
            tuple(stride),
        )

    def elements(self) -> int:
        """Elements from the first to the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))


@dataclass(frozen=True)
class Mapping:
    """Memory of the judge's, mapped here: its bytes, and how to unmap it when no tensor over it is
    used any more (nothing to do where the last tensor does that).
    """

    whole: torch.Tensor
    unmap: Callable[[], None]


class Shared:
    """One mapping. Keep it as long as tensors over it live; the descriptor may be closed."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self.size = mapping.whole.numel()
        self.base = mapping.whole.data_ptr()

    def _flat(self, place: Place) -> torch.Tensor:
        end = place.offset + place.elements() * place.dtype.itemsize
        return self._mapping.whole[place.offset : end].view(place.dtype)

    def tensor(self, place: Place) -> torch.Tensor:
        """A tensor over the mapping, without a copy."""
        if place.elements() == 0:
            where = self._mapping.whole.device
            return torch.empty_strided(place.shape, place.stride, dtype=place.dtype, device=where)
        return self._flat(place).as_strided(place.shape, place.stride)

    def store(self, place: Place, tensor: torch.Tensor) -> None:
        """Copies a tensor's elements, gaps included, to its place."""
        count = place.elements()
        if count:
            flat = torch.as_strided(tensor.detach(), (count,), (1,), tensor.storage_offset())
            self._flat(place).copy_(flat)

    def contains(self, address: int) -> bool:
        """Whether the address lies in the mapping."""
        return self.base <= address < self.base + self.size

    def close(self) -> None:
        """Unmaps it. No tensor over it may be used any more."""
        self._mapping.unmap()


def span_bytes(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    place = Place(0, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
    return place.elements() * tensor.element_size()
