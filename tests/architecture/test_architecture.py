"""The tree follows the architecture, and each rule is shown to fire."""

from __future__ import annotations

import subprocess
from pathlib import Path

import library_rules
import pytest
import rules

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in done.stdout.split() if (ROOT / name).exists()]


def test_json_is_written_by_json_text() -> None:
    own = [s for s in tracked("*.cpp", "*.hpp") if not s.startswith("tests/")]
    assert not [c for s in own if (c := rules.dump_complaint(s, (ROOT / s).read_text()))]
    assert rules.dump_complaint("a.cpp", "x.dump()")


def test_includes_point_inward() -> None:
    complaints = []
    for source in tracked("*.cpp", "*.hpp"):
        text = (ROOT / source).read_text()
        for target in library_rules.includes_of(text):
            if complaint := rules.include_complaint(source, target):
                complaints.append(complaint)
    assert not complaints, "\n".join(complaints)


def test_files_are_small() -> None:
    complaints = [
        complaint
        for source in tracked("*.cpp", "*.hpp", "*.py", "*.lua")
        if (complaint := rules.size_complaint(source, (ROOT / source).read_text()))
    ]
    assert not complaints, "\n".join(complaints)


# The lives of the design's first page, section 2.
LIVES = {
    "A rollout": "from plan to acknowledged trajectory",
    "An evaluation": "from the agent's command to a signed verdict",
    "A lease": "queued, granted, renewed, released or taken back",
    "Admission": "from the learner's status to what may start",
    "A weight version": "from a step to the tokens that it samples",
    "A GPU": "from its worker's start to its end",
}


def test_documents_name_files_that_exist() -> None:
    complaints = []
    for source in tracked("*.md"):
        complaints += rules.documented_paths_complaints(
            source, (ROOT / source).read_text(), ROOT, all_ours=source == "docs/ARCHITECTURE.md"
        )
    assert not complaints, "\n".join(complaints)


def test_the_architecture_page_follows_every_life() -> None:
    source = "docs/ARCHITECTURE.md"
    text = (ROOT / source).read_text()
    assert "```" in text[: text.index("## ")], "the diagram comes first"
    assert not rules.heading_complaints(source, text, LIVES)


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
        ("learner/app/a.cpp", "policy/model/b.hpp", True),
        ("controller/app/a.cpp", "policy/tokenizer/b.hpp", False),
        ("controller/adapters/a.cpp", "policy/tokenizer/b.hpp", True),
        ("cli/app/a.cpp", "sandbox/adapters/gxx_compile_service.hpp", False),
        ("cli/app/a.cpp", "sandbox/adapters/object_cache.hpp", True),
        ("common/base/a.cpp", "policy/api/b.hpp", True),
    ],
)
def test_the_include_rule_fires(source: str, target: str, refused: bool) -> None:
    assert (rules.include_complaint(source, target) is not None) == refused


def test_the_size_rule_fires() -> None:
    assert rules.size_complaint("a.cpp", "x\n" * 401)
    assert not rules.size_complaint("a.cpp", "x\n" * 400)
    assert not rules.size_complaint("a.cpp", "// Over 400 lines: one table\n" + "x\n" * 401)


def test_the_document_rule_fires(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.cpp").touch()

    def complaints(text: str, *, all_ours: bool = False) -> list[str]:
        return rules.documented_paths_complaints("x.md", text, tmp_path, all_ours=all_ours)

    assert not complaints("see `a/b.cpp` in `a/` and [there](a/b.cpp#top)", all_ours=True)
    assert complaints("see `a/c.cpp`")
    assert complaints("see `a/c/`")
    assert not complaints("see `kernels/c.cpp`")
    assert not complaints("see `/a/c.json`")
    assert complaints("see `kernels/c.cpp`", all_ours=True)
    assert complaints("see [there](a/c.md)")
    assert not complaints("see [the web](https://example.org/c.md)")


def test_the_life_rule_fires() -> None:
    good = "## A GPU\n1. Starts: `a/b.cpp`.\n2. Ends.\n## Next\n"
    assert not rules.heading_complaints("x.md", good, {"A GPU": "why"})
    for bad in ("A GPU it is", good.replace("1.", "-").replace("2.", "-"),
                good.replace("`a/b.cpp`", "somewhere"), good.replace("2.", "3.")):  # fmt: skip
        assert rules.heading_complaints("x.md", bad, {"A GPU": "why"}), bad
