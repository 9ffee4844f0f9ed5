"""One host: enters its cage, then does what the judge says over the control socket."""

import gc
import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from swage_model_host import channel, cpu, cuda, dispatch, isolate, page, program, source_scan
from swage_model_host.device import Device
from swage_model_host.memory import Shared
from swage_model_host.program import MetadataError
from swage_model_host.task import TaskError, TaskHost

UIDS = {
    "eager": 64001, "compile": 64002, "candidate": 64003, "task": 64004, "reference": 64004,
    "reader": 64006, "twin": 64003,
}  # fmt: skip
MAX_MESSAGE = 4096
MAX_FRAMES = 16  # the innermost ones of a traceback
OWN_FOLDER = str(Path(__file__).parent)
LIBRARIES = Path(__file__).resolve().parent.parent
DEVICES: dict[str, Callable[[str], Device]] = {"cpu": cpu.CpuDevice, "cuda": cuda.CudaDevice}


def main(role: str, kind: str, cage: isolate.Cage, control: socket.socket, log: int) -> None:
    """Runs the host in the forked process; does not return. kind: of device, cpu or cuda."""
    _descriptors(control.fileno(), log)
    isolate.enter(cage)
    _environment(role, kind, len(cage.cpus))
    library = LIBRARIES / f"libswage_{'cuda_' * (kind == 'cuda')}arena.so"
    device = DEVICES[kind](str(library))
    missing = isolate.close_calls(cage)
    gc.disable()  # a collection inside a timed call would be charged to an arm
    host = Host(role, control, device, cage)
    channel.send(control, {"kind": "born", "missing": missing})
    while True:
        packet = channel.receive(control)
        if packet is None or packet.message.get("op") == "bye":
            os._exit(0)
        host.answer(packet)


def _descriptors(control: int, log: int) -> None:
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, control)
    os.closerange(control + 1, os.sysconf("SC_OPEN_MAX"))


def _environment(role: str, kind: str, threads: int) -> None:
    names = ["PYTORCH_NVML_BASED_CUDA_CHECK"] if kind == "cpu" else []
    if role == "compile":
        names += ["TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_COMPILE_THREADS", "TRITON_CACHE_DIR"]
    kept = {name: os.environ[name] for name in names}
    if kind == "cpu":
        kept["CUDA_VISIBLE_DEVICES"] = ""  # on a machine with a GPU torch must not think of it
    os.environ.clear()
    os.environ.update(
        PATH="/usr/bin:/bin",
        HOME="/tmp",
        LANG="C.UTF-8",
        OMP_NUM_THREADS=str(threads),
        PYTHONDONTWRITEBYTECODE="1",
        **kept,
    )


def foreign_traceback(error: BaseException) -> str:
    """The traceback as the failing code's author knows it: without frames of this program or of the
    import system.
    """
    told = traceback.TracebackException.from_exception(error, limit=-MAX_FRAMES)
    part: traceback.TracebackException | None = told
    for _ in range(MAX_FRAMES):  # of a chain of causes
        if part is None:
            break
        part.stack[:] = [frame for frame in part.stack if not _is_own(frame.filename)]
        part = part.__cause__ or part.__context__
    return "".join(told.format())


def _is_own(file: str) -> bool:
    return file.startswith((OWN_FOLDER, "<frozen"))


class Host:
    """State of one host. One thread until the first operator runs."""

    def __init__(
        self, role: str, control: socket.socket, device: Device, cage: isolate.Cage
    ) -> None:
        torch.set_num_threads(len(cage.cpus))
        self._role = role
        self._folder = cage.folder
        self._control = control
        self._device = device
        self._page: page.CallPage | None = None
        self._arena: Any = None
        self._program: Any = None
        self._task: Any = None

    def answer(self, packet: channel.Packet) -> None:
        """Carries out one packet and replies `<op>` or `failed`."""
        operation = str(packet.message["op"])
        try:
            reply = getattr(self, f"_do_{operation}")(packet.message, packet.descriptors)
            channel.send(self._control, {"kind": operation, **(reply or {})})
            if operation == "arm":
                self._serve_calls()
                channel.send(self._control, {"kind": "parked"})
        except BaseException as error:
            self._fail(operation, error)
        finally:
            for descriptor in packet.descriptors:
                os.close(descriptor)

    def _fail(self, stage: str, error: BaseException) -> None:
        own = isinstance(
            error, MetadataError | TaskError | dispatch.PolicyError
        )  # says all there is to say
        text = str(error) if own else foreign_traceback(error)
        message = {
            "kind": "failed",
            "stage": stage,
            "type": type(error).__name__[:200],
            "category": self._category(error),
            "message": text.encode(errors="replace")[-MAX_MESSAGE:].decode(errors="replace"),
        }
        channel.send(self._control, message)

    def _category(self, error: BaseException) -> str:
        if self._device.is_fault(error):
            return "fault"
        exhausted = self._arena is not None and self._arena.exhausted()
        full = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if exhausted or full or "DefaultCPUAllocator" in str(error):
            return "memory"
        if isinstance(error, MetadataError):
            return "metadata"
        if isinstance(error, dispatch.PolicyError):
            return "policy"
        return "task" if isinstance(error, TaskError) else "exception"

    def _do_hello(self, message: channel.Message, descriptors: list[int]) -> dict[str, Any]:
        page_descriptor, arena_descriptor = descriptors
        self._page = page.CallPage(page_descriptor)
        size, poison = int(message["arena_bytes"]), bool(message["poison"])
        self._arena = self._device.arena(arena_descriptor, size, poison=poison)
        return {"nonce": message["nonce"]}

    def _do_load(self, message: channel.Message, descriptors: list[int]) -> dict[str, Any]:
        candidate = self._role in ("candidate", "twin")
        if descriptors:
            library = os.dup(descriptors[0])
            assert self._page is not None
            sys.meta_path.insert(0, program.LibraryFinder(library, self._page.ghost))
        sys.path.append(self._folder)
        module, name = ("model_new", "ModelNew") if candidate else ("model", "Model")
        if self._role == "reference":
            torch.set_default_dtype(torch.float64)
        seed = int(message["init_seed"])
        model = program.build(self._folder, module, name, message["init_args"], seed)
        model = model.to(self._device.place)
        watch = candidate and bool(message["watch"])
        run = self._way_to_run(model, watch)
        self._program = program.Program(model, self._device, self._arena, run)
        self._program.exact = not candidate or bool(message["exact"])
        return {"state": program.state_of(model)}

    def _way_to_run(self, model: torch.nn.Module, watch: bool) -> Any:  # noqa: ANN401
        if self._role == "compile":
            return torch.compile(model, dynamic=False)
        if self._role == "reference":
            return program.in_double(model)
        return dispatch.watched(model) if watch else model

    def _do_scan(self, message: channel.Message, descriptors: list[int]) -> dict[str, Any]:
        return {"findings": source_scan.scan(Path(self._folder))}

    def _shared(
        self, descriptors: list[int], message: channel.Message, *, writable: bool
    ) -> Shared:
        size = int(message["bytes"])
        return Shared(self._device.map(descriptors[0], size, writable=writable))

    def _do_map(self, message: channel.Message, descriptors: list[int]) -> None:
        shared = self._shared(descriptors, message, writable=bool(message["writable"]))
        self._program.set_inputs(shared, message["args"])

    def _do_weights(self, message: channel.Message, descriptors: list[int]) -> None:
        shared = self._shared(descriptors, message, writable=False)
        self._program.set_weights(shared, message["tensors"])

    def _do_release(self, message: channel.Message, descriptors: list[int]) -> None:
        self._program.release()
        gc.collect()

    def _do_arm(self, message: channel.Message, descriptors: list[int]) -> None:
        gc.freeze()

    def _do_task(self, message: channel.Message, descriptors: list[int]) -> dict[str, Any]:
        self._task = TaskHost(self._folder)
        return dict(self._task.describe(int(message["seed"])))

    def _do_state(self, message: channel.Message, descriptors: list[int]) -> None:
        shared = self._shared(descriptors, message, writable=True)
        self._task.store_state(shared, message["tensors"])

    def _do_inputs(self, message: channel.Message, descriptors: list[int]) -> None:
        shared = self._shared(descriptors, message, writable=True)
        self._task.store_inputs(shared, message["tensors"], int(message["seed"]))

    def _serve_calls(self) -> None:
        """Answers rings on the call page until the judge rings PARK."""
        assert self._page is not None
        while True:
            operation = self._page.wait()
            if operation == page.PARK:
                return
            try:
                run = self._program.nothing if operation == page.NULL else self._program.forward
                container, outputs = run()
                self._page.answer(page.OK, container, outputs)
            except BaseException as error:
                self._fail("forward", error)
                self._page.answer(page.FAILED, 0, [])
