"""The page about one run: numbers, learning curves, mistakes, time and memory, the model, and the settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.data import DataError, Dataset
from wengert.engine.core.errors import WengertError
from wengert.engine.core.markup import Markup, element, joined, table
from wengert.nn.summaries import Summary
from wengert.report import evaluation, network
from wengert.report.charts import Curve, Point, chart
from wengert.report.formats import bytes_text, percent, seconds_text, setting_text
from wengert.report.markup import Section, note, page, terms
from wengert.train.loop import steps_of
from wengert.train.runs import PROFILE, Run, drawn_counts
from wengert.train.settings import OPTIONS
from wengert.train.state import EpochResult, best_epoch, without_state
from wengert.train.storage import read_json
from wengert.train.user_models import SOURCE, blaming

_LONGEST = 1e15
"""An upper bound of a valid time in seconds."""
TRAINING, TEST = 1, 2
"""Colours of curves."""


def run_report(run: Run) -> str:
    """Return the page about a run, as HTML that loads nothing from elsewhere.

    The page omits parts whose data are missing, and says so: the mistakes without the images that the run learned, and
    everything about the model before the run's end.

    Args:
        run: finished or not.

    Returns:
        The page.

    Raises:
        DataError: a file of the run is damaged.

    Example:
        >>> import os, tempfile
        >>> from wengert.train import TASKS, Run, RunFolder
        >>> place = os.path.join(tempfile.mkdtemp(), "run")
        >>> _ = RunFolder(place, TASKS["mlp"].settings("mnist", epochs=3))
        >>> "not finished: 0 of 3 epochs" in run_report(Run.open(place))
        True
    """
    missing = [run.left_out] if run.left_out else []
    model = _model(run, missing)
    dataset = _dataset(run, missing) if model is not None else None
    summary = None if model is None else network.summary_of(run, without_state(model), dataset)
    parts = [curves(run, dataset)]
    if dataset is not None:
        parts += _evaluation(run, model, dataset, missing)
    parts.append(costs(run, summary))
    if model is not None:
        parts.append(network.weights(without_state(model), dataset))
        parts.append(network.network(run, model, dataset, summary))
    parts.append(settings(run))
    return page(f"{run.path.name}: {run.task.title}", _top(run, summary, missing), parts)


def _model(run: Run, missing: list[str]) -> Any:
    try:
        return run.model()
    except FileNotFoundError:
        missing.append("There is no trained model yet; everything about it is left out.")
        return None


def _dataset(run: Run, missing: list[str]) -> Dataset | None:
    try:
        return run.dataset(tested_only=True)
    except (DataError, OSError) as problem:
        missing.append(f"Without the images, the model's predictions are left out. {problem}")
        return None


def _top(run: Run, summary: Summary | None, missing: list[str]) -> list[Markup]:
    began = [] if run.began is None else [f"began {run.began:%Y-%m-%d %H:%M}"]
    facts = [run.path.name, run.settings.data, *began, how_it_ended(run)]
    place = element("p", " · ".join(facts), class_="place")
    numbers = headline(run, summary)
    title = element("h1", run.task.title[:1].upper() + run.task.title[1:])
    return [title, place, *map(note, missing), *([numbers] if numbers else [])]


def _evaluation(run: Run, model: Any, dataset: Dataset, missing: list[str]) -> list[Section]:
    try:
        with blaming(run.path / SOURCE):
            outputs = evaluation.outputs_of(run, model, dataset)
    except WengertError as problem:
        missing.append(f"The model's predictions are left out. {problem}")
        return []
    if run.task.classifies:
        guesses = evaluation.classified(outputs, dataset)
        return evaluation.classification(guesses, dataset) if guesses else []
    pictures = evaluation.reconstructed(outputs, dataset)
    return evaluation.reconstruction(pictures, dataset) if pictures else []


def how_it_ended(run: Run) -> str:
    """Return whether and how a run ended, in words."""
    summary = run.summary
    epochs = f"{len(run.history)} of {run.settings.epochs} epochs"
    if summary is None:
        return f"not finished: {epochs}"
    if summary.get("problem"):
        return f"failed after {epochs}: {summary['problem']}"
    return f"interrupted after {epochs}" if summary.get("interrupted") else f"finished: {epochs}"


def headline(run: Run, summary: Summary | None) -> Markup | None:
    """Return the most important numbers."""
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
    """Return the settings of a run, its start, and the versions of its software."""
    chosen = [(option.name, getattr(run.settings, option.field)) for option in OPTIONS.values()]
    pairs = [(name, setting_text(value)) for name, value in chosen if value is not None]
    began = [] if run.began is None else [("began", run.began.isoformat(" ", "seconds"))]
    return Section("settings", "Settings", terms([*pairs, *began, *run.versions.items()], "grid"))


# -- curves ----------------------------------------------------------------------------------------------


def steps_of_epoch(run: Run, dataset: Dataset | None) -> int:
    """Return the number of steps of an epoch; without the images, an estimate from the log."""
    if dataset is not None and len(dataset.train_images):
        return steps_of(run.settings, dataset)
    if run.settings.data == "digits":
        return -(-drawn_counts(run.settings)["train"] // run.settings.batch_size)
    counts = [line["step"] for line in run.steps]
    if run.history:
        first = run.history[0]
        examples = round(first.seconds * first.examples_per_second)
        counts.append(math.ceil(examples / run.settings.batch_size))
    return max(counts, default=1)


def step_points(run: Run, name: str, count: int) -> list[Point]:
    """Return a number of the logged steps over the time in epochs of ``count`` steps."""
    return [(line["epoch"] - 1 + line["step"] / count, line[name]) for line in run.steps]


def epoch_points(history: Sequence[EpochResult], name: str) -> list[Point]:
    """Return a number of the epochs over the epoch."""
    return [(result.epoch, getattr(result, name)) for result in history]


def curves(run: Run, dataset: Dataset | None) -> Section:
    """Return the curves of the loss and, for a classifier, of the accuracy."""
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
    charts = element("div", drawn("Loss", "loss"), accuracy, class_="charts")
    return Section("curves", "Learning curves", charts, _epochs(run) if history else None)


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
    """Return the time and memory of a run, and the costs of the model."""
    seconds = Curve("seconds", epoch_points(run.history, "seconds"), TEST)
    time = chart("Seconds of training", "epoch", [seconds], least=0.0) if run.history else None
    parts = list(filter(None, (_shares(run), _memory(run), _planned(summary))))
    side = element("div", *parts) if parts else None
    charts = element("div", time, side, class_="charts") if time or side else None
    return Section("costs", "Time and memory", charts)


def _shares(run: Run) -> Markup | None:
    """Return the parts of an epoch's time as bars, from the file of ``--profile``."""
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
    shares = element("table", caption, element("tbody", *rows), class_="shares")
    return joined(shares, note(f"Tracing and compiling took {seconds_text(compiling)}, once."))


def _time(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LONGEST:
        raise ValueError(f"a time must be a number of at least 0; got {value!r:.40}")
    return float(value)


def _memory(run: Run) -> Markup | None:
    """Return the measured memory of a run, if it is recorded: earlier versions did not."""
    peak = (run.summary or {}).get("peak_memory")
    if type(peak) is not int or not 0 < peak < 1 << 63:
        return None
    text = "The peak memory of the run's process, with Python, the images and the compiler."
    return joined(terms([("memory of the run", bytes_text(peak))], "grid"), note(text))


def _planned(summary: Summary | None) -> Markup | None:
    if summary is None:
        return None
    costs = [
        ("parameters", bytes_text(summary.parameter_bytes)),
        ("memory, forward", bytes_text(summary.forward_peak)),
        ("memory, training", bytes_text(summary.peak)),
        ("operations, forward", f"{summary.forward:,}"),
        ("operations, derivatives", f"{summary.backward:,}"),
    ]
    return joined(terms(costs, "grid"), note("The costs of the compiled model for a batch."))
