"""The index of the built-in tasks, their files and their decks agree."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

BUILTIN = Path(__file__).parents[3] / "tasks" / "builtin-cpu"
INDEX: list[dict[str, Any]] = json.loads((BUILTIN / "index.json").read_text())
FIELDS = {
    "id": str,
    "level": int,
    "ops": list,
    "tags": list,
    "device_kind": str,
    "quickstart": bool,
    "model": str,
    "deck": int,
    "eager_ms": float,
    "compile_ms": float,
}
DEALT = Counter({"slow": 4, "fast": 2, "wrong": 1, "mid": 1})


def deck_of(task: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    folder = BUILTIN / task["id"] / "teacher"
    deck: dict[str, Any] = json.loads((folder / "deck.json").read_text())
    return folder, deck


def test_every_folder_is_listed_once_and_every_entry_is_whole() -> None:
    folders = sorted(file.parent.name for file in BUILTIN.glob("*/model.py"))
    assert sorted(task["id"] for task in INDEX) == folders
    for task in INDEX:
        assert set(task) == set(FIELDS)
        assert all(isinstance(task[name], kind) for name, kind in FIELDS.items())
        assert 1 <= task["eager_ms"] <= 100


def test_eight_tasks_named_by_letters_are_in_the_quickstart() -> None:
    chosen = [task["id"] for task in INDEX if task["quickstart"]]
    assert len(chosen) == 8
    assert all(name.isalpha() and name.islower() for name in chosen)


@pytest.mark.parametrize("task", INDEX, ids=lambda task: str(task["id"]))
def test_a_deck_names_files_that_exist_and_holds_what_is_dealt(task: dict[str, Any]) -> None:
    folder, deck = deck_of(task)
    variants = Counter(card["variant"] for card in deck["cards"])
    assert len(deck["cards"]) == task["deck"]
    assert {"wrong", "slow", "fast"} <= set(variants)
    if task["quickstart"]:
        assert variants == DEALT
    named = [deck["model_new"], deck["binding"], *(card["kernel"] for card in deck["cards"])]
    assert all((folder / name).is_file() for name in named)


@pytest.mark.parametrize("task", INDEX, ids=lambda task: str(task["id"]))
def test_kernels_are_short_and_know_no_torch(task: dict[str, Any]) -> None:
    folder, deck = deck_of(task)
    for name in {card["kernel"] for card in deck["cards"]}:
        text = (folder / name).read_text()
        assert len(text.splitlines()) <= 30
        assert "torch" not in text
        assert 'extern "C" void run(' in text


@pytest.mark.parametrize("task", INDEX, ids=lambda task: str(task["id"]))
def test_kernels_compile_without_a_warning(task: dict[str, Any]) -> None:
    folder, deck = deck_of(task)
    names = sorted({str(folder / card["kernel"]) for card in deck["cards"]})
    flags = ["-std=c++17", "-march=x86-64-v3", "-fopenmp", "-Wall", "-Werror", "-fsyntax-only"]
    done = subprocess.run(["g++", *flags, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
