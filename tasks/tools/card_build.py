"""Compiles one card of a teacher deck the way the sandbox's compile service does.

A card is one kernel file beside the deck's model_new.py and binding. Objects are kept under a cache
folder by the digest of their sources, so that a binding is compiled once.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

CXX = "g++"
BASE_FLAGS = ("-std=c++17", "-O3", "-march=x86-64-v3", "-fopenmp", "-fPIC")


@dataclass(frozen=True)
class Deck:
    """One task folder: model.py and the teacher's files."""

    folder: Path
    model: Path
    model_new: Path
    binding: Path
    cards: tuple[str, ...]

    def kernel(self, card: str) -> Path:
        return self.folder / "teacher" / card


def read_deck(folder: Path) -> Deck:
    """Reads teacher/deck.json of a task folder. Raises OSError or KeyError when it is not there."""
    teacher = folder / "teacher"
    deck = json.loads((teacher / "deck.json").read_text())
    return Deck(
        folder=folder,
        model=folder / "model.py",
        model_new=teacher / deck["model_new"],
        binding=teacher / deck["binding"],
        cards=tuple(card["kernel"] for card in deck["cards"]),
    )


def torch_folder() -> Path:
    import torch

    return Path(torch.__file__).parent


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}\n{done.stderr}")


def _include_flags() -> list[str]:
    torch = torch_folder()
    python = sysconfig.get_paths()["include"]
    return [
        f"-isystem{torch}/include",
        f"-isystem{torch}/include/torch/csrc/api/include",
        f"-isystem{python}",
    ]


def _object(source: Path, template: Path, cache: Path, with_torch: bool) -> Path:
    text = source.read_bytes()
    if with_torch:
        text += (template / "binding_registry.h").read_bytes()
    key = hashlib.sha256(text + " ".join(BASE_FLAGS).encode()).hexdigest()[:24]
    made = cache / f"{key}.o"
    if made.exists():
        return made
    includes = [f"-I{template}", *_include_flags()] if with_torch else []
    part = cache / f"{key}.part"
    _run([CXX, *BASE_FLAGS, *includes, "-c", str(source), "-o", str(part)])
    part.replace(made)
    return made


def build(deck: Deck, card: str, template: Path, cache: Path) -> Path:
    """Compiles and links a card; returns a folder that holds model_new.py and cuda_extension.so.

    template: the sandbox's folder with binding.cpp and binding_registry.h.
    """
    cache.mkdir(parents=True, exist_ok=True)
    objects = [
        _object(template / "binding.cpp", template, cache, with_torch=True),
        _object(deck.binding, template, cache, with_torch=True),
        _object(deck.kernel(card), template, cache, with_torch=False),
    ]
    name = hashlib.sha256("".join(map(str, objects)).encode()).hexdigest()[:24]
    folder = cache / f"{deck.folder.name}-{Path(card).stem}-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "model_new.py").write_bytes(deck.model_new.read_bytes())
    library = folder / "cuda_extension.so"
    if not library.exists():
        libs = torch_folder() / "lib"
        link = ["-lc10", "-ltorch_cpu", "-ltorch_python", f"-Wl,-rpath,{libs}"]
        argv = [CXX, "-shared", "-fopenmp", *map(str, objects), "-o", str(library)]
        _run([*argv, f"-L{libs}", *link])
    return folder
