#!/usr/bin/env python3
"""Measures a full build as with an empty cache, and rebuilds after one core file has changed.

    tests/bench/build_times.py [--into DIR] [--incremental-only] [FILE ...]

Prints lines for docs/BENCHMARKS.md. DIR (a temporary one by default) gets the build tree; with
--incremental-only it must hold one that is up to date. The cache is written and never read, so a
changed file may be a touched one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = (
    "controller/core/dispatcher.cpp",
    "controller/core/pool_reconciler.cpp",
    "gpu_pool/judge/core/gate.cpp",
    "gpu_pool/judge/core/statistics.cpp",
    "gpu_pool/lease/core/machine.cpp",
    "learner/core/ppo.cpp",
    "learner/core/ledger.cpp",
    "rollout_worker/core/agent_loop.cpp",
)


def build(into: Path) -> float:
    """Builds everything in a configured tree. Returns wall seconds."""
    began = time.monotonic()
    command = ["ninja", "-C", str(into), "-j", str(os.cpu_count() or 2), "--quiet"]
    subprocess.run(command, check=True, env={**os.environ, "CCACHE_RECACHE": "1"})
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=CORE, help="what changes (some core files)")
    parser.add_argument("--into", type=Path, help="the build tree")
    parser.add_argument("--incremental-only", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        into = (asked.into or Path(temporary)).resolve()
        if not asked.incremental_only:
            began = time.monotonic()
            subprocess.run(
                ["cmake", "--preset", "dev", "-B", str(into), "--log-level=WARNING"],
                cwd=ROOT, check=True,
            )  # fmt: skip
            print(f"configure: {time.monotonic() - began:.0f} s", flush=True)
            print(f"full build, empty cache: {build(into):.0f} s", flush=True)
        build(into)
        seconds = []
        for file in asked.files:
            (ROOT / file).touch()
            seconds.append(build(into))
            print(f"{file} changed: {seconds[-1]:.1f} s", flush=True)
        print(f"median {statistics.median(seconds):.1f} s, most {max(seconds):.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
