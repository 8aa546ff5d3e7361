"""Views of views: NumPy's meaning, and time that is linear in the length of a chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.modes import assert_gradient, assert_same, in_batch, in_graph, on_duals, on_tape
from wengert.engine.ops.shape import draw_index, numpy_index

Array = np.ndarray[Any, Any]
Step = Callable[[Any], Any]


def draw_step(draw: HypothesisDraw, shape: tuple[int, ...]) -> Step:
    """Draw an operation that takes a view of an array of a shape."""
    kind = draw.choice(["part", "part", "transpose", "new", "squeeze", "reshape", "ravel", "whole"])
    if kind == "part":
        index = numpy_index(draw_index(draw, shape))
        return lambda x: x[(*index, ...)]
    if kind == "transpose":
        order = draw.rng.permutation(len(shape))
        return lambda x: np.transpose(x, tuple(map(int, order)))
    if kind == "new":
        axis = draw.integer(0, len(shape))
        return lambda x: np.expand_dims(x, axis) if axis % 2 else x[(slice(None),) * axis + (None,)]
    if kind == "reshape":
        return lambda x: np.reshape(x, (*shape[:-2], -1) if np.prod(shape, dtype=int) else shape)
    steps: dict[str, Step] = {"squeeze": np.squeeze, "ravel": np.ravel, "whole": lambda x: x[...]}
    return steps[kind]


@given(st.data())
@examples(150)
def test_chains_of_views_are_written_and_read_as_in_numpy(data: Any) -> None:
    draw = HypothesisDraw(data)
    x = draw.array((3, 1, 4) if draw.choice([True, False]) else draw.shape(1, 3))
    steps: list[tuple[Step, str]] = []
    shadow: Any = x.copy()
    for _ in range(draw.integer(1, 6)):
        step = draw_step(draw, np.shape(shadow))
        shadow = step(shadow)
        steps.append((step, draw.choice(["nothing", "this", "an older", "the first"])))

    def program(x: Any) -> Any:
        views = [x.copy()]
        for number, (step, written) in enumerate(steps):
            views.append(step(views[-1]))
            target = {"this": views[-1], "an older": views[number // 2], "the first": views[0]}.get(written)
            if target is not None:
                target[...] = target * (number + 2.0)
        return sum(np.sum(view * (number + 1.0)) for number, view in enumerate(views))

    for run in (on_tape, on_duals, in_batch, in_graph):
        assert_same(run(program, x), program(x))
    assert_gradient(program, x)


CHAINS: dict[str, Step] = {
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.T,
    "whole": lambda x: x[:, :],
    "new axes": lambda x: np.swapaxes(x[None], 0, 1)[:, 0],
    "reshaped": lambda x: np.reshape(np.ravel(x), (4, 4)),
    "reversed and transposed": lambda x: x[:, ::-1].T,
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("written", ["each", "last", "first"])
def test_writes_through_chains_of_views_take_operations_in_proportion_to_their_length(
    name: str, written: str
) -> None:
    def program(length: int) -> Step:
        def run(x: Any) -> Any:
            x = x * 1.0
            views = [x]
            for _ in range(length):
                views.append(CHAINS[name](views[-1]))
                if written == "each":
                    views[-1][...] = views[-1] * 2.0
                elif written == "first":
                    x[0, 0] = 1.0
            for _ in range(length if written == "last" else 0):
                views[-1][...] = views[-1] * 2.0
            return np.sum(x) + np.sum(views[-1])

        return run

    short, long = (len(wg.trace(program(length))(np.ones((4, 4))).equations) for length in (16, 48))
    assert long < 3.2 * short


def test_a_part_of_a_new_axis_without_elements() -> None:
    def program(x: Any) -> Any:
        x = x * 1.0
        empty = x[None][:0]
        empty[...] = 2.0
        return np.sum(x) + np.sum(empty)

    assert_gradient(program, np.ones((2, 3)))
