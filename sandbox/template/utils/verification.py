"""Checks the compiled solution against model.py."""

import sys

from utils.desk import ask


def main() -> int:
    """Asks for it and prints the result."""
    return ask("verify")


if __name__ == "__main__":
    sys.exit(main())
