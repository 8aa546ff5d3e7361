"""Gathers, scatters, segment sums, sorts, places in tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from areas.families import Case, Draw, family

DERIVATIVES = ("", "pullback")


@family(rows=(20, 1000, 50000), width=(1, 64), count=(30, 10000), derivative=DERIVATIVES)
def gather_of_rows(draw: Draw, rows: int, width: int, count: int, derivative: str) -> Case:
    arguments = (draw(rows, width), draw.integers(rows, count))
    cotangent = (draw(count, width),) if derivative else ()
    return Case(lambda xp, x, index: x[index], arguments + cotangent, derivative)


@family(segments=(5, 100, 10000), width=(1, 16), count=(40, 100000), derivative=DERIVATIVES)
def segment_sum(draw: Draw, segments: int, width: int, count: int, derivative: str) -> Case:
    arguments = (draw(count, width), draw.integers(segments, count))
    cotangent = (draw(segments, width),) if derivative else ()
    return Case(
        lambda xp, x, index: xp.segment_sum(x, index, segments),
        arguments + cotangent,
        derivative,
        tolerance=1e-3,
    )


@family(nodes=(10, 1000), edges=(30, 20000), width=(4, 32))
def message_passing(draw: Draw, nodes: int, edges: int, width: int) -> Case:
    def program(xp: Any, weight: Any, x: Any, sources: Any, targets: Any) -> Any:
        received = xp.segment_sum(xp.relu(x[sources] @ weight), targets, nodes)
        return xp.mean(xp.tanh(received + x) ** 2)

    ends = (draw.integers(nodes, edges), draw.integers(nodes, edges))
    arguments = (draw.weights(width, width), draw(nodes, width), *ends)
    return Case(program, arguments, "gradient", (0, 1), tolerance=1e-3)


SORTED = {
    "sort": lambda xp, x: xp.sort(x, -1),
    "argsort": lambda xp, x: xp.argsort(x, -1),
    "median": lambda xp, x: xp.median_of_odd(x),
    "sorted weights": lambda xp, x: xp.sum(xp.sort(x, -1) * xp.cumsum(x, -1), -1),
}


@family(kind=tuple(SORTED), shape=((5, 7), (1, 100001), (1000, 101), (20000, 9)), derivative=DERIVATIVES)
def sorting(draw: Draw, kind: str, shape: tuple[int, int], derivative: str) -> Case:
    x, program = draw(*shape, dtype="f8"), SORTED[kind]  # no two are equal
    if not derivative or kind == "argsort":
        return Case(program, (x,), tolerance=1e-3)
    cotangent = draw(*shape, dtype="f8") if kind == "sort" else draw(shape[0], dtype="f8")
    return Case(program, (x, cotangent), derivative, tolerance=1e-2)


@family(table=(20, 1000, 30000), count=(1000, 30000))
def places_in_a_table(draw: Draw, table: int, count: int) -> Case:
    knots = np.sort(draw(table, dtype="f8"))
    return Case(lambda xp, knots, x: xp.searchsorted(knots, x), (knots, draw(count, dtype="f8")))


@family(table=(20, 1000, 30000), count=(1000, 30000), derivative=DERIVATIVES)
def interpolation(draw: Draw, table: int, count: int, derivative: str) -> Case:
    knots, heights, x = np.sort(draw(table, dtype="f8")), draw(table, dtype="f8"), draw(count, dtype="f8")
    cotangent = (draw(count, dtype="f8"),) if derivative else ()
    return Case(
        lambda xp, heights, x, knots: xp.interp(x, knots, heights),
        (heights, x, knots, *cotangent),
        derivative,
        tolerance=1e-9,
    )
