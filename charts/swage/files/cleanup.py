"""Run before `helm uninstall` deletes the chart's objects: removes what the controller made.

Usage: cleanup.py RELEASE_NAMESPACE WORK_NAMESPACE...

1. The controller is scaled to zero and waited for: nothing is made anew.
2. Pods, Services and ConfigMaps owned by a TrainingRun or a ProfilingPool are deleted. The objects
   themselves and the learners' volumes stay.
3. Finalizers of swage are dropped: without a controller nobody else would.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
GROUP = "swage.dev"
KINDS = ("trainingruns", "profilingpools")
OWNED = ("pods", "services", "configmaps")
CONTROLLER = "swage.dev/component=controller"
Object = dict[str, Any]


class Api:
    """The API server, as the pod's own account."""

    def __init__(self) -> None:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        self.server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self.context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))

    def call(self, method: str, path: str, body: Object | None = None) -> Object | None:
        """None: there is no such object or kind."""
        headers = {
            "Authorization": "Bearer " + (ACCOUNT / "token").read_text(),
            "Content-Type": "application/merge-patch+json"
            if method == "PATCH"
            else "application/json",
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                found: Object = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise SystemExit(
                f"{method} {path}: {error.code} {error.read().decode()[:500]}"
            ) from error

    def items(self, path: str) -> list[Object]:
        found: list[Object] = (self.call("GET", path) or {}).get("items") or []
        return found


def is_ours(owner: Object) -> bool:
    return str(owner.get("apiVersion", "")).startswith(f"{GROUP}/")


def owned(objects: list[Object]) -> list[str]:
    """Names of what a TrainingRun or ProfilingPool owns. A label alone never selects."""
    return [
        str(o["metadata"]["name"])
        for o in objects
        if any(is_ours(owner) for owner in o["metadata"].get("ownerReferences", []))
    ]


def others(finalizers: list[str]) -> list[str]:
    return [name for name in finalizers if not name.startswith(f"{GROUP}/")]


def wait(what: str, done: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.5)


def stop_controller(api: Api, namespace: str) -> None:
    scale = f"/apis/apps/v1/namespaces/{namespace}/deployments/swage-controller/scale"
    if api.call("PATCH", scale, {"spec": {"replicas": 0}}) is None:
        return
    pods = f"/api/v1/namespaces/{namespace}/pods?labelSelector={CONTROLLER}"
    wait("the controller ends", lambda: not api.items(pods), 120)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    api.call("DELETE", f"{leases}/swage-controller")


def remove_owned(api: Api, namespace: str) -> None:
    place = f"/api/v1/namespaces/{namespace}"
    for kind in OWNED:
        for name in owned(api.items(f"{place}/{kind}")):
            print(f"{namespace}: deleting {kind}/{name}", flush=True)
            api.call("DELETE", f"{place}/{kind}/{name}")
    wait("pods end", lambda: not owned(api.items(f"{place}/pods")), 400)


def drop_finalizers(api: Api, namespace: str) -> None:
    for kind in KINDS:
        place = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/{kind}"
        for item in api.items(place):
            meta = item["metadata"]
            before = meta.get("finalizers", [])
            if others(before) != before:
                print(f"{namespace}: releasing {kind}/{meta['name']}", flush=True)
                patch = {"metadata": {"finalizers": others(before)}}
                api.call("PATCH", f"{place}/{meta['name']}", patch)


def main() -> None:
    release, *work = sys.argv[1:]
    api = Api()
    stop_controller(api, release)
    for namespace in work:
        remove_owned(api, namespace)
        drop_finalizers(api, namespace)


if __name__ == "__main__":
    main()
