"""Drawings of graphs: nodes do not overlap, edges lead downwards, clusters contain their nodes."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.inspect.dot import Cluster, Edge, Node, Picture
from wengert.inspect.graph_drawing import layout
from wengert.inspect.picture import graph_picture


def size(node):
    return 20.0 + 7 * len(node.label[0]), 15.0 * len(node.label)


@st.composite
def pictures(draw):
    """Draw nodes with edges from earlier ones, some of them in clusters with an edge to the outside."""
    picture = Picture("drawn")
    names = []
    for _ in range(draw(st.integers(0, 12))):
        inner = []
        if draw(st.integers(0, 4)) == 0:
            picture.begin("inside")
            inner = [
                picture.node("operation", "x" * draw(st.integers(1, 20)))
                for _ in range(draw(st.integers(1, 3)))
            ]
            for start, end in pairwise(inner):
                picture.edge(start, end)
            picture.end()
        node = picture.node("operation", *["name"] * draw(st.integers(1, 3)))
        for start in draw(st.lists(st.sampled_from(names), max_size=3)) if names else ():
            picture.edge(start, node)
        if inner:
            picture.edge(inner[-1], node, dashed=True)
        names.append(node)
    return picture


def inside(cluster):
    """Return all items of a cluster, at any depth."""
    for item in cluster.items:
        yield item
        if isinstance(item, Cluster):
            yield from inside(item)


def overlap(first, second):
    across = abs(first.x - second.x) < (first.width + second.width) / 2 - 1e-6
    return across and abs(first.y - second.y) < (first.height + second.height) / 2 - 1e-6


def holds(outer, inner):
    return (
        abs(outer.x - inner.x) <= (outer.width - inner.width) / 2
        and abs(outer.y - inner.y) <= (outer.height - inner.height) / 2
    )


def check(picture):
    drawing = layout(picture.whole, size)
    boxes = {box.item: box for box in drawing.boxes}
    items = list(inside(picture.whole))
    assert len(drawing.boxes) == len(boxes) == sum(not isinstance(item, Edge) for item in items)
    whole = drawing.width / 2, drawing.height / 2
    for box in drawing.boxes:
        assert abs(box.x - whole[0]) + box.width / 2 <= whole[0] + 1e-6
        assert abs(box.y - whole[1]) + box.height / 2 <= whole[1] + 1e-6
        if isinstance(box.item, Cluster):
            mine = set(inside(box.item))
            for item, other in boxes.items():
                if item is not box.item:
                    assert holds(box, other) if item in mine else not overlap(box, other) or holds(other, box)
    nodes = {item.name: box for item, box in boxes.items() if isinstance(item, Node)}
    assert not [pair for pair in combinations(nodes.values(), 2) if overlap(*pair)]
    assert sorted(line.edge for line in drawing.lines) == sorted(
        item for item in items if isinstance(item, Edge)
    )
    for line in drawing.lines:
        assert all(upper[1] < lower[1] for upper, lower in pairwise(line.points))
        end = nodes[line.edge.end]
        assert line.points[-1] == pytest.approx((end.x, end.y - end.height / 2))
        if not line.edge.dashed:
            start = nodes[line.edge.start]
            assert line.points[0] == pytest.approx((start.x, start.y + start.height / 2))
    return drawing


@given(pictures())
def test_pictures(picture):
    check(picture)


def test_a_chain_is_straight_and_its_operands_stand_beside_it():
    picture = Picture("chain")
    before = picture.node("variable", "x")
    for _ in range(8):
        weight, node = picture.node("variable", "weight"), picture.node("operation", "multiply")
        picture.edge(before, node)
        picture.edge(weight, node)
        before = node
    drawing = check(picture)
    spine = [box.x for box in drawing.boxes if box.item.label == ("multiply",)]
    assert max(spine) - min(spine) < 60
    assert drawing.height < 9 * 15 + 8 * 40


def test_edges_do_not_cross_where_they_need_not():
    picture = Picture("pairs")
    above = [picture.node("variable", str(number)) for number in range(4)]
    below = [picture.node("operation", str(number)) for number in range(4)]
    for start, end in zip(above, reversed(below), strict=True):
        picture.edge(start, end)
    lines = check(picture).lines
    order = sorted(line.points[0][0] for line in lines)
    assert [line.points[-1][0] for line in sorted(lines, key=lambda line: line.points[0])] == sorted(
        line.points[-1][0] for line in lines
    )
    assert len(set(order)) == 4


def test_programs_with_programs_inside():
    def f(x):
        return wg.cond(x > 0, lambda x: wg.fori_loop(0, 3, lambda _, v: v * v, x), np.cos, x)

    listing = wg.trace(f)(2.0)
    check(graph_picture(listing, "f", listing.places, ["y"], {}))
