"""One small image, built once from nothing."""

from __future__ import annotations

import shutil

import pytest
from archives import make_place
from swage_images import build
from swage_images.build import Made, Place
from swage_images.definition import load


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is missing: make setup")
    return make_place(tmp_path_factory.mktemp("images") / "cache")


@pytest.fixture(scope="session")
def redis(place: Place) -> Made:
    """The smallest image, built once from nothing."""
    (made,) = build.build(place, load(), ["redis"])
    return made
