"""The wire is documented and named as the design asks, and each rule is shown to fire."""

from __future__ import annotations

from pathlib import Path

import proto_rules as rules
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "proto" / "swage" / "v1"
FILES = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.proto"))}


def test_every_field_is_documented_and_every_name_follows_the_style() -> None:
    complaints = [line for name, text in FILES.items() for line in rules.complaints(name, text)]
    assert not complaints, "\n".join(complaints)


def test_the_conversations_are_those_of_the_design() -> None:
    assert not rules.conversation_complaints(FILES)


def test_the_rules_read_every_field_that_protoc_knows() -> None:
    """A line that the parser cannot read would pass unseen: count what looks like a field."""
    for name, text in FILES.items():
        lines = list(rules.lines_of(text))
        numbered = [line for line in lines if "=" in line.code and "syntax" not in line.code]
        read = [
            line
            for line in numbered
            if (rules.VALUE if line.blocks[-1][0] == "enum" else rules.FIELD).match(line.code)
        ]
        assert numbered == read, name


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("string b = 1;", "says nothing of itself"),
        ("string b = 1;  // b", "says nothing of itself"),
        ("string b = 1;  // name of it", None),
        ("// name of it\n  string b = 1;", None),
        ("repeated string Bad = 1;  // name of it", "is not snake_case"),
        ("Other b = 1;", "says nothing of itself"),
        ("Other b = 1;  // whose it is", None),
        ("optional Other b = 1;", "says nothing of itself"),
        ("oneof kind {\n    Other b = 1;\n  }", "says nothing of itself"),
        ("oneof kind {\n    Other b = 1;  // first message\n  }", None),
        ("uint32 b = 1;  // how long it took", "is a number without unit or range"),
        ("uint32 b = 1;  // how long it took, milliseconds", None),
        ("double b = 1;  // share of it", "is a number without unit or range"),
        ("double b = 1;  // share of it, [0, 1]", None),
        ("double b = 1;  // see Other.share", None),
        ("repeated uint64 b = 1;  // which of them", "is a number without unit or range"),
        ("map<string, uint32> b = 1;  // by their name", "is a number without unit or range"),
        ("map<string, uint32> b = 1;  // number of tries by name", None),
        ("map<string, string> b = 1;  // labels by name", None),
    ],
)
def test_the_field_rule_fires(body: str, complaint: str | None) -> None:
    found = rules.complaints("a.proto", f"message A {{\n  {body}\n}}\n")
    assert [complaint] == [complaint for line in found if complaint and complaint in line] or (
        complaint is None and not found
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("message a_b {}\n", "message a_b is not CamelCase"),
        ("service echo {\n}\n", "service echo is not CamelCase"),
        ("service Echo {\n  // Says it.\n  rpc say(A) returns (B);\n}\n", "is not CamelCase"),
        ("service Echo {\n  rpc Say(A) returns (B);\n}\n", "says nothing of itself"),
        ("service Echo {\n  // Says it.\n  rpc Say(A) returns (B);\n}\n", None),
        ("enum my_kind {\n}\n", "enum my_kind is not CamelCase"),
        ("enum MyKind {\n  MY_KIND_UNSPECIFIED = 0;\n  MY_KIND_ONE = 1;\n}\n", None),
        ("enum MyKind {\n  ONE = 1;\n}\n", "does not begin with MY_KIND_"),
        ("enum MyKind {\n  MY_KIND_one = 1;\n}\n", "does not begin with MY_KIND_"),
        ("enum MyKind {\n  MY_KIND_ONE = 0;\n}\n", "is MY_KIND_UNSPECIFIED"),
        ("enum MyKind {\n  MY_KIND_UNSPECIFIED = 1;\n}\n", "is MY_KIND_UNSPECIFIED"),
    ],
)
def test_the_name_rule_fires(text: str, complaint: str | None) -> None:
    found = rules.complaints("a.proto", text)
    assert (len(found) == 1 and complaint in found[0]) if complaint else not found


def test_the_conversation_rule_fires() -> None:
    assert rules.conversation_complaints({})
    renamed = {**FILES, "control.proto": FILES["control.proto"].replace("Attach", "Join")}
    assert rules.conversation_complaints(renamed)
    assert rules.conversation_complaints({**FILES, "extra.proto": "service Extra {\n}\n"})
