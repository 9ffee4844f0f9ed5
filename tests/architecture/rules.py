"""The rules of the architecture as plain functions: they take a tree and return complaints."""

from __future__ import annotations

import re
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
# One component sees another's api only; these are the exceptions (design README, section 3, and
# docs/decisions).
FOREIGN = (
    ("learner/torch/", "policy/model/"),
    ("learner/app/", "policy/model/"),
)
ANY_APP_MAY = ("policy/tokenizer/",)
# `swage judge` wires compiler and judge together as sandboxd and the GPU worker do.
CLI_JUDGES = (
    "gpu_pool/worker/adapters/judge_runner.hpp",
    "gpu_pool/worker/app/local_judge.hpp",
    "sandbox/adapters/gxx_compile_service.hpp",
)
INCLUDE = re.compile(r'^\s*#include\s+[<"]([^">]+)[">]', re.MULTILINE)
LIMIT = 400
SCALAR = re.compile(
    r"\s+(?:optional |repeated )?"
    r"(string|bytes|bool|double|float|u?int\d+|fixed\d+|map)\b"
)


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
    if layer in ("app", "adapters") and any(target.startswith(t) for t in ANY_APP_MAY):
        return None
    if source.startswith("cli/app/") and target in CLI_JUDGES:
        return None
    return f"{source} includes {target}: one component sees another's api only"


def third_party_complaints(source: str, text: str) -> list[str]:
    """What core may never include, and torch beside protobuf."""
    out = []
    includes = INCLUDE.findall(text)
    here = place(source)
    banned = re.compile(r"^(boost/|grpc|torch/|hiredis|prometheus/|thread$|mutex$|swage/v1/)")
    if here and here[1] == "core":
        out += [f"{source} includes <{i}>: core is pure" for i in includes if banned.match(i)]
    torch = [i for i in includes if i.startswith("torch/")]
    proto = [i for i in includes if i.startswith("swage/v1/")]
    if torch and proto:
        out.append(f"{source} includes {torch[0]} and {proto[0]}: torch bundles another protobuf")
    return out


def size_complaint(source: str, text: str) -> str | None:
    lines = text.count("\n")
    if lines > LIMIT and not re.match(r"(//|#) Over 400 lines: \S", text):
        return f"{source} has {lines} lines: split it by idea, or say why on line 1"
    return None


def proto_complaints(source: str, text: str) -> list[str]:
    """Every field of a message says what it is, and names follow the style."""
    out = []
    message = ""
    previous_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*message\s+(\w+)", line):
            message = found[1]
            if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", message):
                out.append(f"{source}:{number}: message {message} is not CamelCase")
        field = re.match(r"\s+(?:optional |repeated )?[\w.<>, ]+?\s(\w+)\s*=\s*\d+;(.*)$", line)
        if field and message and not re.match(r"\s+[A-Z_0-9]+\s*=", line):
            if not re.fullmatch(r"[a-z][a-z0-9_]*", field[1]):
                out.append(f"{source}:{number}: field {message}.{field[1]} is not snake_case")
            scalar = SCALAR.match(line)
            if scalar and "//" not in field[2] and not previous_comment:
                out.append(f"{source}:{number}: field {message}.{field[1]} says nothing of itself")
        previous_comment = line.strip().startswith("//")
    return out


def documented_paths_complaints(source: str, text: str, root: Path) -> list[str]:
    """Files of ours that a document names in backquotes exist."""
    out = []
    for name in re.findall(
        r"`([\w./-]+/[\w./-]+\.(?:hpp|cpp|py|proto|md|yaml|json|sh|lua|cmake))`", text
    ):
        # Names below another root (a work directory, OUT) do not begin with a folder of ours.
        if name.startswith("/"):
            continue
        if (root / name.split("/")[0]).is_dir() and not (root / name).exists():
            out.append(f"{source} names {name}, which does not exist")
    return out
