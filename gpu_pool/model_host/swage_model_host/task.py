"""The task host: knows model.py, describes its arguments, and makes inputs that have no recipe."""

from typing import Any

import torch

from swage_model_host import dtypes, program
from swage_model_host.memory import Place, Shared
from swage_model_host.recipes import Recorder


class TaskError(Exception):
    """The task cannot be judged; the text says why."""


def encode(value: Any) -> Any:  # noqa: ANN401
    """An argument as JSON (program.decode is the inverse)."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) is list:
        return [encode(item) for item in value]
    if type(value) is tuple:
        return {"tuple": [encode(item) for item in value]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(item) for key, item in value.items()}}
    raise TaskError(f"an argument is a {type(value).__qualname__}, which is not supported")


class TaskHost:
    """One task. folder: where its model.py lies."""

    def __init__(self, folder: str) -> None:
        self._module = program.load_module("model", folder)
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(getattr(self._module, name, None)):
                raise TaskError(f"the task has no {name}")
        self._model: torch.nn.Module | None = None

    def describe(self, seed: int) -> dict[str, Any]:
        """Arguments with their recipes, init arguments and state of the model."""
        torch.manual_seed(seed)
        init_args = list(self._module.get_init_inputs())
        model = self._module.Model(*init_args)
        if not isinstance(model, torch.nn.Module):
            raise TaskError("Model is not a torch.nn.Module")
        self._model = model.eval()
        with Recorder() as recorder:
            inputs = list(self._module.get_inputs())
        return {
            "init_args": [encode(value) for value in init_args],
            "args": [_argument(value, recorder) for value in inputs],
            "state": program.state_of(model),
        }

    def store_state(self, shared: Shared, records: list[dict[str, Any]]) -> None:
        """Writes the model's own initial state to the given places."""
        assert self._model is not None
        state = self._model.state_dict()
        for record in records:
            shared.store(Place.of(record), state[str(record["name"])].contiguous())

    def store_inputs(self, shared: Shared, records: list[dict[str, Any]], seed: int) -> None:
        """Runs get_inputs() under `seed` and writes its tensors to the given places."""
        torch.manual_seed(seed)
        inputs = list(self._module.get_inputs())
        for record in records:
            place = Place.of(record)
            tensor = inputs[int(record["index"])]
            same = isinstance(tensor, torch.Tensor) and tensor.dtype == place.dtype
            if not same or (tuple(tensor.shape), tensor.stride()) != (place.shape, place.stride):
                raise TaskError("get_inputs() returns other shapes from one call to the next")
            shared.store(place, tensor)


def _argument(value: object, recorder: Recorder) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        return {"value": encode(value)}
    if value.dtype not in dtypes.NAMES or value.device.type != "cpu":
        raise TaskError(f"an input is {value.dtype} on {value.device}, which is not supported")
    record = {
        "dtype": dtypes.NAMES[value.dtype],
        "shape": list(value.shape),
        "stride": list(value.stride()),
    }
    law = recorder.law_of(value)
    return {"tensor": {**record, "recipe": law} if law else record}
