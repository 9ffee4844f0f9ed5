"""Torch's headers, precompiled where they will be used: in the image's own tree, by its compiler.

Otherwise every sandbox would do it again for itself: half a minute of two cores, half a gigabyte.
The objects of the files that every work directory begins with lie beside them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from swage_images.definition import PREFIX
from swage_images.layer import Entry, Layer
from swage_images.program import ProgramError, files_below

PROGRAM = f"{PREFIX}/bin/swage-sandboxd"
TEMPLATE = f"{PREFIX}/share/swage/sandbox/template/"
PLACE = f"{PREFIX}/share/swage/sandbox/headers"
PYTHON = f"/{PREFIX}/python"
TORCH = f"{PYTHON}/lib/python3.11/site-packages/torch"
# A compiler's addresses may show in what it writes: the same ones every time. The mounts go with
# their namespace. The lock is only for those who make headers.
SCRIPT = f"""
mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
setarch --addr-no-randomize chroot "$1" /{PROGRAM} headers --out /{PLACE} \
  --torch {TORCH} --python {PYTHON}/bin/python3 && rm -f "$1/{PLACE}/toolchains/lock"
"""


def unpack(layer: Layer, root: Path) -> None:
    with subprocess.Popen(["zstd", "-dc", layer.blob], stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "-x", "-C", root], stdin=packed.stdout, check=True)


def needed(own: list[Entry]) -> list[Entry]:
    """What decides, of an image's own files: the program and what work directories begin with."""
    return [one for one in own if one.path == PROGRAM or one.path.startswith(TEMPLATE)]


def made(folder: Path, below: list[Layer], own: list[Entry]) -> list[Entry]:
    """The files of the header directory, made below `folder`, which must outlive the entries."""
    if os.geteuid() != 0:
        raise ProgramError(
            "torch's headers are precompiled in a changed root: build images as root"
        )
    root = folder / "root"
    root.mkdir()
    for layer in below:
        unpack(layer, root)
    for name in ("dev", "proc", "tmp", PLACE, str(Path(PROGRAM).parent)):
        (root / name).mkdir(parents=True, exist_ok=True)
    for entry in needed(own):
        place = root / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(entry.content, Path)
        shutil.copy(entry.content, place)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    done = subprocess.run(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", SCRIPT, "sh", root],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    if done.returncode != 0:
        raise ProgramError(f"torch's headers cannot be precompiled: {done.stderr[-1000:]}")
    return files_below(root / PLACE, PLACE)
