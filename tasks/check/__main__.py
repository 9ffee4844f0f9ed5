"""`python tasks/check [--json] FILE…`: is each file an admissible task, and why not?

Every file is checked in a process of its own, with a time limit: a file that hangs or crashes is
refused like any other. Exit code 0 when all are admissible, 1 when one is not, 64 for a bad command
line. Reason codes are listed in README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

USAGE_ERROR = 64
REPORT_MARK = "swage-task-report "


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def refusal(file: Path, code: str, message: str) -> dict[str, Any]:
    reason = {"code": code, "message": message}
    return {"file": str(file), "admissible": False, "reasons": [reason]}


def check_here(file: Path, min_ms: float, max_ms: float) -> dict[str, Any]:
    """The report of one file, made in this process."""
    import torch
    from loading import TaskError, load
    from rules import Limits, admit

    torch.set_num_threads(1)
    try:
        found = admit(load(file), file, Limits(min_ms, max_ms))
    except TaskError as refused:
        return refusal(file, refused.code, refused.message)
    return {"file": str(file), "admissible": True, "reasons": [], **found}


def check_apart(file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The report of one file, made in a child that is ended when its time is up."""
    if not file.is_file():
        return refusal(file, "not_found", f"{file}: no such file")
    argv = [sys.executable, str(Path(__file__).parent), "--here", str(file)]
    argv += ["--min-ms", str(options.min_ms), "--max-ms", str(options.max_ms)]
    child = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = child.communicate(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return refusal(file, "timeout", f"{file}: not done after {options.timeout:g} s")
    marked = [line for line in out.splitlines() if line.startswith(REPORT_MARK)]
    if child.returncode != 0 or not marked:
        last = err.strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        return refusal(file, "crashed", f"{file}: the check ended early: {last[0]}")
    report: dict[str, Any] = json.loads(marked[-1].removeprefix(REPORT_MARK))
    report["digest"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return report


def line_of(report: dict[str, Any]) -> str:
    if report["admissible"]:
        return f"ok       {report['file']}  eager {report['eager_ms']:.2f} ms"
    return "\n".join(
        f"refused  {reason['message']}  [{reason['code']}]" for reason in report["reasons"]
    )


def parse() -> argparse.Namespace:
    parser = Parser(prog="swage tasks check", description="Says whether task files are admissible.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    parser.add_argument("--min-ms", type=float, default=1.0, help="least eager time (1 ms)")
    parser.add_argument("--max-ms", type=float, default=100.0, help="most eager time (100 ms)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one file (120)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.here:
        report = check_here(options.files[0], options.min_ms, options.max_ms)
        print(REPORT_MARK + json.dumps(report))
        return 0
    reports = [check_apart(file.resolve(), options) for file in options.files]
    admissible = all(report["admissible"] for report in reports)
    if options.json:
        print(json.dumps({"admissible": admissible, "files": reports}, indent=2))
    else:
        print("\n".join(line_of(report) for report in reports))
    return 0 if admissible else 1


if __name__ == "__main__":
    sys.exit(main())
