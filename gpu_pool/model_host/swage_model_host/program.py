"""Loads a model, runs its forward, and says where the result lies."""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from swage_model_host import dtypes, page
from swage_model_host.device import Arena, Device
from swage_model_host.memory import Place, Shared, span_bytes

EXTENSION = "cuda_extension"


class MetadataError(Exception):
    """The result is not what a model may return."""


class GhostLoader(importlib.machinery.ExtensionFileLoader):
    """Loads the library so that its functions return at once while `ghost` says so."""

    def __init__(self, name: str, path: str, ghost: Callable[[], bool]) -> None:
        super().__init__(name, path)
        self._ghost = ghost

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's own initialisation, then stands before each of its functions."""
        super().exec_module(module)
        for name, member in list(vars(module).items()):
            if isinstance(member, type):
                self._stand_before_methods(member)
            elif callable(member) and not name.startswith("__"):
                setattr(module, name, self._before(member))

    def _stand_before_methods(self, made: type) -> None:
        for name, member in list(vars(made).items()):
            if callable(member) and (name == "__call__" or not name.startswith("__")):
                with contextlib.suppress(TypeError):  # a class that nobody can change
                    setattr(made, name, self._before(member))

    def _before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        ghost = self._ghost

        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            return None if ghost() else function(*args, **kwargs)

        return run


class LibraryFinder(importlib.abc.MetaPathFinder):
    """Loads `cuda_extension` from the descriptor of a sealed library, and from nowhere else."""

    def __init__(self, descriptor: int, ghost: Callable[[], bool]) -> None:
        self._path = f"/proc/self/fd/{descriptor}"
        self._ghost = ghost

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The import system asks."""
        if fullname != EXTENSION:
            return None
        loader = GhostLoader(EXTENSION, self._path, self._ghost)
        return importlib.util.spec_from_file_location(EXTENSION, self._path, loader=loader)


def load_module(name: str, folder: str) -> ModuleType:
    """Imports <folder>/<name>.py under its own name."""
    source = Path(folder) / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, source)
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def decode(value: Any) -> Any:  # noqa: ANN401
    """An init argument from its JSON form (task.encode is the inverse)."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(decode(item) for item in value["tuple"])
        return {key: decode(item) for key, item in value["dict"].items()}
    return value


def build(
    folder: str, module: str, class_name: str, init_args: list[Any], seed: int
) -> torch.nn.Module:
    """Imports the module and makes the model, in eval mode, from a fixed generator state."""
    made = load_module(module, folder)
    if not hasattr(made, class_name):
        raise ImportError(f"{module}.py has no class {class_name}")
    torch.manual_seed(seed)
    model: torch.nn.Module = getattr(made, class_name)(*[decode(value) for value in init_args])
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{class_name} is not a torch.nn.Module")
    return model.eval()


def state_of(model: torch.nn.Module) -> list[dict[str, Any]]:
    """Names, shapes and types of the state that the judge will set."""
    records = []
    for name, value in model.state_dict().items():
        if not isinstance(value, torch.Tensor) or value.dtype not in dtypes.NAMES:
            raise TypeError(f"state {name!r} is not a tensor of a known type")
        shape = list(value.shape)
        records.append({"name": name, "dtype": dtypes.NAMES[value.dtype], "shape": shape})
    return records


class Program:
    """One model with its inputs and its last two results."""

    def __init__(
        self, model: torch.nn.Module, device: Device, arena: Arena, run: Callable[..., Any]
    ) -> None:
        self._model = model
        self._device = device
        self._run = run
        self.exact = True  # off only in tests: what is not a plain tensor is made one
        self._arena = arena
        self._inputs: Shared | None = None
        self._args: list[Any] = []
        self._held: deque[list[torch.Tensor]] = deque(maxlen=2)

    def set_inputs(self, shared: Shared, records: list[dict[str, Any]]) -> None:
        """The arguments of every later call."""
        self._forget_inputs()
        self._inputs = shared
        self._args = [
            shared.tensor(Place.of(record["tensor"])) if "tensor" in record
            else decode(record["value"])
            for record in records
        ]  # fmt: skip

    def set_weights(self, shared: Shared, records: list[dict[str, Any]]) -> None:
        """Loads a copy of the judge's weights, keys and shapes strict."""
        state = {str(record["name"]): shared.tensor(Place.of(record)) for record in records}
        self._model.load_state_dict(state, strict=True)
        self._device.finish()
        del state
        shared.close()

    def release(self) -> None:
        """Lets go of everything that belongs to one evaluation."""
        self._held.clear()
        self._forget_inputs()

    def _forget_inputs(self) -> None:
        self._args = []
        if self._inputs is not None:
            self._inputs.close()
        self._inputs = None

    def forward(self) -> tuple[int, list[page.Output]]:
        """One call: the container's code and where its tensors lie."""
        self._arena.on()
        try:
            with torch.no_grad():
                result = self._run(*self._args)
                container, tensors = self._unpack(result if self.exact else _plain(result))
                published = self._publish(tensors)
                self._device.finish()
                return container, published
        finally:
            self._arena.off()

    def nothing(self) -> tuple[int, list[page.Output]]:
        """The empty call: the same steps around one tiny result."""
        self._arena.on()
        try:
            with torch.no_grad():
                container, tensors = self._unpack(self._device.nothing())
                published = self._publish(tensors)
                self._device.finish()
                return container, published
        finally:
            self._arena.off()

    def _publish(self, tensors: list[torch.Tensor]) -> list[page.Output]:
        outputs, kept = [], []
        for tensor in tensors:
            region, base, flags = page.IN_ARENA, self._arena.base, 0
            address = tensor.data_ptr()
            if self._inputs is not None and self._inputs.contains(address):
                region, base = page.IN_INPUTS, self._inputs.base
            elif tensor.numel() and not self._arena.contains(address, span_bytes(tensor)):
                flags = page.REUSED if self._is_held(address) else 0
                kept.append(tensor)
                tensor = tensor.clone()
            kept.append(tensor)
            outputs.append(_place(tensor, region, base, flags))
        self._held.append(kept)
        return outputs

    def _unpack(self, result: object) -> tuple[int, list[torch.Tensor]]:
        return _unpack(result, self._device.place)

    def _is_held(self, address: int) -> bool:
        return any(tensor.data_ptr() == address for kept in self._held for tensor in kept)


def _place(tensor: torch.Tensor, region: int, base: int, flags: int) -> page.Output:
    storage = tensor.untyped_storage()
    empty = tensor.numel() == 0
    return page.Output(
        offset=0 if empty else tensor.data_ptr() - base,
        region=region,
        dtype=dtypes.CODES[tensor.dtype],
        flags=flags,
        storage=(0, 0) if empty else (storage.data_ptr() - base, storage.nbytes()),
        shape=tuple(tensor.shape),
        stride=tensor.stride(),
    )


def _unpack(result: object, place: torch.device) -> tuple[int, list[torch.Tensor]]:
    if type(result) is torch.Tensor:
        container, tensors = page.SINGLE, [result]
    elif type(result) in (tuple, list):
        container = page.TUPLE if type(result) is tuple else page.LIST
        tensors = list(result)  # type: ignore[call-overload]
    else:
        raise MetadataError(f"forward returned {_describe(result)}, not a tensor")
    if not 0 < len(tensors) <= page.MAX_OUTPUTS:
        raise MetadataError(f"forward returned {len(tensors)} results, not 1 to 8")
    for tensor in tensors:
        _demand_plain(tensor, place)
    return container, tensors


def _plain(result: object) -> object:
    """What a careless comparison sees: values, in whatever type and shape."""
    if isinstance(result, tuple | list):
        return [torch.as_tensor(item).detach() for item in result]
    return torch.as_tensor(result).detach()


def in_double(model: torch.nn.Module) -> Callable[..., Any]:
    """The model in double precision: the truth that eager and candidate are compared with."""
    double = model.double()

    def run(*args: object) -> object:
        return double(*[_widened(value) for value in args])

    return run


def _widened(value: object) -> object:
    floating = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.double() if floating else value  # type: ignore[attr-defined]


def _describe(value: object) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"[:200]


def _demand_plain(tensor: object, place: torch.device) -> None:
    if type(tensor) is not torch.Tensor:
        raise MetadataError(f"forward returned {_describe(tensor)}, not exactly a torch.Tensor")
    if tensor.__dict__:
        raise MetadataError("a result has attributes of its own")
    if tensor.device != place or tensor.layout is not torch.strided:
        raise MetadataError(f"a result is on {tensor.device} with layout {tensor.layout}")
    if tensor.dtype not in dtypes.CODES or tensor.dim() > page.MAX_DIMENSIONS:
        raise MetadataError(f"a result has type {tensor.dtype} and {tensor.dim()} dimensions")
    if tensor.requires_grad or tensor.is_conj() or tensor.is_neg():
        raise MetadataError("a result requires grad, or is a lazy view")
