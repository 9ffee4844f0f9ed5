"""What `swage tasks check` refuses, each rule with the file that nearly trips it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[3] / "tasks" / "check"
sys.path.insert(0, str(CHECK))

import torch  # noqa: E402
from loading import TaskError, load  # noqa: E402
from rules import Limits, admit  # noqa: E402

ANY_TIME = Limits(min_eager_ms=0, max_eager_ms=1e9)
HEAD = "import torch\nimport torch.nn as nn\n"
INPUTS = "def get_inputs():\n    return [torch.randn(64, 64)]\n"
INIT = "def get_init_inputs():\n    return []\n"


def model(body: str, init: str = "") -> str:
    """A task file whose forward is `body`."""
    constructor = f"    def __init__(self):\n        super().__init__()\n        {init}\n"
    head = HEAD + "class Model(nn.Module):\n" + (constructor if init else "")
    return head + f"    def forward(self, x):\n        {body}\n" + INPUTS + INIT


def verdict(text: str, folder: Path, limits: Limits = ANY_TIME) -> tuple[str, str]:
    """Reason code and message, or ("ok", "")."""
    file = folder / "model.py"
    file.write_text(text)
    torch.set_num_threads(1)
    try:
        admit(load(file), file, limits)
    except TaskError as error:
        return error.code, error.message
    return "ok", ""


REFUSED = {
    "import_failed": "import a_module_that_is_not_there\n",
    "no_model": HEAD + INPUTS + INIT,
    "no_get_inputs": model("return x * 2").replace("get_inputs", "inputs"),
    "no_get_init_inputs": model("return x * 2").replace("get_init_inputs", "init"),
    "init_failed": model("return x * 2", init="raise ValueError('no')"),
    "inputs_failed": model("return x * 2").replace("[torch.randn(64, 64)]", "[3]"),
    "eager_failed": model("return x @ torch.ones(3, 3)"),
    "no_tensor_output": model("return [float(x.sum())]"),
    "input_mutated": model("return x.mul_(2) + 1"),
    "input_returned": model("return x.view(-1)"),
    "nondeterministic": model("return x + torch.rand(64, 64, generator=self.g)", "self.g = G"),
    "nonfinite": model("return torch.log(x)"),
    "constant_output": model("return x * 1e-3"),
    "input_ignored": model("return x * 2").replace("64, 64)]", "64, 64), torch.ones(1)]"),
    "weight_ignored": model("return x * 2", init="self.w = nn.Parameter(torch.ones(3))"),
}
# Fix-ups that one line of a template cannot hold.
REFUSED["nondeterministic"] = REFUSED["nondeterministic"].replace(
    "self.g = G", "self.g = torch.Generator()"
)
REFUSED["input_ignored"] = (
    REFUSED["input_ignored"]
    .replace("forward(self, x)", "forward(self, x, y)")
    .replace("torch.ones(1)", "torch.randn(1)")
)

ACCEPTED = {
    "a plain model": model("return x * 2"),
    "a tuple of tensors": model("return x * 2, x.sum(1)"),
    "a model that fixes its randomness": model(
        "return x + torch.rand(64, 64, generator=torch.Generator().manual_seed(1))"
    ),
    "an output just above the gate": model("return x * 0.1"),
    "a copy of the input": model("return x.clone()"),
    "a weight that counts": model("return x * self.w", init="self.w = nn.Parameter(torch.ones(1))"),
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_bad_file_is_refused_with_its_code(code: str, tmp_path: Path) -> None:
    found, message = verdict(REFUSED[code], tmp_path)
    assert found == code
    assert message.startswith(str(tmp_path / "model.py"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_file_that_nearly_trips_a_rule_passes(name: str, tmp_path: Path) -> None:
    assert verdict(ACCEPTED[name], tmp_path) == ("ok", "")


def test_a_module_that_is_not_there_and_a_result_that_is_no_tensor_name_line_and_remedy(
    tmp_path: Path,
) -> None:
    file = tmp_path / "model.py"
    _, message = verdict(REFUSED["import_failed"], tmp_path)
    assert f"{file}:1: ModuleNotFoundError" in message
    assert message.endswith("; install it, or import only torch and the standard library")
    _, message = verdict(REFUSED["no_tensor_output"], tmp_path)
    assert f"{file}:4: forward returns float, not tensors" in message
    assert message.endswith("; return a tensor or a tuple of them")
    _, message = verdict(model("return x[:0]"), tmp_path)
    assert f"{file}:4: forward returns empty tensors" in message


def test_a_file_that_raises_on_import_is_not_told_to_install_anything(tmp_path: Path) -> None:
    code, message = verdict("raise ValueError('no')\n", tmp_path)
    assert code == "import_failed"
    assert message.endswith("model.py:1: ValueError: no")


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    code, message = verdict("import torch\n\ndef get_inputs(:\n", tmp_path)
    assert code == "import_failed"
    assert "model.py:3:" in message


def test_an_eager_time_outside_the_bounds_is_refused(tmp_path: Path) -> None:
    text = model("return x * 2")
    assert verdict(text, tmp_path, Limits(1e6, 1e9))[0] == "too_fast"
    assert verdict(text, tmp_path, Limits(0, 1e-6))[0] == "too_slow"
    assert verdict(text, tmp_path, Limits(0, 1e6))[0] == "ok"


def run_check(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(CHECK), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_file_that_dies_or_hangs_is_refused_and_the_others_are_still_checked(
    tmp_path: Path,
) -> None:
    dies, hangs, fine = (tmp_path / name for name in ("dies.py", "hangs.py", "fine.py"))
    dies.write_text("import os\nos.abort()\n")
    hangs.write_text("import time\ntime.sleep(1000)\n")
    fine.write_text(model("return x * 2"))
    names = [str(tmp_path / "none.py"), *map(str, (dies, fine))]
    done = run_check("--json", "--min-ms", "0", *names)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert not report["admissible"]
    codes = [[reason["code"] for reason in file["reasons"]] for file in report["files"]]
    assert codes == [["not_found"], ["crashed"], []]
    assert report["files"][2]["outputs"] == [{"shape": [64, 64], "dtype": "float32"}]
    late = run_check("--json", "--timeout", "4", str(hangs))
    assert json.loads(late.stdout)["files"][0]["reasons"][0]["code"] == "timeout"


def test_a_bad_command_line_has_its_own_exit_code() -> None:
    assert run_check("--no-such-option", "x.py").returncode == 64
