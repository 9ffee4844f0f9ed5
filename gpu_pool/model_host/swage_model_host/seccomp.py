"""The system-call filter of the process that runs a candidate (x86-64).

Refused calls return EPERM, so that an honest program that probes for one goes on; clone3 returns
ENOSYS, so that the C library falls back to clone, whose flags a filter can read.
"""

import struct
from collections.abc import Iterable

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_EPERM = 0x00050000 | 1
_ENOSYS = 0x00050000 | 38

_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000
_CLONE, _CLONE3 = 56, 435

REFUSED = {
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53,
    "accept4": 288, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_open": 434,
    "pidfd_getfd": 438, "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "mount_setattr": 442, "perf_event_open": 298, "bpf": 321,
    "userfaultfd": 323, "add_key": 248, "request_key": 249, "keyctl": 250, "kexec_load": 246,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "reboot": 169, "swapon": 167,
    "acct": 163, "settimeofday": 164, "clock_settime": 227, "sched_setaffinity": 203,
    "sched_setscheduler": 144, "sched_setattr": 314, "setpriority": 141, "personality": 135,
}  # fmt: skip


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def candidate_program() -> bytes:
    """The filter as sock_filter records."""
    return refusing_program(REFUSED.values())


def refusing_program(numbers: Iterable[int]) -> bytes:
    """A filter that refuses these calls, and new processes."""
    steps = [
        _step(_LOAD, 4),  # seccomp_data.arch
        _step(_JUMP_EQUAL, _ARCH_X86_64, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, 0),  # seccomp_data.nr
        _step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        _step(_RETURN, _KILL),
        _step(_JUMP_EQUAL, _CLONE3, 0, 1),
        _step(_RETURN, _ENOSYS),
    ]
    for number in sorted(numbers):
        steps += [_step(_JUMP_EQUAL, number, 0, 1), _step(_RETURN, _EPERM)]
    steps += [
        _step(_JUMP_EQUAL, _CLONE, 1, 0),
        _step(_RETURN, _ALLOW),
        _step(_LOAD, 16),  # low half of the first argument: clone's flags
        _step(_JUMP_ANY_BIT, _CLONE_THREAD, 1, 0),
        _step(_RETURN, _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(steps)
