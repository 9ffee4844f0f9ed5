"""`swage judge` as a user gives it: the forms of a solution, what is measured, and how much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness import ROOT
from test_bad_input import TASK, solution, swage

BUSY = ROOT / "tests" / "attacks" / "tasks" / "busy.py"  # slow enough to be timed anywhere
INLINE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor chain(torch::Tensor x) {{
  auto out = torch::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = {formula};
  return out;
}}
"""
chain = load_inline(name="chain", cpp_sources=source, functions=["chain"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        return chain.chain(x)
'''
RIGHT = "std::fmax(2.0f * from[i] + 1.0f, 0.0f) * 0.5f"


def records(*arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    done = swage("judge", *arguments, "--json")
    assert done.stdout, done.stderr
    try:
        return done.returncode, [json.loads(done.stdout)]
    except ValueError:
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def single_file(folder: Path, formula: str) -> Path:
    file = folder / "new.py"
    file.write_text(INLINE.format(formula=formula))
    return file


def test_a_single_file_with_load_inline_is_judged_and_the_change_is_said(tmp_path: Path) -> None:
    file = single_file(tmp_path, RIGHT)
    code, (verdict,) = records("--task", BUSY, "--solution", file, "--mode", "verify")
    assert (code, verdict["code"]) == (0, "ok"), verdict
    (note,) = verdict["policy"]
    assert note["rule"] == "load_inline"
    assert "in line 18 were compiled like kernels/*.cpp; not used: extra_cflags" in note["detail"]


def test_a_wrong_or_broken_single_file_gets_its_code(tmp_path: Path) -> None:
    file = single_file(tmp_path, "from[i]")
    code, (verdict,) = records("--task", BUSY, "--solution", file, "--mode", "verify")
    assert (code, verdict["code"]) == (1, "mismatch")
    file = single_file(tmp_path, "nothing_of_that_name")
    code, (verdict,) = records("--task", BUSY, "--solution", file, "--mode", "verify")
    assert (code, verdict["code"]) == (1, "compile_error")
    assert "nothing_of_that_name" in verdict["diagnostics"]
    file.write_text(file.read_text().replace("cpp_sources=source", "cpp_sources=open(source)"))
    done = swage("judge", "--task", BUSY, "--solution", file)
    assert done.returncode == 1
    assert "line 18: cpp_sources of load_inline is not written out" in done.stderr


def test_reference_only_times_eager_and_compile_without_a_solution() -> None:
    code, (verdict,) = records("--task", BUSY, "--reference-only", "--rounds", "7")
    assert (code, verdict["code"]) in ((0, "ok"), (1, "timing_unstable")), verdict
    assert "reward" not in verdict and not verdict.get("checks")
    if code == 0:
        timing = verdict["timing"]
        assert timing["rounds"] == 7
        assert timing["eager"]["calibrated_us"] > 0 and timing["compile"]["calibrated_us"] > 0
        assert timing["q_reference"]["lo"] <= timing["q_reference"]["hi"]
        assert "candidate" not in timing and "q_eager" not in timing


def test_a_kernel_is_timed_against_itself(tmp_path: Path) -> None:
    folder = solution(tmp_path, (TASK / "teacher" / "fast.cpp").read_text())
    task = ("--task", TASK / "model.py", "--solution", folder)
    code, said = records(*task, "--ab-noise", "2", "--rounds", "12")
    assert code == 0, said
    *verdicts, last = said
    assert len(verdicts) == 2 and last["ab_noise"]["runs"] == 2
    # How often one comes out faster is measured by tests/bench/ab_noise.py.
    assert 0 <= last["ab_noise"]["faster"] <= 2
    for verdict in verdicts:
        if verdict["code"] == "ok":
            assert verdict["timing"]["twin"]["calibrated_us"] > 0
            assert "reward" not in verdict


def test_a_budget_ends_the_rounds(tmp_path: Path) -> None:
    folder = solution(tmp_path, (TASK / "teacher" / "fast.cpp").read_text())
    task = ("--task", TASK / "model.py", "--solution", folder)
    _, (verdict,) = records(*task, "--budget", "1", "--rounds", "1000")
    if verdict["code"] == "ok":
        assert 6 <= verdict["timing"]["rounds"] < 1000
