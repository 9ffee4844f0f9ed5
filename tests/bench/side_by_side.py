"""Compilation beside torch.utils.cpp_extension.load, and warm evaluations of a small task.

Prints a section for docs/BENCHMARKS.md; `--write` appends it there. Build the target `benches`
first, and let the machine do nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SWAGE_BIN_DIR", ROOT / "build" / "dev" / "bin")).parent
TASK = ROOT / "tasks" / "builtin-cpu" / "rowsum"
TEMPLATE = BUILD / "share" / "swage" / "sandbox" / "template"

LOAD = """
import sys, time
from torch.utils.cpp_extension import load
kernels, template, build, *sources = sys.argv[1:]
began = time.perf_counter()
load("cuda_extension", sources, extra_cflags=["-O3"], extra_include_paths=[template, kernels],
     build_directory=build)
print("ms", 1000 * (time.perf_counter() - began))
"""


def solution(folder: Path) -> Path:
    out = folder / "solution"
    (out / "kernels").mkdir(parents=True)
    shutil.copy(TASK / "teacher" / "model_new.py", out)
    shutil.copy(TASK / "teacher" / "run_binding.cpp", out / "kernels")
    shutil.copy(TASK / "teacher" / "fast.cpp", out / "kernels" / "run.cpp")
    return out


def service(folder: Path, cache: Path, rounds: int) -> dict[str, float]:
    done = subprocess.run(
        [BUILD / "bench" / "compile_bench", folder, TEMPLATE, Path(torch.__file__).parent,
         sys.executable, cache, str(rounds)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    return {
        "first": said["first_ms"],
        "changed": statistics.median(said["changed_ms"]),
        "hit": statistics.median(said["hit_ms"]),
    }


def load_once(folder: Path, build: Path, sources: list[Path]) -> float:
    """load() in a process of its own, as an agent's script would; without the import of torch."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, folder / "kernels", TEMPLATE, build, *sources],
        check=True, capture_output=True, text=True, env={**os.environ, "CXX": "g++"},
    )  # fmt: skip
    return float(done.stdout.split("ms ")[-1])


def in_one_source(folder: Path) -> list[Path]:
    """Kernel and binding in one translation unit: the form that load_inline makes, and most
    published solutions have.
    """
    text = "".join(f'#include "{name}"\n' for name in ("run.cpp", "run_binding.cpp", "binding.cpp"))
    source = folder / "one.cpp"
    source.write_text(text)
    return [source]


def torch_load(folder: Path, build: Path, sources: list[Path], rounds: int) -> dict[str, float]:
    build.mkdir()
    first = load_once(folder, build, sources)
    changed, again = [], []
    kernel = folder / "kernels" / "run.cpp"
    for i in range(rounds):
        kernel.write_text(kernel.read_text() + f"// change {i}\n")
        changed.append(load_once(folder, build, sources))
        again.append(load_once(folder, build, sources))
    return {
        "first": first,
        "changed": statistics.median(changed),
        "hit": statistics.median(again),
    }


def evaluations(folder: Path, count: int) -> list[float]:
    """Seconds between the verdicts of `swage judge --repeat`; the first starts cold."""
    judge = subprocess.Popen(
        [BUILD / "bin" / "swage", "judge", "--task", TASK / "model.py", "--solution", folder,
         "--repeat", str(count + 1), "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert judge.stdout is not None
    at = []
    for line in judge.stdout:
        assert json.loads(line)["code"] in ("ok", "timing_unstable"), line
        at.append(time.monotonic())
    judge.wait()
    return [later - earlier for earlier, later in itertools.pairwise(at)]


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of an {names[0]}" if names else platform.machine()


def section(rounds: int) -> str:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        work = solution(folder)
        apart = [*sorted((work / "kernels").glob("*.cpp")), TEMPLATE / "binding.cpp"]
        theirs = torch_load(work, folder / "torch", apart, rounds)
        one = torch_load(work, folder / "torch-one", in_one_source(work), rounds)
        ours = service(work, folder / "cache", rounds)
        warm = evaluations(work, rounds)
    row = "| {} | {:,.1f} | {:,.1f} | {:,.1f} |\n"
    return (
        f"\n## Compilation beside torch's own, and warm evaluations\n"
        f"{processor()}, torch {torch.__version__}, {datetime.date.today()}, "
        f"`tests/bench/side_by_side.py`, medians of {rounds}.\n"
        "The solution is the fast kernel of `rowsum`: a kernel, its binding, the registry. Wall\n"
        "milliseconds; `load` in a process of its own each time, without the import of torch. The\n"
        "service's first compilation makes its precompiled header too.\n\n"
        "| | compile service | `load`, the same files | `load`, all in one source |\n"
        "|---|---|---|---|\n"
        + row.format("first, everything cold", ours["first"], theirs["first"], one["first"])
        + row.format("kernel changed", ours["changed"], theirs["changed"], one["changed"])
        + row.format("nothing changed", ours["hit"], theirs["hit"], one["hit"])
        + f"\nA warm evaluation of `rowsum` (score, quick rounds): median "
        f"{statistics.median(warm):.2f} s, {min(warm):.2f} to {max(warm):.2f} s.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="append to docs/BENCHMARKS.md")
    options = parser.parse_args()
    text = section(options.rounds)
    print(text)
    if options.write:
        with (ROOT / "docs" / "BENCHMARKS.md").open("a") as file:
            file.write(text)


if __name__ == "__main__":
    main()
