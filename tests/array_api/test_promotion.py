"""Dtypes of results by the standard's table, for arrays, numbers and operators; arrays of one element and none."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.array_api as xp
from tests.array_api.calls import ALL, COMPLEX, FLOATS, INTEGERS, NUMERIC, REAL
from wengert.engine.array.array import Array

INEXACT = f"{FLOATS} {COMPLEX}"
#: Functions of two arrays, by the dtypes that they take; comparisons and logic return truth values.
BINARY = {
    NUMERIC: "add subtract multiply",
    INEXACT: "divide",
    REAL: "maximum minimum floor_divide remainder",
    FLOATS: "atan2 copysign hypot logaddexp nextafter",
    INTEGERS: "bitwise_left_shift bitwise_right_shift",
    f"bool {INTEGERS}": "bitwise_and bitwise_or bitwise_xor",
    "bool": "logical_and logical_or logical_xor",
    ALL: "equal not_equal",
}
BINARY[f"{REAL} "] = "less less_equal greater greater_equal"
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "less": operator.lt,
    "greater_equal": operator.ge,
}
TRUTH = {
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
}
CASES = [(name, dtypes) for dtypes, names in BINARY.items() for name in names.split()]
WIDTHS = {name: int("".join(filter(str.isdigit, name)) or 0) for name in ALL.split()}


def promoted(one: str, other: str) -> str | None:
    """Return the dtype that the standard's table has for two dtypes, or None where it has none."""
    kinds = {name.rstrip("0123456789") for name in (one, other)}
    width = max(WIDTHS[one], WIDTHS[other])
    match sorted(kinds):
        case [kind]:
            return f"{kind}{width or ''}"
        case ["int", "uint"]:
            unsigned = WIDTHS[one if one.startswith("u") else other]
            signed = max(WIDTHS[other if one.startswith("u") else one], 2 * unsigned)
            return f"int{signed}" if signed <= 64 else None
        case ["complex", "float"]:
            real = max(WIDTHS[name] // (2 if name.startswith("c") else 1) for name in (one, other))
            return f"complex{2 * real}"
        case _:
            return None


def shaped(dtype: str, *shape: int) -> Any:
    return xp.ones(shape, dtype=getattr(xp, dtype))


@pytest.mark.parametrize(("name", "dtypes"), CASES, ids=[name for name, _ in CASES])
def test_dtypes_of_two_arrays(name: str, dtypes: str) -> None:
    function = getattr(xp, name)
    for one, other in product(dtypes.split(), repeat=2):
        if (expected := promoted(one, other)) is None:
            continue
        x, y = shaped(one, 2, 1), shaped(other, 3)
        results = [function(x, y), *([OPERATORS[name](x, y)] if name in OPERATORS else [])]
        for result in results:
            assert isinstance(result, Array)
            assert result.shape == (2, 3)
            assert result.dtype == ("bool" if name in TRUTH else expected), f"{one}, {other}"
        if name not in TRUTH:
            assert xp.result_type(x, y) == expected
            assert xp.concat([x, shaped(other, 2, 1)]).dtype == expected


@pytest.mark.parametrize(("name", "dtypes"), CASES, ids=[name for name, _ in CASES])
def test_dtypes_of_an_array_and_a_number(name: str, dtypes: str) -> None:
    function = getattr(xp, name)
    for dtype in dtypes.split():
        numbers: list[Any] = [True] if dtype == "bool" else [1]
        if dtype in FLOATS and "complex" not in dtype:
            numbers.append(0.5)
        if dtype.startswith("complex"):
            numbers += [0.5, 1j]
        for number in numbers:
            x = shaped(dtype, 2)
            results = [function(x, number), function(number, x)]
            if name in OPERATORS:
                results += [OPERATORS[name](x, number), OPERATORS[name](number, x)]
            for result in results:
                assert result.shape == (2,)
                assert result.dtype == ("bool" if name in TRUTH else dtype), f"{dtype}, {number}"


def test_a_complex_number_and_a_real_array() -> None:
    assert (shaped("float32", 2) * 1j).dtype == xp.complex64
    assert xp.add(shaped("float64", 2), 1j).dtype == xp.complex128


@pytest.mark.parametrize("dtype", ALL.split())
def test_dtypes_of_reductions(dtype: str) -> None:
    x = shaped(dtype, 2, 3)
    if dtype == "bool":
        assert xp.all(x).dtype == xp.any(x).dtype == xp.bool
        return
    wide = {"int": "int64", "uint": "uint64"}.get(dtype.rstrip("0123456789"), dtype)
    for function in (xp.sum, xp.prod, xp.linalg.trace):
        assert function(x).dtype == wide
    assert xp.cumulative_sum(x, axis=0).dtype == xp.cumulative_prod(x, axis=1).dtype == wide
    if not dtype.startswith("complex"):
        assert xp.max(x).dtype == xp.min(x, axis=0).dtype == dtype
        assert xp.argmax(x).dtype == xp.argmin(x, axis=1).dtype == xp.int64
    if dtype in FLOATS.split():
        assert xp.mean(x).dtype == xp.std(x).dtype == xp.var(x, axis=0).dtype == dtype


UNARY = "abs negative positive square exp sin sqrt tanh floor isnan sign round log1p conj real signbit"


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (1, 1)], ids=str)
def test_shapes_with_one_element_and_none(shape: tuple[int, ...]) -> None:
    def program(x: Any) -> list[Any]:
        results = [getattr(xp, name)(x) for name in UNARY.split()]
        results += [
            xp.sum(x),
            xp.prod(x),
            xp.all(x),
            xp.any(x),
            xp.count_nonzero(x),
            xp.reshape(x, (-1,)),
            xp.flip(x),
        ]
        results += [
            x + x,
            x * 2,
            x == x,
            xp.where(x > 0, x, -x),
            xp.concat([xp.reshape(x, (-1,))] * 2),
            xp.stack([x, x]),
        ]
        results += [
            xp.expand_dims(x, axis=0),
            xp.astype(x, xp.float32),
            xp.tile(x, (2,)),
            xp.broadcast_to(x, (2, *shape)),
        ]
        return [*results, xp.roll(x, 1), xp.permute_dims(x, tuple(range(len(shape)))[::-1])]

    plain = np.full(shape, 0.5)
    results = [program(xp.asarray(plain)), wg.jit(program)(plain)]
    results.append([rows[0] for rows in wg.vmap(program)(plain[None])])
    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    expected = [names[name](plain) for name in UNARY.split()]
    for actual in results:
        for one, other in zip(actual, expected, strict=False):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)
        shapes = [one.shape for one in actual[len(expected) :]]
        size = plain.size
        assert shapes[:6] == [(), (), (), (), (), (size,)]
        assert shapes[6:13] == [shape, shape, shape, shape, shape, (2 * size,), (2, *shape)]
        assert shapes[13:15] == [(1, *shape), shape]
        assert shapes[16:] == [(2, *shape), shape, shape[::-1]]
