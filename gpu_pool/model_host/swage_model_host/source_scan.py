"""Tripwires in a candidate's Python source: parsed here, in a process of its own, never imported.

It catches what is written plainly; what hides is for the other layers (design judge.md, section 5).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

MAX_FINDINGS = 16

_MODULES = {
    "sys", "os", "gc", "inspect", "ctypes", "threading", "subprocess", "importlib", "builtins",
    "signal", "atexit", "posix", "_thread", "_ctypes",
}  # fmt: skip
_CALLS = {"exec", "eval", "compile", "__import__"}
_TORCH = {"ops", "compile", "jit"}


def scan(folder: Path) -> list[str]:
    """What is found in every *.py below the folder, as `file:line: words`; at most 16."""
    found: list[str] = []
    for file in sorted(folder.rglob("*.py")):
        name = str(file.relative_to(folder))
        found += [f"{name}:{line}: {words}" for line, words in findings(file.read_text())]
    return found[:MAX_FINDINGS]


def findings(source: str) -> list[tuple[int, str]]:
    """The same for one source text. A text that is not Python fails when it is imported."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    except (RecursionError, MemoryError, ValueError):
        return [(1, "cannot be parsed")]
    return sorted(_Scan(tree).run())


class _Scan:
    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        self._own = {node.name for node in self._nodes if isinstance(node, functions)}
        self._torch = {
            alias.asname or alias.name
            for node in self._nodes
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "torch"
        }

    def run(self) -> Iterator[tuple[int, str]]:
        """Every finding: its line and what it is."""
        for node in self._nodes:
            for words in self._of(node):
                yield getattr(node, "lineno", 1), words

    def _of(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _import(alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield from _import(f"{node.module or ''}.{alias.name}")
        elif isinstance(node, ast.Attribute) and self._is_torch(node.value):
            yield from _of_torch(node.attr)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.ClassDef):
            yield from _bases(node)

    def _is_torch(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._torch

    def _call(self, node: ast.Call) -> Iterator[str]:
        if not isinstance(node.func, ast.Name):
            return
        name = node.func.id
        if name in _CALLS and name not in self._own:
            yield f"calls {name}"
        if name == "getattr" and len(node.args) > 1:
            wanted = node.args[1]
            if not isinstance(wanted, ast.Constant):
                yield "calls getattr with a name that is not written out"
            elif self._is_torch(node.args[0]):
                yield from _of_torch(str(wanted.value))


def _import(name: str) -> Iterator[str]:
    root, _, rest = name.partition(".")
    if root in _MODULES:
        yield f"imports {root}"
    if root == "torch" and rest:
        yield from _of_torch(rest.split(".")[0])
    if root == "model":
        yield "imports the reference"


def _of_torch(attribute: str) -> Iterator[str]:
    private = attribute.startswith("_") and not attribute.startswith("__")
    if private or attribute in _TORCH:
        yield f"uses torch.{attribute}"


def _bases(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        if name == "Model":
            yield f"class {node.name} inherits Model"
