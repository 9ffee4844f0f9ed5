"""The call page: 4 KiB shared with the judge, by which calls are rung and answered.

Layout, little-endian (gpu_pool/judge/core/call_page.hpp is the other side):
ring u32, op u32, input_set u32, ghost u32, done u32, status u32, n_out u32, container u32, then
eight outputs of 160 bytes: offset u64, region u8, dtype u8, ndim u8, flags u8, pad u32,
storage_offset u64, storage_bytes u64, shape i64[8], stride i64[8].
"""

import ctypes
import mmap
import struct
from dataclasses import dataclass

from swage_model_host import linux

PAGE_BYTES = 4096
MAX_OUTPUTS = 8
MAX_DIMENSIONS = 8

FORWARD, NULL, PARK = 1, 2, 3
OK, FAILED = 1, 2
SINGLE, TUPLE, LIST = 0, 1, 2
IN_ARENA, IN_INPUTS = 0, 1
REUSED = 1  # flag: the storage of an output that is still held

_OUTPUT = struct.Struct("<QBBBBIQQ8q8q")
_RING, _OP, _GHOST, _DONE, _STATUS, _N_OUT, _CONTAINER = 0, 1, 3, 4, 5, 6, 7
_FIRST_OUTPUT = 32


@dataclass(frozen=True)
class Output:
    """Where one result lies, and its metadata."""

    offset: int  # bytes from the region's start
    region: int
    dtype: int
    flags: int
    storage: tuple[int, int]  # offset and bytes of the allocation that holds it
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class CallPage:
    """The host's end of the page. One thread."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, PAGE_BYTES)
        self._words = memoryview(self._map).cast("I")
        self._done_address = ctypes.addressof(ctypes.c_char.from_buffer(self._map)) + 4 * _DONE
        self._answered = self._words[_RING]

    def wait(self) -> int:
        """Spins until the judge rings, and returns the operation asked for."""
        words, answered = self._words, self._answered
        while words[_RING] == answered:
            pass
        self._answered = words[_RING]
        return words[_OP]

    def ghost(self) -> bool:
        """Whether the candidate's library does nothing in this call."""
        return bool(self._words[_GHOST])

    def answer(self, status: int, container: int, outputs: list[Output]) -> None:
        """Writes the outputs, then `done`, and wakes the judge."""
        at = _FIRST_OUTPUT
        for out in outputs:
            padding = (0,) * (MAX_DIMENSIONS - len(out.shape))
            _OUTPUT.pack_into(
                self._map, at, out.offset, out.region, out.dtype, len(out.shape), out.flags, 0,
                *out.storage,                *out.shape, *padding, *out.stride, *padding,
            )  # fmt: skip
            at += _OUTPUT.size
        words = self._words
        words[_N_OUT] = len(outputs)
        words[_CONTAINER] = container
        words[_STATUS] = status
        words[_DONE] = self._answered
        linux.futex_wake(self._done_address)
