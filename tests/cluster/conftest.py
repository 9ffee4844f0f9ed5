"""The session's cluster: the one that is up, or one that comes up for the tests and then goes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from kit import Namespace
from testcluster import lifecycle, needs
from testcluster.api import Api, until
from testcluster.layout import Layout


@pytest.fixture(scope="session")
def layout() -> Iterator[Layout]:
    if complaints := needs.missing():
        pytest.skip("; ".join(complaints))
    layout = Layout.default()
    was_up = lifecycle.healthy(layout)
    lifecycle.up(layout)
    yield layout
    if not was_up:
        lifecycle.down(layout)


@pytest.fixture(scope="session")
def api(layout: Layout) -> Api:
    return Api(layout.admin_kubeconfig)


@pytest.fixture
def namespace(api: Api, layout: Layout) -> Iterator[Namespace]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    space = Namespace(api, layout, name)
    account = f"{space.path}/serviceaccounts/default"
    until("the namespace has its account", lambda: api.raw("GET", account)[0] == 200, 30)
    yield space
    api.delete(f"/api/v1/namespaces/{name}")
