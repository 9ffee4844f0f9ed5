"""Measures the judge on a GPU in slices: false verdicts on equal kernels, and what it credits.

usage: measure.py SWAGE RESULTS noise|credit SECONDS   (one slice; appends to RESULTS/KIND.jsonl)
       measure.py SWAGE RESULTS report                 (all slices so far, as text for a page)

The task is a sum of T tensors, one kernel a term; the solution does the same with kernels of its
own, or with fewer of them, of which one adds several terms: the same kernel with less work.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
# Elements and terms: 0.3 to 30 ms of eager on an H200.
SIZES = (
    (1 << 24, 6), (1 << 24, 12), (1 << 22, 100), (1 << 24, 25),
    (1 << 24, 60), (1 << 23, 240), (1 << 24, 200), (1 << 24, 600),
)  # fmt: skip
CREDIT_SIZE = (1 << 24, 100)
GAINS = (0.07, 0.04)
RUNS_A_CALL = 5

TASK = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        for _ in range({terms}):
            x = x + y
        return x


def get_inputs():
    return [torch.randn({rows}, 4096), torch.randn({rows}, 4096)]


def get_init_inputs():
    return []
"""
MODEL_NEW = """import torch
import torch.nn as nn
import cuda_extension


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty_like(x)
        cuda_extension.run(x, y, z)
        return z
"""
KERNEL = """__global__ void add(const float4* x, const float4* y, float4* z, long n, float times) {{
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = x[i], b = y[i];
  z[i] = make_float4(a.x + times * b.x, a.y + times * b.y, a.z + times * b.z, a.w + times * b.w);
}}

extern "C" void run(const float* x, const float* y, float* z, long n) {{
  n /= 4;
  for (int i = 0; i < {launches}; ++i)
    add<<<(n + 255) / 256, 256>>>((const float4*)(i ? z : x), (const float4*)y, (float4*)z, n,
                                  i ? 1.0f : {first}.0f);
}}
"""
BINDING = """#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>

#include "binding_registry.h"

extern "C" void run(const float* x, const float* y, float* z, long n);

static void call(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
  run(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.numel());
}

static void bind(pybind11::module_& m) { m.def("run", &call); }
REGISTER_BINDING(run, bind)
"""


def lay(folder: Path, elements: int, terms: int, launches: int) -> None:
    """A task of `terms` terms, and its solution in `launches` kernels."""
    (folder / "new" / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(TASK.format(terms=terms, rows=elements // 4096))
    (folder / "new" / "model_new.py").write_text(MODEL_NEW)
    kernel = KERNEL.format(launches=launches, first=terms - launches + 1)
    (folder / "new" / "kernels" / "run.cu").write_text(kernel)
    (folder / "new" / "kernels" / "run_binding.cpp").write_text(BINDING)


def judged(swage: str, folder: Path, *arguments: str) -> list[Row]:
    """The verdicts of one call of `swage judge`."""
    command = [swage, "judge", "--json", "--device", "cuda", "--task", str(folder / "model.py"),
               "--solution", str(folder / "new"), *arguments]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        print(done.stdout[-500:], done.stderr[-1500:])
    return [row for row in rows if "code" in row]


def record(kind: str, label: str, verdict: Row, **more: object) -> Row:
    """What a verdict says to these questions."""
    timing = verdict.get("timing") or {}
    return {
        "kind": kind, "label": label, "code": verdict["code"], "tier": verdict.get("tier", 0),
        "q_twin": timing.get("q_twin"), "q_eager": timing.get("q_eager"),
        "eager_us": (timing.get("eager") or {}).get("calibrated_us"),
        "offset_us": timing.get("offset_us"), "rounds": timing.get("rounds"),
        "voided": timing.get("voided"), "lease_ms": verdict.get("lease_ms"),
        "phase_ms": verdict.get("phase_ms"), "detail": verdict.get("detail", "")[:200],
        **more,
    }  # fmt: skip


def noise(swage: str, folder: Path, keep: Callable[[Row], None], done: list[Row]) -> None:
    """Equal kernels on the size that has been judged least."""
    counts = Counter(row["label"] for row in done)
    elements, terms = min(SIZES, key=lambda size: counts[f"{size[0] >> 20} Mi x {size[1]}"])
    lay(folder, elements, terms, terms)
    for verdict in judged(swage, folder, "--ab-noise", str(RUNS_A_CALL), "--rounds", "full"):
        keep(record("noise", f"{elements >> 20} Mi x {terms}", verdict))


def credit(swage: str, folder: Path, keep: Callable[[Row], None], done: list[Row]) -> None:
    """A kernel that is truly faster by one of GAINS. The ratio without a gain is measured first:
    a kernel of ours and eager's own take the same time but for a per cent or two.
    """
    elements, terms = CREDIT_SIZE
    base = [row["q_eager"]["median"] for row in done if row["kind"] == "base" and row["q_eager"]]
    if len(base) < RUNS_A_CALL:
        lay(folder, elements, terms, terms)
        for verdict in judged(swage, folder, "--repeat", str(RUNS_A_CALL), "--rounds", "60"):
            keep(record("base", "base", verdict))
        return
    counts = Counter(row["label"] for row in done)
    gain = min(GAINS, key=lambda share: counts[f"{share:.0%}"])
    launches = round(terms * (1 - gain) / statistics.median(base))
    lay(folder, elements, terms, launches)
    true = 1 - launches * statistics.median(base) / terms
    for verdict in judged(swage, folder, "--repeat", str(RUNS_A_CALL), "--rounds", "full"):
        keep(record("credit", f"{gain:.0%}", verdict, true_gain=true, launches=launches))


def spread(values: list[float]) -> str:
    """Median and extremes."""
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def report(rows: list[Row]) -> None:
    """Counts and spreads by label."""
    for label in dict.fromkeys((row["kind"], row["label"]) for row in rows):
        part = [row for row in rows if (row["kind"], row["label"]) == label]
        good = [row for row in part if row["code"] == "ok"]
        print(f"{label[0]} {label[1]}: {len(part)} runs, {dict(Counter(r['code'] for r in part))}")
        for why in {row["detail"] for row in part if row["code"] != "ok"}:
            print(f"  {why}")
        if not good:
            continue
        tiers = dict(Counter(row["tier"] for row in good))
        print(f"  eager us {spread([r['eager_us'] for r in good])}, tiers {tiers}")
        print(f"  lease ms {spread([r['lease_ms'] for r in good])}, offset us "
              f"{spread([r['offset_us'] for r in good])}")  # fmt: skip
        for name in ("q_twin", "q_eager"):
            if all(row[name] for row in good):
                false = sum(row[name]["hi"] < 0.95 or row[name]["lo"] > 1 / 0.95 for row in good)
                print(f"  {name} {spread([row[name]['median'] for row in good])}, "
                      f"beyond 5 %: {false}")  # fmt: skip


def main() -> int:
    """One slice, or the report."""
    swage, results, kind, *limit = sys.argv[1:]
    files = sorted(Path(results).glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    if kind == "report":
        report(rows)
        return 0
    end = time.monotonic() + float(limit[0])
    mine = [row for row in rows if (row["kind"] == "noise") == (kind == "noise")]
    with (Path(results) / f"{kind}.jsonl").open("a") as out:

        def keep(row: Row) -> None:
            mine.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()

        while time.monotonic() < end:
            with tempfile.TemporaryDirectory() as folder:
                begin, before = time.monotonic(), len(mine)
                (noise if kind == "noise" else credit)(swage, Path(folder), keep, mine)
                print(f"{mine[-1]['label'] if mine else ''}: {len(mine) - before} verdicts in "
                      f"{time.monotonic() - begin:.1f} s", flush=True)  # fmt: skip
                if len(mine) == before:
                    return 1
    report(mine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
