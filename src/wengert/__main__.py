"""``python -m wengert``, and the command ``wengert``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, which needs the package click."""
    try:
        from wengert.app import cli
    except ModuleNotFoundError as problem:
        if problem.name != "click":
            raise
        sys.exit("wengert: the command needs the package click, which is not installed; pip install click")
    cli.main()


if __name__ == "__main__":
    main()
