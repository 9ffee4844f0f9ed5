"""A CUDA device: the judge's memory by its VMM descriptors, and an arena behind a torch MemPool.

Nothing here may run before the fork: CUDA's state does not survive it.
"""

import contextlib
import ctypes
from pathlib import Path
from typing import Any

import torch

from swage_model_host import device
from swage_model_host.memory import Mapping

# Where the driver looks for what the GPU is connected to.
FOLDERS = ("/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/module")
_POSIX_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_READ, _READ_WRITE = 1, 3  # CU_MEM_ACCESS_FLAGS_PROT_...
_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_FAULTS = (
    "illegal memory access", "misaligned address", "illegal instruction", "illegal address",
    "unspecified launch failure", "invalid program counter", "hardware stack error",
)  # fmt: skip


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("kind", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int))


class _Driver:
    """The few functions of the driver that torch does not offer."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def _call(self, name: str, *args: Any) -> None:  # noqa: ANN401
        code = getattr(self._library, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def map(self, descriptor: int, size: int, *, writable: bool) -> int:
        """Maps exported memory; the descriptor may be closed afterwards. Returns the address."""
        handle, address = ctypes.c_ulonglong(), ctypes.c_ulonglong()
        byte_count, nought = ctypes.c_size_t(size), ctypes.c_ulonglong(0)
        self._call(
            "cuMemImportFromShareableHandle",
            ctypes.byref(handle),
            ctypes.c_void_p(descriptor),
            ctypes.c_int(_POSIX_DESCRIPTOR),
        )
        none = ctypes.c_size_t(0)
        self._call("cuMemAddressReserve", ctypes.byref(address), byte_count, none, nought, nought)
        self._call("cuMemMap", address, byte_count, none, handle, nought)
        self._call("cuMemRelease", handle)  # the mapping keeps it
        access = _Access(_DEVICE, torch.cuda.current_device(), _READ_WRITE if writable else _READ)
        self._call("cuMemSetAccess", address, byte_count, ctypes.byref(access), ctypes.c_size_t(1))
        return int(address.value)

    def unmap(self, address: int, size: int) -> None:
        """Undoes map()."""
        where, byte_count = ctypes.c_ulonglong(address), ctypes.c_size_t(size)
        self._call("cuMemUnmap", where, byte_count)
        self._call("cuMemAddressFree", where, byte_count)


class _Bytes:
    """Device memory as torch takes it from other libraries."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
            "strides": None,
        }  # fmt: skip


class CudaArena:
    """While on, torch takes the memory of new tensors from the judge's. Never unmapped."""

    def __init__(self, library: str, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self._library = ctypes.CDLL(library)
        install = self._library.swage_cuda_arena_install
        install.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        install(base, size)
        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            library, "swage_cuda_arena_take", "swage_cuda_arena_give_back"
        )
        self._allocator = allocator  # the pool only borrows it
        self._pool = torch.cuda.MemPool(allocator.allocator())  # type: ignore[no-untyped-call]
        self._used = contextlib.ExitStack()

    def on(self) -> None:
        """From here on torch allocates in the arena."""
        self._used.enter_context(torch.cuda.use_mem_pool(self._pool))

    def off(self) -> None:
        """From here on torch allocates where it always does."""
        self._used.close()

    def exhausted(self) -> bool:
        """Whether an allocation was refused since the last time this was asked."""
        return bool(self._library.swage_cuda_arena_exhausted())

    def contains(self, address: int, size: int) -> bool:
        """Whether the bytes lie wholly in the arena."""
        return self.base <= address and address + size <= self.base + self.size


class CudaDevice:
    """The first GPU. Made once in a process, after the fork."""

    def __init__(self, arena_library: str) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        self.place = torch.device("cuda", torch.cuda.current_device())
        torch.zeros(1, device=self.place)  # makes the context that the driver's calls need
        self._driver = _Driver()
        self._arena_library = arena_library

    def arena(self, descriptor: int, size: int, *, poison: bool) -> device.Arena:
        """Maps the judge's output memory, which the judge has filled already."""
        del poison
        base = self._driver.map(descriptor, size, writable=True)
        return CudaArena(self._arena_library, base, size)

    def map(self, descriptor: int, size: int, *, writable: bool) -> Mapping:
        """Maps exported memory of the device."""
        size = -(-size // _granularity()) * _granularity()
        address = self._driver.map(descriptor, size, writable=writable)
        whole = torch.as_tensor(_Bytes(address, size), device=self.place)
        return Mapping(whole, lambda: self._driver.unmap(address, size))

    def finish(self) -> None:
        """Waits until all work that was given to the device is done."""
        torch.cuda.synchronize(self.place)

    def nothing(self) -> torch.Tensor:
        """One tiny kernel."""
        return torch.zeros(1, device=self.place)

    def is_fault(self, error: BaseException) -> bool:
        """Whether a kernel broke the device's rules, after which this process can do no more."""
        return any(text in str(error) for text in _FAULTS)


def _granularity() -> int:
    """What sizes of exported memory are multiples of."""
    return 2 << 20


def nodes() -> tuple[str, ...]:
    """The files under /dev through which a process reaches the GPU."""
    return tuple(sorted(str(path) for path in Path("/dev").glob("nvidia*")))
