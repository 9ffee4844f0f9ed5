"""Code, table, dashboard and alert rules name the same metrics."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import make_training
import metrics_table
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Names and labels that the design gives (its page on observability); a metric that the code has and
# this list lacks is a change of the design. The utilisation has its pool beside it, as the others.
DESIGN = {
    name: frozenset(labels.split(",")) if labels else frozenset()
    for name, labels in re.findall(
        r"(swage_\w+)(?:\{([\w,]+)\})?",
        """
    swage_learner_step swage_learner_stage{stage} swage_rollout_reward swage_learner_reward_mean
    swage_learner_reward_ema swage_learner_entropy swage_learner_kl_behaviour
    swage_learner_explained_variance swage_learner_value_loss swage_learner_policy_loss
    swage_learner_clip_fraction{side} swage_learner_grad_norm swage_learner_effective_sample_size
    swage_learner_tokens_total swage_learner_tokens_per_second swage_learner_mfu_ratio
    swage_learner_weight_version swage_learner_staleness_steps swage_learner_phase_seconds{phase}
    swage_learner_guardrail_state{signal} swage_learner_guardrail_actions_total{signal,action}
    swage_learner_trajectories_total{result}

    swage_rollout_turns swage_rollout_tokens swage_rollout_length_clipped_total
    swage_rollout_ended_total{reason} swage_rollout_tool_calls_total{tool,result}
    swage_rollout_tool_seconds{tool} swage_rollout_repetition_ratio swage_rollout_active
    swage_rollout_infrastructure_failures_total{cause}

    swage_compile_seconds{result,cache} swage_evaluation_seconds{mode,phase}
    swage_evaluation_total{mode,verdict} swage_evaluation_speedup{baseline}
    swage_judge_violations_total{rule} swage_judge_ab_noise_ratio

    swage_pool_gpus{pool,state} swage_pool_waiting{pool,class} swage_pool_lease_wait_seconds{class}
    swage_pool_lease_hold_seconds swage_pool_utilisation_ratio{pool} swage_pool_leases_total{result}
    swage_pool_fence_rejections_total swage_pool_demand{pool}
    swage_pool_scale_events_total{direction,reason} swage_gpu_health_failures_total{check}
    swage_pool_epoch{pool} swage_pool_grants_frozen{pool}

    swage_policy_generated_tokens_total swage_policy_batch_size swage_policy_kv_used_ratio
    swage_policy_queue_seconds swage_policy_time_to_first_token_seconds swage_policy_weight_version
    swage_weight_broadcast_seconds swage_weight_broadcast_bytes_total

    swage_controller_leader swage_controller_reconcile_seconds{kind,result}
    swage_controller_workqueue_depth swage_sandbox_pods{state} swage_sandbox_claim_seconds
    swage_sandbox_circuit_open swage_assignments{state} swage_k8s_requests_total{verb,code}
    swage_k8s_watch_restarts_total{reason}
    """,
    )
}
NAME = re.compile(r"\bswage_[a-z0-9_]+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def unknown(expressions: list[str]) -> set[str]:
    """Names in PromQL that no code registers."""
    known = {metric.name for metric in metrics_table.registered()}
    used = {name for expression in expressions for name in NAME.findall(expression)}
    return {name for name in used if name not in known and SUFFIX.sub("", name) not in known}


def test_the_table_is_what_the_code_says() -> None:
    assert metrics_table.PAGE.read_text() == metrics_table.page(), "run tools/metrics_table.py"


def against_the_design(metrics: list[metrics_table.Metric], not_yet: set[str]) -> list[str]:
    """Names that the code lacks or has too many, and labels that differ."""
    found = {metric.name: frozenset(metric.labels) for metric in metrics}
    out = [f"{name} is missing" for name in sorted(DESIGN.keys() - found.keys() - not_yet)]
    out += [f"{name} is not of the design" for name in sorted(found.keys() - DESIGN.keys())]
    out += [f"{name} exists: take it off the list" for name in sorted(not_yet & found.keys())]
    out += [f"{name} is in no design" for name in sorted(not_yet - DESIGN.keys())]
    out += [
        f"{name} has labels {sorted(labels)}, the design {sorted(DESIGN[name])}"
        for name, labels in sorted(found.items())
        if name in DESIGN and labels != DESIGN[name]
    ]
    return out


def test_the_code_has_what_the_design_names_or_says_why_not() -> None:
    complaints = against_the_design(metrics_table.registered(), set(metrics_table.NOT_YET))
    assert not complaints, "\n".join(complaints)


def test_the_design_rule_fires() -> None:
    metrics, not_yet = metrics_table.registered(), set(metrics_table.NOT_YET)
    gone = metrics[0].name
    assert against_the_design(metrics[1:], not_yet) == [f"{gone} is missing"]
    assert not against_the_design(metrics[1:], {*not_yet, gone})
    assert against_the_design(metrics, {*not_yet, gone}) == [f"{gone} exists: take it off the list"]
    renamed = metrics[0]._replace(name="swage_unheard_of")
    assert "swage_unheard_of is not of the design" in against_the_design([renamed], not_yet)
    labelled = [metrics[0]._replace(labels=("rollout_id",)), *metrics[1:]]
    assert len(against_the_design(labelled, not_yet)) == 1


def test_every_histogram_lists_its_buckets_and_a_name_means_one_thing() -> None:
    calls = metrics_table.calls()
    for metric in calls:
        bounds = [float(bound) for bound in metric.buckets.split(", ") if bound]
        assert bounds == sorted(set(bounds)), metric
        assert bool(bounds) == (metric.kind == "histogram"), metric
    assert not metrics_table.conflicts(calls)


def test_the_conflict_rule_fires() -> None:
    text = 'm.histogram("swage_x_seconds", "Time of x", {1, 2});'
    once = metrics_table.metrics_in("learner/a.cpp", text)
    assert once[0].buckets == "1, 2"
    assert not metrics_table.conflicts([*once, *once])
    for other in (text.replace("{1, 2}", "{1, 3}"), text.replace("Time of x", "Something else")):
        assert metrics_table.conflicts([*once, *metrics_table.metrics_in("learner/b.cpp", other)])
    assert metrics_table.conflicts([*once, *metrics_table.metrics_in("policy/a.cpp", text)])


def test_the_dashboard_is_what_its_generator_writes() -> None:
    assert make_training.OUT.read_text() == make_training.text(), "run dashboards/make_training.py"


def test_every_panel_has_a_unit_and_a_sentence_and_asks_for_metrics_that_exist() -> None:
    panels = json.loads(make_training.OUT.read_text())["panels"]
    for panel in panels:
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["description"].endswith("."), panel["title"]
    assert not unknown([target["expr"] for panel in panels for target in panel["targets"]])


def test_every_alert_asks_for_metrics_that_exist() -> None:
    text = (ROOT / "dashboards" / "alerts.yaml").read_text()
    assert not unknown(re.findall(r"expr: >-\n((?:\s{10}.*\n)+)", text))


def test_the_rule_fires_for_a_metric_that_nobody_registers() -> None:
    assert unknown(["rate(swage_no_such_total[5m])"]) == {"swage_no_such_total"}


def promised_actions(text: str) -> set[str]:
    """What a text for operators says that a guardrail does by itself."""
    words = {
        "rollback": r"\brolls? back\b|(?<!helm )\brollback",
        "pause": r"\bpauses?\b|\bpaused\b",
    }
    return {action for action, word in words.items() if re.search(word, text)}


def test_operators_are_promised_only_actions_that_the_learner_counts() -> None:
    code = (ROOT / "learner" / "adapters" / "learner_metrics.cpp").read_text()
    counted = set(re.findall(r'\{"action", "(\w+)"\}', code))
    assert counted == {"pause"}
    for name in ("dashboards/alerts.yaml", "dashboards/training.json", "docs/OPERATIONS.md"):
        assert promised_actions((ROOT / name).read_text()) <= counted, name


def test_the_promise_rule_fires() -> None:
    assert promised_actions("the learner rolls back by itself") == {"rollback"}
    assert promised_actions("the guardrail pauses the run") == {"pause"}
    assert promised_actions("a rollout begins") == set()


@pytest.mark.parametrize(
    "command",
    [
        ["promtool", "check", "rules", "dashboards/alerts.yaml"],
        ["promtool", "test", "rules", "tests/alerts/training.yaml"],
    ],
)
def test_promtool_agrees(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
