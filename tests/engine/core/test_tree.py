"""Trees: containers flattened and unflattened."""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.engine.transforms.containers import TREE, Frozen, Layer, Pair, Point
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError

keys = st.one_of(st.text(max_size=2), st.integers(0, 5))
trees = st.recursive(
    st.one_of(st.integers(), st.floats(allow_nan=False), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Point, x=inner, y=inner),
        st.builds(Layer, inner, inner, st.integers(0, 3)),
        st.dictionaries(keys, inner, max_size=2).map(OrderedDict),
    ),
    max_leaves=10,
)


@given(trees)
def test_flatten_and_unflatten_are_inverse(value: Any) -> None:
    leaves, structure = tree.flatten(value)
    again = tree.unflatten(structure, leaves)
    assert again == value
    assert type(again) is type(value)
    assert structure.leaf_count() == len(leaves) == len(tree.leaves(value)) == len(tree.paths(structure))
    assert tree.flatten(again) == (leaves, structure)
    assert hash(tree.flatten(again)[1]) == hash(structure)


@given(trees, trees, st.integers(0))
def test_a_taker_takes_apart_what_has_its_structure(value: Any, part: Any, place: int) -> None:
    leaves, structure = tree.flatten(value)
    take = tree.taker(structure)
    actual: list[Any] = []
    assert take(copy.copy(value), actual)
    assert actual == leaves
    changed = [*leaves[:place], part, *leaves[place + 1 :]][: len(leaves)]
    other = tree.unflatten(structure, changed)  # a container may replace a leaf
    others: list[Any] = []
    assert take(other, others)
    assert others == changed
    for more in ([value], (value, part), {"x": value}):
        taken: list[Any] = []
        assert not take(more, taken) or tree.unflatten(structure, taken) == more


def test_a_taker_takes_dicts_in_their_order_only() -> None:
    take = tree.taker(tree.flatten({"b": 1, "a": 2})[1])
    actual: list[Any] = []
    assert take({"b": 3, "a": 4}, actual)
    assert actual == [4, 3]
    for other in ({"a": 4, "b": 3}, {"b": 3}, {"b": 3, "c": 4}, OrderedDict(b=3, a=4)):
        assert not take(other, [])


def test_a_taker_wants_the_same_settings() -> None:
    take = tree.taker(tree.flatten(Layer(1.0, 2.0, 3))[1])
    assert take(Layer(4.0, 5.0, 3), [])
    assert not take(Layer(4.0, 5.0, 4), [])
    assert not take(Layer(4.0, 5.0, True), [])
    incomplete = Layer(4.0, 5.0, 3)
    del incomplete.weight
    assert not take(incomplete, [])


def test_a_maker_makes_dicts_in_their_order() -> None:
    make = tree.maker(tree.flatten({"b": 1, "a": [2, 3]})[1])
    for _ in range(2):
        made = make(iter([20, 30, 10]))
        assert (made, list(made)) == ({"b": 10, "a": [20, 30]}, ["b", "a"])


@given(trees)
def test_children_are_the_parts_in_the_order_of_the_leaves(value: Any) -> None:
    parts = tree.children(value)
    if parts is None:
        assert value is None or tree.leaves(value) == [value]
    else:
        assert [leaf for part in parts.values() for leaf in tree.leaves(part)] == tree.leaves(value)


@given(trees)
def test_paths_lead_to_the_leaves(value: Any) -> None:
    leaves, structure = tree.flatten(value)
    for path, leaf in zip(tree.paths(structure), leaves, strict=True):
        assert eval(f"value{path}", {"value": value}) is leaf


def test_paths_of_a_model() -> None:
    _, structure = tree.flatten({"layers": [Layer(1.0, Point(2.0, 3.0))]})
    assert tree.paths(structure) == ["['layers'][0].weight", "['layers'][0].bias[0]", "['layers'][0].bias[1]"]


def test_kinds_of_containers_are_kept() -> None:
    doubled = tree.map_tree(lambda leaf: leaf * 2, TREE)
    assert tree.flatten(doubled)[1] == tree.flatten(TREE)[1]
    assert type(doubled["ordered"]) is OrderedDict
    assert type(doubled["named"].right) is Point
    assert doubled["layer"].power == 2
    assert doubled["tuple"][1:] == (None, ())
    grouped = tree.map_tree(lambda leaf: leaf + 1, defaultdict(list, b=1, a=2))
    assert grouped["missing"] == []


def test_leaves_of_dicts_come_by_key_and_their_items_as_they_were() -> None:
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    mixed = {"b": 1, 0: 2, (1,): 3}
    leaves, structure = tree.flatten(mixed)
    assert list(tree.unflatten(structure, leaves).items()) == list(mixed.items())
    assert tree.map_tree(lambda a, b: a + b, {"b": 1, "a": 2}, {"a": 10, "b": 20}) == {"a": 12, "b": 21}


def test_a_dataclass_is_put_together_without_its_init() -> None:
    values, structure = tree.flatten(Frozen([np.ones(2)]))
    filled = tree.unflatten(structure, ["no array"])
    assert filled.inner == ["no array"]
    assert filled.name == "frozen"
    assert len(values) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        filled.name = "other"


def test_settings_are_part_of_the_structure() -> None:
    assert tree.flatten(Layer(1.0, 2.0, power=2))[1] != tree.flatten(Layer(1.0, 2.0, power=3))[1]


def test_classes_arrays_and_strings_are_leaves() -> None:
    for leaf in (Layer, np.ones((2, 2)), "text", b"bytes", {1, 2}, range(3), 1.5):
        assert len(tree.leaves(leaf)) == 1


@pytest.mark.parametrize(
    ("first", "second", "expected", "actual"),
    [
        ([1, 2], [1], "[*, *]", "[*]"),
        ([1], (1,), "[*]", "(*,)"),
        ({"a": 1}, {"b": 1}, "{'a': *}", "{'b': *}"),
        (1, None, "*", "None"),
        (Layer(1, 2), Layer(1, None), "Layer('weight': *, 'bias': *)", "Layer('weight': *, 'bias': None)"),
    ],
)
def test_different_containers(first: Any, second: Any, expected: str, actual: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        tree.map_tree(lambda a, b: a, first, second)
    assert f"map_tree: containers must have the structure {expected}; got {actual}" in str(caught.value)
    assert "[test_tree.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("container", "shown"),
    [
        ((1,), "(*,)"),
        ((1, 2), "(*, *)"),
        ([1], "[*]"),
        ((), "()"),
        ({}, "{}"),
        ([], "[]"),
        ({"a": (1,)}, "{'a': (*,)}"),
    ],
)
def test_structures_are_shown_as_python_writes_them(container: Any, shown: str) -> None:
    assert tree.show(tree.flatten(container)[1]) == shown


class Result(Pair):
    """A named tuple with attributes, as the results of SciPy's tests have."""


def _result(x: Any, inner: Any, text: Any) -> Result:
    made = Result(x, 2 * x)
    vars(made).update(count=inner, kind=text, _type=np.dtype(float))
    return made


@given(st.floats(-1, 1), trees, st.text(max_size=3))
def test_attributes_beside_the_fields_are_kept(x: float, inner: Any, text: str) -> None:
    value = [_result(x, inner, text)]
    leaves, structure = tree.flatten(value)
    (again,) = tree.unflatten(structure, leaves)
    assert (again, type(again)) == (value[0], Result)
    assert vars(again) == vars(value[0])
    taken: list[Any] = []
    assert tree.taker(structure)(value, taken)
    assert taken == leaves
    assert not tree.taker(structure)([_result(x, inner, text + "!")], taken)
    assert not tree.taker(structure)([Result(x, 2 * x)], taken)
    parts = tree.children(value[0])
    assert parts is not None
    assert [leaf for part in parts.values() for leaf in tree.leaves(part)] == leaves
    assert len(tree.paths(structure)) == len(leaves)


def test_attributes_of_results_and_arguments_in_every_mode() -> None:
    program = lambda x: _result(np.sum(x * x), x, "two-sided")  # noqa: E731
    x = np.array([1.0, 3.0])
    found = wg.jit(program)(x)
    for again in (found, wg.jit(program)(x), wg.jvp(program, (x,), (x,))[0]):
        assert (again, again.kind, again._type) == ((10.0, 20.0), "two-sided", np.dtype(float))
        np.testing.assert_array_equal(again.count, x)
    np.testing.assert_array_equal(wg.vmap(program)(np.stack([x, x])).count, [x, x])
    slope = wg.grad(lambda r: r[0] * np.sum(r.count))(_result(2.0, x, "a"))
    assert (slope[0], slope.kind) == (4.0, "a")
    np.testing.assert_array_equal(slope.count, [2.0, 2.0])
    doubled = wg.jit(lambda r: r[1] * r.count)
    for factor in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(doubled(_result(1.0, factor * x, "a")), 2.0 * factor * x)
