"""How long the tests take: a record that decides what the quick run keeps, and a table by folder.

A run with ``WENGERT_SECONDS=FILE`` appends a line with the seconds of each test to the file. Then

    python -m tests.seconds FILE             prints the seconds by folder;
    python -m tests.seconds FILE --record    also writes what `tests.covers` reads.

Record a run of ``-m "not slow and not rest"``. The record holds the tests whose cases together take longer than the
quick run gives to a test. It need not be exact: another processor has other seconds, and the same order.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("seconds.json")

#: The seconds that the quick run, and the gate, give to the cases of a test.
QUICK, GATE = 0.12, 0.25


def name_of(nodeid: str) -> str:
    """Return a test without its case."""
    return nodeid.partition("[")[0]


@cache
def recorded() -> dict[str, float]:
    """Return the seconds of a case of each test of the record."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


class Clock:
    """A plugin of pytest that appends the seconds of each test to a file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        with open(self.file, "a", encoding="utf-8") as file:
            file.writelines(f"{seconds:.4f} {nodeid}\n" for nodeid, seconds in self.seconds.items())


def register(config: Any) -> None:
    """Start the clock where a run is to be recorded: in the process that hears of all tests."""
    if "WENGERT_SECONDS" in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Clock(os.environ["WENGERT_SECONDS"]))


def cases_of(lines: Iterable[str]) -> dict[str, list[float]]:
    """Return the seconds of the cases of each test."""
    cases: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        seconds, _, nodeid = line.rstrip("\n").partition(" ")
        cases[name_of(nodeid)].append(float(seconds))
    return cases


def record_of(cases: Mapping[str, list[float]]) -> dict[str, float]:
    """Return what the record holds of a run."""
    return {
        test: float(f"{sum(seconds) / len(seconds):.1g}")
        for test, seconds in sorted(cases.items())
        if sum(seconds) > QUICK
    }


def table(cases: Mapping[str, list[float]]) -> str:
    """Return a table of the seconds by folder, longest first."""
    folders: dict[str, list[float]] = defaultdict(list)
    for test, seconds in cases.items():
        *place, _ = test.partition("::")[0].split("/")
        folders["/".join(place[:3])] += seconds
    rows = sorted(folders.items(), key=lambda row: -sum(row[1]))
    lines = [f"{sum(seconds):8.1f} {len(seconds):7} {folder}" for folder, seconds in rows]
    total = sum(map(sum, folders.values()))
    return "\n".join(
        [" seconds   tests folder", *lines, f"{total:8.1f} {sum(map(len, folders.values())):7} all"]
    )


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as run:
        measured = cases_of(run)
    print(table(measured))
    if "--record" in sys.argv:
        RECORD.write_text(json.dumps(record_of(measured), indent=0) + "\n", encoding="utf-8")
