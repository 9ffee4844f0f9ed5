"""The rules of the architecture as plain functions: they take a tree and return complaints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

COMPONENTS = (
    "controller",
    "rollout_worker",
    "sandbox",
    "gpu_pool/lease",
    "gpu_pool/worker",
    "gpu_pool/judge",
    "policy",
    "learner",
    "cli",
)
# Layers from the inside out, with what each may include of its own component.
LAYERS = {
    "api": {"api"},
    "core": {"api", "core"},
    "tokenizer": {"tokenizer"},
    "model": {"api", "core", "model"},
    "engine": {"api", "core", "model", "engine"},
    "torch": {"api", "core", "torch"},
    "adapters": {"api", "core", "adapters", "tokenizer", "engine", "model"},
    "app": {"api", "core", "adapters", "app", "tokenizer", "engine", "model", "torch"},
}
COMMON_FOR = {
    "api": {"common/base/", "common/asio/task.hpp", "common/asio/stop_source.hpp"},
    "core": {"common/base/"},
}
# One component sees another's api only; these are the exceptions (design README, section 3).
FOREIGN = (("learner/torch/", "policy/model/"),)
ANY_APP_MAY = ("policy/tokenizer/",)
# `swage judge` wires compiler and judge together as sandboxd and the GPU worker do
# (docs/decisions/0004-judge-from-the-command-line.md).
CLI_JUDGES = (
    "gpu_pool/worker/adapters/judge_runner.hpp",
    "gpu_pool/worker/app/local_judge.hpp",
    "sandbox/adapters/gxx_compile_service.hpp",
)
LIMIT = 400


def place(path: str) -> tuple[str, str] | None:
    """Component and layer of a source path, or nothing when it belongs to no component."""
    for component in COMPONENTS:
        if path.startswith(component + "/"):
            rest = path[len(component) + 1 :].split("/")
            return component, rest[0] if len(rest) > 1 else ""
    return None


def include_complaint(source: str, target: str) -> str | None:
    """Why `source` may not include `target`, or nothing."""
    here = place(source)
    if here is None:
        if source.startswith("common/") and place(target) is not None:
            return f"{source} includes {target}: common knows no component"
        return None
    component, layer = here
    if layer in COMMON_FOR and target.startswith("common/"):
        if not any(target.startswith(allowed) for allowed in COMMON_FOR[layer]):
            return f"{source} includes {target}: {layer} sees only {sorted(COMMON_FOR[layer])}"
        return None
    there = place(target)
    if there is None or not layer:
        return None
    if there[0] == component:
        return own_complaint(source, layer, target, there[1])
    return foreign_complaint(source, layer, target, there[1])


def own_complaint(source: str, layer: str, target: str, target_layer: str) -> str | None:
    if layer in LAYERS and target_layer in LAYERS and target_layer not in LAYERS[layer]:
        return f"{source} includes {target}: {layer} may not see {target_layer}"
    return None


def foreign_complaint(source: str, layer: str, target: str, target_layer: str) -> str | None:
    if target_layer == "api":
        return None
    if any(source.startswith(a) and target.startswith(b) for a, b in FOREIGN):
        return None
    if layer == "app" and any(target.startswith(t) for t in ANY_APP_MAY):
        return None
    if source.startswith("cli/app/") and target in CLI_JUDGES:
        return None
    return f"{source} includes {target}: one component sees another's api only"


def size_complaint(source: str, text: str) -> str | None:
    lines = text.count("\n")
    if lines > LIMIT and not re.match(r"(//|#) Over 400 lines: \S", text):
        return f"{source} has {lines} lines: split it by idea, or say why on line 1"
    return None


def dump_complaint(source: str, text: str) -> str | None:
    """nlohmann's dump() throws at text that is not UTF-8, and so lets anybody end what calls it."""
    if ".dump(" in text and source != "common/base/json_text.hpp":
        return f"{source} calls dump(): json_text() takes any bytes"
    return None


PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:hpp|cpp|py|proto|md|yaml|json|sh|lua|cmake)))`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def documented_paths_complaints(
    source: str, text: str, root: Path, *, all_ours: bool = False
) -> list[str]:
    """Files of ours that a document names in backquotes, and files that it links to, exist.
    all_ours: every path in backquotes is one of ours; else one below a folder of ours."""
    out = []
    for name in PATH.findall(text):
        # Names below another root (a work directory, OUT) do not begin with a folder of ours.
        first, _, rest = name.partition("/")
        ours = all_ours or (bool(rest) and (root / first).is_dir())
        if ours and not (root / name).exists():
            out.append(f"{source} names {name}, which does not exist")
    for name in LINK.findall(text):
        if not ((root / source).parent / name).exists():
            out.append(f"{source} links to {name}, which does not exist")
    return out


def heading_complaints(source: str, text: str, sections: Mapping[str, str]) -> list[str]:
    """A document of steps has each section once, each with numbered steps that name files."""
    out = []
    parts = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    for title, why in sections.items():
        steps = re.findall(r"^\d+\. .*$", parts.get(title, ""), re.MULTILINE)
        if not steps:
            out.append(f"{source} has no numbered steps under '{title}' ({why})")
        elif not any(PATH.search(step) for step in steps):
            out.append(f"{source} names no file under '{title}'")
        elif [int(step.split(".")[0]) for step in steps] != list(range(1, len(steps) + 1)):
            out.append(f"{source} misnumbers the steps under '{title}'")
    return out
