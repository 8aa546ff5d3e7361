"""`jit`: when a function is compiled anew, and what for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same
from tests.engine.transforms.containers import Layer, Pair

X = np.linspace(-1.0, 1.0, 7)


@pytest.fixture
def traces() -> list[Any]:
    """Return a list to which `recorded` appends at every trace."""
    return []


@pytest.fixture
def recorded(traces: list[Any]) -> Any:
    """Return a compiled function that tells of each time it is traced."""

    def function(tree: Any, factor: Any = 1.0) -> Any:
        traces.append(tree)
        return tree

    return wg.jit(function)


def test_equal_types_are_compiled_once(recorded: Any, traces: list[Any]) -> None:
    for x in (X, X + 1, X[::-1][::-1], np.asfortranarray(X)):
        np.testing.assert_array_equal(recorded(x), x)
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X[1:]),
        (X, X[::-1]),
        (X, X.reshape(7, 1)),
        (X, X.astype("float32")),
        (X, [X]),
        ([X], (X,)),
        ({"a": X}, {"b": X}),
        ((X, X), Pair(X, X)),
        ((X, None), (None, X)),
        (2.0, np.float64(2.0)),
        (2, 2.0),
        (True, 1),
        (np.float64(2.0), np.array(2.0).reshape(1)),
        (Layer(X, X), Layer(X, X, 3)),
    ],
    ids=lambda value: "",
)
def test_other_types_are_compiled_for_themselves(
    recorded: Any, traces: list[Any], one: Any, other: Any
) -> None:
    for value in (one, other, one, other):
        found = recorded(value)
        assert type(found) is type(value)
        assert_same(found, value)
    assert len(traces) == 2


def test_a_python_number_takes_the_dtype_of_the_array_beside_it() -> None:
    function = wg.jit(lambda x, y: x * y)
    assert function(X.astype("float32"), 2.0).dtype == np.float32
    assert function(X.astype("float32"), np.float64(2.0)).dtype == np.float64
    assert function(np.arange(3, dtype="int8"), 2).dtype == np.int8
    assert [type(function(*pair)) for pair in ((2, 3), (2.0, 3), (np.float32(2), 3))] == [
        int,
        float,
        np.float32,
    ]


def test_a_number_that_varies_is_no_reason_to_compile(recorded: Any, traces: list[Any]) -> None:
    assert [recorded(X, factor) is None for factor in (0.5, 0.25, -1.0)] == [False] * 3
    assert len(traces) == 1


@pytest.mark.parametrize("numbers", [(1, 2), (2, 1)])
def test_static_arguments_are_the_values_themselves(numbers: tuple[int, ...]) -> None:
    def function(x: Any, power: int, name: str, offset: Any = 0.0) -> Any:
        assert (type(power), name) == (int, "sum")
        return getattr(np, name)(x**power) + offset

    compiled = wg.jit(function, static_argnums=numbers)
    for args in ((X, 2, "sum"), (X, 3, "sum"), (X, 2, "sum", 1.0)):
        assert compiled(*args) == pytest.approx(function(*args))
    assert compiled(X, name="sum", power=2, offset=2.0) == pytest.approx(function(X, 2, "sum", 2.0))


def test_static_arguments_that_are_equal_and_of_other_types_differ() -> None:
    compiled = wg.jit(lambda x, like: x + like, static_argnums=1)
    assert [compiled(np.arange(2), like).dtype for like in (1, 1.0, True, 1)] == [
        "int64",
        "float64",
        "int64",
        "int64",
    ]


def test_arguments_by_name() -> None:
    def function(x: Any, /, *, scale: Any = 2.0, shift: Any = None) -> Any:
        return x * scale if shift is None else x * scale + shift

    compiled = wg.jit(function)
    for options in ({}, {"scale": 3.0}, {"shift": X}, {"shift": X, "scale": 0.5}):
        assert_same(compiled(X, **options), function(X, **options))


def test_the_last_batch_may_be_shorter() -> None:
    images, weights = np.random.default_rng(0).normal(size=(70, 5)), np.ones((5, 3))
    compiled = wg.jit(wg.grad(lambda w, x: np.mean(np.tanh(x @ w))))
    for start in range(0, 70, 32):
        part = images[start : start + 32]
        expected = wg.grad(lambda w, x: np.mean(np.tanh(x @ w)))(weights, part)
        np.testing.assert_allclose(compiled(weights, part), expected, rtol=1e-12)


def test_static_arguments_that_python_calls_equal_are_told_apart() -> None:
    compiled = wg.jit(
        lambda x, k: x * 0 + (1.0 if k is True else 2.0 if isinstance(k, float) else 3.0), static_argnums=1
    )
    assert [float(compiled(X, k)[0]) for k in (1, True, 1.0, 1)] == [3.0, 1.0, 2.0, 3.0]
    signs = wg.jit(lambda x, k: x * 0 + np.copysign(1.0, k[0]), static_argnums=1)
    assert [float(signs(X, (k,))[0]) for k in (0.0, -0.0)] == [1.0, -1.0]
