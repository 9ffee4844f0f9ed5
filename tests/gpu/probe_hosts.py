"""Shows step by step whether a caged process can use the GPU as a model host does.

usage: probe_hosts.py MODEL_HOST_DIRECTORY (the folder with swage_model_host and the arenas)

Prints one line a step. Every step runs in a process of its own, forked from one that has imported
torch but never touched the GPU.
"""

import ctypes
import os
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

FOLDER = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, FOLDER)
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
os.environ.pop("CC", None)  # hosts take the system's compiler, whatever their caller prefers

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._inductor.compile_fx  # noqa: E402
from swage_model_host import cuda, isolate, linux, program, seccomp  # noqa: E402

SIZE = 64 << 20
MOUNT_POINT = tempfile.mkdtemp()


def step(name: str, body: Callable[[], str]) -> None:
    """Runs body in a fork and prints what it says, or why it failed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text, code = body(), 0
        except BaseException:
            text, code = traceback.format_exc(), 1
        os.write(writer, text.encode()[-2500:])
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        text = said.read().decode()
    status = os.waitpid(pid, 0)[1]
    print(f"{'ok  ' if status == 0 else 'FAIL'} {name}: {text or status}", flush=True)


def enter_cage(*folders: str, cache: str = "") -> isolate.Cage:
    """Confines this process like a candidate's host, or with a cache folder like the compile host;
    the filter of system calls is not in force yet.
    """
    cage = isolate.Cage(
        uid=64002 if cache else 64003,
        writable=(cache,) if cache else (),
        may_execute=bool(cache),
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        workspace="",
        mount_point=MOUNT_POINT,
        readable=(*isolate.runtime_folders(), FOLDER, *folders),
        devices=cuda.nodes(),
    )
    isolate.enter(cage)
    return cage


def plain() -> str:
    """A first kernel."""
    return str(torch.ones(4, device="cuda").sum().item())


def filtered() -> str:
    """Under the candidate's system-call filter from the first kernel on."""
    plain()
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    linux.seccomp_filter(seccomp.candidate_program())
    return str((torch.randn(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")).shape)


def undumpable() -> str:
    """Closed to its own user's other processes."""
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    return plain()


def other_user() -> str:
    """As the candidate's user."""
    os.setresgid(64003, 64003, 64003)
    os.setresuid(64003, 64003, 64003)
    return plain()


def caged(*folders: str) -> str:
    """In the whole cage, in a process namespace of its own."""
    linux.unshare(linux.CLONE_NEWPID)
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError("the inner process failed")
        return "inner process well"
    try:
        cage = enter_cage(*folders)
        first = plain()
        missing = isolate.close_calls(cage)
        print(f"     missing: {missing}, sums {first} {plain()}", flush=True)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(1)
    os._exit(0)


def exported(size: int) -> int:
    """Makes device memory as the judge does, and returns its descriptor."""
    torch.zeros(1, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")
    # CUmemAllocationProp: pinned, by POSIX descriptor, on a device, of number 0
    what = (ctypes.c_int * 8)(1, 1, 1, 0, 0, 0, 0, 0)
    handle, number = ctypes.c_ulonglong(), ctypes.c_int(-1)
    none = ctypes.c_ulonglong(0)
    if driver.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(what), none):
        raise RuntimeError("cuMemCreate")
    if driver.cuMemExportToShareableHandle(ctypes.byref(number), handle, ctypes.c_int(1), none):
        raise RuntimeError("cuMemExportToShareableHandle")
    return number.value


def descriptor_of_another_process() -> int:
    """Device memory that a process of another user made, which lives until we end."""
    near, far = socket.socketpair()
    if os.fork() == 0:
        near.close()
        socket.send_fds(far, [b"x"], [exported(SIZE)])
        far.recv(1)
        os._exit(0)
    far.close()
    received = socket.recv_fds(near, 1, 1)[1][0]
    near.detach()  # stays open
    return received


def arena() -> str:
    """The judge's memory behind torch's allocator, and a write where only reading is allowed."""
    descriptor = descriptor_of_another_process()
    cage = enter_cage(*cuda.FOLDERS)
    device = cuda.CudaDevice(f"{FOLDER}/libswage_cuda_arena.so")
    isolate.close_calls(cage)
    place = device.arena(descriptor, SIZE, poison=True)
    place.on()
    made = torch.full((1 << 20,), 3.0, device=device.place)
    place.off()
    other = torch.empty(1 << 20, device=device.place)
    device.finish()
    inside = place.contains(made.data_ptr(), made.nbytes)
    apart = not place.contains(other.data_ptr(), 4)
    shown = device.map(descriptor, SIZE, writable=False)
    seen = shown.whole[(2 << 20) :].view(torch.float32)[:4].tolist()
    fault = "none"
    try:
        shown.whole[0] = 1
        device.finish()
    except Exception as error:
        fault = f"{device.is_fault(error)} {str(error).splitlines()[0]}"
    return f"inside {inside} apart {apart} seen {seen} fault {fault}"


def median_us(body: Callable[[], object], count: int = 300) -> float:
    """What body takes, when it has been called a few times."""
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        body()
        times.append((time.perf_counter_ns() - begin) / 1e3)
    return sorted(times[20:])[(count - 20) // 2]


def empty_call() -> str:
    """What the judge's empty call costs in a host that has the GPU for itself."""
    descriptor = descriptor_of_another_process()
    enter_cage(*cuda.FOLDERS)
    device = cuda.CudaDevice(f"{FOLDER}/libswage_cuda_arena.so")
    place = device.arena(descriptor, SIZE, poison=True)
    made = program.Program(torch.nn.Identity(), device, place, lambda: None)

    def switch() -> None:
        place.on()
        place.off()

    def kernel() -> None:
        device.nothing()
        device.finish()

    whole, pool, work = median_us(made.nothing), median_us(switch), median_us(kernel)
    return f"{whole:.0f} us, of which pool {pool:.0f}, kernel and wait {work:.0f}"


def compiled(*, in_cage: bool) -> str:
    """torch.compile as in the compile host."""
    cache = tempfile.mkdtemp()
    isolate.give_folder(cache, 64002)
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=cache,
        TRITON_CACHE_DIR=f"{cache}/triton",
        TORCHINDUCTOR_COMPILE_THREADS="1",
        HOME="/tmp",
    )
    missing = enter_cage(*cuda.FOLDERS, cache=cache).missing if in_cage else []
    begin = time.monotonic()
    function = torch.compile(lambda x: torch.tanh(x) * 2 + x, dynamic=False)
    with torch.no_grad():
        made = function(torch.zeros(1 << 20, device="cuda")).sum().item()
    return f"missing {missing} sum {made} after {time.monotonic() - begin:.1f} s"


def main() -> int:
    """Runs all steps."""
    step("fork", plain)
    step("seccomp", filtered)
    step("undumpable", undumpable)
    step("other user", other_user)
    step("caged without /sys", caged)
    step("caged", partial(caged, *cuda.FOLDERS))
    step("arena", arena)
    step("empty call", empty_call)
    step("compile", partial(compiled, in_cage=False))
    step("compile in its cage", partial(compiled, in_cage=True))
    print(f"     devices {cuda.nodes()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
