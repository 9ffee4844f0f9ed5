"""The processor as a device: memory files, and an allocator of ours behind torch's."""

import ctypes
import mmap
import warnings

import torch

from swage_model_host import device
from swage_model_host.memory import Mapping


class CpuArena:
    """While on, every allocation of torch comes out of the judge's memory. Never unmapped: what a
    model has stored there (say, a table made in the first call) stays valid for the host's life.
    """

    def __init__(self, library: str, descriptor: int, size: int, *, poison: bool) -> None:
        self._map = mmap.mmap(descriptor, size)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.size = size
        self._library = ctypes.PyDLL(library)
        install = self._library.swage_arena_install
        install.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        install(self.base, size, poison)
        self._use = self._library.swage_arena_use
        self._use.argtypes = (ctypes.c_int,)
        self._exhausted = self._library.swage_arena_exhausted
        self._exhausted.restype = ctypes.c_int

    def on(self) -> None:
        """From here on torch allocates in the arena."""
        self._use(1)

    def off(self) -> None:
        """From here on torch allocates where it always does."""
        self._use(0)

    def exhausted(self) -> bool:
        """Whether an allocation was refused since the last time this was asked."""
        return bool(self._exhausted())

    def contains(self, address: int, size: int) -> bool:
        """Whether the bytes lie wholly in the arena."""
        return self.base <= address and address + size <= self.base + self.size


class CpuDevice:
    """Calls return when their work is done."""

    def __init__(self, arena_library: str) -> None:
        self.place = torch.device("cpu")
        self._arena_library = arena_library

    def arena(self, descriptor: int, size: int, *, poison: bool) -> device.Arena:
        """Maps the judge's output memory."""
        return CpuArena(self._arena_library, descriptor, size, poison=poison)

    def map(self, descriptor: int, size: int, *, writable: bool) -> Mapping:
        """Maps a memory file."""
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        mapped = mmap.mmap(descriptor, size, mmap.MAP_SHARED, protection)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "the buffer is not writable": that is the point
            whole = torch.frombuffer(mapped, dtype=torch.uint8)
        return Mapping(whole, lambda: None)  # goes with the last tensor over it

    def finish(self) -> None:
        """Nothing is under way when an operator has returned."""

    def nothing(self) -> torch.Tensor:
        """One allocation."""
        return torch.empty(1)

    def is_fault(self, error: BaseException) -> bool:
        """A wild pointer ends the process: no exception tells of it."""
        del error
        return False
