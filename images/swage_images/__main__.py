"""Builds OCI images of swage into the cache directory and prints their digests and sizes."""

from __future__ import annotations

import argparse
import subprocess
import sys

from swage_images import build
from swage_images.build import Made
from swage_images.debian import DebianError
from swage_images.definition import DefinitionError, load
from swage_images.program import ProgramError

MISSING = 69
MIB = 1 << 20


def show(made: Made) -> None:
    sizes = f"{made.compressed / MIB:6.0f} MiB compressed, {made.unpacked / MIB:6.0f} MiB unpacked"
    print(f"{made.reference:32} {sizes}  {made.digest}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="swage_images", description=__doc__)
    parser.add_argument("images", nargs="*", help="names of images.toml; none: all usual ones")
    parser.add_argument("--preset", default="dev", help="build tree: build/PRESET")
    parser.add_argument("--registry", default=build.DEFAULT_REGISTRY, help="what names begin with")
    parser.add_argument("--fresh", action="store_true", help="keep nothing of earlier builds")
    arguments = parser.parse_args()
    place = build.default_place(arguments.preset, arguments.fresh)
    try:
        made = build.build(place, load(), arguments.images, arguments.registry, show)
    except (DefinitionError, ProgramError, DebianError) as error:
        print(f"images: {error}", file=sys.stderr)
        return MISSING
    except subprocess.CalledProcessError as error:
        print(f"images: {error}\n{error.stderr or ''}", file=sys.stderr)
        return 1
    print(f"{len(made)} images in {place.cache}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
