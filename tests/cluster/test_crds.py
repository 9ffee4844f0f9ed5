"""The CustomResourceDefinitions on the real API server, by the fixtures of the local reader.

What is refused here is refused with a message that names the field; kubectl's words are the ones
that people read, so kubectl asks.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit import Namespace, install_crds
from testcluster.api import Api, ApiError
from testcluster.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "support" / "crd"

# By fixture: what the API server says.
REFUSED = {
    "agentic-off": "spec.stages.agentic.enabled: .* may be false only with ablations.noAgentLoop",
    "bad-quantity": r"spec.sandbox.resources.agent.limits\[memory\]: .* quantity such as 500m",
    "batch-not-of-groups": "spec.learning.batch: .* must be a multiple of groupSize",
    "concurrency-above-workers": "spec.rollouts.concurrency: .* at most rolloutWorkers.replicas",
    "concurrency-zero": "spec.rollouts.concurrency .* greater than or equal to 1",
    "enum-actor": 'spec.stages.collect.actor: .* supported values: "Policy", "Teacher"',
    "enum-advantage": "spec.learning.advantage: .* supported values",
    "enum-device": 'spec.deviceKind: .* supported values: "cuda", "cpu"',
    "enum-precision": "spec.evaluation.precision: .* supported values",
    "enum-preset": 'spec.preset: .* supported values: "Cluster", "OneMachine"',
    "fraction-for-integer": "spec.seed .* must be of type integer",
    "ill-typed-boolean": "spec.suspend .* must be of type boolean",
    "ill-typed-integer": "spec.rollouts.concurrency .* must be of type integer",
    "ill-typed-object": "spec.stages .* must be of type object",
    "max-attempts-above-range": "spec.rollouts.maxAttempts .* less than or equal to 20",
    "model-missing": "spec.model: Required value",
    "model-relative": "spec.model.source: .* must be `scratch:<preset>` or an absolute directory",
    "model-unknown-scratch": "spec.model.source: .* unknown preset `huge`; known is tiny",
    "name-too-long": "metadata.name must be at most 40 characters",
    "name-upper-case": "metadata.name must be at most 40 characters",
    "negative-seed": "spec.seed .* greater than or equal to 0",
    "pool-drain": "spec.drainSeconds: .* must be above lease.maxHoldSeconds",
    "pool-margin": "spec.lease.marginSeconds: .* must be at most a third of ttlSeconds",
    "pool-min-above-max": "spec.scaling.minReplicas: .* must be at most maxReplicas",
    "pool-ttl": "spec.lease.ttlSeconds .* greater than or equal to 12",
    "pool-unknown-field": 'unknown field "spec.gpus"',
    "recycle": "spec.sandbox.recycle: .* is not built yet; leave it out",
    "tasks-empty": "spec.tasks .* at least 1 items",
    "tasks-missing": "spec.tasks: Required value",
    "tasks-relative": r"spec.tasks\[0\].set: .* `builtin-cuda` or an absolute path",
    "tasks-twice": r"spec.tasks\[1\]: Duplicate value",
    "tasks-weight-range": r"spec.tasks\[0\].weight .* less than or equal to 1000",
    "tasks-weightless": "spec.tasks: .* give at least one a weight",
    "unknown-field": 'unknown field "spec.rolouts"',
    "unknown-nested-field": 'unknown field "spec.rollouts.concurency"',
    "wall-clock-below-range": "spec.rollouts.wallClockSeconds .* greater than or equal to 60",
    "warm-min-above-max": "spec.sandbox.warmMin: .* must be at most warmMax",
    "weight-above-range": "spec.weight .* less than or equal to 100",
    "wrong-api-version": 'no matches for kind "TrainingRun" in version "swage.dev/v1"',
    "wrong-kind": 'no matches for kind "Job"',
}
# What one object alone cannot show, or what never reaches the API server, and who sees it there.
NOT_REFUSED = {
    "field-twice": "YAML: kubectl takes the last one",
    "not-yaml": "YAML: kubectl says where",
    "pool-of-another-device": "condition PoolAvailable of the TrainingRun",
    "pool-of-another-name": "condition PoolAvailable of the TrainingRun",
    "pool-only": "a pool alone is good",
    "pool-replicas-not-fixed": "/scale and the built-in scaler write spec.replicas",
    "two-runs": "two objects of one name: the second replaces the first",
    "unknown-root-field": "status is dropped: only /status writes it",
}


@pytest.fixture(scope="module")
def crds(layout: Layout, api: Api) -> None:
    install_crds(layout, api)


def names(folder: str) -> list[str]:
    return sorted(file.stem for file in (FIXTURES / folder).glob("*.yaml"))


def apply(namespace: Namespace, file: Path) -> tuple[int, str]:
    """A strict dry run on the server, in the test's namespace whatever the file says."""
    text = file.read_text()
    for other in ("research", "swage-pool"):
        text = text.replace(f"namespace: {other}", f"namespace: {namespace.name}")
    done = namespace.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
    return done.returncode, done.stdout + done.stderr


def test_every_fixture_is_spoken_for() -> None:
    assert set(names("reject")) == set(REFUSED) | set(NOT_REFUSED)


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("name", names("accept"))
def test_what_is_right_is_accepted(namespace: Namespace, name: str) -> None:
    code, said = apply(namespace, FIXTURES / "accept" / f"{name}.yaml")
    assert code == 0, said


@pytest.mark.usefixtures("crds")
def test_the_quickstart_is_accepted(namespace: Namespace) -> None:
    code, said = apply(namespace, ROOT / "examples" / "quickstart.yaml")
    assert code == 0, said


@pytest.mark.usefixtures("crds")
def test_what_is_wrong_is_refused_with_the_field_and_the_remedy(namespace: Namespace) -> None:
    said = {name: apply(namespace, FIXTURES / "reject" / f"{name}.yaml") for name in REFUSED}
    for name, expected in REFUSED.items():
        code, text = said[name]
        assert code != 0, name
        assert re.search(expected, text), f"{name}: {text}"


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("trainingruns", "seed", 2),
        ("trainingruns", "deviceKind", "cpu"),
        ("trainingruns", "model", {"source": "/models/other"}),
        ("trainingruns", "learner", {"storage": {"size": "1Gi"}}),
        ("profilingpools", "deviceKind", "cpu"),
        ("profilingpools", "redis", {"secretName": "other"}),
        ("profilingpools", "verdictSecretName", "other"),
    ],
)
def test_what_a_run_is_made_of_cannot_be_changed(
    namespace: Namespace, kind: str, path: str, value: object
) -> None:
    objects = f"/apis/swage.dev/v1alpha1/namespaces/{namespace.name}/{kind}"
    spec: dict[str, object] = {}
    if kind == "trainingruns":
        spec = {"model": {"source": "scratch:tiny"}, "tasks": [{"set": "builtin-cpu"}]}
    body = {
        "apiVersion": "swage.dev/v1alpha1",
        "kind": "TrainingRun" if spec else "ProfilingPool",
        "metadata": {"name": "fixed"},
        "spec": spec,
    }
    namespace.api.create(objects, body)
    with pytest.raises(ApiError, match=f"spec.{path}.*cannot be changed; make a new"):
        namespace.api.merge(f"{objects}/fixed", {"spec": {path: value}})
    namespace.api.merge(f"{objects}/fixed", {"metadata": {"labels": {"may": "change"}}})


@pytest.mark.usefixtures("crds")
def test_status_and_scale_are_subresources_and_columns_tell_the_state(
    namespace: Namespace,
) -> None:
    objects = f"/apis/swage.dev/v1alpha1/namespaces/{namespace.name}"
    pool = {
        "apiVersion": "swage.dev/v1alpha1",
        "kind": "ProfilingPool",
        "metadata": {"name": "gpus"},
        "spec": {"scaling": {"mode": "Fixed"}, "replicas": 3},
    }
    namespace.api.create(f"{objects}/profilingpools", pool)
    namespace.api.merge(
        f"{objects}/profilingpools/gpus/status",
        {"status": {"replicas": 3, "readyReplicas": 2, "selector": "a=b", "waiting": 7}},
    )
    namespace.api.merge(f"{objects}/profilingpools/gpus/scale", {"spec": {"replicas": 5}})
    scale = namespace.api.get(f"{objects}/profilingpools/gpus/scale")
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (5, "a=b")
    lines = namespace.kubectl("get", "profilingpools").stdout.splitlines()
    assert lines[0].split() == ["NAME", "READY", "LEASED", "WAITING", "DEMAND", "MODE", "AGE"]
    assert lines[1].split()[:3] == ["gpus", "2", "7"]
