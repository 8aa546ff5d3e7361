"""What a comparison found: a line for each network, number of threads and contestant."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wengert.bench.contest import Trial, difference
from wengert.bench.contestants import Contestant
from wengert.bench.work import NETWORKS
from wengert.core.errors import WengertError

STEPS = 100
"""Of which the losses are compared."""
TOLERANCE = 1e-4
"""For losses in double precision, which differ by 1e-15."""
_FIRST_STEPS = 10
FIRST_TOLERANCE = 1e-3
"""For the losses in single precision of the first steps, which differ by 1e-6."""
_HEADS = (
    "network",
    "threads",
    "contestant",
    "s an epoch",
    "to Wengert",
    "first call, s",
    "peak, MB",
    "before, MB",
    "new an epoch, MB",
    "test accuracy",
    "test loss",
    "losses differ by",
)


class DisagreementError(WengertError, RuntimeError):
    """Contestants have not computed the same."""


class Spread(NamedTuple):
    """A mean over seeds, and the standard deviation of one; NaN of one seed alone."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return that of some values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else float("nan"))

    def show(self, mean: str, deviation: str) -> str:
        """Write both in these formats; the mean alone where there is no deviation."""
        return f"{self.mean:{mean}}" + (f" ± {self.deviation:{deviation}}" if self.deviation >= 0 else "")


class Line(NamedTuple):
    """What a contestant did, over all seeds."""

    network: str
    threads: int
    contestant: Contestant
    seconds: float
    """Of an epoch: the median over epochs and seeds."""
    ratio: float
    """To Wengert's: the median over neighbouring turns; NaN where Wengert takes no part."""
    first: float
    peak: int
    before: int
    fresh: float
    score: Spread
    loss: Spread
    difference: float
    """The largest difference from the first contestant's losses in the first steps, to the loss where it is over 1."""


def check(trials: Sequence[Trial]) -> None:
    """Raise `DisagreementError` where contestants began with other losses than the first: they are no match."""
    for trial in trials[1:]:
        found = difference(trials[0].losses, trial.losses, _FIRST_STEPS)
        if not found <= FIRST_TOLERANCE:
            raise DisagreementError(
                f"{trial.network}: the losses of {trial.contestant} differ by {found:.1e} from those of "
                f"{trials[0].contestant} in the first {_FIRST_STEPS} steps; at most {FIRST_TOLERANCE:g} is rounding"
            )


def lines(trials: Iterable[Trial]) -> list[Line]:
    """Return the lines of a comparison, in the order in which they were run."""
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
        one.seconds / other.seconds
        for trial in trials
        if trial.seed in by_seed
        for one, other in zip(trial.epochs, by_seed[trial.seed].epochs, strict=True)
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


def _cells(line: Line) -> list[str]:
    classifies = NETWORKS[line.network].classifies
    return [
        line.network,
        str(line.threads),
        str(line.contestant),
        f"{line.seconds:.3g}",
        "" if line.ratio != line.ratio else f"{line.ratio:.2f} x",
        f"{line.first:.2f}",
        *(f"{number / 1e6:.0f}" for number in (line.peak, line.before, line.fresh)),
        line.score.show(".2%", ".2%") if classifies else "",
        line.loss.show(".4g", ".1g"),
        f"{line.difference:.0e}",
    ]


def table(found: Sequence[Line]) -> str:
    """Return the table, in Markdown."""
    rows = [list(_HEADS), *map(_cells, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = [head not in ("network", "contestant") for head in _HEADS]
    rule = [f"{'-' * (width - right)}{':' * right}" for width, right in zip(widths, numbers, strict=True)]

    def written(row: Sequence[str]) -> str:
        cells = zip(row, widths, numbers, strict=True)
        return f"| {' | '.join(f'{cell:>{width}}' if right else f'{cell:{width}}' for cell, width, right in cells)} |"

    return "\n".join(map(written, [rows[0], rule, *rows[1:]]))


def as_data(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return all that was measured, for a file."""
    return [
        {
            **trial._asdict(),
            "contestant": str(trial.contestant),
            "epochs": [epoch._asdict() for epoch in trial.epochs],
        }
        for trial in trials
    ]
