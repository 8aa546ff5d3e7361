"""Scalar arithmetic in native code: extrema of values and constants."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.primitive import REGISTRY, Primitive
from wengert.errors import WengertError

VALUES = np.array([-3.0, -0.5, -0.0, 0.0, 0.5, 3.0, np.inf, -np.inf, np.nan])
EXTREME = np.array([*VALUES, 1e-310, 1e308])
INNER = {"x": lambda x: x, "|x|": np.abs, "-|x|": lambda x: -np.abs(x), "x²": np.square}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("constant", [0.0, -0.0, 0.5, -0.5])
@pytest.mark.parametrize("extremum", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extrema_with_constants(extremum: Any, constant: float, inner: str) -> None:
    function = INNER[inner]

    def program(x: Any) -> Any:
        y = function(x)
        return extremum(y, constant), extremum(constant, y), extremum(y, constant) > 0.25

    def programs(xs: Any) -> Any:
        return [result for x in xs for result in program(x)]

    both = [VALUES.astype(dtype) for dtype in (np.float64, np.float32)]
    for found, expected in zip(wg.jit(programs)(both), programs(both), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("initial", [0.0, -1.0, 1.0])
def test_largest_magnitudes(initial: float) -> None:
    def largest(x: Any) -> Any:
        return np.max(np.abs(x), initial=initial)

    def both_ways(xs: Any) -> Any:
        return [(largest(x), -np.min(-np.abs(x), initial=-initial)) for x in xs]

    arrays = [np.linspace(-2.0, 1.0, count) for count in (0, 1, 2, 9, 40)]
    for found, x in zip(wg.jit(both_ways)(arrays), arrays, strict=True):
        assert found == (largest(x), largest(x))


def evaluated(primitives: Sequence[Primitive], operands: Sequence[Any]) -> dict[str, Any]:
    """Return the results of those operations that take the operands."""
    found: dict[str, Any] = {}
    for primitive in primitives:
        with contextlib.suppress(WengertError):
            found[primitive.name] = primitive(*operands)
    return found


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [1, 2])
def test_operations_at_special_values(count: int, dtype: Any, first: int) -> None:
    """At zeros of both signs, infinities, NaN, tiny and huge numbers compiled operations are the evaluated ones."""
    primitives = [
        primitive
        for primitive in REGISTRY
        if isinstance(primitive.lowering, Elementwise) and len(primitive.operands) == count
        if not primitive.parameters
    ][first::4]
    with np.errstate(all="ignore"):
        values = EXTREME.astype(dtype)
        operands = [np.ravel(axis) for axis in np.meshgrid(*[values] * count)]
        expected = evaluated(primitives, operands)
        taken = [primitive for primitive in primitives if primitive.name in expected]
        found = wg.jit(lambda *operands: evaluated(taken, operands))(*operands)
    assert len(taken) > 7
    tolerance = 1e4 * np.finfo(dtype).eps
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=0.0, err_msg=name)
        if value.dtype.kind == "f":
            same = (np.signbit(found[name]) == np.signbit(value)) | np.isnan(value)
            assert np.all(same), name
