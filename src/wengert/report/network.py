"""What a model is: its layers, its first weights, its graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import WengertError
from wengert.data import Dataset
from wengert.data.dataset import SIZE
from wengert.nn.summaries import Summary, summary
from wengert.report.elements import Markup, element, table
from wengert.report.findings import first_weights
from wengert.report.graph import network_graph
from wengert.report.numbers import bytes_text
from wengert.report.page import Section, note
from wengert.report.png import picture, signed
from wengert.train.folder import SOURCE
from wengert.train.own import blaming
from wengert.train.runs import Run

"""Height and width of the images that a run learned, where these are not there."""
_MOST_WEIGHTS = 64


def summary_of(run: Run, model: Any, dataset: Dataset | None) -> Summary | None:
    """Return what the layers of a run's model cost for a batch; None where the model cannot be followed."""
    try:
        with blaming(run.path / SOURCE):
            return summary(model, run.task.prepare(_images(dataset, run.settings.batch_size)))
    except WengertError:
        return None


def _images(dataset: Dataset | None, count: int) -> Any:
    height, width = dataset.test_images.shape[1:] if dataset is not None else SIZE
    return np.zeros((count, height, width), np.uint8)


def weights(model: Any, dataset: Dataset | None) -> Section:
    """Draw the weights of the first layer."""
    found = first_weights(model, *_images(dataset, 0).shape[1:])
    if found is None:
        return Section("weights", "First weights")
    most = float(np.nanpercentile(np.abs(found.pictures), 99.5))
    shown = found.pictures[:_MOST_WEIGHTS]
    drawn = [_weight(number, one, most) for number, one in enumerate(shown, 1)]
    count = f"{len(shown)} of {len(found.pictures)}" if len(shown) < len(found.pictures) else "all"
    told = (
        f"model{found.place}, {count}: blue is positive, orange negative; full colour is {most:.3g} and more."
    )
    kind = "matrix" if len(found.pictures) == 1 else "tiny" if shown[0].size > 100 else "small"
    return Section("weights", "First weights", element("div", *drawn, class_=f"pictures {kind}"), note(told))


def _weight(number: int, weight: Any, most: float) -> Markup:
    alt = f"Weights {number}, from {np.min(weight):.2g} to {np.max(weight):.2g}"
    return picture(signed(weight, most), alt, "weight")


def network(run: Run, model: Any, dataset: Dataset | None, summary: Summary | None) -> Section:
    """Write the layers of a model and draw its graph."""
    examples = run.settings.batch_size
    told = "What the model computes of a batch, as operations on arrays; the view can be enlarged and moved."
    try:
        with blaming(run.path / SOURCE):
            graph = network_graph(model, run.task.prepare(_images(dataset, examples)))
    except WengertError as problem:
        graph, told = None, f"The graph is left out: {problem}"
    return Section(
        "network",
        "Network",
        layers(summary, examples) if summary else None,
        graph,
        note(told),
    )


def layers(found: Summary, examples: int) -> Markup:
    """Write what each layer returns and holds as a table."""
    rows = [
        [
            f"{'  ' * (row.depth - 1)}{row.path.rpartition('.')[2] or 'model'}: {row.name}",
            " ".join(map(str, row.output)),
            f"{row.parameters:,}",
            f"{row.forward:,}",
            f"{row.backward:,}",
            bytes_text(row.peak),
        ]
        for row in found.rows
    ]
    head = ["layer", "output", "parameters", "operations", "derivatives", "peak memory"]
    return table(f"Layers, for a batch of {examples}", head, rows, texts=2, class_="layers")
