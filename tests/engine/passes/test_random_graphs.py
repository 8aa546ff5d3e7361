"""On random programs the passes change no value, not even the sign of a zero."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples, many
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir import Graph, Literal, Var, verify
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.passes.algebra import apply_algebra
from wengert.engine.passes.common import merge_common
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.fold import fold_constants
from wengert.engine.passes.scatter_add import fuse_scatter_add
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import evaluate, stage

PASSES: list[Callable[[Graph], Graph]] = [
    apply_algebra,
    merge_common,
    eliminate_dead,
    fold_constants,
    simplify,
]
SHAPES = [(), (3,), (1, 3), (2, 3)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan]
WEAK = [0, 1, -1, 0.0, -0.0, 1.0, np.inf, np.nan]
UNARY = ["negative", "positive", "exp", "sqrt", "absolute", "stop_gradient", "isnan"]
BINARY = ["add", "subtract", "multiply", "divide", "multiply_no_nan", "maximum", "copysign"]


class Programs:
    """Random programs over the values made so far; neutral constants and repetitions are frequent."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def array(self, dtype: Any = np.float64) -> Any:
        shape = self.random.choice(SHAPES)
        same = self.random.random() < 0.5
        draw = [self.random.choice(SPECIAL)] * 6 if same else self.random.choices(SPECIAL, k=6)
        return np.array(draw[: int(np.prod(shape))], dtype).reshape(shape)

    def operand(self, values: Sequence[Any]) -> Any:
        kind = self.random.random()
        if kind < 0.7:
            return self.random.choice(values)
        if kind < 0.85:
            return self.random.choice(WEAK)
        return (
            self.random.choice([np.float64, np.float32])(self.random.choice(SPECIAL))
            if kind < 0.93
            else self.array()
        )

    def move(self, x: Any) -> Any:
        shape = shape_of(x)
        if not shape:
            return REGISTRY["broadcast_to"](x, shape=self.random.choice(SHAPES))
        choice = self.random.randrange(5)
        if choice == 0:
            target = self.random.choice([shape, (1, *shape), (int(np.prod(shape)),)])
            return REGISTRY["reshape"](x, shape=target)
        if choice == 1:
            order = self.random.sample(range(len(shape)), len(shape))
            return REGISTRY["transpose"](x, permutation=tuple(order))
        if choice == 2:
            return REGISTRY["broadcast_to"](x, shape=self.random.choice([shape, (2, *shape)]))
        if choice == 3:
            return REGISTRY["slice"](x, index=tuple((0, extent, 1) for extent in shape))
        return REGISTRY["reduce_sum"](x, axes=(self.random.randrange(len(shape)),))

    def step(self, values: Sequence[Any]) -> Any:
        kind = self.random.random()
        if kind < 0.2:
            return REGISTRY[self.random.choice(UNARY)](self.operand(values))
        if kind < 0.6:
            return REGISTRY[self.random.choice(BINARY)](self.operand(values), self.operand(values))
        if kind < 0.65:
            return REGISTRY["integer_power"](self.operand(values), exponent=self.random.randrange(1, 4))
        if kind < 0.72:
            return REGISTRY["cast"](self.operand(values), dtype=np.dtype(self.random.choice(["f8", "f4"])))
        if kind < 0.78:
            condition = self.random.choice([True, False, np.True_])
            return REGISTRY["where"](condition, self.operand(values), self.operand(values))
        return self.move(self.random.choice(values))

    def program(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        while len(values) < 25:
            try:
                values.append(self.step(values))
            except (ValueError, TypeError):  # shapes that do not fit, negative of a truth value
                continue
        return self.random.sample(values, 6)


def bits(value: Any) -> tuple[Any, ...]:
    """Return a key of type and bits, the same for every NaN."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.full_like(array, np.nan), array)
    return type_of(value), array.tobytes()


def fixed(graph: Graph, inputs: list[Any], count: int) -> tuple[Graph, list[Any]]:
    """Make the first inputs constants, so that there is something to compute beforehand."""
    constants = (*graph.constants, *zip(graph.inputs[:count], inputs[:count], strict=True))
    return replace(graph, inputs=graph.inputs[count:], constants=constants), inputs[count:]


def check_types(graph: Graph) -> None:
    """Check that every value has the type that its operation gives."""
    verify(graph)
    for equation in graph.equations:
        types = [operand.type for operand in equation.operands]
        inferred = REGISTRY[equation.primitive].infer(*types, **equation.params)
        expected = (inferred,) if isinstance(inferred, TensorType) else tuple(inferred)
        assert tuple(var.type for var in equation.outputs) == expected, equation.primitive


@pytest.mark.parametrize("change", PASSES, ids=lambda change: change.__name__)
@examples(60)
@given(seed=st.integers(0, 2**32))
def test_passes_keep_every_bit(change: Callable[[Graph], Graph], seed: int) -> None:
    programs = Programs(seed)
    inputs = [programs.array(), programs.array(np.float32), programs.random.choice(SPECIAL), programs.array()]
    with np.errstate(all="ignore"):
        graph, _ = stage(programs.program, list(map(type_of, inputs)))
        graph, inputs = fixed(graph, inputs, programs.random.randrange(3))
        changed = change(graph)
        check_types(changed)
        assert changed.input_types == graph.input_types
        assert changed.output_types == graph.output_types
        expected, found = evaluate(graph, *inputs), evaluate(changed, *inputs)
    assert list(map(bits, found)) == list(map(bits, expected))
    assert len(changed.equations) <= len(graph.equations)
    assert change(changed) is changed or change is not simplify


def moved(x: Any, draw: random.Random) -> Any:
    """Return elements of an array in another place: a view of some, turned, repeated or beside others."""
    shape = shape_of(x)
    kind = draw.choice(
        ["slice", "slice", "transpose", "transpose", "reshape", "broadcast_to", "concatenate", "embed"]
    )
    if kind == "slice":
        return REGISTRY[kind](x, index=tuple(taken(extent, draw) for extent in shape))
    if kind == "transpose":
        return REGISTRY[kind](x, permutation=tuple(draw.sample(range(len(shape)), len(shape))))
    if kind == "reshape":
        return REGISTRY[kind](x, shape=draw.choice([(1, *shape), (math.prod(shape),), shape[::-1]]))
    if kind == "broadcast_to":
        return REGISTRY[kind](x, shape=draw.choice([shape, (2, *shape)]))
    if kind == "concatenate":
        axis = draw.randrange(len(shape))
        return REGISTRY[kind](x, REGISTRY["negative"](x), axis=axis) if shape[axis] else x
    index = tuple((1, extent, 2) for extent in shape)
    return REGISTRY[kind](x, shape=tuple(2 * extent + 2 for extent in shape), index=index)


def taken(extent: int, draw: random.Random) -> Any:
    """Return a number of an axis, or the start, the count and the step of a part."""
    if extent and draw.random() < 0.2:
        return draw.randrange(extent)
    step = draw.choice([1, 1, 2, -1, -2])
    places = list(range(extent)[::step])[draw.randrange(2) :]
    return (places[0] if places else 0, len(places), step)


@pytest.mark.parametrize("first", range(0, 400, 100))
@pytest.mark.exhaustive
def test_merged_moves_take_the_same_elements(first: int) -> None:
    x = np.arange(1.0, 25.0).reshape(2, 3, 4)
    for seed in range(first, first + many(100)):
        draw = random.Random(seed)

        def program(x: Any, draw: random.Random = draw) -> list[Any]:
            for _ in range(6):
                x = moved(x, draw) if shape_of(x) and math.prod(shape_of(x)) < 1000 else x
            return [x]

        graph, _ = stage(program, [type_of(x)])
        changed = eliminate_dead(apply_algebra(graph))
        check_types(changed)
        assert list(map(bits, evaluate(changed, x))) == list(map(bits, evaluate(graph, x)))


@examples(100)
@given(seed=st.integers(0, 2**32))
def test_scattered_values_are_added_in_their_places(seed: int) -> None:
    """The cotangents of elements picked by one to three arrays of positions join those of the whole array."""
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((3, 4, 2)), rng.standard_normal(5)
    places = tuple(rng.integers(0, extent, 5) for extent in x.shape[: rng.integers(1, 4)])

    def gradient(x: Any, w: Any) -> Any:
        picked = x[places]
        return wg.grad(lambda x: np.sum(np.sin(x)) + np.sum((x[places].T * w).T * picked))(x)

    graph, _ = stage(gradient, [type_of(x), type_of(w)])
    changed = fuse_scatter_add(simplify(graph))
    assert "add_at" in {equation.primitive for equation in changed.equations}
    found, expected = evaluate(changed, x, w), evaluate(graph, x, w)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_simplified_programs_have_the_same_derivatives(seed: int) -> None:
    programs = Programs(seed)
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(0.5, 2.0, size=(2, 3)), rng.uniform(0.5, 2.0, size=3)]

    def total(graph: Graph) -> Callable[..., Any]:
        floats = [i for i, type_ in enumerate(graph.output_types) if type_.dtype.kind == "f"]
        return lambda *xs: sum(
            (np.sum(out) for out in _chosen(evaluate(graph, *xs), floats)), 0.0 * np.sum(xs[0])
        )

    with np.errstate(all="ignore"):
        graph, _ = stage(programs.program, list(map(type_of, inputs)))
        expected = wg.grad(total(graph), (0, 1))(*inputs)
        found = wg.grad(total(simplify(graph)), (0, 1))(*inputs)
    for one, other in zip(found, expected, strict=True):
        # A branch that is never taken makes NaN of no cotangent and an infinite factor, unless it is left out.
        np.testing.assert_allclose(np.where(np.isnan(other), other, one), other, rtol=1e-5, atol=1e-6)


def _chosen(outputs: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    return [outputs[position] for position in positions]


def test_simplify_shortens_derivatives(rng: np.random.Generator) -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ w) ** 2)

    listing = wg.trace(wg.grad(loss))(rng.normal(size=(3, 2)), rng.normal(size=(4, 3)))
    simpler = simplify(listing)
    assert len(simpler.equations) < 0.7 * len(listing.equations)
    assert {"cast", "positive"}.isdisjoint(one.primitive for one in simpler.equations)
    assert all(isinstance(atom, (Var, Literal)) for atom in simpler.outputs)
    expected, found = evaluate(listing, *listing.arguments), evaluate(simpler, *listing.arguments)
    assert bits(found[0]) == bits(expected[0])
