"""A small client of the API server for bringing the cluster up, and for its tests."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

Object = dict[str, Any]
Body = Object | list[Object] | None
T = TypeVar("T")


class ApiError(Exception):
    """The API server refused: HTTP status and its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One identity: the certificate of a kubeconfig of ours, or a bearer token in its place.

    Thread: any; each call has a connection of its own.
    """

    def __init__(self, kubeconfig: Path, token: str = "") -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = urlsplit(cluster["server"])
        self.context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.headers = {"Accept": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        else:
            self.context.load_cert_chain(user["client-certificate"], user["client-key"])

    def raw(self, method: str, path: str, body: Body = None, kind: str = "json") -> tuple[int, str]:
        assert self.address.hostname
        connection = http.client.HTTPSConnection(
            self.address.hostname, self.address.port, context=self.context, timeout=30
        )
        try:
            headers = self.headers | {"Content-Type": f"application/{kind}"}
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Body = None, kind: str = "json") -> Object:
        status, text = self.raw(method, path, body, kind)
        if status >= 400:
            try:
                message = json.loads(text).get("message", text)
            except ValueError:
                message = text
            raise ApiError(status, message)
        value: Object = json.loads(text)
        return value

    def get(self, path: str) -> Object:
        return self.call("GET", path)

    def create(self, path: str, body: Object) -> Object:
        return self.call("POST", path, body)

    def delete(self, path: str, grace: int | None = None) -> Object:
        return self.call("DELETE", path, {} if grace is None else {"gracePeriodSeconds": grace})

    def merge(self, path: str, body: Object) -> Object:
        return self.call("PATCH", path, body, "merge-patch+json")

    def ready(self) -> bool:
        try:
            return self.raw("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def until(what: str, condition: Callable[[], T], seconds: float, step: float = 0.05) -> T:
    """The first true value of `condition`; TimeoutError with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"did not happen in {seconds:.0f} s: {what}")
        time.sleep(step)
