"""The comparison of runs: different settings, results, and learning curves."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from wengert.engine.core.markup import Markup, element, in_notebook, table
from wengert.report.charts import Curve, chart
from wengert.report.formats import percent, setting_text
from wengert.report.markup import Section, page
from wengert.report.run import epoch_points
from wengert.train.runs import Run
from wengert.train.settings import OPTIONS
from wengert.train.state import EpochResult, best_epoch

_COLOURS = 7
_FIRST = 2
_BLANK = "–"
_CAPTION = (
    "The last epoch of each run; best: the best epoch, by test accuracy, or by test loss of an autoencoder"
)
_UNIMPORTANT = frozenset({"data-dir", "save-every", "log-every", "tensorboard", "wandb", "mlflow", "profile"})
"""Settings that do not affect the trained model."""


class Comparison(NamedTuple):
    """A table with a row for each run."""

    head: list[str]
    rows: list[list[str]]
    texts: int
    """The number of columns, from the left, that hold settings; the others hold results."""

    def _repr_html_(self) -> str:
        return in_notebook(table(_CAPTION, self.head, self.rows, texts=self.texts))


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run: that of its folder, or the path if names are equal."""
    short = [run.path.resolve().name for run in runs]
    return [name if short.count(name) == 1 else str(run.path) for name, run in zip(short, runs, strict=True)]


def comparison(runs: Sequence[Run]) -> Comparison:
    """Return the settings in which runs differ, and their results.

    Args:
        runs: at least one; they may train different networks, and may be unfinished.

    Returns:
        The table.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS, Run, RunFolder
        >>> runs = []
        >>> for rate in (0.1, 0.2):
        ...     place = os.path.join(tempfile.mkdtemp(), f"rate-{rate}")
        ...     _ = RunFolder(place, TASKS["mlp"].settings("digits", rate=rate))
        ...     runs.append(Run.open(place))
        >>> comparison(runs).head[:3], [row[:2] for row in comparison(runs).rows]
        (['run', 'lr', 'epochs'], [['rate-0.1', '0.1'], ['rate-0.2', '0.2']])
    """
    settings = {
        option.name: [getattr(run.settings, option.field) for run in runs]
        for option in OPTIONS.values()
        if option.name not in _UNIMPORTANT and option.name != "epochs"
    }
    columns = {"run": names_of(runs)} | {
        name: [_BLANK if value is None else setting_text(value) for value in values]
        for name, values in settings.items()
        if any(value != values[0] for value in values)
    }
    texts = len(columns)
    results = [_results(run) for run in runs]
    columns |= {name: [result[name] for result in results] for name in results[0]}
    return Comparison(list(columns), [list(row) for row in zip(*columns.values(), strict=True)], texts)


def _results(run: Run) -> dict[str, str]:
    history, classifies = run.history, run.task.classifies
    names = ("training loss", "test loss", "test accuracy", "best", "s/epoch")
    if not history:
        return {"epochs": "0"} | dict.fromkeys(names, _BLANK)
    last, number = history[-1], best_epoch(history, classifies)
    best = history[number - 1]
    score = f"{best.test_score:.2%}" if classifies else f"{best.test_loss:.4f}"
    results = (
        f"{last.train_loss:.4f}",
        f"{last.test_loss:.4f}",
        f"{last.test_score:.2%}" if classifies else _BLANK,
        f"{score} ({number})",
        f"{statistics.median(result.seconds for result in history):.2f}",
    )
    return {"epochs": str(len(history))} | dict(zip(names, results, strict=True))


def comparison_report(runs: Sequence[Run]) -> str:
    """Return the page about several runs, as HTML that loads nothing from elsewhere.

    Args:
        runs: as in `comparison`.

    Returns:
        The page.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS, Run, RunFolder
        >>> place = os.path.join(tempfile.mkdtemp(), "run")
        >>> _ = RunFolder(place, TASKS["mlp"].settings("digits"))
        >>> comparison_report([Run.open(place)] * 2).startswith("<!doctype html>")
        True
    """
    results = comparison(runs)
    written = table(_CAPTION, results.head, results.rows, texts=results.texts, class_="runs")
    same = {run.task.title for run in runs}
    title = f"{len(runs)} runs" + (f" of {same.pop()}" if len(same) == 1 else "")
    parts = [Section("runs", "Results", written), Section("curves", "Curves", _charts(runs))]
    return page(title, [element("h1", title)], parts)


def _charts(runs: Sequence[Run]) -> Markup | None:
    classifiers = [run if run.task.classifies else None for run in runs]
    drawn = [
        _chart(runs, runs, "Test loss", "test_loss"),
        _chart(runs, classifiers, "Test accuracy", "test_score", write=percent, most=1.0),
        _chart(runs, runs, "Training loss", "train_loss"),
        _chart(runs, runs, "Test loss by time", "test_loss", timed=True),
    ]
    return element("div", *drawn, class_="charts") if any(drawn) else None


def _chart(
    runs: Sequence[Run],
    shown: Sequence[Run | None],
    title: str,
    field: str,
    *,
    timed: bool = False,
    **options: Any,
) -> Markup | None:
    """Draw a number of all runs; None if no run has it."""
    points: Callable[[Sequence[EpochResult], str], Any] = _by_time if timed else epoch_points
    curves = [
        Curve(name, points(run.history, field), _FIRST + number % _COLOURS, dashes=number // _COLOURS)
        for number, (name, run) in enumerate(zip(names_of(runs), shown, strict=True))
        if run is not None and run.history
    ]
    axis = "seconds of training" if timed else "epoch"
    return chart(title, axis, curves, whole=not timed, **options) if curves else None


def _by_time(history: Sequence[EpochResult], field: str) -> list[tuple[float, float]]:
    times = accumulate(result.seconds for result in history)
    return [(time, getattr(result, field)) for time, result in zip(times, history, strict=True)]
