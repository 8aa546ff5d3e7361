"""Layered graph drawing, with every edge downwards (Sugiyama, Tagawa and Toda, 1981).

Layers come from longest paths, the order inside a layer from barycentres, and the coordinates along a layer from least
squares: each part is as near to its neighbours as the others allow. A cluster is laid out first, and then is one part.
"""

from __future__ import annotations

import graphlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.inspect.dot import Cluster, Edge, Node

ACROSS, DOWN = 18.0, 34.0
"""The distance between neighbours in a layer, and between layers."""
_INSIDE, _TITLE = 14.0, 22.0
"""The padding inside a cluster's border, and the height of its label."""
_SWEEPS = 12
_BEND, _SOURCE = 4.0, 0.01
"""The weights of the bends of a long edge, and of parts without incoming edges, where other parts weigh 1: long edges
and the way from one operation to the next should be straight."""

Point = tuple[float, float]
Size = tuple[float, float]


class Box(NamedTuple):
    """A node or a cluster with its position."""

    item: Node | Cluster
    x: float
    """Of the centre."""
    y: float
    """Of the centre."""
    width: float
    height: float


class Line(NamedTuple):
    """An edge as a polyline, downwards."""

    edge: Edge
    points: tuple[Point, ...]


class Layout(NamedTuple):
    """Boxes, each cluster before its contents, and lines, in a picture of the given size."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]

    def moved(self, x: float, y: float) -> Layout:
        """Return the layout moved to the right and down."""
        boxes = tuple(box._replace(x=box.x + x, y=box.y + y) for box in self.boxes)
        lines = tuple(
            line._replace(points=tuple((a + x, b + y) for a, b in line.points)) for line in self.lines
        )
        return self._replace(boxes=boxes, lines=lines)


class _Part:
    """A node, a cluster, or the point where a long edge crosses a layer (without an item)."""

    def __init__(self, item: Node | Cluster | None, size: Size, inside: Layout | None = None) -> None:
        self.item, self.inside = item, inside
        self.width, self.height = size
        self.layer = 0
        self.x = self.y = 0.0
        self.above: list[_Part] = []
        self.below: list[_Part] = []

    @property
    def weight(self) -> float:
        return _BEND if self.item is None else 1.0 if self.above else _SOURCE


def layout(cluster: Cluster, size: Callable[[Node], Size]) -> Layout:
    """Return the layout of the contents of a cluster, whose edges, and those of its clusters, have no cycle."""
    parts, owner = _parts(cluster, size)
    edges = [item for item in cluster.items if isinstance(item, Edge)]
    _assign_layers(parts, edges, owner)
    layers: defaultdict[int, list[_Part]] = defaultdict(list)
    for part in parts:
        layers[part.layer].append(part)
    routes = [_route(owner[edge.start], owner[edge.end], layers) for edge in edges]
    rows = [layers[number] for number in sorted(layers)]
    _order(rows)
    _place_across(rows)
    _place_down(rows)
    return _result(rows, list(zip(edges, routes, strict=True)))


def _parts(cluster: Cluster, size: Callable[[Node], Size]) -> tuple[list[_Part], dict[str, _Part]]:
    """Return the parts of a cluster, and the part of each node."""
    parts: list[_Part] = []
    owner: dict[str, _Part] = {}
    for item in cluster.items:
        if isinstance(item, Node):
            parts.append(_Part(item, size(item)))
            owner[item.name] = parts[-1]
        elif isinstance(item, Cluster):
            inside = layout(item, size)
            whole = inside.width + 2 * _INSIDE, inside.height + 2 * _INSIDE + _TITLE
            parts.append(_Part(item, whole, inside))
            named = (box.item for box in inside.boxes)
            owner |= {node.name: parts[-1] for node in named if isinstance(node, Node)}
    return parts, owner


def _assign_layers(parts: Sequence[_Part], edges: Sequence[Edge], owner: dict[str, _Part]) -> None:
    """Put each part below its predecessors: as high as possible; as low as possible if it has more successors."""
    before: dict[_Part, set[_Part]] = {part: set() for part in parts}
    after: dict[_Part, set[_Part]] = {part: set() for part in parts}
    for edge in edges:
        start, end = owner[edge.start], owner[edge.end]
        before[end].add(start)
        after[start].add(end)
    order = list(graphlib.TopologicalSorter(before).static_order())
    for part in order:
        part.layer = max((above.layer + 1 for above in before[part]), default=0)
    for part in reversed(order):
        if after[part] and len(before[part]) <= len(after[part]):
            part.layer = min(below.layer for below in after[part]) - 1


def _route(start: _Part, end: _Part, layers: dict[int, list[_Part]]) -> list[_Part]:
    """Return the parts along an edge, with a new part in each layer that it crosses."""
    route = [start]
    for layer in range(start.layer + 1, end.layer):
        bend = _Part(None, (2.0, 0.0))
        bend.layer = layer
        layers[layer].append(bend)
        route.append(bend)
    route.append(end)
    for upper, lower in itertools.pairwise(route):
        upper.below.append(lower)
        lower.above.append(upper)
    return route


# -- the order inside a layer ----------------------------------------------------------------------------


def _order(rows: list[list[_Part]]) -> None:
    """Sort each layer by the barycentres of neighbours, down and up, and keep the order with the fewest crossings."""
    best, fewest = [list(row) for row in rows], _crossings(rows)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            _number(rows)
            row.sort(key=lambda part: _middle(part.above if down else part.below, part.x))
        _number(rows)
        if (count := _crossings(rows)) < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best
    _number(rows)


def _number(rows: Sequence[Sequence[_Part]]) -> None:
    for row in rows:
        for number, part in enumerate(row):
            part.x = float(number)


def _middle(neighbours: Sequence[_Part], otherwise: float) -> float:
    return sum(part.x for part in neighbours) / len(neighbours) if neighbours else otherwise


def _crossings(rows: Sequence[Sequence[_Part]]) -> int:
    """Return the number of crossings of edges between neighbouring layers."""
    _number(rows)
    count = 0
    for row in rows:
        ends = [lower.x for part in row for lower in sorted(part.below, key=lambda part: part.x)]
        count += sum(left > right for i, left in enumerate(ends) for right in ends[i + 1 :])
    return count


# -- coordinates ----------------------------------------------------------------------------------------------


def _place_across(rows: Sequence[Sequence[_Part]]) -> None:
    """Move each layer as near to its neighbours as its order and the widths of its parts allow."""
    for row in rows:
        _settle(row, [0.0] * len(row))
    for sweep in range(2 * _SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            _settle(row, [_pulled(part) for part in row])


def _pulled(part: _Part) -> float:
    """Return the weighted mean of the neighbours of a part."""
    neighbours = part.above + part.below
    total = sum(neighbour.weight for neighbour in neighbours)
    return sum(n.weight * n.x for n in neighbours) / total if neighbours else part.x


def _settle(row: Sequence[_Part], wanted: Sequence[float]) -> None:
    """Place parts in order and without overlap, at the least squared distance from the wanted positions.

    After subtracting the room to the left of each part, this is isotonic regression: neighbours in the wrong order are
    put together at the mean of their wanted positions (pool adjacent violators).
    """
    room = [0.0]
    for left, right in itertools.pairwise(row):
        room.append(room[-1] + (left.width + right.width) / 2 + ACROSS)
    pools: list[tuple[float, float, int]] = []  # position, weight, number of parts
    for part, want, taken in zip(row, wanted, room, strict=True):
        place, weight, count = want - taken, part.weight, 1
        while pools and pools[-1][0] >= place:
            mean, more, others = pools.pop()
            place = (place * weight + mean * more) / (weight + more)
            weight, count = weight + more, count + others
        pools.append((place, weight, count))
    places = [place for place, _, count in pools for _ in range(count)]
    for part, place, taken in zip(row, places, room, strict=True):
        part.x = place + taken


def _place_down(rows: Sequence[Sequence[_Part]]) -> None:
    top = 0.0
    for row in rows:
        height = max(part.height for part in row)
        for part in row:
            part.y = top + height / 2
        top += height + DOWN


def _result(rows: Sequence[Sequence[_Part]], routes: Sequence[tuple[Edge, list[_Part]]]) -> Layout:
    parts = [part for row in rows for part in row]
    left = min((part.x - part.width / 2 for part in parts), default=0.0)
    right = max((part.x + part.width / 2 for part in parts), default=0.0)
    bottom = max((part.y + part.height / 2 for part in parts), default=0.0)
    boxes: list[Box] = []
    lines: list[Line] = []
    for part in parts:
        if part.item is None:
            continue
        boxes.append(Box(part.item, part.x, part.y, part.width, part.height))
        if part.inside is not None:
            corner = part.x - part.width / 2 + _INSIDE, part.y - part.height / 2 + _INSIDE + _TITLE
            inside = part.inside.moved(*corner)
            boxes += inside.boxes
            lines += inside.lines
    lines += [Line(edge, _points(route)) for edge, route in routes]
    return Layout(right - left, bottom, tuple(boxes), tuple(lines)).moved(-left, 0.0)


def _points(route: Sequence[_Part]) -> tuple[Point, ...]:
    first, last = route[0], route[-1]
    start, end = (first.x, first.y + first.height / 2), (last.x, last.y - last.height / 2)
    return (start, *((bend.x, bend.y) for bend in route[1:-1]), end)
