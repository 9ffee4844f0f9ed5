"""tools/setup.sh on machines that a folder of small programs plays: what it installs, as whom, and
that it leaves the repository alone. Names of packages and requirements are the real ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from harness import ROOT

MISSING = 69
SETUP = ROOT / "tools" / "setup.sh"
PACKAGES = [
    line.strip()
    for line in (ROOT / "tools" / "packages.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]
# All that setup.sh takes from the real machine; nothing else is on its PATH.
REAL = ("bash", "cat", "cut", "dirname", "env", "grep", "mkdir", "sha256sum", "wc")
PLAYED = {
    "dpkg-query": """
for name; do :; done
grep -qx "$name" installed && printf %s "install ok installed"
""",
    "id": "cat uid",
    "sudo": 'echo "sudo $1" >> calls; AS_ROOT=1 exec "$@"',
    "apt-get": """
[ "$(cat uid)" = 0 ] || [ -n "${AS_ROOT:-}" ] || { echo "apt-get: are you root?" >&2; exit 100; }
echo "apt-get $*" >> calls
[ "$1" = install ] || exit 0
for word; do case $word in install|-*) ;; *) echo "$word" >> installed ;; esac; done""",
}
PIP = 'echo "pip $*" >> calls; [ ! -e no-network ]'


class Machine:
    """A folder with the state of a played machine: who asks, what is installed, what was called."""

    def __init__(self, folder: Path, uid: int, *without: str) -> None:
        self.folder, self.home, self.bin = folder, folder / "home", folder / "bin"
        self.cache = self.home / ".cache" / "swage"
        self.bin.mkdir()
        self.home.mkdir()
        (folder / "uid").write_text(f"{uid}\n")
        self.installed = PACKAGES[: len(PACKAGES) // 2]
        (folder / "installed").write_text("\n".join(self.installed) + "\n")
        for name in REAL:
            path = shutil.which(name)
            assert path is not None, name
            (self.bin / name).symlink_to(path)
        for name, does in PLAYED.items():
            if name not in without:
                self.play(self.bin / name, does)

    def play(self, program: Path, does: str) -> None:
        program.write_text(f'#!/bin/bash\ncd "{self.folder}"\n{does}\n')
        program.chmod(0o755)

    def with_python(self) -> Machine:
        """The environment is made; its pip is played, for the real one would ask the network."""
        self.cache.joinpath("venv", "bin").mkdir(parents=True)
        self.play(self.cache / "venv" / "bin" / "python", "exit 1")
        self.play(self.cache / "venv" / "bin" / "pip", PIP)
        return self

    def setup(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "calls").write_text("")
        before = repository()
        done = subprocess.run(
            ["/bin/bash", str(SETUP), *arguments], capture_output=True, text=True, check=False,
            timeout=60, cwd=self.folder, env={"PATH": str(self.bin), "HOME": str(self.home)},
        )  # fmt: skip
        assert repository() == before
        return done

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


def repository() -> str:
    """What git says of the tree, ignored files included, and when folders last got a new name."""
    status = ["git", "status", "--porcelain", "--ignored"]
    said = subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return said + str((ROOT.stat().st_mtime_ns, (ROOT / "tools").stat().st_mtime_ns))


def pip_call(machine: Machine) -> list[str]:
    return [call for call in machine.calls() if call.startswith("pip ")]


def as_asked(machine: Machine, sudo: bool) -> None:
    """What was missing was installed, nothing else, and as root."""
    missing = [name for name in PACKAGES if name not in machine.installed]
    update, install = (call for call in machine.calls() if call.startswith("apt-get"))
    assert update.startswith("apt-get update")
    assert [w for w in install.split()[2:] if not w.startswith("-")] == missing
    assert ("sudo env" in machine.calls()) == sudo
    (pip,) = pip_call(machine)
    assert pip.endswith(f"-r {ROOT}/tools/requirements.txt")


@pytest.mark.parametrize("uid", [0, 1000])
def test_what_is_missing_is_installed_once(uid: int, tmp_path: Path) -> None:
    machine = Machine(tmp_path, uid).with_python()
    first = machine.setup()
    assert first.returncode == 0, first.stderr
    assert f"packages: installing {len(PACKAGES) - len(machine.installed)}: " in first.stdout
    assert f"into {machine.cache}/venv" in first.stdout
    assert first.stdout.endswith("setup: done\n")
    as_asked(machine, sudo=uid != 0)

    second = machine.setup()
    assert second.returncode == 0, second.stderr
    assert machine.calls() == []
    assert "packages: all there" in second.stdout and "up to date" in second.stdout
    # Downloads lie in the cache directory, and nothing beside it.
    assert [path.name for path in machine.home.iterdir()] == [".cache"]
    assert [path.name for path in machine.cache.parent.iterdir()] == ["swage"]


def test_without_root_and_sudo_it_ends_with_the_remedy(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 1000, "sudo")
    done = machine.setup()
    assert done.returncode == MISSING, done.stderr
    assert "needs root" in done.stderr and "run it as root, or install sudo" in done.stderr
    assert machine.calls() == []
    assert list(machine.home.iterdir()) == []


def test_who_lacks_nothing_needs_neither_root_nor_sudo(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 1000, "sudo").with_python()
    (tmp_path / "installed").write_text("\n".join(PACKAGES) + "\n")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert [call.split()[0] for call in machine.calls()] == ["pip"]


def test_another_system_is_told_what_to_install(tmp_path: Path) -> None:
    done = Machine(tmp_path, 0, "apt-get").setup()
    assert done.returncode == MISSING
    assert "needs Debian 12" in done.stderr and "tools/packages.txt" in done.stderr


def test_a_python_environment_that_was_not_finished_is_made_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 0).with_python()
    (tmp_path / "no-network").touch()
    assert machine.setup().returncode != 0
    (tmp_path / "no-network").unlink()
    assert machine.setup().returncode == 0
    assert len(pip_call(machine)) == 1


def test_what_gpu_code_needs_is_only_installed_when_asked_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 0).with_python()
    assert machine.setup("--gpu").returncode == 0
    assert [call.split("/")[-1] for call in pip_call(machine)] == [
        "requirements.txt",
        "requirements-gpu.txt",
    ]
    assert machine.setup("--gpu").returncode == 0
    assert machine.calls() == []
