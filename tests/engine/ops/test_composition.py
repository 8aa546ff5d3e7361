"""Primitives that are compositions of others: evaluated, compiled, batched and written as NumPy source."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ops.arithmetic import absolute, sign
from wengert.engine.ops.comparison import less, less_equal, where
from wengert.engine.ops.composition import composed
from wengert.engine.ops.exponential import exp, expm1, log, log1p
from wengert.engine.primitive import REGISTRY, Primitive

POINTS = np.array([1e-300, 1e-9, 0.1, 0.69, 0.7, 2.0, 40.0, 700.0])


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the primitives of these tests out of the registry of the others."""
    monkeypatch.setattr(REGISTRY, "_primitives", {primitive.name: primitive for primitive in REGISTRY})


@pytest.fixture
def log1mexp() -> Primitive:
    @composed(lambda out, x: 1 / expm1(x), domain=(0.1, 3.0), singular=[(0.0,)])
    def log1mexp(x: Any) -> Any:
        """Return ``ln(1 - e^-x)`` for x > 0."""
        return where(less(x, math.log(2)), log(-expm1(-x)), log1p(-exp(-x)))

    return log1mexp


@pytest.fixture
def huber() -> Primitive:
    @composed(
        lambda out, r, d: where(less_equal(absolute(r), d), r, d * sign(r)),
        lambda out, r, d: where(less_equal(absolute(r), d), 0.0, absolute(r) - d),
        domain=((-2.0, 2.0), (0.5, 1.5)),
        kinks=[(0.0, -1.0)],
    )
    def huber(r: Any, d: Any) -> Any:
        """Return the Huber loss of a residual."""
        return where(less_equal(absolute(r), d), 0.5 * r * r, d * (absolute(r) - 0.5 * d))

    return huber


def expected(x: Any) -> Any:
    return np.array([math.log(-math.expm1(-v)) if v < 0.5 else math.log1p(-math.exp(-v)) for v in x])


def test_values_eager_and_compiled(log1mexp: Primitive) -> None:
    for function in (log1mexp, wg.jit(log1mexp)):
        np.testing.assert_allclose(function(POINTS), expected(POINTS), rtol=1e-15)
        single = function(POINTS[1:].astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single[:-1], expected(POINTS[1:-1]), rtol=1e-6)


def test_compiled_code_calls_no_numpy(log1mexp: Primitive, huber: Primitive) -> None:
    loss = wg.jit(lambda x, d: np.sum(huber(log1mexp(x), d)))
    report = str(loss.report(POINTS, 0.5))
    assert "log(negative(expm1(negative(" in report
    assert "absolute(" in report


def test_types(log1mexp: Primitive) -> None:
    assert type(log1mexp(1.0)) is float
    assert type(log1mexp(2)) is float
    assert log1mexp(np.array([1, 2], np.int8)).dtype == np.float64
    assert log1mexp(np.array([1.0], np.float16)).dtype == np.float16
    np.testing.assert_array_equal(log1mexp([1.0, 2.0]), log1mexp(np.array([1.0, 2.0])))
    mixed = wg.jit(log1mexp)(np.array([1, 2], np.int8))
    np.testing.assert_allclose(mixed, expected([1.0, 2.0]), rtol=1e-15)


def test_derivatives_are_those_of_the_statement(log1mexp: Primitive, huber: Primitive) -> None:
    slope = 1 / np.expm1(POINTS)
    total = wg.grad(lambda x: np.sum(log1mexp(x)))
    for gradient in (total, wg.jit(total)):
        np.testing.assert_allclose(gradient(POINTS)[1:-1], slope[1:-1], rtol=1e-15)
    both = wg.grad(huber, (0, 1))
    for function in (both, wg.jit(both)):
        assert tuple(map(float, function(0.25, 1.0))) == (0.25, 0.0)
        assert tuple(map(float, function(-3.0, 1.0))) == (-1.0, 2.0)


def test_batches(huber: Primitive) -> None:
    r, d = np.linspace(-3, 3, 7), np.array([0.5, 1.0])
    table = wg.vmap(lambda r: huber(r, d))(r)
    np.testing.assert_array_equal(table, huber(r[:, None], d))
    np.testing.assert_array_equal(wg.jit(wg.vmap(lambda r: huber(r, d)))(r), table)


def test_source(log1mexp: Primitive, huber: Primitive) -> None:
    text = "np.where(x < 0.6931471805599453, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))"
    assert log1mexp.source("x") == text
    assert huber.source("v1 - 1", "-2.0").startswith(
        "np.where(np.absolute((v1 - 1)) <= (-2.0), 0.5 * (v1 - 1)"
    )
    program = wg.inspect.source(lambda r: huber(r, math.inf))(0.5)
    assert "wengert" not in program
    assert program.function()(3.0) == 4.5


def test_signature_and_docstring(huber: Primitive) -> None:
    assert str(inspect.signature(huber)) == "(r, d, /)"
    assert huber.__doc__ == "Return the Huber loss of a residual."
    assert huber.__name__ == "huber"
