"""`vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.containers import Layer, Pair, Point
from wengert import random
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, ConcreteError, DtypeError, IndexingError

X = np.arange(24.0).reshape(4, 3, 2)
Y = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def weigh(x: Any, y: Any) -> Any:
    return np.sum(np.sin(x)) * y + np.prod(np.shape(x))


@pytest.mark.parametrize(
    ("in_axes", "shapes"),
    [
        (0, ((3, 5), (3,))),
        ((0, 0), ((3, 5), (3,))),
        ([1, 0], ((5, 3), (3,))),
        ((-1, 0), ((5, 3), (3,))),
        ((None, 0), ((5,), (3,))),
        ((0, None), ((3,), ())),
        ((np.int64(1), None), ((2, 3, 2), (4,))),
        ((0, 0), ((0, 5), (0,))),
        ((0, 0), ((1, 5), (1,))),
    ],
)
def test_axes_of_arguments(in_axes: Any, shapes: Any) -> None:
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal(shape) for shape in shapes]
    axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * 2
    size = next(np.shape(x)[axis] for x, axis in zip(arguments, axes, strict=True) if axis is not None)

    actual = wg.vmap(weigh, in_axes)(*arguments)
    expected = [
        weigh(*(x if a is None else np.take(x, i, axis=a) for x, a in zip(arguments, axes, strict=True)))
        for i in range(size)
    ]
    assert len(actual) == size
    for leaf, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(leaf, other, rtol=1e-14)


@pytest.mark.parametrize("out_axes", [0, 1, 2, -1, -3])
def test_axis_of_the_result(out_axes: int) -> None:
    actual = wg.vmap(lambda x: x * 2.0, out_axes=out_axes)(X)
    np.testing.assert_array_equal(actual, np.moveaxis(2 * X, 0, out_axes))


def test_axes_of_containers() -> None:
    tree_in = {"w": (X, Y), "b": [np.float64(2.0), Pair(X[0, 0], Y.T)]}
    axes = {"w": (0, 1), "b": [None, Pair(None, 0)]}

    def function(p: Any, scale: Any) -> Any:
        x, y = p["w"]
        shared, (left, right) = p["b"]
        return {"sum": np.sum(x) * scale, "point": Point(y * shared, (left, np.sum(right)))}

    actual = wg.vmap(function, in_axes=(axes, None), out_axes={"sum": 0, "point": Point(1, (None, 0))})(
        tree_in, 3.0
    )
    np.testing.assert_array_equal(actual["sum"], 3.0 * X.sum((1, 2)))
    assert isinstance(actual["point"], Point)
    np.testing.assert_array_equal(actual["point"].x, 2.0 * Y)
    np.testing.assert_array_equal(actual["point"].y[0], X[0, 0])
    np.testing.assert_array_equal(actual["point"].y[1], Y.sum(0))


def test_axes_of_dataclasses() -> None:
    layer = Layer(X, np.ones(2))
    actual = wg.vmap(lambda layer: layer.weight @ layer.bias * layer.power, in_axes=(Layer(0, None),))(layer)
    np.testing.assert_array_equal(actual, 2 * X.sum(-1))
    doubled = wg.vmap(lambda layer: layer, out_axes=Layer(1, 0))(Layer(X, Y.T))
    np.testing.assert_array_equal(doubled.weight, np.moveaxis(X, 0, 1))


def test_keyword_arguments_are_batched_along_their_first_axis() -> None:
    actual = wg.vmap(lambda x, scale: x * scale, in_axes=1)(Y, scale=np.arange(4.0))
    np.testing.assert_array_equal(actual, (Y * np.arange(4.0)).T)


def test_results_that_do_not_vary_are_repeated() -> None:
    actual = wg.vmap(lambda x: (1.0, np.arange(2), wg.numpy.zeros(2), {"x": x, "none": None}))(Y)
    assert [part.shape for part in actual[:3]] == [(3,), (3, 2), (3, 2)]
    assert [type(part) for part in actual[:3]] == [np.ndarray] * 3
    for part in actual[:3]:
        part += 1
    assert actual[3]["none"] is None
    shared = wg.vmap(lambda x: (np.arange(2), x), out_axes=(None, 0))(Y)[0]
    np.testing.assert_array_equal(shared, [0, 1])


def test_the_size_may_be_given() -> None:
    np.testing.assert_array_equal(wg.vmap(lambda: 2.0, axis_size=3)(), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(wg.vmap(lambda x: x, in_axes=None, axis_size=2)(1.0), [1.0, 1.0])


def test_no_examples() -> None:
    actual = wg.vmap(lambda x: (np.sum(x), np.outer(x, x), np.argmax(x), x[:1]))(np.zeros((0, 3)))
    assert [part.shape for part in actual] == [(0,), (0, 3, 3), (0,), (0, 1)]
    assert wg.vmap(wg.grad(lambda x: np.sum(x**2)))(np.zeros((0, 3))).shape == (0, 3)
    assert wg.vmap(wg.hessian(lambda x: np.sum(x**2)))(np.zeros((0, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "uint8"])
def test_dtypes_are_kept(dtype: str) -> None:
    x = np.ones((3, 2), dtype)
    assert wg.vmap(lambda x: x)(x).dtype == dtype
    assert wg.vmap(lambda x: x * 2)(x).dtype == (x * 2).dtype
    assert wg.vmap(lambda x: x * 2.0)(x).dtype == (x * 2.0).dtype


def test_batches_within_batches() -> None:
    def product(a: Any, b: Any) -> Any:
        return a @ b

    every = wg.vmap(wg.vmap(product, (None, 0)), (0, None))
    a, b = np.random.default_rng(0).standard_normal((2, 4, 3))
    np.testing.assert_allclose(every(a, b), a @ b.T, rtol=1e-14)
    np.testing.assert_array_equal(wg.vmap(wg.vmap(lambda x: x * 2), in_axes=1, out_axes=1)(X), 2 * X)


def test_writes_in_a_batch() -> None:
    def function(x: Any, i: Any) -> Any:
        y = x * 1.0
        y[i] += 10.0
        y[-1:] *= 2.0
        return y

    actual = wg.vmap(function)(Y, np.array([0, 1, 3]))
    expected = np.stack([function(x, i) for x, i in zip(Y, [0, 1, 3], strict=True)])
    np.testing.assert_array_equal(actual, expected)


def test_reading_only_results_and_inputs_stay_apart() -> None:
    frozen = Y.copy()
    frozen.flags.writeable = False
    for function in (lambda x: x, lambda x: x[::-1], lambda x: np.broadcast_to(x, (2, 4))):
        actual = wg.vmap(function)(frozen)
        assert actual.flags.writeable
        assert not np.shares_memory(actual, frozen)


# -- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: wg.vmap(weigh)(X, Y), ArgumentError, "same number of examples; got [3, 4]"),
        (lambda: wg.vmap(weigh, axis_size=2)(X, X), ArgumentError, "same number of examples"),
        (lambda: wg.vmap(weigh, in_axes=None)(X, Y), ArgumentError, "axis_size"),
        (lambda: wg.vmap(lambda: 1.0)(), ArgumentError, "axis_size"),
        (lambda: wg.vmap(weigh, in_axes=(0,))(X, Y), ArgumentError, "in_axes must match"),
        (
            lambda: wg.vmap(weigh, in_axes=(0, "a")),
            ArgumentError,
            "in_axes must hold integers and None alone",
        ),
        (lambda: wg.vmap(weigh, X), ArgumentError, "write wg.vmap(f)(x), not wg.vmap(f, x)"),
        (lambda: wg.vmap(weigh, out_axes=0.5), ArgumentError, "out_axes must hold integers and None alone"),
        (lambda: wg.vmap(weigh, in_axes=3)(X, X), IndexingError, "axis must lie in [-3, 3); got 3"),
        (lambda: wg.vmap(np.sin)(1.0), (ArgumentError, IndexingError), "vmap"),
        (lambda: wg.vmap(lambda x: x, out_axes=2)(Y), IndexingError, "axis must lie in [-2, 2); got 2"),
        (lambda: wg.vmap(lambda x: x, out_axes=(0, 0))(Y), ArgumentError, "out_axes must match"),
        (lambda: wg.vmap(lambda x: x, out_axes=None)(Y), ArgumentError, "must be the same for all examples"),
    ],
)
def test_wrong_axes(call: Callable[[], Any], error: Any, says: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)
    assert "[test_batching.py:" in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0],
        lambda x: list(range(np.argmax(x))),
        lambda x: sorted([x[0], x[:1]], key=abs),
    ],
)
def test_values_of_single_examples_are_not_known(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ConcreteError, match=r"\[test_batching\.py:"):
        wg.vmap(function)(Y)


def test_lists_of_single_examples_are_sorted() -> None:
    np.testing.assert_array_equal(np.stack(wg.vmap(lambda x: sorted([*x]))(Y), -1), np.sort(Y, -1))


def test_results_that_are_not_arrays() -> None:
    with pytest.raises(DtypeError, match="vmap: numbers or booleans are required"):
        wg.vmap(lambda x: "text")(Y)


def test_gradients_of_each_example() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return (np.tanh(x @ w["w"]) @ w["v"] - y) ** 2

    rng = np.random.default_rng(3)
    weights = {"w": rng.standard_normal((3, 5)), "v": rng.standard_normal(5)}
    xs, ys = rng.standard_normal((7, 3)), rng.standard_normal(7)
    actual = wg.vmap(wg.grad(loss), in_axes=(None, 0, 0))(weights, xs, ys)
    for i in range(7):
        expected = wg.grad(loss)(weights, xs[i], ys[i])
        for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf[i], other, rtol=1e-12)
    total = wg.grad(lambda w: np.sum(wg.vmap(loss, (None, 0, 0))(w, xs, ys)))(weights)
    for leaf, other in zip(tree.leaves(total), tree.leaves(actual), strict=True):
        np.testing.assert_allclose(leaf, other.sum(0), rtol=1e-12)


def test_numpys_generators_draw_once_for_all_examples() -> None:
    keys = random.split(random.key(3), 3)
    for run in (lambda f: f, wg.jit):
        own = run(wg.vmap(lambda w, key: w + random.normal(key)))(np.zeros(3), keys)
        assert len(set(own)) == 3
    shared = wg.vmap(lambda w: w + np.random.default_rng(3).normal())(np.zeros(3))
    assert len(set(shared)) == 1


def test_a_function_without_a_result() -> None:
    with pytest.raises(ArgumentError, match=r"vmap: the function must return its result; got None"):
        wg.vmap(lambda x: None)(np.ones(3))
    assert wg.vmap(lambda x: (x, None))(np.ones(2))[1] is None
