"""Who may dial whom: network policies evaluated as a plugin would, against the design."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from render import Object, of_kind, render

NAMESPACES = ["--set", "watchNamespaces={runs},poolNamespaces={gpus}"]


@dataclass(frozen=True)
class Place:
    """A pod by what policies see of it."""

    namespace: str
    component: str

    @property
    def labels(self) -> dict[str, str]:
        return {"swage.dev/component": self.component} if self.component else {"app": "other"}


CONTROLLER, REDIS, HOOK = (Place("swage", c) for c in ("controller", "redis", "hook"))
LEARNER, POLICY, WORKER, SANDBOX = (
    Place("runs", c) for c in ("learner", "policy", "rollout-worker", "sandbox")
)
GPU, DNS, OTHER = Place("gpus", "gpu-worker"), Place("kube-system", ""), Place("elsewhere", "")
ALLOWED = [
    (WORKER, CONTROLLER, 7070),
    (LEARNER, CONTROLLER, 7070),
    (CONTROLLER, LEARNER, 7070),
    (CONTROLLER, POLICY, 7070),
    (CONTROLLER, REDIS, 6379),
    (WORKER, SANDBOX, 7070),
    (WORKER, GPU, 7070),
    (WORKER, POLICY, 7070),
    (WORKER, LEARNER, 7070),
    (WORKER, REDIS, 6379),
    (LEARNER, POLICY, 7070),
    (POLICY, LEARNER, 7070),
    (POLICY, POLICY, 7070),
    (GPU, REDIS, 6379),
    (HOOK, REDIS, 6379),
    (OTHER, CONTROLLER, 8081),
    (OTHER, GPU, 8081),
    (WORKER, DNS, 53),
    (GPU, DNS, 53),
]
DENIED = [
    (SANDBOX, REDIS, 6379),
    (SANDBOX, DNS, 53),
    (SANDBOX, CONTROLLER, 7070),
    (SANDBOX, WORKER, 7070),
    (SANDBOX, SANDBOX, 7070),
    (SANDBOX, OTHER, 443),
    (OTHER, SANDBOX, 7070),
    (POLICY, SANDBOX, 7070),
    (OTHER, REDIS, 6379),
    (LEARNER, GPU, 7070),
    (GPU, CONTROLLER, 7070),
    (GPU, LEARNER, 7070),
    (OTHER, GPU, 7070),
    (WORKER, OTHER, 443),
]


def selects(selector: Object, labels: dict[str, str]) -> bool:
    if any(labels.get(k) != v for k, v in selector.get("matchLabels", {}).items()):
        return False
    for rule in selector.get("matchExpressions", []):
        value = labels.get(rule["key"])
        if rule["operator"] == "Exists" and value is None:
            return False
        if rule["operator"] == "In" and value not in rule["values"]:
            return False
    return True


def is_peer(peer: Object, of: str, place: Place) -> bool:
    """of: the policy's namespace, which a peer without namespaceSelector means."""
    if "namespaceSelector" in peer:
        named = {"kubernetes.io/metadata.name": place.namespace}
        if not selects(peer["namespaceSelector"], named):
            return False
    elif place.namespace != of:
        return False
    return selects(peer.get("podSelector", {}), place.labels)


def allows(policies: list[Object], side: str, of: Place, other: Place, port: int) -> bool:
    """side: ingress or egress of the pod `of`. A pod that no policy selects is open."""
    chosen = [
        p
        for p in policies
        if p["metadata"]["namespace"] == of.namespace
        and selects(p["spec"]["podSelector"], of.labels)
    ]
    peers = "from" if side == "ingress" else "to"
    rules = [rule for p in chosen for rule in p["spec"].get(side, [])]
    return not chosen or any(
        port in [p["port"] for p in rule["ports"]]
        and (peers not in rule or any(is_peer(one, of.namespace, other) for one in rule[peers]))
        for rule in rules
    )


def flows(policies: list[Object], source: Place, target: Place, port: int) -> bool:
    out = allows(policies, "egress", source, target, port)
    return out and allows(policies, "ingress", target, source, port)


@pytest.fixture(scope="module")
def policies() -> list[Object]:
    return of_kind(render("", *NAMESPACES), "NetworkPolicy")


@pytest.mark.parametrize(("source", "target", "port"), ALLOWED)
def test_what_has_to_talk_may(
    policies: list[Object], source: Place, target: Place, port: int
) -> None:
    assert flows(policies, source, target, port)


@pytest.mark.parametrize(("source", "target", "port"), DENIED)
def test_what_has_nothing_to_say_may_not(
    policies: list[Object], source: Place, target: Place, port: int
) -> None:
    assert not flows(policies, source, target, port)
    assert flows([], source, target, port)  # the policies are what refuses
