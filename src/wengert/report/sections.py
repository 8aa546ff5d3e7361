"""What a run was and how it went: settings, numbers, curves, time and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.data import DataError, Dataset
from wengert.nn.summaries import Summary
from wengert.report.charts import Curve, Point, chart
from wengert.report.elements import Markup, element, joined, table, terms
from wengert.report.numbers import bytes_text, percent, seconds_text, setting_text
from wengert.report.page import Section, note
from wengert.train.files import read_json
from wengert.train.folder import PROFILE
from wengert.train.loop import steps_of
from wengert.train.runs import Run, drawn_counts
from wengert.train.settings import OPTIONS
from wengert.train.state import EpochResult, best_epoch

_LONGEST = 1e15
"""Seconds: no run takes so many."""
TRAINING, TEST = 1, 2
"""Colours of curves."""


def how_it_ended(run: Run) -> str:
    """Say whether a run is over, and how it ended."""
    summary = run.summary
    epochs = f"{len(run.history)} of {run.settings.epochs} epochs"
    if summary is None:
        return f"not finished: {epochs}"
    if summary.get("problem"):
        return f"failed after {epochs}: {summary['problem']}"
    return f"interrupted after {epochs}" if summary.get("interrupted") else f"finished: {epochs}"


def headline(run: Run, summary: Summary | None) -> Markup | None:
    """Write the numbers that a reader looks for first."""
    history, classifies = run.history, run.task.classifies
    numbers: list[tuple[str, str]] = []
    if history:
        last = history[-1]
        score = [("test accuracy", f"{last.test_score:.2%}")] if classifies else []
        numbers += [*score, ("test loss", f"{last.test_loss:.4g}")]
        if (best := best_epoch(history, classifies)) != last.epoch:
            result = history[best - 1]
            text = f"{result.test_score:.2%}" if classifies else f"{result.test_loss:.4g}"
            numbers.append((f"best, epoch {best}", text))
        numbers.append(("training", seconds_text(sum(result.seconds for result in history))))
    if summary is not None:
        numbers.append(("parameters", f"{summary.parameters:,}"))
    return terms(numbers, "headline") if numbers else None


def settings(run: Run) -> Section:
    """Write the settings of a run, and on what it ran."""
    chosen = [(option.name, getattr(run.settings, option.field)) for option in OPTIONS.values()]
    pairs = [(name, setting_text(value)) for name, value in chosen if value is not None]
    began = [] if run.began is None else [("began", run.began.isoformat(" ", "seconds"))]
    return Section("settings", "Settings", terms([*pairs, *began, *run.versions.items()], "grid"))


# -- curves ----------------------------------------------------------------------------------------------


def steps_of_epoch(run: Run, dataset: Dataset | None) -> int:
    """Return how many steps an epoch has; without the images, as far as the log tells."""
    if dataset is not None and len(dataset.train_images):
        return steps_of(run.settings, dataset)
    if run.settings.data == "digits":
        return -(-drawn_counts(run.settings)["train"] // run.settings.batch_size)
    counted = [line["step"] for line in run.steps]
    if run.history:
        first = run.history[0]
        examples = round(first.seconds * first.examples_per_second)
        counted.append(math.ceil(examples / run.settings.batch_size))
    return max(counted, default=1)


def step_points(run: Run, name: str, count: int) -> list[Point]:
    """Return a number of the logged steps against the epochs done by then, of ``count`` steps each."""
    return [(line["epoch"] - 1 + line["step"] / count, line[name]) for line in run.steps]


def epoch_points(history: Sequence[EpochResult], name: str) -> list[Point]:
    """Return a number of each epoch against the number of the epoch."""
    return [(result.epoch, getattr(result, name)) for result in history]


def curves(run: Run, dataset: Dataset | None) -> Section:
    """Draw the loss and, of a classifier, the accuracy."""
    history = run.history
    if not history and not run.steps:
        return Section("curves", "Learning curves", note("Nothing has been logged yet."))

    count = steps_of_epoch(run, dataset)

    def drawn(title: str, name: str, **options: Any) -> Markup:
        lines = [
            Curve("steps", step_points(run, name, count), TRAINING, faint=True),
            Curve("training", epoch_points(history, f"train_{name}"), TRAINING),
            Curve("test", epoch_points(history, f"test_{name}"), TEST),
        ]
        return chart(title, "epoch", [line for line in lines if line.points], **options)

    accuracy = drawn("Accuracy", "score", write=percent, most=1.0) if run.task.classifies else None
    return Section(
        "curves",
        "Learning curves",
        element("div", drawn("Loss", "loss"), accuracy, class_="charts"),
        _epochs(run) if history else None,
    )


def _epochs(run: Run) -> Markup:
    classifies = run.task.classifies
    head = ["epoch", "training loss", "test loss"]
    head += ["training accuracy", "test accuracy"] if classifies else []
    rows = [
        [
            str(result.epoch),
            f"{result.train_loss:.4f}",
            f"{result.test_loss:.4f}",
            *((f"{result.train_score:.2%}", f"{result.test_score:.2%}") if classifies else ()),
            f"{result.seconds:.2f}",
            f"{result.examples_per_second:,.0f}",
        ]
        for result in run.history
    ]
    written = table("Results by epoch", [*head, "seconds", "examples/s"], rows)
    return element("details", element("summary", "Results by epoch"), written, open=len(rows) <= 10)


# -- time and memory -------------------------------------------------------------------------------------


def costs(run: Run, summary: Summary | None) -> Section:
    """Write where the time of a run went, what memory it took and what a step takes."""
    history = run.history
    drawn = chart(
        "Seconds of training", "epoch", [Curve("seconds", epoch_points(history, "seconds"), TEST)], least=0.0
    )
    time = drawn if history else None
    parts = [part for part in (_shares(run), _memory(run), _planned(summary)) if part is not None]
    side = element("div", *parts) if parts else None
    return Section(
        "costs", "Time and memory", element("div", time, side, class_="charts") if time or side else None
    )


def _shares(run: Run) -> Markup | None:
    """Draw the parts of an epoch's time as bars, from what ``--profile`` wrote."""
    path = run.path / PROFILE
    if not path.exists():
        return None
    profile: Any = read_json(path)
    try:
        parts = [
            (name, _time(part["seconds"]), _time(part["share"]))
            for name, part in profile["typical_epoch"].items()
        ]
        compiling = _time(profile["compiling"])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataError(f"{path}: the file is damaged: {problem}") from None
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            element("td", element("i", class_="bar", style=f"--part: {share:.4f}"), class_="bars"),
            element("td", seconds_text(seconds), class_="number"),
            element("td", f"{share:.1%}", class_="number"),
        )
        for name, seconds, share in parts
    ]
    caption = element("caption", "Time of a typical epoch")
    told = note(f"Tracing and compiling took {seconds_text(compiling)}, once.")
    return joined(element("table", caption, element("tbody", *rows), class_="shares"), told)


def _time(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LONGEST:
        raise ValueError(f"a time must be a number from 0 on; got {value!r:.40}")
    return float(value)


def _memory(run: Run) -> Markup | None:
    """Write the memory that was measured as the run ended; earlier versions did not."""
    peak = (run.summary or {}).get("peak_memory")
    if type(peak) is not int or not 0 < peak < 1 << 63:
        return None
    told = note(
        "The most that the process of the run had at a time, with Python, the images and the compiler."
    )
    return joined(terms([("memory of the run", bytes_text(peak))], "grid"), told)


def _planned(summary: Summary | None) -> Markup | None:
    if summary is None:
        return None
    written = terms(
        [
            ("parameters", bytes_text(summary.parameter_bytes)),
            ("memory, forward", bytes_text(summary.forward_peak)),
            ("memory, training", bytes_text(summary.peak)),
            ("operations, forward", f"{summary.forward:,}"),
            ("operations, derivatives", f"{summary.backward:,}"),
        ],
        "grid",
    )
    return joined(
        written, note("What the compiled model takes for a batch, in bytes and in arithmetic operations.")
    )
