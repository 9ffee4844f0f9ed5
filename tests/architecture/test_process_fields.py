"""docs/PROCESSES.md names each field that a process reads from its configuration, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = {
    "policy": ("policy/app/config.cpp",),
    "learner": ("learner/app/config.cpp",),
    "rollout worker": ("rollout_worker/app/config.cpp",),
    "gpu worker": ("gpu_pool/worker/app/config.cpp",),
    "sandboxd": ("sandbox/app/config.cpp",),
}
# The learner reads the rest, a run's own settings, by this function of another file.
SETTINGS = "learner/adapters/settings_json.cpp", "Settings settings_from(Fields& fields) {"
# Named once for all processes, in "Fields that every process has".
COMMON = {"name", "run", "run_uid", "listen", "http", "ready_file", "token_file", "log"}
# A reader's call with the field's name: `fields.text("out", …)`, `take(fields, "out", …)`,
# `std::pair("python", …)`.
NAMED = re.compile(
    r"(?:\.(?:raw|has|text|integer|boolean|one_of|object|require)\(|\w+\((?:\w+, )|std::pair\()"
    r'"([a-z0-9_]+)"'
)


def fields_read(text: str) -> set[str]:
    """The names that a configuration's reader asks for."""
    return set(NAMED.findall(text))


def fields_documented(row: str) -> set[str]:
    """The names in a row of the table; remarks in parentheses name values."""
    out: set[str] = set()
    for span in re.findall(r"`([^`]*)`", re.sub(r"\([^)]*\)", "", row)):
        out |= set(re.findall(r"[a-z0-9_]+", span))
    return out


def row_of(process: str, text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"| {process} | "))


@pytest.mark.parametrize("process", READERS)
def test_the_table_names_the_fields_that_the_process_reads(process: str) -> None:
    read = set[str]()
    for source in READERS[process]:
        read |= fields_read((ROOT / source).read_text())
    if process == "learner":
        source, function = SETTINGS
        read |= fields_read((ROOT / source).read_text().partition(function)[2])
    documented = fields_documented(row_of(process, (ROOT / "docs/PROCESSES.md").read_text()))
    assert len(read - COMMON) > 3
    assert documented == read - COMMON


def test_a_missing_and_a_needless_field_are_found() -> None:
    reader = """out = fields.text("out", ""); redis.text("address", ""); cores(fields, "cores");
    std::pair("python", &python); fields.one_of("kv", {"keep"}, "keep"); complain("bad", "");"""
    assert fields_read(reader) == {"out", "address", "cores", "python", "kv"}
    row = "| x | `out`, `redis{address}`, `kv` (`keep` or `drop`), `stages{…}` |"
    assert fields_documented(row) == {"out", "redis", "address", "kv", "stages"}
