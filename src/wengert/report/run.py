"""`run_report`: the page about one run."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import WengertError
from wengert.data import DataError, Dataset
from wengert.nn.summaries import Summary
from wengert.report import mistakes, network, sections
from wengert.report.elements import Markup, element
from wengert.report.findings import classified, outputs_of, reconstructed
from wengert.report.page import Section, note, page
from wengert.train.folder import SOURCE
from wengert.train.own import blaming
from wengert.train.runs import Run
from wengert.train.stateful import without_state


def run_report(run: Run) -> str:
    """Return the page about a run, as HTML that fetches nothing from elsewhere.

    What cannot be known is left out: without the images that the run learned there are no mistakes to show, before its
    end there is no model. The page says so.

    Args:
        run: finished or not.

    Returns:
        The text of an HTML file.

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
    parts = [
        sections.settings(run),
        sections.curves(run, dataset),
        sections.costs(run, summary),
        *(_judged(run, model, dataset, missing) if dataset is not None else ()),
        *(_network(run, model, dataset, summary) if model is not None else ()),
    ]
    return page(f"{run.path.name}: {run.task.title}", _top(run, summary, missing), parts)


def _model(run: Run, missing: list[str]) -> Any:
    try:
        return run.model()
    except FileNotFoundError:
        missing.append("There is no trained model yet: what depends on it is left out.")
        return None


def _dataset(run: Run, missing: list[str]) -> Dataset | None:
    try:
        return run.dataset(tested_only=True)
    except (DataError, OSError) as problem:
        missing.append(f"Without the images, what the model makes of them is left out. {problem}")
        return None


def _top(run: Run, summary: Summary | None, missing: list[str]) -> list[Markup]:
    began = [] if run.began is None else [f"began {run.began:%Y-%m-%d %H:%M}"]
    facts = [run.path.name, run.settings.data, *began, sections.how_it_ended(run)]
    place = element("p", " · ".join(facts), class_="place")
    numbers = sections.headline(run, summary)
    title = element("h1", run.task.title[:1].upper() + run.task.title[1:])
    return [title, place, *map(note, missing), *([numbers] if numbers else [])]


def _judged(run: Run, model: Any, dataset: Dataset, missing: list[str]) -> list[Section]:
    try:
        with blaming(run.path / SOURCE):
            outputs = outputs_of(run, model, dataset)
    except WengertError as problem:
        missing.append(f"What the model makes of the images is left out. {problem}")
        return []
    if run.task.classifies:
        found = classified(outputs, dataset)
        return mistakes.classification(found, dataset) if found else []
    drawn = reconstructed(outputs, dataset)
    return mistakes.reconstruction(drawn, dataset) if drawn else []


def _network(run: Run, model: Any, dataset: Dataset | None, summary: Summary | None) -> list[Section]:
    weights = network.weights(without_state(model), dataset)
    return [weights, network.network(run, model, dataset, summary)]
