"""Workloads of every kind over grids of shapes against each peer that is installed: the map of where Wengert is slow.

Each library is a process of its own; all get the same arrays, must compute the same numbers, and take turns, pinned to
as many processors as they have threads. All but NumPy take subnormal numbers as zero, as XLA always does. A time is the
shortest of a call; on one thread it is the processor time of the process, which other programs hardly change. A ratio
is the time of the fastest peer over Wengert's: below 1, the peer is faster. A seed divides the workloads into two
halves. Tune by the first; the second tells whether that was general.
`--write` replaces the table and the picture in docs/measurements.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from areas.catalogue import workloads
from areas.families import FAMILIES, Workload
from harness.engine import Contest, ContestantError, Process, environment, warn_if_busy
from tables import DOCS, replace_table

OWN = "wengert"
PEERS = tuple(name for name in ("numpy", "jax", "torch") if importlib.util.find_spec(name))
TOLERANCE = 1e-4
FIRST_CALLS = (OWN, "jax")
"""The libraries that compile."""
EDGES = (0.5, 0.7, 0.95, 1.05, 1.5, 3.0, 10.0)
"""Bounds of the classes of ratios in the distribution."""


class Worker(Process):
    """The process of a library."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = library
        variables = {**environment(threads), "WENGERT_CACHE": "off"}
        super().__init__([sys.executable, "-m", "areas.worker", library, str(threads)], variables)

    def __str__(self) -> str:
        return self.library


class Failure(Exception):  # noqa: N818 (of a workload; the others go on)
    """A library raised, or computed other numbers."""


class Row(NamedTuple):
    """The seconds of each library for a workload: of a call, and of the first one."""

    workload: Workload
    threads: int
    seconds: dict[str, float]
    first: dict[str, float]

    @property
    def peer(self) -> str:
        return min((name for name in self.seconds if name != OWN), key=self.seconds.__getitem__)

    @property
    def ratio(self) -> float:
        return self.seconds[self.peer] / self.seconds[OWN]


def check(workload: Workload, summaries: dict[str, list[float]]) -> None:
    """Raise if the libraries computed different numbers."""
    tolerance = workload.case().tolerance or TOLERANCE
    expected = np.reshape(summaries[OWN], (-1, 2))  # of each array the norm, and a product with random signs
    for name, numbers in summaries.items():
        found = np.reshape(numbers, (-1, 2))
        if found.shape != expected.shape or np.any(
            np.abs(found - expected) > tolerance * (1 + expected[:, :1])
        ):
            raise Failure(f"Wengert computes {expected.tolist()[:4]}, {name} {found.tolist()[:4]}")


def measure(
    contest: Contest[Worker], workload: Workload, options: argparse.Namespace, threads: int
) -> Row | None:
    """Return the times of a workload, or None if no peer has its functions."""
    first: dict[str, float] = {}
    summaries: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}

    def prepare(worker: Worker) -> None:
        answer = worker.request("prepare", workload.name)
        if isinstance(answer, str):
            raise Failure(f"{worker}: {answer}")
        if answer is not None:
            first[worker.library], summaries[worker.library] = answer

    def turn(worker: Worker) -> None:
        if worker.library in first:
            times.setdefault(worker.library, []).append(worker.request("fastest", options.seconds))

    contest.turn(prepare)
    check(workload, summaries)
    if len(first) == 1:
        return None
    for _ in range(options.turns):
        contest.turn(turn)
    return Row(workload, threads, {name: min(found) for name, found in times.items()}, first)


def failed(worker: Worker, error: ContestantError) -> None:
    raise SystemExit(f"{worker} failed: {error}")


def measurements(
    chosen: Sequence[Workload], options: argparse.Namespace, threads: int, failures: list[str]
) -> list[Row]:
    """Return the times of all workloads that have a peer, and note those that fail."""
    rows: list[Row] = []
    with Contest(failed) as contest:
        for library in (OWN, *options.peers):
            contest.add(Worker(library, threads), lambda worker: None)
        for workload in chosen:
            try:
                row = measure(contest, workload, options, threads)
            except Failure as failure:
                failures.append(f"{workload.area}: {workload.name}: {failure}")
                print(failures[-1], file=sys.stderr, flush=True)
                continue
            if row:
                rows.append(row)
                print(line(row), file=sys.stderr, flush=True)
    return rows


def line(row: Row) -> str:
    others = ", ".join(f"{name} {1e3 * row.seconds[name]:.3g}" for name in row.seconds if name != OWN)
    times = f"{1e3 * row.seconds[OWN]:.3g} | {others}"
    return f"| {row.workload.area} | {row.workload.name} | {row.threads} | {times} | {row.ratio:.2f} x |"


def mean(rows: Iterable[Row]) -> float:
    """Return the geometric mean of the ratios."""
    return math.exp(statistics.fmean(math.log(row.ratio) for row in rows))


def summary(title: str, rows: list[Row]) -> str:
    """Return a row of the table of halves and areas."""
    ratios = [row.ratio for row in rows]
    counts = np.histogram(ratios, (0, *EDGES, math.inf))[0]
    calls = [[row.first[name] for row in rows if name in row.first] for name in FIRST_CALLS]
    seconds = " / ".join(f"{statistics.median(found):.2f}" if found else "" for found in calls)
    cells = (title, len(rows), f"{mean(rows):.2f} x", f"{min(ratios):.2f} x", *counts, seconds)
    return f"| {' | '.join(map(str, cells))} |"


def overview(rows: list[Row], options: argparse.Namespace) -> list[str]:
    """Return the table of means and distributions, of the halves and of the areas."""
    labels = (f"< {EDGES[0]}", *(f"< {edge}" for edge in EDGES[1:]), f"≥ {EDGES[-1]}")
    heads = (
        "workloads",
        "number",
        "geometric mean",
        "lowest",
        *labels,
        f"first call, s ({' / '.join(FIRST_CALLS)})",
    )
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    for threads in options.threads:
        groups: dict[str, list[Row]] = {}
        for row in (row for row in rows if row.threads == threads):
            half = "held-out half" if row.workload.held_out(options.seed) else "open half"
            for title in (half, row.workload.area.replace("_", " ")):
                groups.setdefault(f"{title}, threads: {threads}", []).append(row)
        lines += [
            summary(title, group) for title, group in sorted(groups.items(), key=lambda g: "half" not in g[0])
        ]
    return lines


def report(rows: list[Row], options: argparse.Namespace) -> str:
    """Return the overview, and the lowest ratios of the half that may be tuned to."""
    shown = [row for row in rows if options.all or not row.workload.held_out(options.seed)]
    worst = sorted(shown, key=lambda row: row.ratio)[: options.worst]
    heads = [
        "| area | workload | threads | Wengert, ms | peers, ms | ratio |",
        "|---|---|---:|---:|---|---:|",
    ]
    return "\n".join([*overview(rows, options), "", *heads, *map(line, worst)])


def draw(rows: list[Row], path: Path, seed: int) -> None:
    """Draw the ratios in sorted order as bars, the halves in two colours."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    ordered = sorted(rows, key=lambda row: row.ratio)
    figure, axes = pyplot.subplots(figsize=(9, 3.5), layout="constrained")
    for held, label in ((False, "open half"), (True, "held out")):
        of = [(i, row.ratio) for i, row in enumerate(ordered) if row.workload.held_out(seed) == held]
        places, ratios = zip(*of, strict=True)
        axes.bar(places, [ratio - 1 for ratio in ratios], 1.0, 1.0, label=label)
    axes.set(yscale="log", xlabel="workload, sorted", ylabel="fastest peer's time / Wengert's")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def chosen(options: argparse.Namespace) -> list[Workload]:
    """Return the workloads that the options name."""
    candidates = [family.smallest() for family in FAMILIES] if options.short else workloads()
    pattern = f"*{options.only}*"
    matching = [w for w in candidates if fnmatch.fnmatch(f"{w.area}: {w.name}", pattern)]
    return matching[options.seed % options.every :: options.every]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--only", default="", metavar="PATTERN", help="of AREA: NAME, with * and ?")
    parser.add_argument("--peers", nargs="*", default=PEERS, help=f"of {', '.join(PEERS)}")
    parser.add_argument("--list", action="store_true", help="print the names, and run nothing")
    parser.add_argument("--short", action="store_true", help="the smallest workload of each family")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="every N-th workload only, for a quick look"
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.03, help="of a turn of a library")
    parser.add_argument("--seed", type=int, default=0, help="divides the workloads into two halves")
    parser.add_argument("--worst", type=int, default=25, help="how many of the lowest ratios to print")
    parser.add_argument("--all", action="store_true", help="show the lowest ratios of the held-out half, too")
    parser.add_argument(
        "--write", action="store_true", help="replace the table and the picture in docs/measurements.md"
    )
    options = parser.parse_args(arguments)
    if options.write and (options.only or options.short or options.all):
        parser.error("--write needs workloads of all families, and keeps the held-out half closed")
    return options


def main() -> None:
    options = parse()
    selected = chosen(options)
    if options.list:
        print("\n".join(f"{workload.area}: {workload.name}" for workload in selected))
        return
    if not selected:
        raise SystemExit(f"no workload matches {options.only!r}; see --list")
    warn_if_busy(sys.stderr)
    failures: list[str] = []
    rows = [row for threads in options.threads for row in measurements(selected, options, threads, failures)]
    text = report(rows, options)
    print(text)
    if failures:
        raise SystemExit("\n".join(failures))
    if options.write:
        replace_table("measurements.md", "breadth", text)
        draw([row for row in rows if row.threads == options.threads[0]], DOCS / "breadth.png", options.seed)


if __name__ == "__main__":
    main()
