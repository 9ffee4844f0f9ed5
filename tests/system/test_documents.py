"""The commands of README.md and docs/ are run, or exist as they are written."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import doc_commands
import pytest
from harness import BIN, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Not run here: what takes long, and what needs a run that is there; who runs it instead.
SLOW = {
    "make quickstart": "ten minutes; tests/bench/quickstart.py measures it",
    "swage show --out out/quickstart": "needs that run; test_ended_run.py shows one of its own",
    "swage show ROLLOUT --out out/quickstart": "as above",
    "swage status --out out/quickstart": "as above",
}
# What may be run without being asked: it is quick and changes nothing. No other command ever is.
QUICK = re.compile(r"make (help|doctor)|swage( [a-z]+)* --help|swage tasks list( --json)?")
# Programs that act on a cluster or a registry, and the words of a loop around them.
CLUSTER = ("helm", "kubectl", "skopeo", "for", "done")
COMMANDS = sorted({c for path in DOCUMENTS for c in doc_commands.fenced(path.read_text())})


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a reader of the README would: in the repository, `swage` on PATH."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@functools.cache
def help_of(*command: str) -> str:
    done = shell(" ".join([*command, "--help"]))
    assert done.returncode == 0, done.stderr
    return done.stdout


def swage_complaint(command: str) -> str | None:
    """Why a `swage…` command cannot be given as written, or nothing."""
    program, words, flags = doc_commands.split(command)
    if not (BIN / program).exists():
        return f"there is no {program}"
    if program != "swage":
        return None  # a process of the system: its own tests know its arguments
    chosen = [program]
    while listed := doc_commands.subcommands(help_of(*chosen)):
        if not words:
            break
        if words[0] not in listed:
            return f"{' '.join(chosen)} has no subcommand {words[0]}"
        chosen.append(words.pop(0))
    unknown = set(flags) - doc_commands.flags(help_of(*chosen)) - {"--help"}
    return f"{' '.join(chosen)} does not know {sorted(unknown)}" if unknown else None


def complaint(command: str) -> str | None:
    if command.startswith("swage"):
        return swage_complaint(command)
    if not command.startswith("make "):
        return None  # not ours: unlisted() asks who runs it
    makefile = (ROOT / "Makefile").read_text()
    unknown = [
        word
        for word in command.split()[1:]
        if "=" not in word and word not in doc_commands.targets(makefile)
    ]
    return f"make has no target {unknown}" if unknown else None


def unlisted(commands: list[str]) -> list[str]:
    """Commands that are neither run here nor named with the reason why not."""
    return [
        c
        for c in commands
        if not QUICK.fullmatch(c) and c not in SLOW and c.split()[0] not in CLUSTER
    ]


@pytest.mark.parametrize("command", [c for c in COMMANDS if QUICK.fullmatch(c)])
def test_a_command_of_a_document_runs(command: str) -> None:
    done = shell(command)
    # The doctor's answer depends on the machine; its exit code and its words must agree.
    wanted = int("MISSING" in done.stdout) if command == "make doctor" else 0
    code = min(done.returncode, 1) if command == "make doctor" else done.returncode
    assert code == wanted, done.stdout + done.stderr
    assert done.stdout.strip(), command


def test_a_command_is_run_or_listed() -> None:
    assert unlisted(COMMANDS) == []
    assert unlisted(["make clean", "swage tasks list; rm x", "helm uninstall swage"]) == [
        "make clean",
        "swage tasks list; rm x",
    ]


def test_what_is_not_run_is_still_in_a_document() -> None:
    assert sorted(SLOW.keys() - set(COMMANDS)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_named_exists(document: Path) -> None:
    named = doc_commands.mentioned(document.read_text())
    complaints = [f"`{c}`: {why}" for c in named if (why := complaint(c))]
    assert not complaints, "\n".join(complaints)


def test_the_readme_gives_what_is_quick() -> None:
    for command in ("make help", "make doctor", "swage --help", "swage tasks list"):
        assert command in COMMANDS


def test_the_rules_fire() -> None:
    text = "Say `make help`.\n```\nswage show X  # one\n```\n```text\nswage lies\n```\n"
    assert doc_commands.fenced(text) == ["swage show X"]
    assert doc_commands.mentioned(text) == ["make help", "swage show X"]
    assert complaint("make no-such-target") == "make has no target ['no-such-target']"
    assert complaint("make test PRESET=dev") is None
    assert complaint("swage fly") == "swage has no subcommand fly"
    assert complaint("swage tasks list --json") is None
    assert complaint("swage tasks fly") == "swage tasks has no subcommand fly"
    assert complaint("swage resume RUN") is None
    assert re.search("does not know .*--backwards", complaint("swage resume RUN --backwards") or "")
    assert complaint("swage-nothing --help") == "there is no swage-nothing"
