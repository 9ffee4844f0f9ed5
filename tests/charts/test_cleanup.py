"""What the uninstall hook chooses; tests/cluster/test_chart.py runs it for real."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import chart
import pytest


@pytest.fixture(scope="module")
def cleanup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cleanup", chart.CHART / "files" / "cleanup.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["cleanup"] = module
    spec.loader.exec_module(module)
    return module


def thing(name: str, *owners: str) -> dict[str, Any]:
    references = [{"apiVersion": owner, "kind": "TrainingRun", "name": "run"} for owner in owners]
    return {"metadata": {"name": name, "ownerReferences": references}}


def test_only_what_our_objects_own_goes(cleanup: ModuleType) -> None:
    objects = [
        thing("sandbox", "swage.dev/v1alpha1"),
        thing("shared", "apps/v1", "swage.dev/v1alpha1"),
        thing("of-a-deployment", "apps/v1"),
        thing("of-another-group", "notswage.dev/v1"),
        {"metadata": {"name": "nobodys", "labels": {"swage.dev/component": "sandbox"}}},
    ]
    assert cleanup.owned(objects) == ["sandbox", "shared"]


def test_finalizers_of_others_stay(cleanup: ModuleType) -> None:
    found = ["swage.dev/run-cleanup", "example.com/archive", "foregroundDeletion"]
    assert cleanup.others(found) == ["example.com/archive", "foregroundDeletion"]


def test_waiting_ends_with_what_was_waited_for(cleanup: ModuleType) -> None:
    cleanup.wait("nothing", lambda: True, 0)
    with pytest.raises(SystemExit, match="pods end: not within 0 s"):
        cleanup.wait("pods end", lambda: False, 0)
