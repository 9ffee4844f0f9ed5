"""Bad input, as a user gives it: what is said, the exit code, and what is left behind (nothing)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import BIN, ROOT, TINY_TOKENIZER

SHORT = Path(__file__).parent / "short.yaml"
TASK = ROOT / "tasks" / "builtin-cpu" / "rowsum"
BAD_INPUT, MISSING, NOT_WRITABLE = 64, 69, 74
HEAD = "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
INPUTS = """

def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""


def swage(
    *arguments: str | Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "swage"), *map(str, arguments)], capture_output=True, text=True, check=False,
        timeout=120, env=env,
    )  # fmt: skip


def expect_refused(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    assert done.returncode == code, done.stderr
    for text in said:
        assert text in done.stderr, done.stderr


def run_file(folder: Path, **changed: str) -> Path:
    """short.yaml with lines of `spec` replaced: name=text, an empty text leaves the line out."""
    lines = SHORT.read_text().splitlines()
    for name, text in changed.items():
        at = [i for i, line in enumerate(lines) if line.startswith(f"  {name}:")]
        assert len(at) == 1
        lines[at[0]] = text
    file = folder / "run.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def start_refused(file: Path, code: int, *said: str, env: dict[str, str] | None = None) -> None:
    """`swage run` refuses the file and leaves nothing."""
    out = file.parent / "out"
    before = set(file.parent.iterdir())
    expect_refused(swage("run", file, "--local", "--out", out, env=env), code, *said)
    assert set(file.parent.iterdir()) == before


# The run's file.


def test_an_unknown_field_is_named_with_file_line_and_remedy(tmp_path: Path) -> None:
    file = run_file(tmp_path, rollouts="  rolouts: {concurrency: 4}")
    start_refused(file, BAD_INPUT, f"{file}:10: spec.rolouts", "did you mean `rollouts`?")


def test_an_ill_typed_field_is_named_with_file_line_and_remedy(tmp_path: Path) -> None:
    file = run_file(tmp_path, rollouts="  rollouts: {concurrency: many}")
    start_refused(file, BAD_INPUT, f"{file}:10: spec.rollouts.concurrency", "whole number")


def test_a_file_that_is_no_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    file = run_file(tmp_path, rollouts="  rollouts: {concurrency: 4")
    start_refused(file, BAD_INPUT, f"{file}:")


# A task of one's own.

FORWARD = "    def forward(self, x):\n        return x * 2\n" + INPUTS
TASKS = {
    "does_not_import": ("import a_module_that_is_not_there\n" + HEAD + FORWARD, "py:1: Module"),
    "lacks_model": (HEAD.replace("Model", "Net") + FORWARD, "has no `class Model`"),
    "returns_no_tensors": (
        HEAD + "    def forward(self, x):\n        return [float(x.sum())]\n" + INPUTS,
        "forward returns float, not tensors",
    ),
}


@pytest.mark.parametrize("form", ["file", "folder"])
@pytest.mark.parametrize("what", sorted(TASKS))
def test_a_task_that_cannot_be_used_is_refused_before_a_run(
    what: str, form: str, tmp_path: Path
) -> None:
    text, said = TASKS[what]
    task = tmp_path / "own" / "model.py"
    task.parent.mkdir()
    task.write_text(text)
    file = run_file(
        tmp_path,
        tasks=f"  tasks: [{{set: {task if form == 'file' else task.parent}}}]",
        stages="  stages:\n    collect: {trajectories: 8, actor: Policy}",
    )
    file.write_text(file.read_text().replace("    collect: {trajectories: 4}\n", ""))
    checked = swage("tasks", "check", "--json", task)
    assert checked.returncode == 1
    assert not json.loads(checked.stdout)["admissible"]
    start_refused(file, BAD_INPUT, str(task), said, "swage tasks check")


@pytest.mark.parametrize("holds", [[], ["config.json"], ["config.json", "tokenizer.json"]])
def test_a_folder_that_holds_no_model_is_refused_before_a_run(
    holds: list[str], tmp_path: Path
) -> None:
    model = tmp_path / "own"
    model.mkdir()
    for name in holds:
        (model / name).write_text("{}")
    file = run_file(tmp_path)
    file.write_text(file.read_text().replace('"scratch:tiny"', str(model)))
    missing = ("config.json", "tokenizer.json", "model.safetensors")[len(holds)]
    said = f"{file}: spec.model.source: {model} holds no {missing}"
    start_refused(file, BAD_INPUT, said, "save_pretrained", "scratch:tiny")


def test_a_model_of_another_chat_format_is_refused_before_a_run(tmp_path: Path) -> None:
    model = tmp_path / "own"
    model.mkdir()
    for name in ("config.json", "model.safetensors"):
        (model / name).write_text("{}")
    words = json.loads(TINY_TOKENIZER.read_text())
    words["added_tokens"] = [t for t in words["added_tokens"] if t["content"] != "<|tool|>"]
    (model / "tokenizer.json").write_text(json.dumps(words))
    file = run_file(tmp_path)
    file.write_text(file.read_text().replace('"scratch:tiny"', str(model)))
    said = f"{file}: spec.model.source: {model}/tokenizer.json: "
    start_refused(file, BAD_INPUT, said, "no special token <|tool|>", "scratch:tiny")


# A kernel, judged by hand.


def solution(folder: Path, kernel: str) -> Path:
    """A solution of rowsum with this kernel."""
    out = folder / "solution"
    (out / "kernels").mkdir(parents=True)
    shutil.copy(TASK / "teacher" / "model_new.py", out)
    shutil.copy(TASK / "teacher" / "run_binding.cpp", out / "kernels")
    (out / "kernels" / "run.cpp").write_text(kernel)
    return out


def run_kernel(body: str) -> str:
    return (
        "#include <cstdlib>\n#include <cstring>\n"
        'extern "C" void run(const float* x, float* y, int n) {\n'
        f"  (void)x, (void)y, (void)n;\n  {body}\n}}\n"
    )


KERNELS = {
    "does_not_compile": ("y[0] = undeclared_name;", "compile_error", "kernels/run.cpp:5"),
    "crashes": ("*(volatile int*)8 = 1;", "crash", "Segmentation fault"),
    "allocates_without_end": (
        "for (;;) std::memset(std::malloc(64 << 20), 1, 64 << 20);", "oom", "memory limit",
    ),
    "writes_outside_its_outputs": (
        "for (int i = 0; i < n / 16 + 4096; ++i) y[i] = 0;", "oob_write", "outside its result",
    ),
    "is_wrong": ("for (int i = 0; i < n / 16; ++i) y[i] = 0;", "mismatch", "tolerance"),
    "hangs": ('for (;;) __asm__ volatile("");', "timeout", "too long"),
}  # fmt: skip


@pytest.mark.parametrize("what", KERNELS)
def test_a_bad_kernel_gets_its_verdict_and_exit_code_1(what: str, tmp_path: Path) -> None:
    body, code, said = KERNELS[what]
    folder = solution(tmp_path, run_kernel(body))
    done = swage("judge", "--task", TASK / "model.py", "--solution", folder, "--json")
    assert done.returncode == 1, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["code"] == code, done.stdout
    assert said in verdict["detail"] + verdict["diagnostics"], done.stdout
    left = [p for p in Path("/proc").iterdir() if p.name.isdigit() and names(p, str(folder))]
    assert left == []


@pytest.mark.parametrize("kernel", ["good", "does_not_compile"])
@pytest.mark.parametrize("what", sorted(TASKS))
def test_a_task_that_cannot_be_judged_is_named_with_line_and_remedy(
    what: str, kernel: str, tmp_path: Path
) -> None:
    said = {
        "does_not_import": ":1: ModuleNotFoundError",
        "lacks_model": ": define class Model(nn.Module)",
        "returns_no_tensors": ":6: forward returns float, not tensors; return a tensor",
    }[what]
    task = tmp_path / "mine.py"
    task.write_text(TASKS[what][0])
    source = (TASK / "teacher" / "fast.cpp").read_text()
    folder = solution(tmp_path, source if kernel == "good" else run_kernel("undeclared_name;"))
    done = swage("judge", "--task", task, "--solution", folder, "--mode", "verify")
    code = "task_invalid" if kernel == "good" else "compile_error"
    assert done.stdout.startswith(f"{code} (verify)"), done.stdout
    expect_refused(done, 1, f"{task}{said}", f"swage tasks check {task}")


def test_a_kernel_that_does_not_compile_for_a_good_task_is_not_the_tasks_fault(
    tmp_path: Path,
) -> None:
    folder = solution(tmp_path, run_kernel("undeclared_name;"))
    done = swage("judge", "--task", TASK / "model.py", "--solution", folder, "--mode", "verify")
    assert done.returncode == 1 and done.stdout.startswith("compile_error"), done.stdout
    assert "tasks check" not in done.stderr


def names(process: Path, text: str) -> bool:
    try:
        return text in (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False


def test_a_good_kernel_is_ok_and_exit_code_0(tmp_path: Path) -> None:
    folder = solution(tmp_path, (TASK / "teacher" / "fast.cpp").read_text())
    arguments = ("--task", TASK / "model.py", "--solution", folder, "--mode", "verify")
    done = swage("judge", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ok (verify)")


def test_bad_arguments_of_judge_are_refused_with_the_remedy(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    task = TASK / "model.py"
    judge = ("judge", "--task", task, "--solution")
    expect_refused(swage("judge"), BAD_INPUT, "--task is required")
    expect_refused(swage("judge", "--task", task), BAD_INPUT, "--solution is needed")
    expect_refused(swage(*judge, tmp_path / "absent"), BAD_INPUT, "no such file or folder")
    expect_refused(swage(*judge, empty), BAD_INPUT, f"{empty} has no model_new.py")
    expect_refused(swage(*judge, empty, "--mode", "guess"), BAD_INPUT, "verify, profile or score")
    expect_refused(swage(*judge, empty, "--device", "tpu"), BAD_INPUT, "tpu", "cuda")
    expect_refused(swage(*judge, empty, "--seed", "12"), BAD_INPUT, "64 hex digits")
    expect_refused(swage(*judge, empty, "--rounds", "5"), BAD_INPUT, "a number from 6 to 1000")
    expect_refused(swage(*judge, empty, "--rounds", "many"), BAD_INPUT, "quick, full or a number")
    expect_refused(swage(*judge, empty, "--budget", "0"), BAD_INPUT, "--budget")
    expect_refused(swage(*judge, empty, "--reference-only"), BAD_INPUT, "takes no --solution")
    expect_refused(swage(*judge, empty, "--ab-noise", "0"), BAD_INPUT, "--ab-noise")
    verify = ("--mode", "verify")
    expect_refused(swage(*judge, empty, *verify, "--ab-noise", "2"), BAD_INPUT, "times nothing")
    expect_refused(swage(*judge, empty, *verify, "--rounds", "9"), BAD_INPUT, "times nothing")


# The machine.


def test_a_missing_redis_is_said_with_the_remedy(tmp_path: Path) -> None:
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    start_refused(
        run_file(tmp_path), MISSING, "redis-server is not on PATH", "apt-get install", env=nowhere
    )


def with_cache(folder: Path) -> dict[str, str]:
    """The environment with a cache directory of its own, in which set-up has been done."""
    cache = folder / "cache" / "swage"
    cache.mkdir(parents=True)
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    (cache / "venv").symlink_to(base / "swage" / "venv")
    return {**os.environ, "XDG_CACHE_HOME": str(cache.parent)}


def test_a_judges_cache_that_cannot_be_written_ends_a_run_and_names_it(tmp_path: Path) -> None:
    env = with_cache(tmp_path)
    blocked = tmp_path / "cache" / "swage" / "gpu-worker"
    blocked.write_text("a file in the way")
    said = (f"cannot write to {blocked}: Not a directory", "or remove it")
    out = tmp_path / "out"
    done = swage("run", run_file(tmp_path), "--local", "--out", out, env=env)
    expect_refused(done, NOT_WRITABLE, "gpu-0 cannot go on", *said)
    folder = solution(tmp_path, run_kernel("y[0] = 0;"))
    judged = swage("judge", "--task", TASK / "model.py", "--solution", folder, env=env)
    expect_refused(judged, NOT_WRITABLE, *said)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving up CAP_SYS_ADMIN needs root")
def test_where_bubblewrap_is_not_permitted_a_run_does_not_start(tmp_path: Path) -> None:
    file = run_file(tmp_path, evaluation="")
    out = tmp_path / "out"
    limited = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    done = subprocess.run(
        [*limited, BIN / "swage", "run", file, "--local", "--out", out],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    expect_refused(done, MISSING, "bubblewrap is not permitted here", "allowReducedTrust: true")
    assert set(tmp_path.iterdir()) == {file}


def test_a_port_in_use_is_named_by_the_process_that_wants_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ready = tmp_path / "ready"
        config = tmp_path / "policy.json"
        config.write_text(json.dumps(policy_config(tmp_path, address, ready)))
        done = subprocess.run(
            [str(BIN / "swage-policy"), "--config", str(config)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == MISSING, done.stderr + done.stdout
    assert address in done.stderr + done.stdout
    assert "in use" in (done.stderr + done.stdout).lower()
    assert "choose another port" in done.stderr + done.stdout
    assert not ready.exists()


def policy_config(folder: Path, http: str, ready: Path) -> dict[str, Any]:
    token = folder / "token"
    token.write_text("secret")
    token.chmod(0o600)
    return {
        "name": "policy-0",
        "run": "short",
        "run_uid": "0" * 32,
        "listen": f"unix:{folder}/policy.sock",
        "http": http,
        "ready_file": str(ready),
        "token_file": str(token),
        "model": {"source": "scratch:tiny", "tokenizer": str(TINY_TOKENIZER)},
        "learner": f"unix:{folder}/learner.sock",
        "threads": 1,
        "seed": 1,
    }
