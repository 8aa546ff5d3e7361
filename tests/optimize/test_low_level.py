"""`low_level_callable`: native functions for SciPy's C code."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.engine.core.errors import ArgumentError, UnsupportedError

integrate = pytest.importorskip("scipy.integrate")
ndimage = pytest.importorskip("scipy.ndimage")
native = wg.optimize.low_level_callable

INTEGRANDS: dict[str, Any] = {
    "bell": (lambda x: np.exp(-(x**2)), -np.inf, np.inf, ()),
    "with parameters": (lambda x, a, b: a * np.sin(b * x) + x, 0.0, 2.0, (3.0, 1.5)),
    "of a table": (lambda x: np.sum(TABLE * np.cos(x * TABLE)), 0.0, 1.0, ()),
    "derivative": (wg.grad(lambda x: np.sin(x) * x**2), 0.0, 1.0, ()),
    "branch": (lambda x: wg.cond(x > 0.5, lambda x: x, lambda x: -x, x), 0.0, 1.0, ()),
    "defaults": (lambda x, power=2.0: x**power, 0.0, 1.0, ()),
}
TABLE = np.linspace(0.0, 3.0, 50)


@pytest.mark.parametrize("name", INTEGRANDS)
def test_integrals_are_those_of_the_python_function(name: str) -> None:
    fun, lower, upper, args = INTEGRANDS[name]
    mine, theirs = (integrate.quad(f, lower, upper, args=args) for f in (native(fun), fun))
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-9, atol=1e-12)


def test_several_variables() -> None:
    def f(x: Any, y: Any, z: Any, scale: Any) -> Any:
        return scale * x * np.exp(-y) + z

    limits = [(0.0, 1.0), (0.0, 2.0), (-1.0, 1.0)]
    mine, theirs = (integrate.nquad(g, limits, args=(2.0,))[0] for g in (native(f), f))
    assert mine == pytest.approx(theirs, rel=1e-10)
    double = native(lambda y, x: x * y)
    assert integrate.dblquad(double, 0.0, 1.0, 0.0, 2.0)[0] == pytest.approx(1.0)


@pytest.mark.usefixtures("young_heap")
def test_the_code_lives_as_long_as_the_callable() -> None:
    made = [native(lambda x, n=n: x**2 + n) for n in range(5)]
    gc.collect()
    assert [round(integrate.quad(f, 0.0, 1.0)[0] - 1 / 3, 12) for f in made] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_wrong_counts_and_errors_are_not_numbers() -> None:
    def at(x: Any) -> Any:
        return wg.numpy.take(TABLE, (x * 1000).astype(int))

    with pytest.warns(UserWarning, match="."):
        assert np.isnan(integrate.quad(native(lambda x, a: a * x), 0.0, 1.0)[0])
    with pytest.warns(UserWarning, match="."):
        assert np.isnan(integrate.quad(native(at), 0.0, 1.0)[0])


@pytest.mark.parametrize("memory", [1, 20_000])
def test_filters_of_pictures(memory: int) -> None:
    def f(window: Any) -> Any:
        spread = np.multiply.outer(np.arange(memory) / memory, window) if memory > 1 else window
        return np.max(window) - np.mean(np.cumsum(spread, axis=0)[0] ** 2)

    picture = np.random.default_rng(0).normal(size=(6, 7))
    mine, theirs = (ndimage.generic_filter(picture, g, size=3) for g in (native(f, size=9), f))
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    with pytest.raises((RuntimeError, ValueError), match=r"."):
        ndimage.generic_filter(picture, native(f, size=8), size=3)


def test_what_cannot_be_called_without_python() -> None:
    with pytest.raises(
        ArgumentError, match=r"^low_level_callable: .*one float64 number; got f64\[2\].*\[test_low_level"
    ):
        native(lambda x: np.stack([x, x]))
    with pytest.raises(ArgumentError, match="must name its parameters"):
        native(lambda *x: x[0])
    with pytest.raises(UnsupportedError, match="carries out cannot leave Python"):
        native(lambda x: np.sum(np.linalg.eigvals(x * np.ones((3, 3)) + np.eye(3)).real))
