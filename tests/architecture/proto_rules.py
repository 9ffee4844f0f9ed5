"""What proto/swage/v1 keeps to: documented fields, names, and the conversations of the design."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# The conversations of the design's page on the wire: file, service, calls.
CONVERSATIONS = {
    "dispatch.proto": {"Dispatch": {"Work"}},
    "control.proto": {"Control": {"Attach"}},
    "sandbox.proto": {"Sandbox": {"Hello", "Session"}},
    "evaluate.proto": {"Evaluator": {"Evaluate", "Cancel"}},
    "policy.proto": {"Policy": {"Generate", "Close", "Info"}},
    "weights.proto": {"Weights": {"Offer", "Put", "Fetch"}},
    "trajectory.proto": {"Trajectories": {"Submit", "Get", "List"}},
}
CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*")
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
UPPER = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
NUMBER = r"(?:double|float|u?int\d+|sint\d+|s?fixed\d+)"
NUMBERS = re.compile(rf"{NUMBER}|map<\s*\w+\s*,\s*{NUMBER}\s*>")
BLOCK = re.compile(r"\s*(message|enum|service|oneof)\s+(\w+)\s*\{(\s*\})?")
FIELD = re.compile(
    r"\s*(?:optional\s+|repeated\s+)?(map<[^>]+>|[\w.]+)\s+(\w+)\s*=\s*\d+\s*(?:\[[^\]]*\])?;"
)
VALUE = re.compile(r"\s*(\w+)\s*=\s*(-?\d+)\s*;")
RPC = re.compile(r"\s*rpc\s+(\w+)\s*\(")
# What a number is counted in, or between which values it lies.
UNIT = re.compile(
    r"\b(nano|micro|milli)?seconds\b|\b([KMG]i)?[Bb]ytes\b|\b[KMG]iB\b|\bcharacters\b"
    r"|\b(log-probability|nats|dimensionless|permission bits|hash)\b"
    r"|\bnumber of \w+|\bind(ex|ices)\b|\b(tokens|turns|steps|trajectories|rollouts|rounds)\b"
    r"|\b(members|elements|requests|sessions|leases|compilations|translation units)\b"
)
RANGE = re.compile(
    r"[<>]=?\s*-?\d|<=? [a-z]|[\[(]-?\d[^\])]*[\])]|\b\d+-\d+\b|\bfrom [01]\b"
    r"|-?\d+(, \d+)* or \d+\b"
)
SEE = re.compile(r"\b(see|as) [`A-Z]")


class Line(NamedTuple):
    """One line of code of a file: where it stands, in which blocks, and all that is said of it."""

    number: int
    code: str
    comment: str
    blocks: tuple[tuple[str, str], ...]


def lines_of(text: str) -> Iterator[Line]:
    blocks: list[tuple[str, str]] = []
    above: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        code, _, comment = line.partition("//")
        if not code.strip():
            above = [*above, comment.strip()] if comment else []
            continue
        yield Line(number, code, " ".join([*above, comment.strip()]).strip(), tuple(blocks))
        above = []
        opened = BLOCK.match(code)
        if opened and not opened[3]:
            blocks.append((opened[1], opened[2]))
        elif code.strip().startswith("}"):
            blocks.pop()


def enum_prefix(name: str) -> str:
    """RolloutPhase gives ROLLOUT_PHASE_."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper() + "_"


def field_complaint(kind: str, name: str, owner: str, comment: str) -> str | None:
    if not SNAKE.fullmatch(name):
        return f"field {owner}.{name} is not snake_case"
    if len(re.findall(r"\w+", comment)) < 2:
        return f"field {owner}.{name} says nothing of itself"
    if NUMBERS.fullmatch(kind) and not any(p.search(comment) for p in (UNIT, RANGE, SEE)):
        return f"field {owner}.{name} is a number without unit or range: {comment}"
    return None


def value_complaint(name: str, number: int, enum: str) -> str | None:
    if not UPPER.fullmatch(name) or not name.startswith(enum_prefix(enum)):
        return f"enum value {name} does not begin with {enum_prefix(enum)}"
    if (number == 0) != (name == enum_prefix(enum) + "UNSPECIFIED"):
        return f"enum value {name}: 0, and only 0, is {enum_prefix(enum)}UNSPECIFIED"
    return None


def line_complaint(line: Line) -> str | None:
    """Why one line breaks a rule, or nothing."""
    if (block := BLOCK.match(line.code)) and block[1] != "oneof":
        good = CAMEL.fullmatch(block[2])
        return None if good else f"{block[1]} {block[2]} is not CamelCase"
    if not line.blocks:
        return None
    kind, name = line.blocks[-1]
    if kind == "enum" and (value := VALUE.match(line.code)):
        return value_complaint(value[1], int(value[2]), name)
    if kind == "service" and (rpc := RPC.match(line.code)):
        if not CAMEL.fullmatch(rpc[1]):
            return f"call {name}.{rpc[1]} is not CamelCase"
        return None if line.comment else f"call {name}.{rpc[1]} says nothing of itself"
    if kind in ("message", "oneof") and (field := FIELD.match(line.code)):
        owner = next(name for kind, name in reversed(line.blocks) if kind == "message")
        return field_complaint(field[1], field[2], owner, line.comment)
    return None


def complaints(source: str, text: str) -> list[str]:
    """Where a file breaks the rules of names and comments."""
    found = ((line.number, line_complaint(line)) for line in lines_of(text))
    return [f"{source}:{number}: {complaint}" for number, complaint in found if complaint]


def conversation_complaints(files: dict[str, str]) -> list[str]:
    """Where services and calls (file name to text) are not the conversations of the design."""
    out = []
    for name in sorted({*files, *CONVERSATIONS}):
        calls: dict[str, set[str]] = {}
        for line in lines_of(files.get(name, "")):
            if (block := BLOCK.match(line.code)) and block[1] == "service":
                calls[block[2]] = set()
            elif line.blocks and (rpc := RPC.match(line.code)):
                calls[line.blocks[-1][1]].add(rpc[1])
        if calls != CONVERSATIONS.get(name, {}):
            out.append(f"{name} has {calls}, the design {CONVERSATIONS.get(name, {})}")
    return out
