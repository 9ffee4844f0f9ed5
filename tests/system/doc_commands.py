"""The commands that documents give: found in fenced blocks and in backquotes. Pure."""

from __future__ import annotations

import re
import shlex

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:make|swage(?:-[a-z]+)*) [^`\n]+)`")


def fenced(text: str) -> list[str]:
    """Commands of fenced blocks, comments cut off. A block marked `text` is output or a picture."""
    lines = [
        line.partition(" #")[0].strip()
        for language, block in FENCE.findall(text)
        if language in ("", "sh", "bash")
        for line in block.splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")]


def mentioned(text: str) -> list[str]:
    """Commands of ours in backquotes in running text, and those of fenced blocks."""
    return [*INLINE.findall(FENCE.sub("", text)), *fenced(text)]


def targets(makefile: str) -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE))


def subcommands(help_text: str) -> set[str]:
    """The subcommands that a help text lists."""
    _, _, listed = help_text.partition("Subcommands:\n")
    return set(re.findall(r"^  ([a-z-]+) ", listed.partition("\n\n")[0], re.MULTILINE))


def flags(help_text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_text))


def split(command: str) -> tuple[str, list[str], list[str]]:
    """Program, the words that may be subcommands (up to the first that is not one), and flags."""
    program, *rest = shlex.split(command)
    words: list[str] = []
    for word in rest:
        if not re.fullmatch(r"[a-z][a-z-]*", word):
            break
        words.append(word)
    return program, words, [word.partition("=")[0] for word in rest if word.startswith("--")]
