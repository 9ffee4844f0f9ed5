"""Files of the Python environment of `make setup`: LibTorch for C++, headers, or torch whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from swage_images.definition import PREFIX, Image, Wheels
from swage_images.layer import Entry
from swage_images.program import ProgramError, files_below, stub

PYTHON = "python3.11"
SITE = f"{PREFIX}/python/lib/{PYTHON}/site-packages"
CONFIG = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n"


def site_packages(environment: Path) -> Path:
    folder = environment / "lib" / PYTHON / "site-packages"
    if not (folder / "torch").is_dir():
        raise ProgramError(f"no torch in {folder}: make setup")
    return folder


def interpreter() -> list[Entry]:
    """What makes /opt/swage/python an environment of the image's own Python."""
    return [
        Entry(f"{PREFIX}/python/bin/python3", target=f"/usr/bin/{PYTHON}"),
        Entry(f"{PREFIX}/python/pyvenv.cfg", CONFIG.encode()),
    ]


def chosen(part: Wheels, site: Path) -> Iterator[Entry]:
    into = f"{PREFIX}/{part.into}"
    for name in part.files:
        source = site / name
        if source.is_dir():
            yield from files_below(source, f"{into}/{name}")
        elif source.exists():
            yield Entry(f"{into}/{name}", source.resolve())
        else:
            raise ProgramError(f"{source} is missing: make setup")
    for name in part.stubs:
        yield Entry(f"{into}/{name}", stub(site / name))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(distribution: Distribution, extras: set[str]) -> Iterator[tuple[str, set[str]]]:
    """(name, its extras) of what a distribution with these extras asks for."""
    for requirement in distribution.requires or []:
        found = re.match(r"([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?", requirement)
        assert found, requirement
        wanted = set(re.findall(r"""extra\s*==\s*["']([^"']+)""", requirement))
        if not wanted or wanted & extras:
            yield plain(found[1]), set(re.split(r"[\s,]+", found[2] or "")) - {""}


def closure(names: list[str], site: Path) -> list[Distribution]:
    """The named distributions with all they require on this platform."""
    known = {plain(d.metadata["Name"]): d for d in distributions(path=[str(site)])}
    found: dict[str, set[str]] = {}
    queue: list[tuple[str, set[str]]] = [(plain(name), set()) for name in names]
    if lost := [name for name, _ in queue if name not in known]:
        raise ProgramError(f"the Python package {lost[0]} is not installed: make setup")
    while queue:
        name, extras = queue.pop()
        # What is not installed has a condition that does not hold here.
        if name not in known or (name in found and extras <= found[name]):
            continue
        found[name] = found.get(name, set()) | extras
        queue += required(known[name], found[name])
    return [known[name] for name in sorted(found)]


def whole(names: list[str], site: Path) -> Iterator[Entry]:
    for distribution in closure(names, site):
        for file in distribution.files or []:
            source = Path(str(distribution.locate_file(file))).resolve()
            if not source.is_relative_to(site.resolve()) or source.suffix == ".pyc":
                continue  # scripts for people
            mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
            yield Entry(f"{SITE}/{source.relative_to(site.resolve())}", source, mode=mode)


def entries(image: Image, environment: Path) -> list[Entry]:
    """Everything of Python's that the image holds; empty when it needs none."""
    out = interpreter() if image.python else []
    for part in image.wheels:
        out += chosen(part, site_packages(environment))
    if image.packages:
        out += whole(image.packages, site_packages(environment))
    return out


def owns(distribution: Distribution, names: list[str]) -> bool:
    owned = {str(file) for file in distribution.files or []}
    folders = {"/".join(file.split("/")[:depth]) for file in owned for depth in (1, 2, 3)}
    return any(name in owned or name in folders for name in names)


def contents(image: Image, environment: Path) -> list[tuple[str, str]]:
    """(name, version) of the Python packages of which the image holds files."""
    if not image.wheels and not image.packages:
        return []
    site = site_packages(environment)
    files = [name for part in image.wheels for name in [*part.files, *part.stubs]]
    found = [d for d in distributions(path=[str(site)]) if owns(d, files)]
    found += closure(image.packages, site)
    return sorted({(plain(d.metadata["Name"]), d.version) for d in found})
