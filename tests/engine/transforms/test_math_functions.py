"""Functions of `math` and `cmath` on values inside a transform: values, slopes and errors are those of Python."""

from __future__ import annotations

import cmath
import functools
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.boxes import on_graph

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(math, name)
        for name in ("sin", "acos", "sinh", "atanh", "erf", "gamma", "lgamma", "log2")
    },
    "degrees": lambda x: math.degrees(x) + math.radians(x),
    "dist": lambda x: math.dist([x, 1.0], (2.0, x)) + math.hypot(x, 2.0, x) + math.hypot(x),
    "sums": lambda x: math.fsum(x * i for i in range(3)) + math.prod([x, x], start=2.0),
    "parts": lambda x: math.modf(3.0 * x)[0] + math.frexp(x)[0] + math.ldexp(x, 2),
    "remainder": lambda x: math.remainder(x - 1.5, 1.0) ** 2,
    "logarithm": lambda x: math.log(x, 3.0) + math.log(2.0, x + 2.0),
    "rounded": lambda x: x * (math.floor(3 * x) + math.ceil(x) + math.trunc(-3 * x)),
    "closeness": lambda x: x * math.isclose(x, x + 1e-12) + math.isclose(x, 2.0, abs_tol=0.1) + math.ulp(x),
    "index": lambda x: [1.0, 2.0, 3.0][math.floor(3 * x)] * x if not on_graph(x) else 3.0 * x,
    "complex": lambda x: abs(complex(x, 2 * x)) + complex(x).real,
    "complex functions": lambda x: abs(
        cmath.exp(1j * x) + cmath.sqrt(-x) + cmath.log(x, 2.0) + cmath.acos(x)
    ),
    "polar": lambda x: cmath.phase(1 + 1j * x) + cmath.polar(x * 1j)[0] + cmath.rect(x, x).real,
}
FUNCTIONS["partial"] = functools.partial(math.pow, 2.0)
POINT = 0.7


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes(name: str) -> None:
    function, step = FUNCTIONS[name], 1e-6
    slope = (function(POINT + step) - function(POINT - step)) / (2 * step)
    value, derivative = wg.value_and_grad(function)(POINT)
    assert value == pytest.approx(function(POINT), rel=1e-14)
    assert derivative == pytest.approx(slope, rel=1e-6)
    assert wg.derivative(function)(POINT) == pytest.approx(slope, rel=1e-6)
    if name != "index":
        value, derivative = wg.jit(wg.value_and_grad(function))(POINT)
        assert value == pytest.approx(function(POINT), rel=1e-14)
        assert derivative == pytest.approx(slope, rel=1e-6)


finite = st.floats(-1e300, 1e300)
SUM = wg.jit(lambda x: math.fsum(x))


@given(x=st.lists(st.floats(-1e300, 1e300), min_size=9, max_size=9), known=st.booleans())
def test_exact_sums_are_those_of_python(x: list[float], known: bool) -> None:
    expected = math.fsum(x)
    scale = sum(map(abs, x))
    if known:
        value, slopes = wg.value_and_grad(lambda x: math.fsum(x))(np.array(x))
        np.testing.assert_array_equal(slopes, np.ones(9))
    else:
        value = SUM(np.array(x))
    assert np.shape(value) == ()
    assert value == pytest.approx(expected, rel=1e-15, abs=1e-30 * scale)


def test_slopes_of_exact_sums() -> None:
    function = wg.jit(wg.grad(lambda x: math.fsum([x, 1.0, -x, 0.5 * x, *[x**2] * 3])))
    assert function(3.0) == 18.5
    np.testing.assert_array_equal(wg.jit(wg.grad(lambda x: math.fsum(x)))(np.arange(7.0)), np.ones(7))


@given(x=finite, y=finite.filter(bool))
def test_remainders_are_those_of_python_to_the_last_bit(x: float, y: float) -> None:
    value, slopes = wg.value_and_grad(lambda x, y: math.remainder(x, y), argnums=(0, 1))(x, y)
    expected = math.remainder(x, y)
    assert value == expected
    assert slopes[0] == 1.0
    if abs(x / y) < 1e15:  # the slope is minus the integer
        assert x + slopes[1] * y == pytest.approx(expected, rel=1e-12, abs=1e-12 * abs(x))


@pytest.mark.parametrize("y", [1.0, -1.0, 3.0])
def test_remainders_of_ties_are_those_to_the_even_multiple(y: float) -> None:
    points = np.arange(-4.0, 4.5, 0.5) * y
    remainders = wg.vmap(lambda x: math.remainder(x, y))(points)
    np.testing.assert_array_equal(remainders, [math.remainder(x, y) for x in points])


OF_ERRORS: dict[str, tuple[Callable[[Any], Any], type[Exception], float]] = {
    "overflow": (math.exp, OverflowError, 1000.0),
    "domain": (math.log, ValueError, -1.0),
    "pole": (lambda x: math.pow(x, -1.0), ValueError, 0.0),
    "complex domain": (lambda x: abs(cmath.log(x)), ValueError, 0.0),
}


@pytest.mark.parametrize("name", OF_ERRORS)
def test_errors_are_those_of_python_and_may_be_caught(name: str) -> None:
    function, error, point = OF_ERRORS[name]

    def guarded(x: Any) -> Any:
        try:
            return function(x)
        except error:
            return 3.0 * x

    for transform in (wg.grad, wg.derivative, lambda f: wg.grad(lambda x: wg.derivative(f)(x) * x)):
        with pytest.raises(error):
            transform(function)(point)
    assert wg.grad(guarded)(point) == wg.derivative(guarded)(point) == 3.0


def test_texts_of_numbers(caplog: pytest.LogCaptureFixture) -> None:
    texts: list[str] = []

    def function(x: Any) -> Any:
        logging.getLogger().warning("x = %.2f", x)
        texts.append("%.3f %d %g" % (x, x, x))  # noqa: UP031 (the program under test)
        return x * x

    assert wg.grad(function)(1.5) == 3.0
    assert texts == ["1.500 1 1.5"]
    assert caplog.messages == ["x = 1.50"]
    with pytest.raises(wg.WengertError):
        wg.jit(lambda x: x * len("%.3f" % x))(1.5)  # noqa: UP031
