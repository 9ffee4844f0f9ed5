"""Every Python file of ours is type-checked: what `make lint` hands to mypy leaves none out."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import run_tests

ROOT = Path(__file__).resolve().parents[2]


def checked_folders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that the formatting group gives to mypy."""
    folders: list[str] = []

    def record(*command: str | Path, env: dict[str, str] | None = None) -> bool:
        if "mypy" in command:
            folders.append(str(command[-1]))
        return True

    monkeypatch.setattr(run_tests, "run", record)
    run_tests.formatting(run_tests.Tally())
    return folders


def unchecked(names: list[str], folders: list[str], excluded: list[str]) -> list[str]:
    """Python files that are neither below a checked folder nor excluded by name."""
    return [
        name
        for name in names
        if not name.startswith(tuple(f"{folder}/" for folder in folders))
        and not any(re.search(pattern, name) for pattern in excluded)
    ]


def test_every_python_file_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run(
        ["git", "ls-files", "--", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    left = unchecked(done.stdout.split(), checked_folders(monkeypatch), settings["exclude"])
    assert not left, "\n".join(left)


def test_the_rule_fires() -> None:
    assert unchecked(["a/x.py", "b/y.py"], ["a"], []) == ["b/y.py"]
    assert not unchecked(["a/x.py", "b/fixtures/y.py"], ["a"], ["/fixtures/"])
