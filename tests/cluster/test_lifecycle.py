"""The cluster comes and goes: nothing is left, and a machine that lacks something is told what."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from testcluster import bootstrap, cgroups, lifecycle, needs
from testcluster.api import Api
from testcluster.layout import Layout


@pytest.fixture
def gone(layout: Layout) -> Iterator[Layout]:
    """A layout whose cluster is down for one test and up again after it."""
    lifecycle.down(layout)
    yield layout
    lifecycle.up(layout)


def test_nothing_is_left_after_down(layout: Layout) -> None:
    state = lifecycle.read_state(layout)
    assert state is not None
    inside = lifecycle.command(layout, {"list": True})["running"]
    assert {"etcd", "apiserver", "kubelet", "containerd", "kwok", "dns"} <= set(inside)
    assert cgroups.found()
    lifecycle.down(layout)
    assert lifecycle.leftovers(layout) == []
    assert not lifecycle.alive(state)
    for name, value in state.sysctls.items():
        assert Path("/proc/sys", name).read_text().strip() == value, name
    assert lifecycle.up(layout) <= 15


def test_what_is_left_is_noticed(gone: Layout) -> None:
    cgroups.make()
    assert any("cgroup" in text for text in lifecycle.leftovers(gone))
    assert cgroups.remove() == []
    assert lifecycle.leftovers(gone) == []
    lifecycle.down(gone)  # without a cluster it is no error


def test_a_cluster_whose_first_process_was_killed_is_replaced(layout: Layout) -> None:
    state = lifecycle.read_state(layout)
    assert state is not None
    os.kill(state.pid, signal.SIGKILL)
    lifecycle.up(layout)
    assert bootstrap.unready(Api(layout.admin_kubeconfig)) == []
    assert lifecycle.read_state(layout) != state


def test_a_cluster_that_lost_a_program_is_not_healthy(layout: Layout) -> None:
    assert lifecycle.healthy(layout)
    lifecycle.stop(layout, "scheduler")
    assert not lifecycle.healthy(layout)
    lifecycle.start(layout, "scheduler")
    assert lifecycle.healthy(layout)


def test_a_machine_without_cgroups_is_told_which_are_missing(tmp_path: Path) -> None:
    for name in ("cpu", "memory"):
        (tmp_path / name).mkdir()
    (complaint,) = needs.cgroups(tmp_path)
    assert "cpuset, pids" in complaint
    for name in ("cpuset", "pids"):
        (tmp_path / name).mkdir()
    assert needs.cgroups(tmp_path) == []


def test_a_machine_without_a_program_is_told_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert needs.programs() == []
    monkeypatch.setattr(needs, "PROGRAMS", {"no-such-program": "some-package"})
    (complaint,) = needs.programs()
    assert "some-package" in complaint


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root is needed" in needs.root()[0]
