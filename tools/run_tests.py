#!/usr/bin/env python3
"""Runs the test groups of `make test` one after the other and counts what they ran.

Every group prints its own output; the last line of all is `N passed, N failed, N skipped`.
The exit code is 1 when anything failed or when nothing ran.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "swage"
VENV = CACHE / "venv" / "bin"
# What is tested is what users build.
PRESET = "dev"
# Folders of typed Python, and what each imports from elsewhere in the tree.
TYPED: dict[str, tuple[str, ...]] = {
    "charts/swage/files": (),
    "cli/plot": (),
    "dashboards": (),
    "gpu_pool/model_host": (),
    "images": ("tools",),
    "sandbox/template": (),
    "tasks": (),
    "tests/architecture": ("tools", "dashboards", "tests/attacks"),
    "tests/attacks": (),
    "tests/bench": ("tests/system",),
    "tests/charts": ("tools",),
    "tests/cluster": ("images", "tools"),
    "tests/images": ("images", "tools"),
    "tests/gpu": ("gpu_pool/model_host",),
    "tests/integration": (),
    "tests/learning": ("tests/system",),
    "tests/system": (),
    "tests/unit": ("gpu_pool/model_host", "tasks/check", "tasks/tools"),
    "tools": (),
}


TIDY_TREE = ROOT / "build" / "tidy"
# What makes a compilation use a shared precompiled header (swage_precompiled).
PRECOMPILED = re.compile(r" -Xclang -include-pch -Xclang \S+| -Winvalid-pch")


@dataclass
class Tally:
    """What ran: counts, the names of what failed or was skipped, and seconds by group."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, good: bool) -> None:
        if good:
            self.passed += 1
        else:
            self.failed.append(name)


def run(*command: str | Path, env: dict[str, str] | None = None) -> bool:
    """Runs a command in the repository with its output shown."""
    shown = " ".join(map(str, command))
    print("+", shown if len(shown) < 400 else shown[:400] + " …", flush=True)
    merged = {**os.environ, **(env or {})}
    return (
        subprocess.run([str(c) for c in command], cwd=ROOT, env=merged, check=False).returncode == 0
    )


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def build(preset: str, tally: Tally, *targets: str) -> bool:
    """Configures one preset and builds targets of it (all by default). A failure counts once."""
    good = run("cmake", "--preset", preset, "--log-level=WARNING")
    jobs = str(os.cpu_count() or 2)
    good = good and run("ninja", "-C", f"build/{preset}", "-j", jobs, "--quiet", *targets)
    if not good:
        tally.failed.append(f"build {preset}")
    return good


def ctest(preset: str, tally: Tally, *arguments: str, jobs: int = 1) -> None:
    """Runs ctest and reads its JUnit report."""
    report = ROOT / "build" / preset / "report.xml"
    report.unlink(missing_ok=True)
    shutil.rmtree(ROOT / "build" / preset / "cases", ignore_errors=True)
    run("ctest", "--preset", preset, "-j", str(jobs), "--output-junit", report, "--quiet",
        "--output-on-failure", *arguments)  # fmt: skip
    if not report.exists():
        tally.failed.append(f"ctest {preset} {' '.join(arguments)}")
        return
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = str(case.get("name")).partition("  # GetParam")[0]
        status = case.get("status", "")
        cases = ROOT / "build" / preset / "cases" / f"{name}.xml"
        if cases.exists() and (status == "run" or failed_cases(cases)):
            count_cases(tally, preset, cases)
        elif status == "run":
            tally.passed += 1
        elif status in ("notrun", "disabled") or case.find("skipped") is not None:
            tally.skipped.append(f"[{preset}] {name}")
        else:
            tally.failed.append(f"[{preset}] {name}")
            print(f"FAILED {name}\n{(case.findtext('system-out') or '')[-4000:]}", flush=True)


def failed_cases(report: Path) -> bool:
    """Whether a program's own report names what failed: a program that crashed leaves none, or an
    older one without failures."""
    return ElementTree.parse(report).getroot().get("failures", "0") != "0"


def count_cases(tally: Tally, preset: str, report: Path) -> None:
    """The cases of one program that ctest runs as a whole."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"[{preset}] {report.stem}.{case.get('classname')}.{case.get('name')}"
        failure = case.find("failure")
        if case.get("result") == "skipped":
            tally.skipped.append(name)
        elif failure is not None:
            tally.failed.append(name)
            print(f"FAILED {name}\n{(failure.text or '')[:2000]}", flush=True)
        else:
            tally.passed += 1


def formatting(tally: Tally) -> None:
    sources = tracked("*.cpp", "*.hpp")
    tally.note("clang-format", run("clang-format-19", "--dry-run", "--Werror", *sources))
    ruff = (VENV / "python", "-m", "ruff")
    tally.note("ruff format", run(*ruff, "format", "--quiet", "--check", "."))
    tally.note("ruff check", run(*ruff, "check", "--quiet", "."))
    for folder, beside in TYPED.items():
        good = run(VENV / "python", "-m", "mypy", "--config-file", "pyproject.toml", folder,
                   env={"MYPYPATH": ":".join((folder, *beside))})  # fmt: skip
        tally.note(f"mypy {folder}", good)


def architecture(tally: Tally) -> None:
    run_pytest(tally, "tests/architecture")


def run_pytest(tally: Tally, folder: str, *arguments: str) -> None:
    """Runs one folder of Python tests and counts its cases."""
    report = ROOT / "build" / "pytest.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    run(VENV / "python", "-m", "pytest", "-q", folder, f"--junitxml={report}", *arguments)
    if not report.exists():
        tally.failed.append(f"pytest {folder}")
        return
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("skipped") is not None:
            tally.skipped.append(name)
        else:
            tally.note(name, case.find("failure") is None and case.find("error") is None)


def unit(tally: Tally) -> None:
    if build(PRESET, tally):
        ctest(PRESET, tally, "-L", "unit|grpc|torch|k8s", "-LE", "integration|slow|learning",
              jobs=os.cpu_count() or 2)  # fmt: skip


def integration(tally: Tally) -> None:
    if build(PRESET, tally):
        ctest(PRESET, tally, "-L", "integration|redis", "-LE", "slow|learning")


def attacks(tally: Tally) -> None:
    """Every exploit three ways: without its guard, with it, and its honest twin."""
    if build(PRESET, tally):
        ctest(PRESET, tally, "-L", "attack")


def sanitizers(tally: Tally) -> None:
    """Own code without torch. The thread sanitizer leaves out what waits in libraries that are not
    instrumented (gRPC, cpprestsdk): it knows nothing of their locks."""
    jobs = os.cpu_count() or 2
    for preset, labels in (("asan-ubsan", ("unit", "grpc", "k8s", "redis")), ("tsan", ("unit",))):
        if build(preset, tally, *(f"tests-{label}" for label in labels)):
            ctest(preset, tally, jobs=jobs)  # the preset leaves out what has another label


def tidy_one(database: dict[str, str], source: str) -> tuple[str, bool, str]:
    """Runs clang-tidy on one file unless the same preprocessed text passed before."""
    command = database[source]
    preprocess = re.sub(r" -o \S+", "", command).replace(" -c ", " -E -P ")
    preprocess = re.sub(r"^\S*ccache\s+", "", preprocess)
    text = subprocess.run(
        preprocess, shell=True, cwd=ROOT / "build/dev", capture_output=True, check=False
    )
    settings = (ROOT / ".clang-tidy").read_bytes()
    key = hashlib.sha256(settings + source.encode() + text.stdout).hexdigest()
    stamp = CACHE / "tidy" / key
    if text.returncode == 0 and stamp.exists():
        return source, True, ""
    done = subprocess.run(
        ["clang-tidy-19", "--quiet", "-p", TIDY_TREE, source],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    return source, done.returncode == 0, done.stdout


def tidy(tally: Tally) -> None:
    """clang-tidy on sources without torch; results are cached by preprocessed text. It reads them
    without the precompiled headers, and so finds the includes that these would make up for."""
    path = ROOT / "build/dev/compile_commands.json"
    if not path.exists() and not build(PRESET, tally):
        return
    entries = [
        entry
        for entry in json.loads(path.read_text())
        if "/generated/" not in entry["file"]
        and "torch_pch" not in entry["command"]
        and Path(entry["file"]).is_relative_to(ROOT)
    ]
    for entry in entries:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
    TIDY_TREE.mkdir(parents=True, exist_ok=True)
    (TIDY_TREE / path.name).write_text(json.dumps(entries))
    database = {str(Path(entry["file"]).relative_to(ROOT)): entry["command"] for entry in entries}
    wanted = re.compile(r"^(common|[a-z_]+(/[a-z_]+)?/(api|core|adapters|tokenizer))/")
    sources = [source for source in tracked("*.cpp") if wanted.match(source) and source in database]
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for source, good, text in pool.map(lambda s: tidy_one(database, s), sources):
            if not good:
                print(text, flush=True)
            tally.note(f"clang-tidy {source}", good)


def system(tally: Tally) -> None:
    """The whole loop in its shortest form, as a user starts it, and with each process killed."""
    if build(PRESET, tally):
        run_pytest(tally, "tests/system", "-m", "not slow")


def cluster(tally: Tally) -> None:
    """What needs a real Kubernetes. On a machine that cannot run one, pytest skips and says why."""
    command = ("env", "PYTHONPATH=tests/cluster", "python3", "-m", "testcluster")
    run(*command, "up")
    try:
        run_pytest(tally, "tests/cluster")
        if build(PRESET, tally, "tests-cluster"):
            ctest(PRESET, tally, "-L", "cluster")
    finally:
        run(*command, "down")


def images(tally: Tally) -> None:
    """Images are what they say, and the same input gives the same digest."""
    run_pytest(tally, "tests/images")


def chart(tally: Tally) -> None:
    """Renderings of the Helm chart, its values, and what is made from them."""
    run_pytest(tally, "tests/charts")


def teacher(tally: Tally) -> None:
    """Every kernel of the teacher: whether it is right, and the tier it earns (slow)."""
    if build(PRESET, tally):
        run_pytest(tally, "tests/system/test_teacher.py")


def fuzz(tally: Tally) -> None:
    """Ten seconds of libFuzzer on each parser of foreign input."""
    if not build("fuzz", tally, "fuzzers"):
        return
    for target in sorted((ROOT / "build/fuzz/fuzz").glob("*_fuzz")):
        corpus = ROOT / "build/fuzz/corpus" / target.name
        corpus.mkdir(parents=True, exist_ok=True)
        seeds = ROOT / "tests/fuzz/seeds" / target.name.removesuffix("_fuzz")
        folders = [corpus, seeds] if seeds.is_dir() else [corpus]
        limits = ("-max_total_time=10", "-timeout=5", "-rss_limit_mb=2048", "-verbosity=0",
                  "-print_final_stats=1", f"-artifact_prefix={corpus.parent}/")  # fmt: skip
        tally.note(f"fuzz {target.name}", run(target, *limits, *folders))


def learning(tally: Tally) -> None:
    """The reward rises over three seeds, and stands still without learning rates (slow)."""
    if build(PRESET, tally):
        run_pytest(tally, "tests/learning", "-s")


GROUPS: dict[str, list[Callable[[Tally], None]]] = {
    "lint": [formatting, architecture],
    "tidy": [tidy],
    "unit": [unit],
    "integration": [integration],
    "attacks": [attacks],
    "sanitizers": [sanitizers],
    "system": [system],
    "cluster": [cluster],
    "images": [images],
    "chart": [chart],
    "teacher": [teacher],
    "fuzz": [fuzz],
    "learning": [learning],
    "all": [
        formatting,
        architecture,
        unit,
        attacks,
        integration,
        system,
        sanitizers,
    ],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=sorted(GROUPS), help="which tests to run")
    group = parser.parse_args().group
    tally = Tally()
    for step in GROUPS[group]:
        began = time.monotonic()
        print(f"=== {step.__name__}", flush=True)
        step(tally)
        tally.seconds[step.__name__] = time.monotonic() - began
    for name, seconds in tally.seconds.items():
        print(f"{name:14} {seconds:7.0f} s")
    for name in tally.skipped:
        print("skipped:", name)
    for name in tally.failed:
        print("failed:", name)
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
