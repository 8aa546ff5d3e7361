"""Programs of plain Python loops, as they are, against Python, Numba and JAX: values and gradients.

Each program of `tests.programs.loops` runs unchanged in Python, under ``wg.jit`` and under
``numba.njit`` (no fastmath, no checks of bounds; Wengert keeps NumPy's IndexError), pinned to one processor. All must
compute the same numbers. Wengert and Numba take turns; a time is the shortest of a call. The
gradient is that of a weighted sum of the results. A program whose first call takes longer than `--limit` counts as one
that does not compile. Half of the programs are set aside by their names: tune by the others. Of that half the table has
the means alone. JAX runs the programs that are rewritten for it by hand (`loops_jax`). `--numba` and `--jax` are the
Pythons of environments with these packages, if they are not this one. `--write` replaces the table in
docs/measurements.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import signal
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.engine import ContestantError, Process, environment, warn_if_busy
from tables import replace_table

sys.path.append(str(Path(__file__).parents[1]))

from tests.programs.loops.cases import Program
from tests.programs.loops.catalogue import PROGRAMS

ROOT = Path(__file__).parents[1]
MEMORY = 8 << 30
"""The address space of a process, in bytes."""
TOLERANCE = 1e-6
"""Rounding grows in chaotic programs of many steps."""
PEERS = "numba", "jax"
PEER_LIMIT = 600
"""Seconds of a first call of a peer, at most."""


class Worker(Process):
    """The process of a library."""

    def __init__(self, python: str, library: str, staged: bool) -> None:
        variables = {**environment(1), "WENGERT_CACHE": "off"}
        variables["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), variables["PYTHONPATH"]))
        options = f"{library} {'staged' if staged else ''}"
        super().__init__(
            ["bash", "-c", f"ulimit -v {MEMORY >> 10}; exec {python} -m loop_worker {options}"], variables
        )

    @property
    def code(self) -> int | None:
        """The code with which the process ended."""
        return self._process.returncode


class Library:
    """A library in a process, which is started again where a program ended it."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._worker: Worker | None = None

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return an answer, or a text that says why there is none."""
        self._worker = self._worker or Worker(*self._arguments)
        try:
            return self._worker.request(name, *arguments)
        except ContestantError as error:
            code = self._worker.code
            self.close()
            return "too long" if code == -signal.SIGXCPU else str(error).partition(": ")[2][:40]

    def close(self) -> None:
        """End the process."""
        if self._worker:
            self._worker.close()
        self._worker = None


class Row(NamedTuple):
    """The measurements of a program, in seconds and bytes; a text says why there is none."""

    program: Program
    python: float
    first: float | str
    value: float | None
    numba: float | None
    slope: float | str
    gradient: float | None
    arena: int
    jax: float | None
    jax_gradient: float | None


def agreed(answer: Any, expected: list[Any]) -> Any:
    """Return an answer, or a text if its numbers are not the expected ones."""
    if isinstance(answer, str):
        return answer
    pairs = zip(answer[2], expected, strict=True)
    is_near = all(abs(a - b) <= TOLERANCE * (1.0 + y[0]) for x, y in pairs for a, b in zip(x, y, strict=True))
    return answer if is_near else "other numbers"


def median(numbers: list[float]) -> float:
    return statistics.median(numbers) if numbers else math.nan


class Turns:
    """The shortest times of calls of libraries that take turns."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._callers: dict[str, Library] = {}
        self.best: dict[str, float] = {}

    def enter(self, name: str, library: Library | None, answer: Any) -> None:
        """Let a library take turns if the answer to its first call is no text."""
        if library and not isinstance(answer, str):
            self._callers[name] = library

    def take(self) -> None:
        for _ in range(self._options.turns):
            for name, library in self._callers.items():
                seconds = library.ask("fastest", self._options.seconds)
                self.best[name] = min(seconds, self.best.get(name, math.inf))
        self._callers.clear()


def measure(
    program: Program, ours: Library, peers: Mapping[str, Library], options: argparse.Namespace
) -> Row:
    """Return the measurements of a program."""
    for library in (ours, *peers.values()):
        library.ask("prepare", program.name)
    python, expected = ours.ask("python")
    turns = Turns(options)
    first = agreed(ours.ask("first", "value", options.limit), expected)
    turns.enter("value", ours, first)
    for name, peer in peers.items():
        answer = agreed(peer.ask("first", "value", PEER_LIMIT), expected)
        turns.enter(name, peer, answer)
        if isinstance(answer, str) and answer != "NotRewrittenError":
            print(f"{program.name}: {name}: {answer}", file=sys.stderr)
    turns.take()
    slope = first if isinstance(first, str) else ours.ask("first", "gradient", options.limit)
    turns.enter("gradient", ours, slope)
    if not isinstance(slope, str) and "jax" in turns.best:
        turns.enter(
            "jax_gradient", peers["jax"], agreed(peers["jax"].ask("first", "gradient", PEER_LIMIT), slope[2])
        )
    turns.take()
    best = turns.best.get
    return Row(
        program,
        python,
        first if isinstance(first, str) else first[0],
        best("value"),
        best("numba"),
        slope if isinstance(slope, str) else slope[0],
        best("gradient"),
        0 if isinstance(slope, str) else slope[1],
        best("jax"),
        best("jax_gradient"),
    )


def kept_rows(file: Path | None) -> dict[str, Row]:
    """Return the measurements in a file, by the names of the programs."""
    lines = map(json.loads, file.read_text().splitlines()) if file and file.exists() else ()
    return {name: Row(PROGRAMS[name], *numbers) for name, *numbers in lines if name in PROGRAMS}


def mean(ratios: Sequence[float]) -> str:
    """Return the geometric mean of ratios."""
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f} x" if ratios else ""


def quotient(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}"


def faster(number: float | None) -> str:
    return "" if number is None else f"{number:.3g} x"


def called(seconds: float | str) -> str:
    return seconds if isinstance(seconds, str) else f"{seconds:.2f}"


def line(row: Row) -> str:
    """Return a row of the table of programs."""
    cells = (
        row.program.name.replace("_", " "),
        row.program.kind,
        milliseconds(row.python),
        called(row.first),
        milliseconds(row.value),
        faster(quotient(row.python, row.value)),
        milliseconds(row.numba),
        faster(quotient(row.numba, row.value)),
        faster(quotient(row.jax, row.value)),
        called(row.slope),
        faster(quotient(row.gradient, row.value)),
        faster(quotient(row.jax_gradient, row.gradient)),
        f"{row.arena / 1e6:.2g}" if row.gradient else "",
    )
    return f"| {' | '.join(cells)} |"


def summary(title: str, rows: list[Row]) -> str:
    """Return a row of the table of halves."""
    found = [
        [ratio for row in rows if (ratio := quotient(*pair(row)))]
        for pair in (
            lambda row: (row.python, row.value),
            lambda row: (row.numba, row.value),
            lambda row: (row.gradient, row.value),
            lambda row: (row.jax, row.value),
            lambda row: (row.jax_gradient, row.gradient),
        )
    ]
    firsts = [[row[place] for row in rows if not isinstance(row[place], str)] for place in (2, 5)]
    counts = [f"{len(rows)}", f"{len(firsts[0])}", f"{len(firsts[1])}"]
    calls = [f"{median(seconds):.2f}" for seconds in firsts]
    worst = faster(max(found[2], default=None)), faster(min(found[1], default=None))
    cells = (*counts, *calls, mean(found[0]), mean(found[1]), worst[1], mean(found[2]), worst[0])
    cells = (*cells, mean(found[3]), mean(found[4]))
    return f"| {title} | {' | '.join(cells)} |"


def report(rows: list[Row], everything: bool) -> str:
    """Return the means of the halves and of the kinds of the open one, and its programs."""
    heads = (
        *("programs", "number", "compiled", "with gradient", "first call, s", "of the gradient, s"),
        *("faster than Python by", "faster than Numba by", "at least", "gradient over value", "at most"),
        *("faster than JAX by", "its gradient by"),
    )
    opened = [row for row in rows if not row.program.held_out]
    held = [row for row in rows if row.program.held_out]
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    lines += [
        summary(title, half) for title, half in (("open half", opened), ("half set aside", held)) if half
    ]
    for kind in dict.fromkeys(row.program.kind for row in opened):
        lines.append(summary(f"open, {kind}", [row for row in opened if row.program.kind == kind]))
    heads = (
        *("program", "kind", "Python, ms", "first call, s", "Wengert, ms", "faster than Python by"),
        *(
            "Numba, ms",
            "faster than Numba by",
            "faster than JAX by",
            "of the gradient, s",
            "gradient over value",
        ),
        *("faster than JAX's by", "its arena, MB"),
    )
    lines += ["", f"| {' | '.join(heads)} |", f"|---|---{'|---:' * (len(heads) - 2)}|"]
    return "\n".join((*lines, *map(line, rows if everything else opened)))


def chosen(names: Sequence[str]) -> list[Program]:
    """Return the programs of some names or kinds; all by default."""
    wanted = set(names)
    return [p for p in PROGRAMS.values() if not wanted or wanted & {p.name, p.kind}]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="PROGRAM", help="names of programs or kinds")
    for peer in PEERS:
        own = sys.executable if importlib.util.find_spec(peer) else ""
        parser.add_argument(f"--{peer}", default=own, metavar="PYTHON", help=f"of an environment with {peer}")
    parser.add_argument("--limit", type=int, default=30, help="seconds of a first call, at most")
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="keeps measurements, and goes on with those it has"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.05, help="of a turn")
    parser.add_argument("--staged", action="store_true", help="begin each program with a branch on a value")
    parser.add_argument("--all", action="store_true", help="show the programs of the half set aside, too")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    options = parser.parse_args(arguments)
    if options.write and (options.only or options.all):
        parser.error("--write needs all programs, and keeps the half set aside closed")
    return options


def main() -> None:
    options = parse()
    warn_if_busy(sys.stderr)
    kept = kept_rows(options.rows)
    rows: list[Row] = []
    with contextlib.ExitStack() as stack:
        ours = Library(sys.executable, "wengert", options.staged)
        pythons = {name: python for name in PEERS if (python := getattr(options, name))}
        peers = {name: Library(python, name, False) for name, python in pythons.items()}
        for library in (ours, *peers.values()):
            stack.callback(library.close)
        for program in chosen(options.only):
            row = kept.get(program.name) or measure(program, ours, peers, options)
            rows.append(row)
            if options.rows and program.name not in kept:
                with options.rows.open("a") as file:
                    print(json.dumps([program.name, *row[1:]]), file=file)
            shown = options.all or not program.held_out
            print(line(row) if shown else program.name, file=sys.stderr, flush=True)
    text = report(rows, options.all)
    print(text)
    if options.write:
        replace_table("measurements.md", "loops", text)


if __name__ == "__main__":
    main()
