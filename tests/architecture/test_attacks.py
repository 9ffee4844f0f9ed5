"""docs/ATTACKS.md says what the fixtures say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "attacks"))

import table  # noqa: E402


def test_the_table_is_that_of_the_fixtures() -> None:
    wanted = table.document()
    assert table.DOCUMENT.read_text() == wanted, "run tests/attacks/table.py --write"


def test_every_fixture_belongs_to_a_row_of_the_catalogue() -> None:
    for folder in table.FIXTURES.iterdir():
        one = table.read(folder)
        assert one["id"] in table.ROWS, folder.name
        assert folder.name.startswith(one["id"] + "_"), folder.name


def test_a_changed_fixture_changes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "D2_x"
    folder.mkdir()
    (folder / "fixture.yaml").write_text(
        "id: D2\ntitle: leaves\nguards: [process]\noff: ok\non: crash\non_tier: 1\n"
    )
    monkeypatch.setattr(table, "FIXTURES", tmp_path)
    assert "| D2_x | leaves | process | ok | crash, tier 1 |" in table.document()
    assert "| A10 | answers prepared from a known seed | 0 of 1 |" in table.document()


def test_every_code_of_a_verdict_is_produced_by_some_test() -> None:
    proto = (ROOT / "proto" / "swage" / "v1" / "verdict.proto").read_text()
    codes = set(re.findall(r"^  VERDICT_CODE_(\w+) = [1-9]", proto, re.MULTILINE))
    assert "MISMATCH" in codes
    tests = (ROOT / "tests" / "integration" / "judge").glob("*.cpp")
    produced = {
        code for file in tests for code in re.findall(r"VERDICT_CODE_(\w+)", file.read_text())
    }
    fixtures = [table.read(folder) for folder in table.FIXTURES.iterdir()]
    produced |= {one["on"].partition("(")[0].upper() for one in fixtures}
    assert codes - produced == {"DEFERRED_WRITE", "GPU_FAULT"}, "these two need a GPU"
