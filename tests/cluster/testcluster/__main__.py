"""The test cluster's commands: up, down, status, run (inside the cluster's namespaces), image."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from testcluster import lifecycle, needs
from testcluster.layout import Layout

NOTHING = 69  # something that this machine lacks


def report(layout: Layout) -> int:
    if complaints := needs.missing():
        print("cannot run here:", *complaints, sep="\n  ")
        return NOTHING
    good = lifecycle.healthy(layout)
    print(f"up: export KUBECONFIG={layout.admin_kubeconfig}" if good else "not up")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="testcluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("up", "down", "status"):
        commands.add_parser(name)
    commands.add_parser("run").add_argument("argv", nargs=argparse.REMAINDER)
    commands.add_parser("image").add_argument("archives", nargs="+", type=Path)
    arguments = parser.parse_args()
    layout = Layout.default()
    try:
        if arguments.command == "up":
            seconds = lifecycle.up(layout)
            print(f"cluster: ready in {seconds:.1f} s; KUBECONFIG={layout.admin_kubeconfig}")
        elif arguments.command == "down":
            lifecycle.down(layout)
        elif arguments.command == "image":
            lifecycle.load_images(layout, arguments.archives)
        elif arguments.command == "run":
            argv = [*lifecycle.enter(layout), *arguments.argv]
            os.execvp(argv[0], argv)
        else:
            return report(layout)
    except lifecycle.ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return NOTHING if needs.missing() else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
