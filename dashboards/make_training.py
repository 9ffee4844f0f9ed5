"""Writes dashboards/training.json, the Grafana dashboard of one training run.

A panel is one line here; everything that Grafana needs around it is made once. Run it after a
change: `python3 dashboards/make_training.py`; a test compares the file with what this writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

RUN = 'run=~"$run"'
OUT = Path(__file__).parent / "training.json"


class Panel(NamedTuple):
    """title, unit (Grafana's name), one sentence, and queries as (legend, expression)."""

    title: str
    unit: str
    description: str
    queries: tuple[tuple[str, str], ...]


def quantile(q: float, metric: str, window: str = "5m") -> str:
    return f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{{RUN}}}[{window}])))"


PANELS = (
    Panel("Mean reward", "short", "Mean final reward of the batch of each step, and its smoothed "
          "course; a fall of 0.3 below its best is the first sign of a collapse.",
          (("mean", f"swage_learner_reward_mean{{{RUN}}}"),
           ("smoothed", f"swage_learner_reward_ema{{{RUN}}}"))),
    Panel("Reward distribution", "percentunit", "Share of finished rollouts by final reward.",
          (("wrong", f'sum(rate(swage_rollout_reward_bucket{{le="-1",{RUN}}}[5m]))'
            f" / sum(rate(swage_rollout_reward_count{{{RUN}}}[5m]))"),
           ("right or wrong", f'sum(rate(swage_rollout_reward_bucket{{le="1",{RUN}}}[5m]))'
            f" / sum(rate(swage_rollout_reward_count{{{RUN}}}[5m]))"),
           ("up to faster than eager", f'sum(rate(swage_rollout_reward_bucket{{le="2",{RUN}}}[5m]))'
            f" / sum(rate(swage_rollout_reward_count{{{RUN}}}[5m]))"))),
    Panel("Guardrails", "short", "State of each guardrail: 0 quiet, 1 alert. "
          "One that acts pauses the run.",
          (("{{signal}}", f"swage_learner_guardrail_state{{{RUN}}}"),)),
    Panel("Entropy", "short", "Mean entropy of the policy at sampled positions, in nats; a rise "
          "with falling reward is the paper's first collapse.",
          (("entropy", f"swage_learner_entropy{{{RUN}}}"),)),
    Panel("Distance to the sampling policy", "short", "Mean k3 estimate between the trained policy "
          "and the one that sampled.",
          (("kl", f"swage_learner_kl_behaviour{{{RUN}}}"),)),
    Panel("Explained variance", "short", "How much of the return's variance the critic explains; "
          "low while lengths grow is the paper's second collapse.",
          (("explained variance", f"swage_learner_explained_variance{{{RUN}}}"),)),
    Panel("Clip fraction", "percentunit", "Share of sampled tokens whose ratio was clipped.",
          (("{{side}}", f"swage_learner_clip_fraction{{{RUN}}}"),)),
    Panel("Losses", "short", "Policy and value loss of each step.",
          (("policy", f"swage_learner_policy_loss{{{RUN}}}"),
           ("value", f"swage_learner_value_loss{{{RUN}}}"))),
    Panel("Gradient norm", "short", "Norm of the policy's gradient before clipping.",
          (("norm", f"swage_learner_grad_norm{{{RUN}}}"),)),
    Panel("Trajectory length", "short", "Tokens of finished trajectories: median and 95 %.",
          (("median", quantile(0.5, "swage_rollout_tokens")),
           ("95 %", quantile(0.95, "swage_rollout_tokens")))),
    Panel("Truncated rollouts", "percentunit", "Share of rollouts ended by a limit on turns, "
          "context or time.",
          (("truncated", f"sum(rate(swage_rollout_length_clipped_total{{{RUN}}}[5m]))"
            f" / sum(rate(swage_rollout_ended_total{{{RUN}}}[5m]))"),)),
    Panel("Turns", "short", "Turns of finished trajectories: median and 95 %.",
          (("median", quantile(0.5, "swage_rollout_turns")),
           ("95 %", quantile(0.95, "swage_rollout_turns")))),
    Panel("Stage", "short", "The stage that the learner is in has the value 1.",
          (("{{stage}}", f"swage_learner_stage{{{RUN}}}"),)),
    Panel("Steps and weight version", "short", "Optimiser steps of the stage and the newest "
          "published weights.",
          (("step", f"swage_learner_step{{{RUN}}}"),
           ("weights", f"swage_learner_weight_version{{{RUN}}}"))),
    Panel("Staleness", "short", "Optimiser steps between sampling and training, 95 % of "
          "trajectories.", (("95 %", quantile(0.95, "swage_learner_staleness_steps", "30m")),)),
    Panel("Rollouts", "short", "Rollouts in hand, and how they ended per second.",
          (("active", f"sum(swage_rollout_active{{{RUN}}})"),
           ("ended: {{reason}}",
            f"sum by (reason) (rate(swage_rollout_ended_total{{{RUN}}}[5m]))"))),
    Panel("Trajectories at the learner", "ops", "Answers of the learner per second.",
          (("{{result}}", f"rate(swage_learner_trajectories_total{{{RUN}}}[5m])"),)),
    Panel("Throughput", "ops", "Tokens sampled by the policy servers and trained on per second.",
          (("sampled", f"sum(rate(swage_policy_generated_tokens_total{{{RUN}}}[5m]))"),
           ("trained", f"rate(swage_learner_tokens_total{{{RUN}}}[5m])"))),
)  # fmt: skip


def panel_json(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": 8, "w": 8, "x": 8 * (number % 3), "y": 8 * (number // 3)},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
            for i, (legend, expression) in enumerate(panel.queries)
        ],
    }


def variable(name: str, kind: str, query: str) -> dict[str, Any]:
    out: dict[str, Any] = {"name": name, "type": kind, "query": query, "refresh": 2}
    if kind == "query":
        out |= {"datasource": {"type": "prometheus", "uid": "${datasource}"}, "includeAll": True}
    return out


def annotation(name: str, colour: str, title: str, expression: str) -> dict[str, Any]:
    """Marks on every panel, with labels of the series as their title."""
    return {
        "name": name,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "enable": True,
        "expr": expression,
        "iconColor": colour,
        "titleFormat": title,
    }


def dashboard() -> dict[str, Any]:
    return {
        "uid": "swage-training",
        "title": "swage: Training",
        "schemaVersion": 39,
        "tags": ["swage"],
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                variable("datasource", "datasource", "prometheus"),
                variable("run", "query", "label_values(swage_learner_step, run)"),
            ]
        },
        "annotations": {
            "list": [
                annotation(
                    "Guardrail actions",
                    "red",
                    "{{signal}}",
                    f"changes(swage_learner_guardrail_actions_total{{{RUN}}}[1m]) > 0",
                ),
                # The learner enters a stage when its series goes from 0 to 1.
                annotation(
                    "Stage changes",
                    "blue",
                    "{{stage}}",
                    f"changes(swage_learner_stage{{{RUN}}}[1m]) > 0"
                    f" and swage_learner_stage{{{RUN}}} == 1",
                ),
            ]
        },
        "panels": [panel_json(number, panel) for number, panel in enumerate(PANELS)],
    }


def text() -> str:
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OUT.write_text(text())
