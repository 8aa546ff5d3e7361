"""A library in a process of its own, which runs workloads: started as ``-m areas.worker LIBRARY THREADS``."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from typing import Any

from harness.engine import serve

import areas.catalogue as catalogue
from areas.libraries.library import Library, Unsupported, mapped, summary

SHORTEST = 5e-4
"""Seconds of the calls that one reading of the clock spans, at least."""


class Runner:
    """Answers the requests for the workload that was prepared last."""

    def __init__(self, library: str, threads: int) -> None:
        self._library: Library = importlib.import_module(f"areas.libraries.{library}_library").LIBRARY
        self._clock = time.process_time if threads == 1 else time.perf_counter
        self._workloads = {workload.name: workload for workload in catalogue.workloads()}
        self._call: Any = None
        self._calls = 1

    def _seconds(self, calls: int) -> float:
        start = self._clock()
        for _ in range(calls):
            result = self._call()
        self._library.wait(result)
        return (self._clock() - start) / calls

    def prepare(self, name: str) -> list[Any] | str | None:
        """Return the seconds of the first call and a summary of its result, an error, or None for no such function."""
        self._call = None
        self._library.forget()
        try:
            begin = time.perf_counter()
            function, arguments = self._library.prepared(self._workloads[name].case())
            begin = time.perf_counter()
            result = function(*arguments)
            self._library.wait(result)
            first = time.perf_counter() - begin
        except Unsupported:
            return None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        values = summary(mapped(lambda leaf: leaf, result))
        self._call = lambda: function(*arguments)
        self._calls = max(1, round(SHORTEST / min(self._seconds(3) for _ in range(5))))
        return [first, values]

    def fastest(self, seconds: float) -> float:
        """Return the shortest of the times of a call within a turn."""
        self._seconds(1)  # the caches hold what the other libraries read
        best, end = self._seconds(self._calls), time.perf_counter() + seconds
        while time.perf_counter() < end:
            best = min(best, self._seconds(self._calls))
        return best


def main() -> None:
    library, threads = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("ignore")
    serve(threads, lambda: Runner(library, threads))


if __name__ == "__main__":
    main()
