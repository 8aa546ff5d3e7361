"""Functions as C source: no warnings, and the results of Python to rounding."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.exporting.c_sources import Sources
from wengert.engine.core import tree

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def close(found: Sequence[Any], expected: Any, tolerance: float) -> None:
    """Compare leaves: floats relative to the largest number, all else exactly."""
    for x, y in zip(found, tree.leaves(expected), strict=True):
        y = np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if y.dtype.kind not in "fc":
            np.testing.assert_array_equal(x, y)
            continue
        finite = np.isfinite(y)
        scale = float(np.max(np.abs(y[finite]), initial=0.0))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


def edges(dtype: str) -> Any:
    """Return numbers of a dtype at which operations are special."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        few = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2 + 1]
        few += [-1, -2, -3, -7] if limits.min else []
        return np.array(few, dtype)
    limits = np.finfo(dtype)
    sizes = [
        0.0,
        1.0,
        0.5,
        2.5,
        3.0,
        0.1,
        float(limits.max),
        float(limits.tiny),
        np.inf,
        1e5,
        2.0**31,
        2.0**62,
    ]
    return np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)


BINARY = (
    *(np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.fmod, np.maximum, np.minimum),
    *(np.fmax, np.fmin, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.copysign, np.divide, np.logaddexp, np.hypot),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift, np.arctan2),
)
UNARY = (
    *(np.negative, np.absolute, np.sign, np.square, np.invert, np.floor, np.ceil, np.trunc, np.rint),
    *(np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.reciprocal, np.sqrt, np.exp, np.log),
    *(np.tanh, np.arctan, np.expm1, np.log1p, np.cbrt, lambda x: x**3, lambda x: x**9),
)
CASTS = ("bool", *INTEGERS, "float32", "float64")


def every_operation(dtype: str) -> Callable[..., Any]:
    """Return a function of two arrays that applies each operation that NumPy has for a dtype."""
    one = np.ones(2, dtype)

    def works(operation: Callable[..., Any], count: int) -> bool:
        if operation in (np.signbit, np.reciprocal, np.copysign) and not dtype.startswith("float"):
            return False  # NumPy carries them out
        try:
            with np.errstate(all="ignore"):
                return operation(*[one] * count).dtype != np.float16
        except TypeError:
            return False

    binary = [operation for operation in BINARY if works(operation, 2)]
    unary = [operation for operation in UNARY if works(operation, 1)]

    def f(x: Any, y: Any) -> Any:
        results = [operation(x, y) for operation in binary] + [operation(x) for operation in unary]
        tame = np.where(np.abs(x) < 100, x, 1) if dtype.startswith("float") else x
        results += [np.where(x == y, x, y), *(tame.astype(to) for to in CASTS)]
        return results, [x.astype(to) for to in CASTS]  # of what has no counterpart, NumPy makes any number

    return f


def test_operations_at_their_edges_are_those_of_numpy(tmp_path) -> None:
    sources = Sources(tmp_path)
    cases = {}
    for dtype in ("bool", *INTEGERS, "float32", "float64"):
        few = edges(dtype)
        x, y = (np.ascontiguousarray(z.reshape(-1)) for z in np.meshgrid(few, few))
        cases[sources.add(every_operation(dtype), (x, y))] = (every_operation(dtype), (x, y))
    call = sources.compiled("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    for name, (function, arguments) in cases.items():
        with np.errstate(all="ignore"):
            expected, _ = function(*arguments)
        for number, (x, y) in enumerate(zip(call(name, *arguments), expected, strict=False)):
            if y.dtype.kind == "f":
                np.testing.assert_allclose(
                    x, y, rtol=1e-6 if y.dtype == np.float32 else 1e-14, err_msg=f"{name} {number}"
                )
                zero = y == 0
                np.testing.assert_array_equal(
                    np.signbit(x[zero]), np.signbit(y[zero]), err_msg=f"{name} {number}"
                )
            else:
                np.testing.assert_array_equal(x, y, err_msg=f"{name} {number}")
