"""One contestant in a process of its own: it prepares a workload, and answers the requests of `contest.Worker`.

``values()`` is a summary of the result, to compare with those of the others; ``seconds(steps)`` is the time of a step.
Started as ``worker.py CONTESTANT WORKLOAD THREADS FOLDER``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from harness.engine import serve


def main() -> None:
    contestant, name, threads, folder = sys.argv[1:]
    library, _, variant = contestant.partition(" ")

    def start() -> Any:
        module = importlib.import_module(f"runners.{library}_runner")
        return module.prepare(name, variant, int(threads), Path(folder))

    serve(int(threads), start)


if __name__ == "__main__":
    main()
