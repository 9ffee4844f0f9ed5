"""Warnings are errors in every preset (docs/decisions/0003-warnings-are-errors-everywhere.md)."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def complaints(options: str, presets: str) -> list[str]:
    """Why a warning could pass: the option's default, or a preset that turns it off."""
    out = []
    if "option(SWAGE_WERROR " not in options or 'Warnings are errors" ON)' not in options:
        out.append("SWAGE_WERROR is not ON by default")
    for preset in json.loads(presets)["configurePresets"]:
        if preset.get("cacheVariables", {}).get("SWAGE_WERROR", "ON") != "ON":
            out.append(f"preset {preset['name']} lets warnings pass")
    return out


def test_warnings_are_errors_in_every_preset() -> None:
    options = (ROOT / "cmake" / "SwageOptions.cmake").read_text()
    assert not complaints(options, (ROOT / "CMakePresets.json").read_text())


def test_the_rule_fires() -> None:
    options = 'option(SWAGE_WERROR "Warnings are errors" ON)\n'
    good = '{"configurePresets": [{"name": "dev"}]}'
    assert not complaints(options, good)
    assert complaints(options.replace("ON", "OFF"), good)
    assert complaints(
        options,
        '{"configurePresets": [{"name": "dev", "cacheVariables": {"SWAGE_WERROR": "OFF"}}]}',
    )
