"""The graph of a network as SVG: operations as boxes, values flowing downwards."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from wengert.core.errors import WengertError
from wengert.core.tree import paths
from wengert.inspect import trace
from wengert.inspect.dot import Cluster, Edge, Node, Picture
from wengert.inspect.graph_drawing import Box, Line, Size, layout
from wengert.inspect.picture import graph_picture
from wengert.report.elements import Markup, element

_LETTER, _LINE = 6.7, 15.0
"""The width of a letter and the height of a line, in the page's fixed-width font of 11 pixels."""
_SIDE, _EDGE = 10.0, 6.0
"""Room at the sides of a label, and above and below."""
_MARGIN = 8.0
_LARGEST = 600
"""Operations; what has more would be a wall of boxes."""


class TooLargeError(WengertError, ValueError):
    """A graph that could not be read."""


def network_graph(model: Any, inputs: Any) -> Markup:
    """Draw what a model computes of its inputs.

    Args:
        model: a function of one array, and a container of its parameters.
        inputs: an array of the shape and dtype that it is given.

    Raises:
        TooLargeError: it has so many operations that nobody could read it.
        WengertError: the model cannot be followed.
    """
    listing = trace(_applied)(model, inputs)
    if (count := len(listing.equations)) > _LARGEST:
        raise TooLargeError(f"it has {count:,} operations, and one of more than {_LARGEST} cannot be read.")
    places = [place.removeprefix("model.") for place in listing.places]
    results = paths(listing.structure, "output")
    return drawing(graph_picture(listing, "network", places, results, {}))


def _applied(model: Any, inputs: Any) -> Any:
    return model(inputs)


def drawing(picture: Picture) -> Markup:
    """Draw a picture as a view that can be moved and enlarged."""
    types = _types(picture.whole)

    def size(node: Node) -> Size:
        lines = _label(node, types)
        return _LETTER * max(map(len, lines)) + 2 * _SIDE, _LINE * len(lines) + 2 * _EDGE

    found = layout(picture.whole, size).moved(_MARGIN, _MARGIN)
    clusters = [_cluster(box, box.item) for box in found.boxes if isinstance(box.item, Cluster)]
    nodes = [_node(box, box.item, types) for box in found.boxes if isinstance(box.item, Node)]
    width, height = f"{found.width + 2 * _MARGIN:.0f}", f"{found.height + 2 * _MARGIN:.0f}"
    told = f"Graph of the network: {len(nodes)} values and operations, {len(found.lines)} edges"
    svg = element(
        "svg",
        *clusters,
        *map(_line, found.lines),
        *nodes,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=told,
    )
    view = element("div", svg, class_="view", tabindex="0", role="region", aria_label="Graph of the network")
    return element("figure", _tools(), view, class_="graph")


def _tools() -> Markup:
    """Write the buttons, which the page's script shows and serves."""
    names = (("out", "−", "Smaller"), ("in", "+", "Larger"), ("fit", "fit", "As wide as the page"))
    buttons = (
        element("button", sign, type="button", data_zoom=name, aria_label=told, title=told)
        for name, sign, told in names
    )
    return element("div", *buttons, class_="tools", hidden=True)


def _types(cluster: Cluster) -> dict[str, str]:
    """Return the type of each node's value, where it has one value: what all edges from it are labelled with."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for edge in _edges(cluster):
        found[edge.start].add(edge.label)
    return {name: labels.pop() for name, labels in found.items() if len(labels) == 1}


def _edges(cluster: Cluster) -> list[Edge]:
    inside = (edge for item in cluster.items if isinstance(item, Cluster) for edge in _edges(item))
    return [*(item for item in cluster.items if isinstance(item, Edge)), *inside]


def _label(node: Node, types: dict[str, str]) -> list[str]:
    """Return the lines of a node: what it is, then its parameters, its name and type."""
    first, *rest = node.label
    type_ = types.get(node.name, "")
    if node.kind == "constant" or not type_:
        return [first, *rest]
    return [first, *rest[:-1], f"{rest[-1]}: {type_}"] if rest else [first, type_]


def _node(box: Box, node: Node, types: dict[str, str]) -> Markup:
    lines = _label(node, types)
    top = box.y - _LINE * len(lines) / 2 + 11
    written = (
        element(
            "text",
            text,
            x=round(box.x, 1),
            y=round(top + number * _LINE, 1),
            class_=None if number else "first",
        )
        for number, text in enumerate(lines)
    )
    return element(
        "g", _frame(box, 4 if node.kind == "operation" else 14), *written, class_=f"node {node.kind}"
    )


def _cluster(box: Box, cluster: Cluster) -> Markup:
    x, y = box.x - box.width / 2 + _SIDE, box.y - box.height / 2 + 17
    title = element("text", cluster.label, x=round(x, 1), y=round(y, 1))
    return element("g", _frame(box, 6), title, class_="cluster")


def _frame(box: Box, radius: int) -> Markup:
    x, y = round(box.x - box.width / 2, 1), round(box.y - box.height / 2, 1)
    return element("rect", x=x, y=y, width=round(box.width, 1), height=round(box.height, 1), rx=radius)


def _line(line: Line) -> Markup:
    """Draw an edge as a smooth curve, upright where it begins, bends and ends."""
    (x, y), *rest = line.points
    path = f"M{x:.1f} {y:.1f}"
    for across, down in rest:
        middle = (y + down) / 2
        path += f"C{x:.1f} {middle:.1f} {across:.1f} {middle:.1f} {across:.1f} {down:.1f}"
        x, y = across, down
    if line.edge.dashed:
        return element("path", d=path, class_="edge dashed")
    head = f"M{x - 3:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3:.1f} {y - 6:.1f}"
    return element("path", element("title", line.edge.label), d=path + head, class_="edge")
