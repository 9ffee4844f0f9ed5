"""Runs a real local system for tests and looks inside it. Standard library only.

`LocalRun` owns one `swage run --local` process; leaving its `with` block ends the run, and fails
when any process of it is left.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SWAGE_BIN_DIR", ROOT / "build" / "dev" / "bin"))
TINY_TOKENIZER = BIN.parent / "share" / "swage" / "tiny" / "tokenizer.json"


class RunError(AssertionError):
    """The system did not do what the test waits for."""


def until(what: str, condition: Callable[[], Any], seconds: float) -> Any:
    """The first true value of `condition`; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise RunError(f"did not happen in {seconds:.0f} s: {what}")


def processes() -> dict[int, tuple[int, list[str]]]:
    """Every process: pid → (parent, argv)."""
    out = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            argv = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        out[int(folder.name)] = (int(stat.rpartition(")")[2].split()[1]), argv)
    return out


def descendants(root: int) -> dict[int, list[str]]:
    """Every process below `root`: pid → argv."""
    every = processes()
    found: dict[int, list[str]] = {}
    grown = True
    while grown:
        fresh = {
            pid: argv
            for pid, (parent, argv) in every.items()
            if (parent == root or parent in found) and pid not in found
        }
        found |= fresh
        grown = bool(fresh)
    return found


def start_time(pid: int) -> int:
    """When it started, in clock ticks: names a process together with its pid. 0: it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


class LocalRun:
    """One local run. `file` is a TrainingRun; more arguments go to `swage run`."""

    def __init__(self, file: Path, out: Path, *arguments: str) -> None:
        self.out = out
        self.log = out.parent / f"{out.name}.cli.log"
        self.arguments = [str(BIN / "swage"), "run", str(file), "--local", "--out", str(out)]
        self.arguments += arguments
        self.process: subprocess.Popen[bytes] | None = None
        self.seen: set[tuple[int, int]] = set()  # (pid, start time) of every process of the run

    def __enter__(self) -> LocalRun:
        self.start()
        return self

    def start(self, *more: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.arguments, *more], stdout=log, stderr=subprocess.STDOUT
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.look()
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if kind is not None:
            print(self.tail())
        else:
            self.expect_nothing_left(10)

    def look(self) -> dict[int, list[str]]:
        """The run's processes now; remembers them for expect_nothing_left."""
        assert self.process is not None
        now = descendants(self.process.pid)
        self.seen |= {(pid, start) for pid in now if (start := start_time(pid))}
        return now

    def expect_nothing_left(self, seconds: float) -> None:
        """Neither a process that look() has seen nor one that names OUT is alive."""
        marker = str(self.out)

        def left() -> list[str]:
            named = [
                f"{pid} {' '.join(argv)}"
                for pid, (_, argv) in processes().items()
                if pid != os.getpid() and marker in " ".join(argv)
            ]
            return named + [str(pid) for pid, start in self.seen if start_time(pid) == start]

        try:
            until("every process of the run has ended", lambda: not left(), seconds)
        except RunError as error:
            raise RunError(f"{error}; alive: {left()}") from None

    def pid_of(self, part: str) -> int | None:
        """The process whose configuration file is `<out>/pods/*<part>*`, or nothing."""
        for pid, argv in self.look().items():
            if any(a.startswith(str(self.out / "pods")) and part in Path(a).name for a in argv):
                return pid
        return None

    def controller(self) -> int | None:
        for pid, argv in self.look().items():
            if argv and argv[0].endswith("swage-controller"):
                return pid
        return None

    def kill(self, part: str, seconds: float = 30) -> int:
        """kill -9 of the process of one pod, as soon as there is one. Returns its pid."""
        pid = until(f"a process of {part}", lambda: self.pid_of(part), seconds)
        os.kill(pid, signal.SIGKILL)
        return int(pid)

    def pid_of_busy_sandbox(self) -> int | None:
        """A sandbox with an agent's container in it: it belongs to a rollout under way."""
        for pid, argv in self.look().items():
            configured = any(Path(a).name.startswith("sbx-") and a.endswith(".conf") for a in argv)
            if configured and descendants(pid):
                return pid
        return None

    def restarts(self, part: str) -> int:
        run = self.api(f"/api/v1/runs/{self.run_json().get('run', '')}") or {}
        return sum(pod["restarts"] for pod in run.get("pods", []) if part in pod["name"])

    def log_of(self, part: str) -> str:
        logs = sorted((self.out / "logs").glob(f"*{part}*.log"))
        return "".join(log.read_text(errors="replace") for log in logs)

    def run_json(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.out / "run.json").read_text()))
        except (OSError, ValueError):
            return {}

    def api(self, path: str) -> Any:
        """GET of the controller's API, or nothing while it does not answer."""
        run = self.run_json()
        if not run.get("http"):
            return None
        token = (self.out / "secrets" / "token").read_text().strip()
        request = urllib.request.Request(
            f"http://{run['http']}{path}", headers={"authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError, urllib.error.URLError):
            return None

    def status(self) -> dict[str, Any]:
        run = self.api(f"/api/v1/runs/{self.run_json().get('run', '')}") or {}
        return dict(run.get("status", run))

    def completed(self) -> int:
        return int((self.status().get("rollouts") or {}).get("completed", 0))

    def wait(self, seconds: float) -> int:
        assert self.process is not None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            try:
                return self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        raise RunError(f"the run has not ended in {seconds:.0f} s\n{self.tail()}")

    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.out / "summary.json").read_text()))

    def rollout_ids(self) -> list[str]:
        """Ids in the learner's log of a run that has ended, infrastructure failures left out."""
        done = subprocess.run(
            [str(BIN / "swage"), "show", "--json", "--out", str(self.out)],
            check=True,
            capture_output=True,
            text=True,
        )
        listed = json.loads(done.stdout)
        items = listed if isinstance(listed, list) else listed["items"]
        return [item["rollout_id"] for item in items if not item.get("infrastructure")]

    def log_text(self) -> str:
        """Everything that `swage run` has printed."""
        return self.log.read_text(errors="replace")

    def tail(self) -> str:
        """The ends of every log of the run."""
        out = []
        for log in [self.log, *sorted((self.out / "logs").glob("*.log"))]:
            if log.exists():
                out.append(
                    f"--- {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-25:])
                )
        return "\n".join(out)
