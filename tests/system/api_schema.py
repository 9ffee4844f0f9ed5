"""Holds real answers of the controller against docs/openapi.json."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import jsonschema
from harness import ROOT, LocalRun

DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text())
GETS = [path for path, methods in DOCUMENT["paths"].items() if "get" in methods]

SECURED = [path for path in GETS if DOCUMENT["paths"][path]["get"]["security"]]
TOO_LARGE = (1 << 20) + 1  # bytes of a request's body


class Answer(NamedTuple):
    """What came back: status, media type without parameters, body."""

    status: int
    media: str
    body: str


def ask(
    run: LocalRun, path: str, *, method: str = "GET", announced: int = 0, token: bool = True
) -> Answer:
    """What the controller answers, asked with the run's token; of an event stream, its first
    event. announced: bytes of a body that never comes. token: whether it is sent."""
    secret = (run.out / "secrets" / "token").read_text().strip()
    request = urllib.request.Request(f"http://{run.run_json()['http']}{path}", method=method)
    if token:
        request.add_header("authorization", f"Bearer {secret}")
    if announced:
        request.add_header("content-length", str(announced))
    try:
        answer = urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as refused:
        answer = refused
    with answer:
        media = answer.headers.get_content_type()
        stream = media == "text/event-stream"
        lines = iter(answer.readline, b"\n") if stream else iter([answer.read()])
        return Answer(answer.status, media, b"".join(lines).decode())


def closed(schema: Any, inside: bool = False) -> Any:
    """The schema with no property allowed that it does not name. inside: a part of an allOf, whose
    whole is closed instead."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        key: [closed(part, True) for part in value] if key == "allOf" else closed(value)
        for key, value in schema.items()
    }
    shaped = schema.get("type") == "object" and "properties" in schema
    if not inside and (shaped or "allOf" in schema):
        out.setdefault("unevaluatedProperties", False)
    return out


def complaints(path: str, answer: Answer, document: dict[str, Any] | None = None) -> list[str]:
    """Where an answer to GET of `path` (as the document writes it) is not as documented."""
    document = document or DOCUMENT
    responses = document["paths"][path]["get"]["responses"]
    if str(answer.status) not in responses:
        return [f"{path} answered {answer.status}, which is not documented: {answer.body[:200]}"]
    response = responses[str(answer.status)]
    if reference := response.get("$ref"):
        response = document["components"]["responses"][reference.rpartition("/")[2]]
    content = response.get("content", {})
    if answer.media not in content:
        return [f"{path} answered {answer.media}, documented are {sorted(content)}"]
    if not answer.media.endswith("json"):
        return [] if answer.body else [f"{path} answered nothing"]
    schema = closed({**content[answer.media]["schema"], "components": document["components"]})
    validator = jsonschema.Draft202012Validator(schema)
    return [
        f"{path}: {error.json_path}: {error.message[:300]}"
        for error in validator.iter_errors(json.loads(answer.body))
    ]


def addresses(run: LocalRun, rollout: str) -> Iterator[tuple[str, str]]:
    """Every documented GET with the real names filled in."""
    pool = run.api("/api/v1/pools")["items"][0]
    names = {
        "{run}": run.run_json()["run"],
        "{id}": rollout,
        "{pool}": f"{pool['namespace']}.{pool['name']}",
    }
    for path in GETS:
        real = path
        for name, value in names.items():
            real = real.replace(name, value)
        yield path, real


def collect(run: LocalRun, rollout: str) -> list[tuple[str, Answer]]:
    """One answer for each documented GET, one for a thing that is not there, and one for each way
    to ask that is refused wherever it is tried: without the token, by another method, too much."""
    real_of = dict(addresses(run, rollout))
    found = [(path, ask(run, real)) for path, real in real_of.items()]
    found += [(p, ask(run, p.partition("{")[0] + "absent")) for p in GETS if p.endswith("}")]
    found += [(p, ask(run, real, token=False)) for p, real in real_of.items() if p in SECURED]
    found += [(p, ask(run, real, method="DELETE")) for p, real in real_of.items()]
    found.append(("/api/v1/runs", ask(run, "/api/v1/runs", announced=TOO_LARGE)))
    return found
