"""Layers: tar archives whose bytes depend on names, contents and modes alone."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# All times are this: what a file holds decides a digest, never when it was written.
TIME = 0
# One thread: what several make depends on how many there are.
PACK = ("zstd", "--quiet", "--compress", "--stdout", "-6", "--single-thread", "-")


@dataclass(frozen=True)
class Entry:
    """One file, folder (`path` ends with '/') or link (`target`). Owner root."""

    path: str
    content: bytes | Path = b""
    target: str = ""
    mode: int = 0o644


@dataclass(frozen=True)
class Layer:
    """A compressed layer in the store. `diff_id` is the digest of its uncompressed bytes."""

    blob: Path
    digest: str
    diff_id: str
    size: int
    unpacked: int


class Hashed(io.RawIOBase):
    """Passes what is written on, counting and hashing it."""

    def __init__(self, target: IO[bytes]) -> None:
        super().__init__()
        self.target = target
        self.hash = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.hash.update(data)
        self.size += len(data)
        self.target.write(data)
        return len(data)


def entry_info(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path.rstrip("/"))
    info.mtime, info.mode = TIME, entry.mode
    if entry.path.endswith("/"):
        info.type, info.mode = tarfile.DIRTYPE, entry.mode | 0o111
    elif entry.target:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
    elif isinstance(entry.content, Path):
        info.size = entry.content.stat().st_size
    else:
        info.size = len(entry.content)
    return info


def add(tar: tarfile.TarFile, entry: Entry) -> None:
    info = entry_info(entry)
    if not info.isreg():
        tar.addfile(info)
    elif isinstance(entry.content, Path):
        with entry.content.open("rb") as stream:
            tar.addfile(info, stream)
    else:
        tar.addfile(info, io.BytesIO(entry.content))


def with_parents(entries: Iterable[Entry]) -> list[Entry]:
    """Sorted, one entry a path, every folder named before what it holds."""
    found: dict[str, Entry] = {}
    for entry in entries:
        parts = entry.path.rstrip("/").split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth]) + "/"
            found.setdefault(folder.rstrip("/"), Entry(folder, mode=0o755))
        found[entry.path.rstrip("/")] = entry
    return [found[path] for path in sorted(found)]


def write(store: Path, fill: Callable[[tarfile.TarFile], None]) -> Layer:
    """Writes one layer into the store under its digest; `fill` adds the members in order."""
    store.mkdir(parents=True, exist_ok=True)
    part = store / ".part"
    with part.open("wb") as file:
        packer = subprocess.Popen(PACK, stdin=subprocess.PIPE, stdout=file)
        assert packer.stdin
        inner = Hashed(packer.stdin)
        with packer.stdin, tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar:
            fill(tar)
        if packer.wait() != 0:
            raise OSError(f"{PACK[0]} ended with {packer.returncode}: is the disk full?")
    digest, size = file_digest(part), part.stat().st_size
    blob = store / digest
    part.replace(blob)
    diff_id = f"sha256:{inner.hash.hexdigest()}"
    return Layer(blob, f"sha256:{digest}", diff_id, size, inner.size)


def file_digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_entries(store: Path, entries: Iterable[Entry]) -> Layer:
    def fill(tar: tarfile.TarFile) -> None:
        for entry in with_parents(entries):
            add(tar, entry)

    return write(store, fill)
