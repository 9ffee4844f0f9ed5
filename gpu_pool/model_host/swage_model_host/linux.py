"""The few system calls that Python's standard library does not offer."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1

SYS_PIVOT_ROOT = 155
SYS_SECCOMP = 317
SYS_FUTEX = 202
FUTEX_WAKE = 1

libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leaves the namespaces in `flags` (CLONE_NEW...). Raises OSError."""
    _checked(libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enters the namespace behind an open /proc/PID/ns file. Raises OSError."""
    _checked(libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises OSError naming the target."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    result = libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _checked(result, f"mount {target}")


def umount(target: str, flags: int) -> None:
    """umount2(2). Raises OSError."""
    _checked(libc.umount2(target.encode(), ctypes.c_int(flags)), f"umount {target}")


def pivot_root(new_root: str, old_root: str) -> None:
    """pivot_root(2). Raises OSError."""
    result = libc.syscall(ctypes.c_long(SYS_PIVOT_ROOT), new_root.encode(), old_root.encode())
    _checked(result, "pivot_root")


def prctl(option: int, argument: int) -> None:
    """prctl(2) with one argument. Raises OSError."""
    zero = ctypes.c_ulong(0)
    result = libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), zero, zero, zero)
    _checked(result, f"prctl {option}")


def seccomp_filter(program: bytes) -> None:
    """Installs a classic BPF program (sock_filter records) in every thread of this process. Raises
    OSError.
    """
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    record = Program(len(program) // 8, ctypes.addressof(buffer))
    result = libc.syscall(
        ctypes.c_long(SYS_SECCOMP),
        ctypes.c_uint(SECCOMP_SET_MODE_FILTER),
        ctypes.c_uint(SECCOMP_FILTER_FLAG_TSYNC),
        ctypes.byref(record),
    )
    _checked(result, "seccomp")


def futex_wake(address: int) -> None:
    """Wakes whoever waits on the 32-bit word at `address`, in any process."""
    libc.syscall(
        ctypes.c_long(SYS_FUTEX),
        ctypes.c_void_p(address),
        ctypes.c_int(FUTEX_WAKE),
        ctypes.c_int(1),
        None,
        None,
        ctypes.c_int(0),
    )
