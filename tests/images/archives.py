"""Builds that keep nothing of earlier ones, and layers as a container runtime sees them."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from swage_images import build
from swage_images.build import Place


def unpacked(blob: bytes) -> tarfile.TarFile:
    """A layer as a container runtime sees it."""
    done = subprocess.run(
        ["zstd", "--quiet", "--decompress", "--stdout"], input=blob, capture_output=True, check=True
    )
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


def make_place(cache: Path) -> Place:
    usual = build.default_place(fresh=True)
    return Place(cache, usual.build, usual.environment, fresh=True)
