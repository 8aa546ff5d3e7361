"""The table of a comparison: a line for each network, number of threads and contestant."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from harness.contest import Trial, difference
from harness.contestants import Contestant
from harness.workloads import NETWORKS
from wengert.engine.core.errors import WengertError
from wengert.engine.core.markup import TableText

STEPS = 100
"""The losses of these first steps are compared."""
TOLERANCE = 1e-4
"""For losses in double precision, which differ by 1e-15."""
_FIRST_STEPS = 10
FIRST_TOLERANCE = 1e-3
"""For the losses in single precision of the first steps, which differ by 1e-6."""


class DisagreementError(WengertError, RuntimeError):
    """Contestants computed different losses."""


class Spread(NamedTuple):
    """A mean over seeds and a standard deviation, which is NaN for one seed."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else float("nan"))

    def show(self, mean: str, deviation: str) -> str:
        """Format both; the mean alone where the deviation is NaN."""
        return f"{self.mean:{mean}}" + (f" ± {self.deviation:{deviation}}" if self.deviation >= 0 else "")


class Line(NamedTuple):
    """A contestant's measurements over all seeds."""

    network: str
    threads: int
    contestant: Contestant
    seconds: float
    """Of an epoch: the median over epochs and seeds."""
    ratio: float
    """Relative to Wengert's: the median over neighbouring turns; NaN without Wengert."""
    first: float
    peak: int
    before: int
    fresh: float
    score: Spread
    loss: Spread
    difference: float
    """From the first contestant's losses in the first steps: see `contest.difference`."""


def check(trials: Sequence[Trial]) -> None:
    """Raise `DisagreementError` where a contestant's first losses differ from those of the first contestant."""
    for trial in trials[1:]:
        error = difference(trials[0].losses, trial.losses, _FIRST_STEPS)
        if not error <= FIRST_TOLERANCE:
            raise DisagreementError(
                f"{trial.network}: the losses of {trial.contestant} differ by {error:.1e} from those of "
                f"{trials[0].contestant} in the first {_FIRST_STEPS} steps; at most {FIRST_TOLERANCE:g} is rounding"
            )


def lines(trials: Iterable[Trial]) -> list[Line]:
    """Return the lines of a comparison in the order of the trials."""
    groups: dict[tuple[str, int], dict[Contestant, list[Trial]]] = {}
    for trial in trials:
        groups.setdefault((trial.network, trial.threads), {}).setdefault(trial.contestant, []).append(trial)
    return [
        _line(members, next(iter(group.values())), group)
        for group in groups.values()
        for members in group.values()
    ]


def _line(trials: list[Trial], first: list[Trial], group: dict[Contestant, list[Trial]]) -> Line:
    ours = next((members for contestant, members in group.items() if contestant.library == "wengert"), [])
    by_seed = {trial.seed: trial for trial in ours}
    reference = {trial.seed: trial for trial in first}
    pairs = [
        epoch.seconds / own.seconds
        for trial in trials
        if trial.seed in by_seed
        for epoch, own in zip(trial.epochs, by_seed[trial.seed].epochs, strict=True)
    ]
    epochs = [epoch for trial in trials for epoch in trial.epochs]
    return Line(
        trials[0].network,
        trials[0].threads,
        trials[0].contestant,
        statistics.median(epoch.seconds for epoch in epochs),
        statistics.median(pairs) if pairs else float("nan"),
        statistics.median(trial.first for trial in trials),
        max(trial.peak for trial in trials),
        max(trial.before for trial in trials),
        statistics.median(epoch.fresh for epoch in epochs),
        Spread.of([trial.epochs[-1].test_score for trial in trials]),
        Spread.of([trial.epochs[-1].test_loss for trial in trials]),
        max(
            difference(reference[trial.seed].losses, trial.losses, STEPS)
            for trial in trials
            if trial.seed in reference
        ),
    )


_COLUMNS: dict[str, Callable[[Line], str]] = {
    "network": lambda line: line.network,
    "threads": lambda line: str(line.threads),
    "contestant": lambda line: str(line.contestant),
    "s an epoch": lambda line: f"{line.seconds:.3g}",
    "to Wengert": lambda line: "" if line.ratio != line.ratio else f"{line.ratio:.2f} x",
    "first call, s": lambda line: f"{line.first:.2f}",
    "peak, MB": lambda line: f"{line.peak / 1e6:.0f}",
    "before, MB": lambda line: f"{line.before / 1e6:.0f}",
    "new an epoch, MB": lambda line: f"{line.fresh / 1e6:.0f}",
    "test accuracy": lambda line: line.score.show(".2%", ".2%") if NETWORKS[line.network].classifies else "",
    "test loss": lambda line: line.loss.show(".4g", ".1g"),
    "losses differ by": lambda line: f"{line.difference:.0e}",
}


def table(rows: Sequence[Line]) -> TableText:
    """Return the table, in Markdown; a notebook shows it as a table."""
    cells = [list(_COLUMNS), *([show(row) for show in _COLUMNS.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = [head not in ("network", "contestant") for head in _COLUMNS]
    rule = [f"{'-' * (width - right)}{':' * right}" for width, right in zip(widths, numbers, strict=True)]

    def written(row: Sequence[str]) -> str:
        columns = zip(row, widths, numbers, strict=True)
        padded = (f"{cell:{'>' if right else '<'}{width}}" for cell, width, right in columns)
        return f"| {' | '.join(padded)} |"

    text = "\n".join(map(written, [cells[0], rule, *cells[1:]]))
    return TableText(text, "Training by several libraries", cells[0], cells[1:])


def as_data(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return all measurements, for a JSON file."""
    return [
        {
            **trial._asdict(),
            "contestant": str(trial.contestant),
            "epochs": [epoch._asdict() for epoch in trial.epochs],
        }
        for trial in trials
    ]
