"""``python -m wengert``."""

from wengert.cli import main

main()
