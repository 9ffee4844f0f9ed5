#!/usr/bin/env python3
"""Writes what of charts/swage and manifests/ follows from other files. `--check` only compares.

The values are documented in one place, charts/swage/values.schema.json: every value has a
description and a default there. values.yaml and the table of charts/swage/README.md follow from it;
manifests/install.yaml is the chart rendered with ci/manifests-values.yaml (needs helm).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts" / "swage"
BEGIN, END = "<!-- values -->", "<!-- end -->"
Schema = dict[str, Any]


def is_group(node: Schema) -> bool:
    """A value without a default of its own is made of others."""
    return "properties" in node and "default" not in node


def complaints(node: Schema, path: str = "") -> Iterator[str]:
    """What keeps the schema from being the one source."""
    if "description" not in node:
        yield f"{path}: no description"
    if is_group(node):
        if node.get("additionalProperties") is not False:
            yield f"{path}: additionalProperties must be false"
        for name, child in node["properties"].items():
            yield from complaints(child, f"{path}.{name}".lstrip("."))
    elif "default" not in node:
        yield f"{path}: no default"
    elif node["type"] == "object" and "additionalProperties" not in node:
        yield f"{path}: additionalProperties must say what may stand here"


def leaves(node: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    for name, child in node["properties"].items():
        at = f"{path}.{name}".lstrip(".")
        if is_group(child):
            yield from leaves(child, at)
        else:
            yield at, child


def values_lines(node: Schema, indent: int = 0) -> Iterator[str]:
    pad = "  " * indent
    for name, child in node["properties"].items():
        text = child["description"] + choices(child)
        yield from textwrap.wrap(text, 100, initial_indent=f"{pad}# ", subsequent_indent=f"{pad}# ")
        if is_group(child):
            yield f"{pad}{name}:"
            yield from values_lines(child, indent + 1)
        else:
            yield f"{pad}{name}: {json.dumps(child['default'], ensure_ascii=False)}"


def choices(node: Schema) -> str:
    return f" One of {', '.join(node['enum'])}." if "enum" in node else ""


def values(schema: Schema) -> str:
    head = (
        "# Made from values.schema.json by `make chart`: change descriptions and defaults there.\n"
    )
    return head + "\n".join(values_lines(schema)) + "\n"


def table(schema: Schema) -> str:
    rows = ["| value | default | |", "|---|---|---|"]
    for path, node in leaves(schema):
        default = json.dumps(node["default"], ensure_ascii=False)
        rows.append(f"| `{path}` | `{default}` | {node['description']}{choices(node)} |")
    return "\n".join(rows)


def readme(schema: Schema) -> str:
    text = (CHART / "README.md").read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table(schema)}\n{END}{tail}"


def helm() -> str | None:
    """On PATH, or the one that the test cluster has built."""
    if found := shutil.which("helm"):
        return found
    base = os.environ.get("XDG_CACHE_HOME")
    cache = (Path(base) if base else Path.home() / ".cache") / "swage" / "cluster"
    built = sorted(cache.glob("tools-*/helm"))
    return str(built[-1]) if built else None


def template(program: str, *arguments: str) -> str:
    argv = [program, "template", "swage", str(CHART), "--namespace", "swage", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"helm template: {done.stderr}")
    return done.stdout


def manifest(program: str) -> str:
    head = (
        "# The chart's defaults for namespace swage, made by `make chart`. Not in it: the Secrets\n"
        "# that helm generates (manifests/README.md makes them), CRDs, hooks and tests.\n"
    )
    chosen = CHART / "ci" / "manifests-values.yaml"
    return head + template(program, "--no-hooks", "--values", str(chosen))


def wanted() -> dict[Path, str]:
    """Every file that follows from others, with its text."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    if found := list(complaints(schema, "")):
        raise SystemExit("values.schema.json: " + "; ".join(found))
    files = {CHART / "values.yaml": values(schema), CHART / "README.md": readme(schema)}
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file differs")
    check = parser.parse_args().check
    program = helm()
    files = wanted()
    stale = [file for file, text in files.items() if not file.exists() or file.read_text() != text]
    if not check:
        for file in stale:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[file])
    if program is None:
        print(
            "chart: no helm (make cluster-up builds one): manifests/install.yaml is left as it is"
        )
    else:
        stale += refresh(ROOT / "manifests" / "install.yaml", manifest(program), check)
    for file in stale:
        print(f"{'differs' if check else 'written'}: {file.relative_to(ROOT)}")
    return 1 if check and stale else 0


def refresh(file: Path, text: str, check: bool) -> list[Path]:
    if file.exists() and file.read_text() == text:
        return []
    if not check:
        file.write_text(text)
    return [file]


if __name__ == "__main__":
    sys.exit(main())
