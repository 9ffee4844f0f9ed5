"""The judge's output memory, mapped here and put behind torch's CPU allocator."""

import ctypes
import mmap


class Arena:
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
