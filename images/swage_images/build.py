"""From definitions to archives, keeping what has not changed."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swage_images import debian, headers, layer, oci, program, sbom, wheels
from swage_images.debian import Package
from swage_images.definition import REPOSITORY, Definitions, Image
from swage_images.layer import Entry, Layer
from swage_images.oci import Identity

DEFAULT_REGISTRY = "swage.dev"
# What makes a layer that is kept, by the first word of its record's name.
RECIPES = {"root": debian, "python": wheels, "headers": headers}


@dataclass(frozen=True)
class Place:
    """Where a build reads and writes. `fresh`: nothing that an earlier one kept is used."""

    cache: Path
    build: Path
    environment: Path
    fresh: bool = False

    @property
    def store(self) -> Path:
        return self.cache / "layers"

    @property
    def records(self) -> Path:
        return self.cache / "records"


@dataclass(frozen=True)
class Made:
    """One image that lies in the cache directory. Sizes in bytes."""

    name: str
    reference: str
    digest: str
    archive: str
    compressed: int
    unpacked: int


@dataclass(frozen=True)
class DebianPart:
    layer: Layer
    packages: list[Package]
    passwd: str
    group: str


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "swage"


def default_place(preset: str = "dev", fresh: bool = False) -> Place:
    cache = cache_directory()
    return Place(cache / "images", REPOSITORY / "build" / preset, cache / "venv", fresh)


def version() -> str:
    found = re.search(r"VERSION (\d+\.\d+\.\d+)", (REPOSITORY / "CMakeLists.txt").read_text())
    assert found, "CMakeLists.txt names no version"
    return found.group(1)


def remembered(place: Place, name: str, key: object) -> dict[str, Any] | None:
    """What `remember` wrote under this name, if the key is still the same and the layer there."""
    record = place.records / f"{name}.json"
    if place.fresh or not record.exists():
        return None
    kept: dict[str, Any] = json.loads(record.read_text())
    blob = place.store / kept["layer"]["digest"].removeprefix("sha256:")
    if kept["key"] != digest_of(name, key) or not blob.exists():
        return None
    return {**kept, "layer": Layer(**{**kept["layer"], "blob": blob})}


def remember(place: Place, name: str, key: object, part: dict[str, Any]) -> None:
    place.records.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"key": digest_of(name, key), **part}, default=str)
    (place.records / f"{name}.json").write_text(text)


def digest_of(name: str, key: object) -> str:
    """The key, and the recipe: other code may make other bytes of the same input."""
    recipe = (layer, RECIPES[name.partition("-")[0]])
    text = [Path(str(module.__file__)).read_text() for module in recipe]
    return hashlib.sha256(json.dumps([key, text]).encode()).hexdigest()


def root_part(place: Place, definitions: Definitions, name: str) -> DebianPart:
    """The Debian layer of a root: kept until its packages or the archive change."""
    root = definitions.roots[name]
    libraries = program.library_packages(definitions.programs_on(name), place.build)
    packages = sorted({*root.packages, *libraries})
    key = [root.variant, packages, debian.archive_state()]
    if kept := remembered(place, f"root-{name}", key):
        found = [Package(**p) for p in kept["packages"]]
        return DebianPart(kept["layer"], found, kept["passwd"], kept["group"])
    with tempfile.TemporaryDirectory(dir=place.cache) as folder:
        tree = debian.make_tree(Path(folder) / "root.tar", root, packages)
        part = DebianPart(
            debian.normalised(place.store, tree),
            debian.packages_of(tree),
            debian.file_of(tree, "etc/passwd"),
            debian.file_of(tree, "etc/group"),
        )
    remember(place, f"root-{name}", key, asdict(part))
    return part


def python_layers(place: Place, image: Image) -> list[Layer]:
    """What the image holds of the Python environment: kept until a package there changes."""
    versions = wheels.contents(image, place.environment)
    key = [versions, image.python, image.packages, [asdict(part) for part in image.wheels]]
    if not versions and not image.python:
        return []
    if kept := remembered(place, f"python-{image.name}", key):
        return [kept["layer"]]
    made = layer.write_entries(place.store, wheels.entries(image, place.environment))
    remember(place, f"python-{image.name}", key, {"layer": asdict(made)})
    return [made]


def file_digest(entry: Entry) -> str:
    assert isinstance(entry.content, Path)
    return layer.file_digest(entry.content)


def header_layer(place: Place, below: list[Layer], own: list[Entry]) -> Layer:
    """Torch's headers precompiled on the layers below: kept until those, sandboxd or its template
    change."""
    used = [(one.path, file_digest(one)) for one in headers.needed(own)]
    key = [[one.digest for one in below], used]
    if kept := remembered(place, "headers", key):
        found: Layer = kept["layer"]
        return found
    with tempfile.TemporaryDirectory(dir=place.cache) as folder:
        entries = headers.made(Path(folder), below, own)
        made = layer.write_entries(place.store, entries)
    remember(place, "headers", key, {"layer": asdict(made)})
    return made


def own_entries(
    place: Place, image: Image, part: DebianPart, identity: Identity, work: Path
) -> list[Entry]:
    python = wheels.contents(image, place.environment)
    parts = sbom.of_debian(part.packages) + sbom.of_python(python)
    bill = sbom.document(image.name, identity.version, identity.revision, identity.created, parts)
    return [
        *program.accounts(part.passwd, part.group),
        *program.places(),
        *program.installed(image, place.build, work),
        Entry(sbom.PLACE, bill),
    ]


def build_image(place: Place, definitions: Definitions, image: Image, registry: str) -> Made:
    """Layers from what changes least to what changes most: Debian, Python's, ours."""
    identity = Identity(version(), *program.revision())
    part = root_part(place, definitions, image.root)
    layers = [part.layer, *python_layers(place, image)]
    with tempfile.TemporaryDirectory() as work:
        own = own_entries(place, image, part, identity, Path(work))
        if image.headers:
            layers.append(header_layer(place, layers, own))
        layers.append(layer.write_entries(place.store, own))
    archive = place.cache / f"{image.name}.tar"
    reference = f"{registry}/{image.name}:{identity.version}"
    digest = oci.write(archive, reference, image, layers, identity)
    return Made(
        image.name,
        reference,
        digest,
        str(archive),
        sum(one.size for one in layers),
        sum(one.unpacked for one in layers),
    )


def selected(definitions: Definitions, names: list[str]) -> list[Image]:
    """The named images; none: all but those made on request."""
    unknown = sorted(set(names) - set(definitions.images))
    if unknown:
        raise program.ProgramError(
            f"there is no image {unknown[0]}; there are {', '.join(definitions.images)}"
        )
    every = definitions.images.values()
    return [i for i in every if (i.name in names if names else not i.on_request)]


def build(
    place: Place,
    definitions: Definitions,
    names: list[str],
    registry: str = DEFAULT_REGISTRY,
    report: Callable[[Made], None] = lambda made: None,
) -> list[Made]:
    """Builds the images and notes them in images.json beside the archives."""
    wanted = selected(definitions, names)
    out = []
    with locked(place):
        record = place.cache / "images.json"
        known = json.loads(record.read_text()) if record.exists() else {}
        for image in wanted:
            made = build_image(place, definitions, image, registry)
            report(made)
            out.append(made)
            known[image.name] = asdict(made)
        known = {name: known[name] for name in sorted(known) if name in definitions.images}
        record.write_text(json.dumps(known, indent=1) + "\n")
        sweep(place)
    return out


@contextmanager
def locked(place: Place) -> Iterator[None]:
    """One build at a time in a cache directory."""
    place.cache.mkdir(parents=True, exist_ok=True)
    with (place.cache / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left in place.cache.glob("tmp*"):
            shutil.rmtree(left)  # of a build that was killed
        yield


def sweep(place: Place) -> None:
    """Layers that nothing remembers go: the archives hold copies of theirs."""
    records = [json.loads(file.read_text()) for file in place.records.glob("*.json")]
    kept = {record["layer"]["digest"].removeprefix("sha256:") for record in records}
    for blob in place.store.iterdir():
        if blob.name not in kept:
            blob.unlink()
