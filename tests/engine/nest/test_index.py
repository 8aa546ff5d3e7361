"""Indices: arithmetic, digits, bounds and bijections, against counting."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.core.dtypes import FLOAT64, INT64
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Guard,
    Iota,
    Load,
    Reduce,
    free_dims,
    instantiate,
)
from wengert.engine.nest.index import Digit, Dim, Index, flatten, reshaped, unflatten
from wengert.engine.nest.nest import Nest, Store
from wengert.engine.nest.rewrite import bijection
from wengert.engine.nest.split import is_affine, split_digits

Point = Mapping[Dim, int]


def value(index: Index, point: Point) -> int:
    """Return what an index is at a point."""
    total = index.offset
    for term, coefficient in index.terms:
        if isinstance(term, Dim):
            total += coefficient * point[term]
        else:
            assert isinstance(term, Digit)
            total += coefficient * (value(term.index, point) // term.divisor % term.modulus)
    return total


def points(dims: Sequence[Dim]) -> Iterator[Point]:
    for counts in itertools.product(*(range(dim.extent) for dim in dims)):
        yield dict(zip(dims, counts, strict=True))


extents = st.integers(1, 6)
dims = st.lists(extents, min_size=1, max_size=3).map(lambda many: [Dim(extent) for extent in many])


@st.composite
def indices(draw: st.DrawFn, over: Sequence[Dim], low: int = -3) -> Index:
    """Draw a sum of dimensions."""
    total = Index(draw(st.integers(low, 5)))
    for dim in over:
        total += Index.of(dim) * draw(st.integers(low, 4))
    return total


@given(st.data())
def test_numbers_at_points(data: st.DataObject) -> None:
    """At one point, at many points at once, and where a dimension is not known."""
    over = data.draw(dims)
    index = data.draw(indices(over, low=0)).digit(2, 3) * 5 + data.draw(indices(over))
    everywhere = list(points(over))
    for point in everywhere:
        assert index.at(lambda term, point=point: point[term]) == value(index, point)  # pyright: ignore[reportArgumentType]
    columns = {dim: np.array([point[dim] for point in everywhere]) for dim in over}
    found = index.at(lambda term: columns[term])  # pyright: ignore[reportArgumentType]
    expected = [value(index, point) for point in everywhere]
    np.testing.assert_array_equal(np.broadcast_to(found, len(everywhere)), expected)
    known = index.at(lambda term: None if term is over[0] else columns[term])  # pyright: ignore[reportArgumentType]
    assert (known is None) == (over[0] in index.dims())


@given(st.data())
def test_arithmetic(data: st.DataObject) -> None:
    over = data.draw(dims)
    one, other = data.draw(indices(over)), data.draw(indices(over))
    factor = data.draw(st.integers(-3, 3))
    for point in points(over):
        x, y = value(one, point), value(other, point)
        assert value(one + other, point) == x + y
        assert value(one - other, point) == x - y
        assert value(one * factor + 2, point) == x * factor + 2
    assert (one - one).terms == ()


@given(st.data())
def test_bounds_are_reached(data: st.DataObject) -> None:
    over = data.draw(dims)
    index = data.draw(indices(over))
    found = [value(index, point) for point in points(over)]
    assert (min(found), max(found)) == index.bounds


@given(st.data())
def test_digits(data: st.DataObject) -> None:
    over = data.draw(dims)
    index = data.draw(indices(over, low=0))
    divisor, modulus = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    digit = index.digit(divisor, modulus)
    low, high = digit.bounds
    for point in points(over):
        assert value(digit, point) == value(index, point) // divisor % modulus
        assert low <= value(digit, point) <= high


@given(st.data())
def test_digits_of_digits(data: st.DataObject) -> None:
    over = data.draw(dims)
    index = data.draw(indices(over, low=0)).digit(data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9)))
    again = (index * 2 + 1).digit(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5)))
    new = [Dim(dim.extent + 1) for dim in over]
    given_ = {old: Index.of(dim) + 1 for old, dim in zip(over, new, strict=True)}
    moved = again.substitute(lambda term: given_.get(term))  # pyright: ignore[reportArgumentType, reportCallIssue]
    for point in points(new):
        shifted = {old: point[dim] + 1 if dim.extent > 1 else 1 for old, dim in zip(over, new, strict=True)}
        assert value(moved, point) == value(again, shifted)


@given(st.lists(st.integers(1, 4), max_size=3), st.data())
def test_positions_in_an_array(shape: list[int], data: st.DataObject) -> None:
    over = [Dim(extent) for extent in shape]
    position = flatten(map(Index.of, over), shape)
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    for point in points(over):
        assert value(position, point) == numbers[tuple(point[dim] for dim in over)]
    other = tuple(data.draw(st.permutations(shape)))
    apart = unflatten(position, other)
    for point in points(over):
        place = np.unravel_index(value(position, point), other) if other else ()
        assert [value(index, point) for index in apart] == list(place)


@given(st.data())
def test_a_bijection_is_one(data: st.DataObject) -> None:
    over = data.draw(
        st.lists(st.integers(1, 3), min_size=1, max_size=3).map(lambda many: [Dim(n) for n in many])
    )
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=2))
    found = [
        sum((Index.of(dim) * data.draw(st.sampled_from((0, 1, 1, 2, 3))) for dim in over), Index(0))
        for _ in shape
    ]
    places = [tuple(value(index, point) for index in found) for point in points(over)]
    everywhere = sorted(places) == sorted(itertools.product(*map(range, shape)))
    if bijection(found, shape, over):
        assert everywhere


def test_the_usual_bijections_are_known() -> None:
    i, j = Dim(3), Dim(4)
    assert bijection([Index.of(i), Index.of(j)], (3, 4), (i, j))
    assert bijection([Index.of(j), Index.of(i)], (4, 3), (i, j))
    assert bijection([Index.of(i) * 4 + Index.of(j)], (12,), (i, j))
    assert not bijection([Index.of(i) * 4 + Index.of(j)], (13,), (i, j))
    assert not bijection([Index.of(i) * 3 + Index.of(j)], (12,), (i, j))
    assert not bijection([Index.of(i)], (3,), (i, j))
    assert not bijection([Index.of(i) + 1], (3,), (i,))


@given(st.data())
def test_split_dimensions_run_through_the_same_elements(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from((1, 2, 3, 4, 6)), min_size=1, max_size=3))
    over = [Dim(extent) for extent in shape]
    other = tuple(data.draw(st.permutations(shape)))
    position = flatten(map(Index.of, over), shape)
    source, target = Buffer(FLOAT64, other), Buffer(FLOAT64, tuple(shape))
    kept = tuple(dim for dim in over if dim.extent > 1)
    store = Store(target, tuple(map(Index.of, over)), Load(source, unflatten(position, other)))
    nest = split_digits(Nest(kept, (store,)))
    found = np.full(shape, -1)
    numbers = np.arange(found.size).reshape(other)
    (split,) = nest.stores
    assert isinstance(split.value, Load)
    for point in points(nest.dims):
        place = tuple(value(index, point) for index in split.indices)
        assert found[place] == -1
        found[place] = numbers[tuple(value(index, point) for index in split.value.indices)]
    np.testing.assert_array_equal(found, numbers.reshape(shape))


def test_a_reshape_of_factors_becomes_affine() -> None:
    i, j = Dim(6), Dim(4)
    source, target = Buffer(FLOAT64, (3, 8)), Buffer(FLOAT64, (6, 4))
    apart = unflatten(Index.of(i) * 4 + Index.of(j), (3, 8))
    nest = Nest((i, j), (Store(target, (Index.of(i), Index.of(j)), Load(source, apart)),))
    assert not is_affine(nest)
    assert is_affine(split_digits(nest))


def test_expressions_at_other_indices_have_sums_of_their_own() -> None:
    i, k, other = Dim(3), Dim(4), Dim(7)
    x = Buffer(FLOAT64, (3, 4))
    zero = Const(np.float64(0), FLOAT64)
    body = Guard(((Index.of(k) - Index.of(i), 4),), Load(x, (Index.of(i), Index.of(k))), zero)
    whole = Apply("add", (Reduce("add", (k,), body, FLOAT64), Iota(Index.of(i), INT64)), FLOAT64)
    assert free_dims(whole) == {i}
    moved = instantiate(whole, [i], [Index.of(other) * 2 + 1])
    assert free_dims(moved) == {other}
    assert isinstance(moved, Apply)
    (new,) = moved.operands[0].dims  # pyright: ignore[reportAttributeAccessIssue]
    assert new is not k
    assert new.extent == 4
    assert free_dims(whole) == {i}


@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_reshaped_elements(shape: list[int], data: st.DataObject) -> None:
    other = data.draw(st.permutations(shape))
    cut = data.draw(st.integers(0, len(other)))
    new = (*other[:cut], int(np.prod(other[cut:]))) if data.draw(st.booleans()) else (*other, 1)
    over = [Dim(extent) for extent in new]
    found = reshaped(tuple(map(Index.of, over)), new, tuple(shape))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    for point in points(over):
        place = tuple(value(index, point) for index in found)
        assert numbers[place] == numbers.reshape(new)[tuple(point[dim] for dim in over)]


def test_digits_of_what_may_be_negative_may_lie_outside() -> None:
    """The remainder of a negative number is negative: such a load must stay behind its guard."""
    i = Dim(6, "i")
    assert (Index.of(i) - 3).digit(2, 4).bounds == (-3, 3)
    assert Index.of(i).digit(2, 4).bounds == (0, 2)
    x, k = np.arange(24.0).reshape(6, 4), np.array([5, 2, 0, 4, 1, 3])
    for shift in (1, 2, -3):
        rolled = wg.jit(lambda x, k, shift=shift: np.roll(x[k].reshape(4, 6), shift, 0))(x, k)
        np.testing.assert_array_equal(rolled, np.roll(x[k].reshape(4, 6), shift, 0))
