"""What every rendering of the chart must have, whatever the values."""

from __future__ import annotations

from collections.abc import Iterator

import chart
import pytest
from render import (
    CASES,
    ROOT,
    Object,
    is_hook,
    named,
    of_kind,
    pods,
    render,
    run,
    template,
)


@pytest.fixture(scope="module", params=CASES, ids=[case or "defaults" for case in CASES])
def objects(request: pytest.FixtureRequest) -> list[Object]:
    return render(request.param)


GOOD_CONTAINER = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def insecure(spec: Object) -> Iterator[str]:
    """What keeps a pod from Pod Security `restricted`, and from our own rules."""
    pod = spec.get("securityContext", {})
    if not pod.get("runAsNonRoot") or not pod.get("runAsUser"):
        yield "may run as root"
    if pod.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "no seccomp profile"
    yield from (f"{v['name']} is of the node" for v in spec.get("volumes", []) if "hostPath" in v)
    for container in spec["containers"]:
        own = container.get("securityContext", {})
        for field, wanted in GOOD_CONTAINER.items():
            if own.get(field) != wanted:
                yield f"{container['name']}: {field}"
        if not {"requests", "limits"} <= set(container.get("resources", {})):
            yield f"{container['name']} has no requests or limits"


def test_every_pod_is_restricted(objects: list[Object]) -> None:
    found = {name: list(insecure(spec)) for name, spec in pods(objects)}
    assert "swage-controller" in found
    assert {name: bad for name, bad in found.items() if bad} == {}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["securityContext", "runAsNonRoot"], False),
        (["containers", 0, "securityContext", "readOnlyRootFilesystem"], False),
        (["containers", 0, "securityContext", "capabilities"], {}),
        (["containers", 0, "resources"], {}),
        (["volumes"], [{"name": "x", "hostPath": {"path": "/"}}]),
    ],
)
def test_the_rule_for_pods_fires(path: list[str | int], value: object) -> None:
    spec: Object = dict(pods(render("")))["swage-controller"]
    place = spec
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    assert list(insecure(spec))


def test_servers_have_probes_and_a_config_checksum(objects: list[Object]) -> None:
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
        assert "checksum/config" in one["spec"]["template"]["metadata"]["annotations"]


def test_only_what_talks_to_the_api_server_has_a_token(objects: list[Object]) -> None:
    with_token = {n for n, spec in pods(objects) if spec["automountServiceAccountToken"]}
    assert with_token <= {"swage-controller", "swage-cleanup", "swage-test-api"}
    for one in of_kind(objects, "ServiceAccount"):
        assert one["automountServiceAccountToken"] is False


def excess(rule: Object) -> Iterator[str]:
    words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    if any("*" in word for word in words):
        yield "a wildcard"
    if "secrets" in rule["resources"]:
        yield "Secrets"
    for verb in ("deletecollection", "escalate", "bind", "impersonate"):
        if verb in rule["verbs"]:
            yield verb
    if any(name.startswith("pods/") for name in rule["resources"]):
        yield "a way into pods"


def test_rights_are_narrow_and_of_namespaces(objects: list[Object]) -> None:
    assert of_kind(objects, "ClusterRole", "ClusterRoleBinding") == []
    for role in of_kind(objects, "Role"):
        found = [bad for rule in role["rules"] for bad in excess(rule)]
        assert found == [], role["metadata"]["name"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"verbs": ["*"]}, "a wildcard"),
        ({"resources": ["secrets"]}, "Secrets"),
        ({"verbs": ["deletecollection"]}, "deletecollection"),
        ({"resources": ["pods/exec"]}, "a way into pods"),
    ],
)
def test_the_rule_for_rights_fires(change: Object, complaint: str) -> None:
    good = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "delete"]}
    assert list(excess(good)) == []
    assert list(excess({**good, **change})) == [complaint]


def test_the_controllers_role_is_the_documented_one() -> None:
    """docs/PROCESSES.md has it as a table, group by group."""
    text = (ROOT / "docs" / "PROCESSES.md").read_text()
    _, _, part = text.partition("**Role of the controller**")
    rows = [line.strip("| ").split("|") for line in part.splitlines() if line.startswith("| ")]
    documented = {
        (group.strip(" `").replace("core", ""), resource.strip(), verb)
        for group, resources, verbs in rows[1:]
        for resource in resources.split(",")
        for verb in verbs.split()
    }
    role = named(render(""), "Role", "swage-controller")
    rendered = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert rendered == documented


def test_every_component_is_denied_by_default_and_sandboxes_reach_nothing() -> None:
    policies = of_kind(render(""), "NetworkPolicy")
    denied = [p for p in policies if p["metadata"]["name"] == "swage-default-deny"]
    assert {p["metadata"]["namespace"] for p in denied} == {"swage", "swage-pool"}
    for policy in denied:
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert not {"ingress", "egress"} & set(policy["spec"])
    sandbox = named(policies, "NetworkPolicy", "swage-sandbox")["spec"]
    assert sandbox["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in sandbox
    (entry,) = sandbox["ingress"]
    assert entry["ports"] == [{"port": 7070}]
    (source,) = entry["from"]
    assert source == {"podSelector": {"matchLabels": {"swage.dev/component": "rollout-worker"}}}


def test_disruption_budgets_are_for_more_than_one() -> None:
    def budgets(*arguments: str) -> set[str]:
        found = of_kind(render("", *arguments), "PodDisruptionBudget")
        return {one["metadata"]["name"] for one in found}

    assert budgets() == {"swage-controller", "swage-gpu-worker"}
    assert budgets("--set", "controller.replicas=1") == {"swage-gpu-worker"}
    assert budgets("--set", "pdb.enabled=false") == set()


def test_crds_are_kept_and_everything_else_goes(objects: list[Object]) -> None:
    def kept(one: Object) -> bool:
        annotations = one["metadata"].get("annotations", {})
        return bool(annotations.get("helm.sh/resource-policy") == "keep")

    crds = of_kind(objects, "CustomResourceDefinition")
    assert len(crds) in (0, 2)
    assert [one for one in objects if kept(one)] == crds


def test_secrets_are_equal_everywhere_and_survive_only_by_lookup() -> None:
    objects = render("", "--set", "watchNamespaces={a,b}")
    for name, key in (("swage-internal", "token"), ("swage-redis", "password")):
        found = [o for o in of_kind(objects, "Secret") if o["metadata"]["name"] == name]
        assert {o["metadata"]["namespace"] for o in found} == {"swage", "a", "b", "swage-pool"}
        assert len({o["stringData"][key] for o in found}) == 1
        assert len(found[0]["stringData"][key]) == 48
    keys = [
        o for o in of_kind(objects, "Secret") if o["metadata"]["name"] == "swage-controller-key"
    ]
    assert [o["metadata"]["namespace"] for o in keys] == ["swage"]


def test_a_digest_wins_over_a_tag() -> None:
    digest = "sha256:" + "a" * 64
    objects = render("", "--set", f"image.tag=v7,images.redis.digest={digest}")
    images = {n: spec["containers"][0]["image"] for n, spec in pods(objects)}
    assert images["swage-redis"] == f"swage.dev/redis@{digest}"
    assert images["swage-controller"] == "swage.dev/controller:v7"


@pytest.mark.parametrize("name", ["serviceMonitor", "podMonitor", "prometheusRule"])
def test_a_kind_that_the_cluster_lacks_is_named(name: str) -> None:
    done = template("--set", f"metrics.{name}.enabled=true")
    assert done.returncode != 0
    assert f"metrics.{name} needs monitoring.coreos.com/v1/" in done.stderr


def test_keda_scales_one_pool_by_the_key_that_the_queue_writes() -> None:
    (scaler,) = of_kind(render("everything-values.yaml"), "ScaledObject")
    assert scaler["metadata"]["namespace"] == "gpus"
    assert scaler["spec"]["scaleTargetRef"]["kind"] == "ProfilingPool"
    (trigger,) = scaler["spec"]["triggers"]
    assert trigger["metadata"]["listName"] == "swage:{gpus.h100}:req"
    text = (ROOT / "gpu_pool" / "lease" / "adapters" / "redis_messages.cpp").read_text()
    assert '"swage:{" + pool + "}:" + name' in text


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ("autoscaling.mode=keda,autoscaling.pool=a", "needs keda.sh/v1alpha1/ScaledObject"),
        ("autoscaling.mode=keda", "autoscaling.pool: name the ProfilingPool"),
        (
            "autoscaling.mode=keda,autoscaling.pool=a,redis.mode=existing",
            "autoscaling.redisAddress",
        ),
    ],
)
def test_keda_without_what_it_needs_is_refused(settings: str, complaint: str) -> None:
    served = [] if "needs" in complaint else ["--api-versions", "keda.sh/v1alpha1/ScaledObject"]
    done = template("--set", settings, *served)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_labels_tell_what_belongs_to_the_release(objects: list[Object]) -> None:
    for one in objects:
        if one["kind"] != "CustomResourceDefinition":
            labels = one["metadata"]["labels"]
            assert labels["app.kubernetes.io/instance"] == "swage", one["metadata"]["name"]


def test_what_the_hook_makes_is_a_hook(objects: list[Object]) -> None:
    for one in objects:
        if one["metadata"]["name"].startswith(("swage-cleanup", "swage-test")):
            assert is_hook(one), one["kind"]


@pytest.mark.parametrize("case", CASES)
def test_helm_lint_is_content(case: str) -> None:
    chosen = ["--values", str(chart.CHART / "ci" / case)] if case else []
    done = run("lint", "--strict", str(chart.CHART), *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
