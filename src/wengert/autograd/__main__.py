"""``python -m wengert.autograd program.py [arguments]``: run a program that imports autograd on Wengert."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from wengert.autograd import install


def main() -> None:
    """Run the program that the command line names, or the module after ``-m``."""
    if len(sys.argv) < 2 or (sys.argv[1] == "-m" and len(sys.argv) < 3):
        raise SystemExit(
            "usage: python -m wengert.autograd program.py [arguments]\n       ... -m module [arguments]"
        )
    install()
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        sys.path[0] = ""
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
