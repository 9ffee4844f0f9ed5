"""Compiles the kernels and bindings."""

import sys

from utils.desk import ask


def main() -> int:
    """Asks for it and prints the result."""
    return ask("compile")


if __name__ == "__main__":
    sys.exit(main())
