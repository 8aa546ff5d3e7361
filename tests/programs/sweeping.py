"""Check many programs in several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.programs.checking import MODES, DifferenceError, Runner, check, chosen
from tests.programs.grammar import generate
from tests.programs.shrinking import shrink
from tests.programs.syntax import Program

#: The number of programs in one process.
CHUNK = 50
#: The time limit of a process, in seconds.
LONGEST = 1500


def fails_in(mode: str, says: str) -> Any:
    """Return a function that checks whether a program fails in a mode, by the same error or by a number."""

    def fails(program: Program) -> bool:
        try:
            MODES[mode](Runner(program))
        except DifferenceError:
            return ": raised " not in says
        except Exception as problem:
            return f": raised {type(problem).__name__}: {str(problem)[:50]}" in says
        return False

    return fails


def examine(seed: int, share: float, folder: Path | None) -> dict[str, Any]:
    """Check the program of a seed, and write the smallest program that differs to a file."""
    begin = time.monotonic()
    program = generate(seed)
    modes = [f"mode: {name}" for name, _ in chosen(program, share)]
    report: dict[str, Any] = {"seed": seed, "features": [*sorted(program.features), *modes], "says": None}
    try:
        check(program, share)
    except DifferenceError as difference:
        report["says"] = says = str(difference)
        if folder is not None:
            (folder / f"{seed}-whole.py").write_text(program.source(says))
            small = shrink(program, fails_in(difference.mode, says))
            (folder / f"{seed}.py").write_text(small.source(says))
    return {**report, "seconds": time.monotonic() - begin}


@dataclass
class Tally:
    """The results so far."""

    programs: int = 0
    features: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        self.programs += 1
        self.features.update(report["features"])
        if report["says"]:
            self.different.append(f"seed {report['seed']}: {report['says'][:300]}")

    def text(self) -> str:
        covered = [f"{count:6d}  {feature}" for feature, count in sorted(self.features.items())]
        end = f"{self.programs} programs, {len(self.different)} of which differ"
        return "\n".join(["programs with each feature:", *covered, *self.different, end])


def chunk(seeds: Sequence[int], arguments: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Check seeds in a process, and yield reports, even if the process crashes."""
    command = [sys.executable, "-m", "tests.programs", "--seed", str(seeds[0]), "--count", str(len(seeds))]
    environment = {**os.environ, "WENGERT_CACHE": "off", "OPENBLAS_NUM_THREADS": "1", "WENGERT_THREADS": "1"}
    done = 0
    try:
        ran = subprocess.run(
            [*command, "--lines", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        output, problem = ran.stdout, ran.stderr[-300:]
    except subprocess.TimeoutExpired as expired:
        output, problem = (expired.stdout or b"").decode(), "hangs"
    for line in output.splitlines():
        if line.startswith("{"):
            done += 1
            yield json.loads(line)
    if done < len(seeds):
        yield {"seed": seeds[done], "features": [], "says": f"the process ended: {problem}"}
        if done + 1 < len(seeds):
            yield from chunk(seeds[done + 1 :], arguments)


def sweep(first: int, count: int, jobs: int, arguments: Sequence[str]) -> Tally:
    """Check many programs in several processes, and print differences as they appear."""
    tally = Tally()
    begin = time.monotonic()
    parts = [range(i, min(i + CHUNK, first + count)) for i in range(first, first + count, CHUNK)]
    with ThreadPoolExecutor(jobs) as pool:
        for reports in pool.map(lambda seeds: list(chunk(seeds, arguments)), parts):
            for report in reports:
                tally.add(report)
                if report["says"]:
                    print(tally.different[-1], flush=True)
            print(f"{tally.programs} programs, {time.monotonic() - begin:.0f} s", flush=True)
    return tally
