"""A kernel against itself while another process keeps one core busy half the time.

Neither of two equal arms is faster: each verdict that says so is false. Prints a section for
docs/BENCHMARKS.md; `--write` appends it there. Exit code 1: a false verdict, or too few ended `ok`.
Let the machine do nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side_by_side import BUILD, ROOT, processor

TASK = ROOT / "tests" / "attacks" / "tasks" / "busy.py"
LEAST_OK = 0.8  # of the runs
PERIOD = 0.02  # seconds: half of it busy
SOLUTION = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor chain(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int turn = 0; turn < 40; ++turn) {
    asm volatile("" ::: "memory");
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = std::fmax(2 * from[i] + 1, 0.0f) * 0.5f;
  }
  return out;
}
"""
chain = load_inline(name="chain", cpp_sources=source, functions=["chain"])


class ModelNew(nn.Module):
    def forward(self, x):
        return chain.chain(x)
'''


def keep_half_busy() -> None:
    """Runs until it is killed, on the last core: that is where model hosts run."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    while True:
        end = time.monotonic() + PERIOD / 2
        while time.monotonic() < end:
            pass
        time.sleep(PERIOD / 2)


def measure(runs: int, folder: Path) -> dict[str, object]:
    """The summary of `swage judge --ab-noise` beside a busy process."""
    file = folder / "new.py"
    file.write_text(SOLUTION)
    command: list[str | Path] = [
        BUILD / "bin" / "swage", "judge", "--task", TASK, "--solution", file,
        "--ab-noise", str(runs), "--json",
    ]  # fmt: skip
    with subprocess.Popen([sys.executable, __file__, "--busy"]) as other:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            other.kill()
    lines = done.stdout.splitlines()
    if not lines:
        raise SystemExit(done.stderr)
    return dict(json.loads(lines[-1])["ab_noise"])


def section(found: dict[str, object], seconds: float) -> str:
    codes = found["codes"]
    assert isinstance(codes, dict)
    ends = ", ".join(f"{count} `{code}`" for code, count in sorted(codes.items()))
    return (
        f"\n## One kernel against itself beside a half-busy core\n"
        f"{processor()}, {datetime.date.today()}, `tests/bench/ab_noise.py`, quick rounds.\n\n"
        f"{found['runs']} runs in {seconds:.0f} s: {ends}. Called faster {found['faster']} times, "
        f"slower {found['slower']} times;\n"
        f"median |ratio - 1| {found.get('median_distance', 0):.4f}, "
        f"largest {found.get('largest_distance', 0):.4f}.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--write", action="store_true", help="append to docs/BENCHMARKS.md")
    parser.add_argument("--busy", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.busy:
        keep_half_busy()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.runs, Path(folder))
    text = section(found, time.monotonic() - began)
    print(text)
    if options.write:
        with (ROOT / "docs" / "BENCHMARKS.md").open("a") as file:
            file.write(text)
    codes = found["codes"]
    assert isinstance(codes, dict)
    false = int(str(found["faster"])) + int(str(found["slower"]))
    return 1 if false or codes.get("ok", 0) < LEAST_OK * options.runs else 0


if __name__ == "__main__":
    sys.exit(main())
