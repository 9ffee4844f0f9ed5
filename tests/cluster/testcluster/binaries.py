"""Builds the cluster's programs from the Go modules beside this package, once per machine.

A build is found again by the module's go.mod, go.sum, tools.go and programs of its own: a change of
any makes a new folder in the cache, and nothing else does.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from testcluster.layout import KUBERNETES_VERSION, SOURCE, cache

MODULES = ("kubernetes", "tools", "dns")
VERSION = "k8s.io/component-base/version"


def folder(module: str) -> Path:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "tools.go"):
        digest.update((SOURCE / module / name).read_bytes())
    for own in sorted((SOURCE / module).glob("*/*.go")):
        digest.update(own.read_bytes())
    digest.update(linker_flags().encode())
    return cache() / f"{module}-{digest.hexdigest()[:16]}"


def packages(module: str) -> list[str]:
    """The programs that tools.go imports."""
    return re.findall(r'^\s*_ "([^"]+)"', (SOURCE / module / "tools.go").read_text(), re.MULTILINE)


def program(name: str) -> Path:
    """Where the program of this name lies once it is built."""
    for module in MODULES:
        if any(package.endswith("/" + name) for package in packages(module)):
            return folder(module) / name
    raise KeyError(name)


def unbuilt() -> list[tuple[str, str]]:
    """(module, package) of every program that is not in the cache."""
    return [
        (module, package)
        for module in MODULES
        for package in packages(module)
        if not (folder(module) / package.rpartition("/")[2]).exists()
    ]


def linker_flags() -> str:
    major, minor = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]
    numbers = f"-X {VERSION}.gitMajor={major} -X {VERSION}.gitMinor={minor}"
    return f"-s -w -X {VERSION}.gitVersion={KUBERNETES_VERSION} {numbers}"


def build() -> None:
    """Builds what the cache lacks. Each program appears under its name only when it is complete."""
    for module, package in unbuilt():
        name = package.rpartition("/")[2]
        began = time.monotonic()
        print(f"cluster: building {name} (once; minutes when Go's cache is cold)", file=sys.stderr)
        place = folder(module)
        place.mkdir(parents=True, exist_ok=True)
        partial = place / f".{name}.{os.getpid()}"
        subprocess.run(
            ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", linker_flags(),
             "-o", partial, package],
            cwd=SOURCE / module, check=True, env={**os.environ, "GOFLAGS": "-mod=readonly"},
        )  # fmt: skip
        partial.rename(place / name)
        print(f"cluster: {name} in {time.monotonic() - began:.0f} s", file=sys.stderr)
