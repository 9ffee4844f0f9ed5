"""Tensors over memory that the judge shares: read-only inputs and weights, writable staging."""

import mmap
import warnings
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


class Shared:
    """One mapping. Keep it as long as tensors over it live; the descriptor may be closed."""

    def __init__(self, descriptor: int, size: int, *, writable: bool) -> None:
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        self._map = mmap.mmap(descriptor, size, mmap.MAP_SHARED, protection)
        self.size = size
        whole = self._flat(Place(0, torch.uint8, (size,), (1,)))
        self.base = whole.data_ptr()

    def _flat(self, place: Place) -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "the buffer is not writable": that is the point
            return torch.frombuffer(
                self._map, dtype=place.dtype, count=place.elements(), offset=place.offset
            )

    def tensor(self, place: Place) -> torch.Tensor:
        """A tensor over the mapping, without a copy."""
        if place.elements() == 0:
            return torch.empty_strided(place.shape, place.stride, dtype=place.dtype)
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


def span_bytes(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    place = Place(0, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
    return place.elements() * tensor.element_size()
