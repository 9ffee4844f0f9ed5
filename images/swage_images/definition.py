"""images.toml as values. Unknown fields are errors."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

SOURCE = Path(__file__).resolve().parent.parent
REPOSITORY = SOURCE.parent
PREFIX = "opt/swage"
USER = 10001  # of every image; what needs another says so in its pod
VARIANTS = ("extract", "essential")
T = TypeVar("T")


class DefinitionError(Exception):
    """images.toml says something that cannot be built; the text names the field."""


@dataclass(frozen=True)
class Root:
    """A Debian file tree: one layer, shared by the images that name it."""

    variant: str
    packages: list[str]


@dataclass(frozen=True)
class Wheels:
    """Single files or folders of the Python environment's site-packages."""

    into: str
    files: list[str]
    stubs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Image:
    name: str
    title: str
    description: str
    root: str
    entrypoint: list[str]
    programs: list[str] = field(default_factory=list)
    share: list[str] = field(default_factory=list)
    wheels: list[Wheels] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    python: bool = False
    headers: bool = False
    on_request: bool = False


@dataclass(frozen=True)
class Definitions:
    roots: dict[str, Root]
    images: dict[str, Image]

    def programs_on(self, root: str) -> list[str]:
        """Programs of all images with this root: its libraries serve them all."""
        found = {p for image in self.images.values() if image.root == root for p in image.programs}
        return sorted(found)


def make(kind: type[T], where: str, table: dict[str, Any], known: dict[str, Any]) -> T:
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(table) - names):
        raise DefinitionError(f"{where}: unknown field {unknown[0]}")
    try:
        return kind(**{**table, **known})
    except TypeError as error:
        raise DefinitionError(f"{where}: {error}") from error


def make_image(name: str, table: dict[str, Any], roots: dict[str, Root]) -> Image:
    where = f"image.{name}"
    wheels = [make(Wheels, f"{where}.wheels", part, {}) for part in table.pop("wheels", [])]
    image = make(Image, where, table, {"name": name, "wheels": wheels})
    if image.root not in roots:
        raise DefinitionError(f"{where}: there is no root {image.root}")
    return image


def parse(text: str) -> Definitions:
    document = tomllib.loads(text)
    roots = {
        name: make(Root, f"root.{name}", t, {}) for name, t in document.pop("root", {}).items()
    }
    for name, root in roots.items():
        if root.variant not in VARIANTS:
            raise DefinitionError(f"root.{name}: variant must be one of {', '.join(VARIANTS)}")
    images = {name: make_image(name, t, roots) for name, t in document.pop("image", {}).items()}
    if document:
        raise DefinitionError(f"unknown table {next(iter(document))}")
    return Definitions(roots, images)


def load(file: Path = SOURCE / "images.toml") -> Definitions:
    return parse(file.read_text())
