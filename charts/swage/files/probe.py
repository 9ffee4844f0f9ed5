"""Run by `helm test`: the API server takes objects of this version of swage, and refuses others.

Usage: probe.py RUN_NAMESPACE POOL_NAMESPACE. Nothing is created: every request is a dry run.
"""

from __future__ import annotations

import sys

from cleanup import GROUP, Api, Object

RUN: Object = {
    "deviceKind": "cpu",
    "model": {"source": "scratch:tiny"},
    "tasks": [{"set": "builtin-cpu"}],
    "sandbox": {"warmMin": 1, "warmMax": 2},
}
POOL: Object = {"deviceKind": "cpu", "scaling": {"mode": "Fixed", "maxReplicas": 1}, "replicas": 1}


def ask(api: Api, namespace: str, plural: str, kind: str, spec: Object) -> str:
    """Empty when the API server would create it, else why not."""
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/{plural}"
    body = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "swage-probe"},
        "spec": spec,
    }
    try:
        made = api.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", body)
    except SystemExit as refused:
        return str(refused)
    return "" if made else f"{path}: not served: is the CRD installed?"


def main() -> None:
    runs, pools = sys.argv[1:]
    api = Api()
    for namespace, plural, kind, spec in (
        (runs, "trainingruns", "TrainingRun", RUN),
        (pools, "profilingpools", "ProfilingPool", POOL),
    ):
        if why := ask(api, namespace, plural, kind, spec):
            raise SystemExit(why)
        if not ask(api, namespace, plural, kind, {**spec, "unheardOf": 1}):
            raise SystemExit(f"{plural}: an unknown field is taken: the CRD is another version's")
        print(f"{plural}: as expected", flush=True)


if __name__ == "__main__":
    main()
