"""A control group for each host: a bound on memory and processes that no process can leave.

Both generations of the kernel's interface are supported; where neither may be written the layer is
missing.
"""

import contextlib
import os
import time
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


class Group:
    """The folders of one host's group. Made by the zygote, joined by the host, removed after it."""

    def __init__(self, name: str, memory_bytes: int, processes: int) -> None:
        self._folders: list[Path] = []
        try:
            if (_ROOT / "cgroup.controllers").exists():
                self._make_unified(name, memory_bytes, processes)
            else:
                self._make_separate(name, memory_bytes, processes)
        except OSError:
            self.remove()
            self._folders = []

    def _make_unified(self, name: str, memory_bytes: int, processes: int) -> None:
        own = Path("/proc/self/cgroup").read_text().strip().rsplit(":", 1)[-1].lstrip("/")
        parent = _ROOT / own
        (parent / "cgroup.subtree_control").write_text("+memory +pids")
        folder = self._make(parent / name)
        if memory_bytes:
            (folder / "memory.max").write_text(str(memory_bytes))
        (folder / "pids.max").write_text(str(processes))

    def _make_separate(self, name: str, memory_bytes: int, processes: int) -> None:
        folder = self._make(_ROOT / "memory" / name)
        if memory_bytes:
            (folder / "memory.limit_in_bytes").write_text(str(memory_bytes))
        folder = self._make(_ROOT / "pids" / name)
        (folder / "pids.max").write_text(str(processes))

    def _make(self, folder: Path) -> Path:
        folder.mkdir()
        self._folders.append(folder)
        return folder

    def join(self) -> None:
        """Moves the calling process in. Raises OSError when there is no group."""
        if not self._folders:
            raise OSError("no control group can be made")
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Removes the folders; the processes have ended, though the kernel may take a moment."""
        for folder in self._folders:
            for _ in range(20):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.005)
