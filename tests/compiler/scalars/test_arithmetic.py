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
    for dtype in (np.float64, np.float32):
        x = VALUES.astype(dtype)
        for program in (
            lambda x: extremum(function(x), constant),
            lambda x: extremum(constant, function(x)),
            lambda x: extremum(function(x), constant) > 0.25,
        ):
            np.testing.assert_array_equal(wg.jit(program)(x), program(x))


@pytest.mark.parametrize("initial", [0.0, -1.0, 1.0])
def test_largest_magnitudes(initial: float) -> None:
    for count in (0, 1, 2, 9, 40):
        x = np.linspace(-2.0, 1.0, count)
        largest = lambda x: np.max(np.abs(x), initial=initial)  # noqa: E731
        assert wg.jit(largest)(x) == largest(x)
        assert wg.jit(lambda x: -np.min(-np.abs(x), initial=-initial))(x) == largest(x)


def evaluated(primitives: Sequence[Primitive], operands: Sequence[Any]) -> dict[str, Any]:
    """Return the results of those operations that take the operands."""
    found: dict[str, Any] = {}
    for primitive in primitives:
        with contextlib.suppress(WengertError):
            found[primitive.name] = primitive(*operands)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [1, 2])
def test_operations_at_special_values(count: int, dtype: Any) -> None:
    """At zeros of both signs, infinities, NaN, tiny and huge numbers compiled operations are the evaluated ones."""
    primitives = [
        primitive
        for primitive in REGISTRY
        if isinstance(primitive.lowering, Elementwise) and len(primitive.operands) == count
        if not primitive.parameters
    ]
    with np.errstate(all="ignore"):
        values = EXTREME.astype(dtype)
        operands = [np.ravel(axis) for axis in np.meshgrid(*[values] * count)]
        expected = evaluated(primitives, operands)
        taken = [primitive for primitive in primitives if primitive.name in expected]
        found = wg.jit(lambda *operands: evaluated(taken, operands))(*operands)
    assert len(taken) > 30
    tolerance = 1e4 * np.finfo(dtype).eps
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=0.0, err_msg=name)
        if value.dtype.kind == "f":
            same = (np.signbit(found[name]) == np.signbit(value)) | np.isnan(value)
            assert np.all(same), name
