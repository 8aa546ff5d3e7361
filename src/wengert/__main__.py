"""``python -m wengert``."""

from wengert.command.cli import main

main()
