"""``python -m wengert``."""

from wengert.app.cli import main

main()
