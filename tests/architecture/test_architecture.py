"""The tree follows the architecture, and each rule is shown to fire."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import rules

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in done.stdout.split() if (ROOT / name).exists()]


def test_includes_point_inward() -> None:
    complaints = []
    for source in tracked("*.cpp", "*.hpp"):
        text = (ROOT / source).read_text()
        for target in rules.INCLUDE.findall(text):
            if complaint := rules.include_complaint(source, target):
                complaints.append(complaint)
        complaints += rules.third_party_complaints(source, text)
    assert not complaints, "\n".join(complaints)


def test_files_are_small() -> None:
    complaints = [
        complaint
        for source in tracked("*.cpp", "*.hpp", "*.py", "*.lua")
        if (complaint := rules.size_complaint(source, (ROOT / source).read_text()))
    ]
    assert not complaints, "\n".join(complaints)


def test_every_message_field_is_documented() -> None:
    complaints = []
    for source in tracked("proto/*.proto"):
        complaints += rules.proto_complaints(source, (ROOT / source).read_text())
    assert not complaints, "\n".join(complaints)


def test_documents_name_files_that_exist() -> None:
    complaints = []
    for source in tracked("*.md"):
        complaints += rules.documented_paths_complaints(source, (ROOT / source).read_text(), ROOT)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("source", "target", "refused"),
    [
        ("learner/core/a.cpp", "learner/adapters/b.hpp", True),
        ("learner/core/a.cpp", "learner/api/b.hpp", False),
        ("learner/core/a.cpp", "common/asio/gate.hpp", True),
        ("learner/core/a.cpp", "common/base/check.hpp", False),
        ("learner/api/a.hpp", "common/asio/task.hpp", False),
        ("learner/api/a.hpp", "common/asio/gate.hpp", True),
        ("learner/api/a.hpp", "learner/core/b.hpp", True),
        ("learner/adapters/a.cpp", "policy/core/b.hpp", True),
        ("learner/adapters/a.cpp", "policy/api/b.hpp", False),
        ("learner/torch/a.cpp", "policy/model/b.hpp", False),
        ("sandbox/torch/a.cpp", "policy/model/b.hpp", True),
        ("controller/app/a.cpp", "policy/tokenizer/b.hpp", False),
        ("common/base/a.cpp", "policy/api/b.hpp", True),
    ],
)
def test_the_include_rule_fires(source: str, target: str, refused: bool) -> None:
    assert (rules.include_complaint(source, target) is not None) == refused


@pytest.mark.parametrize(
    ("source", "text", "refused"),
    [
        ("learner/core/a.cpp", "#include <boost/asio.hpp>\n", True),
        ("learner/core/a.cpp", "#include <mutex>\n", True),
        ("learner/core/a.cpp", "#include <vector>\n", False),
        ("x/a.cpp", '#include <torch/torch.h>\n#include "swage/v1/task.pb.h"\n', True),
        ("x/a.cpp", "#include <torch/torch.h>\n", False),
    ],
)
def test_the_third_party_rule_fires(source: str, text: str, refused: bool) -> None:
    assert bool(rules.third_party_complaints(source, text)) == refused


def test_the_size_rule_fires() -> None:
    assert rules.size_complaint("a.cpp", "x\n" * 401)
    assert not rules.size_complaint("a.cpp", "x\n" * 400)
    assert not rules.size_complaint("a.cpp", "// Over 400 lines: one table\n" + "x\n" * 401)


def test_the_message_rule_fires() -> None:
    bare = "message A {\n  string b = 1;\n}\n"
    assert rules.proto_complaints("a.proto", bare)
    assert rules.proto_complaints("a.proto", "message A {\n  string Bad = 1;  // x\n}\n")
    assert not rules.proto_complaints("a.proto", "message A {\n  string b = 1;  // x\n}\n")
    assert not rules.proto_complaints("a.proto", "message A {\n  // x\n  string b = 1;\n}\n")


def test_the_document_rule_fires(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.cpp").touch()
    assert not rules.documented_paths_complaints("x.md", "see `a/b.cpp`", tmp_path)
    assert rules.documented_paths_complaints("x.md", "see `a/c.cpp`", tmp_path)
    assert not rules.documented_paths_complaints("x.md", "see `/a/c.json`", tmp_path)
