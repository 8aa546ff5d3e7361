"""One contestant in a process of its own: prepares a workload, then answers the requests of `contest`.

A line ``values`` answers what was computed, to compare with the others; ``run STEPS`` answers the seconds that a step
takes. Started by `contest.Worker` as ``worker.py CONTESTANT WORKLOAD THREADS FOLDER``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path


def pin(threads: int) -> None:
    """Stay on the first ``threads`` of the cores that this process may use, before a library counts them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    contestant, name, threads, folder = sys.argv[1:]
    pin(int(threads))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    library, _, variant = contestant.partition(" ")
    side = importlib.import_module(f"sides.{library}_side")
    runner = side.prepare(name, variant, int(threads), Path(folder))
    for line in sys.stdin:
        request, *arguments = line.split()
        answer = runner.values() if request == "values" else runner.seconds(int(arguments[0]))
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
