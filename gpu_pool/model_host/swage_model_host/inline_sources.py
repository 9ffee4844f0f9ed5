"""Takes the C++ out of a solution that calls torch's load_inline: read as text, never imported.

    python -I -S -B inline_sources.py MODEL_NEW.py OUTPUT.json

The output is {"model_new", "files", "changes"}: the same Python with each call replaced by the
module `cuda_extension`, the sources as files that the compile service knows, and what was done, for
the verdict. Or {"error"}: a sentence.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CALL = "load_inline"
MODULE = "cuda_extension"
_LIKE_EXTENSION_H = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<torch/extension\.h>.*$", re.MULTILINE)
# torch's own forms set dispatch-key guards, which no kernel may use; at's make the same tensor.
_FACTORY = re.compile(r"\btorch::(empty|empty_like|empty_strided|zeros|zeros_like)(?=\s*\()")
_USED = {"name", "cpp_sources", "functions", "cuda_sources"}
_POSITIONS = ("name", "cpp_sources", "cuda_sources", "functions")


class InlineError(Exception):
    """The sources cannot be taken out; the text says why."""


@dataclass
class Taken:
    """What became of one solution."""

    model_new: str
    files: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)


def take(source: str) -> Taken:
    """Replaces every call of load_inline. InlineError: what is not written plainly enough."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InlineError(f"model_new.py cannot be parsed: {error}") from error
    names = dict(_plain_assignments(tree))
    calls = sorted(_calls(tree), key=lambda call: call.lineno)
    edits: list[tuple[ast.expr | ast.stmt, str]] = [(call, MODULE) for call in calls]
    edits += [(statement, f"import {MODULE}") for statement in _imports(tree)]
    taken = Taken(_replaced(source, edits))
    if calls and f"import {MODULE}" not in taken.model_new:
        taken.model_new = f"import {MODULE}\n" + taken.model_new
    for number, call in enumerate(calls):
        _take_call(call, number, names, taken)
    return taken


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == CALL:
                yield node


def _imports(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and [alias.name for alias in node.names] == [CALL]:
            yield node


def _plain_assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with the one expression that is assigned to them; nothing if there are several."""
    seen: dict[str, ast.expr | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    seen[target.id] = None if target.id in seen else node.value
    yield from seen.items()


def _take_call(
    call: ast.Call, number: int, names: dict[str, ast.expr | None], taken: Taken
) -> None:
    given = dict(zip(_POSITIONS, call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    values = {key: _value(given[key], names, key) for key in sorted(_USED & given.keys())}
    if _texts(values.get("cuda_sources")):
        raise InlineError(f"line {call.lineno}: cuda_sources need a GPU, and this judge has a CPU")
    sources = _texts(values.get("cpp_sources"))
    if not sources:
        raise InlineError(f"line {call.lineno}: load_inline without cpp_sources")
    wanted = values.get("functions")
    functions = list(wanted) if isinstance(wanted, dict) else _texts(wanted)
    if not all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in functions):
        raise InlineError(f"line {call.lineno}: functions are not names")
    taken.files[f"kernels/inline_{number}_binding.cpp"] = _unit(number, sources, functions)
    taken.changes.append(_change(call, given))


def _change(call: ast.Call, given: dict[str, ast.expr]) -> str:
    ignored = ", ".join(sorted(given.keys() - _USED))
    text = f"the sources of load_inline in line {call.lineno} were compiled like kernels/*.cpp"
    return f"{text}; not used: {ignored}" if ignored else text


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InlineError("an argument of load_inline is neither text nor a list of texts")
    return [text for text in texts if text.strip()]


def _unit(number: int, sources: list[str], functions: list[str]) -> str:
    headers = "#include <torch/csrc/utils/pybind.h>\n#include <torch/types.h>\n"
    body = "\n".join(_LIKE_EXTENSION_H.sub("", source) for source in sources)
    body = _FACTORY.sub(r"at::\1", body)
    binds = "".join(f'  m.def("{name}", &{name});\n' for name in functions)
    return (
        f'{headers}\n#include "binding_registry.h"\n'
        # Bindings are compiled for speed of compilation; here the kernels are in them. The compiler
        # may not guess at classes of torch: it would name some that no kernel may use.
        f"#pragma GCC push_options\n"
        f'#pragma GCC optimize("O3", "no-devirtualize-speculatively")\n'
        f"{body}\n#pragma GCC pop_options\n"
        f"static void swage_inline_{number}(pybind11::module_& m) {{\n{binds}}}\n"
        f"REGISTER_BINDING(inline_{number}, swage_inline_{number})\n"
    )


def _value(node: ast.expr, names: dict[str, ast.expr | None], what: str, depth: int = 0) -> object:
    """The value of an expression of written-out texts, lists, dicts and names of such."""
    if depth > 16:
        raise InlineError(f"line {node.lineno}: {what} of load_inline is too deep")
    again = depth + 1
    if isinstance(node, ast.Constant) and isinstance(node.value, str | type(None)):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item, names, what, again) for item in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return {str(key.value): "" for key in node.keys if isinstance(key, ast.Constant)}
    known = names.get(node.id) if isinstance(node, ast.Name) else None
    if known is not None:
        return _value(known, names, what, again)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return "".join(
            _texts(_value(side, names, what, again))[0] for side in (node.left, node.right)
        )
    raise InlineError(f"line {node.lineno}: {what} of load_inline is not written out")


def _replaced(source: str, edits: list[tuple[ast.expr | ast.stmt, str]]) -> str:
    """The source with the text of each node exchanged. Columns of ast count bytes."""
    raw = source.encode()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = []
    for node, text in edits:
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        places.append((begin, starts[node.end_lineno - 1] + node.end_col_offset, text))
    for begin, end, text in sorted(places, reverse=True):
        raw = raw[:begin] + text.encode() + raw[end:]
    return raw.decode()


def main(arguments: list[str]) -> int:
    """Reads the one file and writes the other."""
    try:
        taken = take(Path(arguments[0]).read_text())
        answer = {"model_new": taken.model_new, "files": taken.files, "changes": taken.changes}
    except (InlineError, UnicodeDecodeError) as error:
        answer = {"error": str(error)}
    Path(arguments[1]).write_text(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
