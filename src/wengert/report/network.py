"""The model: its layers, its first weights, and its graph as SVG, with operations as boxes and values flowing down."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from wengert.data import Dataset
from wengert.data.dataset import SIZE
from wengert.engine.core.dtypes import is_float
from wengert.engine.core.errors import WengertError
from wengert.engine.core.markup import Markup, element, scrollable, table
from wengert.engine.core.tree import flatten, paths
from wengert.inspect import trace
from wengert.inspect.dot import Cluster, Edge, Node, Picture
from wengert.inspect.graph_drawing import Box, Line, Size, layout
from wengert.inspect.picture import graph_picture
from wengert.nn.summaries import Summary, summary
from wengert.report.formats import bytes_text
from wengert.report.markup import Section, note
from wengert.report.png import picture, signed
from wengert.train.runs import Run
from wengert.train.user_models import SOURCE, blaming

_MOST_WEIGHTS = 64
_LETTER, _LINE = 6.7, 15.0
"""The width of a letter and the height of a line, in the page's monospaced font of 11 pixels."""
_SIDE, _EDGE = 10.0, 6.0
"""The padding at the sides of a label, and above and below it."""
_MARGIN = 8.0
_LARGEST = 600
"""Operations of the largest graph that is drawn."""


# -- layers ----------------------------------------------------------------------------------------------


def summary_of(run: Run, model: Any, dataset: Dataset | None) -> Summary | None:
    """Return the costs of the layers of a run's model for a batch; None if the model cannot be traced."""
    try:
        with blaming(run.path / SOURCE):
            return summary(model, run.task.prepare(_images(dataset, run.settings.batch_size)))
    except WengertError:
        return None


def _images(dataset: Dataset | None, count: int) -> Any:
    extents = dataset.test_images.shape[1:] if dataset is not None else SIZE
    return np.zeros((count, *extents), np.uint8)


def network(run: Run, model: Any, dataset: Dataset | None, summary: Summary | None) -> Section:
    """Return the table of a model's layers, and its graph."""
    examples = run.settings.batch_size
    text = "The operations of the model on a batch; the view can be zoomed and moved."
    try:
        with blaming(run.path / SOURCE):
            graph = network_graph(model, run.task.prepare(_images(dataset, examples)))
    except WengertError as problem:
        graph, text = None, f"The graph is left out: {problem}"
    return Section("network", "Network", layers(summary, examples) if summary else None, graph, note(text))


def layers(costs: Summary, examples: int) -> Markup:
    """Return the table of the layers."""
    rows = [
        [
            f"{'  ' * (row.depth - 1)}{row.path.rpartition('.')[2] or 'model'}: {row.name}",
            " ".join(map(str, row.output)),
            f"{row.parameters:,}",
            f"{row.forward:,}",
            f"{row.backward:,}",
            bytes_text(row.peak),
        ]
        for row in costs.rows
    ]
    head = ["layer", "output", "parameters", "operations", "derivatives", "peak memory"]
    return table(f"Layers, for a batch of {examples}", head, rows, texts=2, class_="layers")


# -- weights ---------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The first weights of a model."""

    place: str
    """Such as ``.layers[0].weight``."""
    pictures: list[Any]
    """For a convolution one for each filter (of its first channel); for a layer on whole images one for each unit;
    otherwise the matrix itself."""


def first_weights(model: Any, height: int, width: int) -> Weights | None:
    """Return the first matrix or filters of a model for images of a size, if any.

    Example:
        >>> from wengert import nn
        >>> weights = first_weights(nn.Chain(nn.Dense(784, 3, seed=0), nn.relu), 28, 28)
        >>> weights.place, len(weights.pictures), weights.pictures[0].shape
        ('.layers[0].weight', 3, (28, 28))
    """
    values, structure = flatten(model)
    for place, value in zip(paths(structure, ""), values, strict=True):
        weight = np.asarray(value)
        if not is_float(weight.dtype) or weight.ndim not in (2, 4) or not weight.size:
            continue
        if weight.ndim == 4:
            return Weights(place, list(weight[:, 0]))
        is_unit = len(weight) == height * width
        return Weights(place, list(weight.T.reshape(-1, height, width)) if is_unit else [weight])
    return None


def weights(model: Any, dataset: Dataset | None) -> Section:
    """Return the pictures of the first weights."""
    height, width = (1, *_images(dataset, 0).shape[1:])[-2:]
    first = first_weights(model, height, width)
    if first is None:
        return Section("weights", "First weights")
    most = float(np.nanpercentile(np.abs(first.pictures), 99.5))
    shown = first.pictures[:_MOST_WEIGHTS]
    pictures = (
        picture(
            signed(weight, most),
            f"Weights {number}, from {np.min(weight):.2g} to {np.max(weight):.2g}",
            "weight",
        )
        for number, weight in enumerate(shown, 1)
    )
    count = f"{len(shown)} of {len(first.pictures)}" if len(shown) < len(first.pictures) else "all"
    text = (
        f"model{first.place}, {count}: blue is positive, orange negative; full colour is {most:.3g} and more."
    )
    kind = "matrix" if len(first.pictures) == 1 else "tiny" if shown[0].size > 100 else "small"
    return Section(
        "weights", "First weights", element("div", *pictures, class_=f"pictures {kind}"), note(text)
    )


# -- graph -----------------------------------------------------------------------------------------------


class TooLargeError(WengertError, ValueError):
    """A graph that is too large to read."""


def network_graph(model: Any, inputs: Any) -> Markup:
    """Draw the graph of a model; `TooLargeError` if it has too many operations to read."""
    listing = trace(_applied)(model, inputs)
    if (count := len(listing.equations)) > _LARGEST:
        raise TooLargeError(f"it has {count:,} operations, and more than {_LARGEST} cannot be read.")
    places = [place.removeprefix("model.") for place in listing.places]
    results = paths(listing.structure, "output")
    return drawing(graph_picture(listing, "network", places, results, {}))


def _applied(model: Any, inputs: Any) -> Any:
    return model(inputs)


def drawing(graph: Picture) -> Markup:
    """Draw a graph in a view that can be moved and zoomed."""
    types = _types(graph.whole)

    def size(node: Node) -> Size:
        lines = _label(node, types)
        return _LETTER * max(map(len, lines)) + 2 * _SIDE, _LINE * len(lines) + 2 * _EDGE

    placed = layout(graph.whole, size).moved(_MARGIN, _MARGIN)
    clusters = [_cluster(box, box.item) for box in placed.boxes if isinstance(box.item, Cluster)]
    nodes = [_node(box, box.item, types) for box in placed.boxes if isinstance(box.item, Node)]
    width, height = f"{placed.width + 2 * _MARGIN:.0f}", f"{placed.height + 2 * _MARGIN:.0f}"
    svg = element(
        "svg",
        *clusters,
        *map(_line, placed.lines),
        *nodes,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=f"Graph of the network: {len(nodes)} values and operations, {len(placed.lines)} edges",
    )
    return element("figure", _tools(), scrollable(svg, "Graph of the network", "view"), class_="graph")


def _tools() -> Markup:
    names = (("out", "−", "Smaller"), ("in", "+", "Larger"), ("fit", "fit", "As wide as the page"))
    buttons = (
        element("button", sign, type="button", data_zoom=name, aria_label=title, title=title)
        for name, sign, title in names
    )
    return element("div", *buttons, class_="tools", hidden=True)


def _types(cluster: Cluster) -> dict[str, str]:
    """Return the type of each node with one value: the label that all its outgoing edges share."""
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for edge in _edges(cluster):
        labels[edge.start].add(edge.label)
    return {name: types.pop() for name, types in labels.items() if len(types) == 1}


def _edges(cluster: Cluster) -> list[Edge]:
    inside = (edge for item in cluster.items if isinstance(item, Cluster) for edge in _edges(item))
    return [*(item for item in cluster.items if isinstance(item, Edge)), *inside]


def _label(node: Node, types: dict[str, str]) -> list[str]:
    """Return the lines of a node's label: its operation, then its parameters, its name and type."""
    first, *details = node.label
    type_ = types.get(node.name, "")
    if node.kind == "constant" or not type_:
        return [first, *details]
    return [first, *details[:-1], f"{details[-1]}: {type_}"] if details else [first, type_]


def _node(box: Box, node: Node, types: dict[str, str]) -> Markup:
    lines = _label(node, types)
    x, top = round(box.x, 1), box.y - _LINE * len(lines) / 2 + 11
    written = (
        element("text", text, x=x, y=round(top + number * _LINE, 1), class_=None if number else "first")
        for number, text in enumerate(lines)
    )
    frame = _frame(box, 4 if node.kind == "operation" else 14)
    return element("g", frame, *written, class_=f"node {node.kind}")


def _cluster(box: Box, cluster: Cluster) -> Markup:
    x, y = box.x - box.width / 2 + _SIDE, box.y - box.height / 2 + 17
    title = element("text", cluster.label, x=round(x, 1), y=round(y, 1))
    return element("g", _frame(box, 6), title, class_="cluster")


def _frame(box: Box, radius: int) -> Markup:
    x, y = round(box.x - box.width / 2, 1), round(box.y - box.height / 2, 1)
    return element("rect", x=x, y=y, width=round(box.width, 1), height=round(box.height, 1), rx=radius)


def _line(line: Line) -> Markup:
    """Draw an edge as a smooth curve that is vertical at its ends and bends."""
    (x, y), *bends = line.points
    path = f"M{x:.1f} {y:.1f}"
    for across, down in bends:
        middle = (y + down) / 2
        path += f"C{x:.1f} {middle:.1f} {across:.1f} {middle:.1f} {across:.1f} {down:.1f}"
        x, y = across, down
    if line.edge.dashed:
        return element("path", d=path, class_="edge dashed")
    head = f"M{x - 3:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3:.1f} {y - 6:.1f}"
    return element("path", element("title", line.edge.label), d=path + head, class_="edge")
