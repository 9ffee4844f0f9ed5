"""Asks the sandbox a question over its socket and prints the answer."""

import json
import os
import socket
import sys

DEFAULT_SOCKET = "/run/swage/sandboxd.sock"


def ask(question: str) -> int:
    """Sends one question, prints the lines of the answer, returns its exit code."""
    path = os.environ.get("SWAGE_SANDBOX_SOCKET", DEFAULT_SOCKET)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(path)
            connection.sendall(json.dumps({"ask": question}).encode() + b"\n")
            with connection.makefile("rb") as stream:
                text = stream.readline()
        answer = json.loads(text)
    except (OSError, ValueError) as error:
        print(f"[ERROR] the sandbox does not answer: {error}", file=sys.stderr)
        return 3
    for line in answer["lines"]:
        print(line)
    return int(answer["exit"])
