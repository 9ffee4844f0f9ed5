"""Times the compiled solution against eager and torch.compile."""

import sys

from utils.desk import ask


def main() -> int:
    """Asks for it and prints the result."""
    return ask("profile")


if __name__ == "__main__":
    sys.exit(main())
