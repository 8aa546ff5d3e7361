"""What `int`, `float`, `bool`, `round`, `not` and functions of `math` return is a number of Python's, in each mode.

It takes the dtype of the other operand: ``np.float32(1) * int(k)`` is float32.
"""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many

_COUNT = many(140)
_SCALARS = {
    "i": np.int64(7),
    "k": np.int32(-3),
    "x": np.float64(2.7),
    "f": np.float32(1.3),
    "h": np.float16(0.75),
}
_ARRAYS = {
    "a": np.array([0.5, 1.5, -2.0], np.float32),
    "g": np.array([0.25, 1.0, -1.5], np.float16),
    "u": np.array([1, 2, 9], np.uint8),
    "s": np.array([-1, 2, 3], np.int8),
}
_NAMES = [*_SCALARS, *_ARRAYS]
_ROUNDING = {2: 4e-3, 4: 1e-5, 8: 1e-12, 16: 1e-12}


class _Drawn:
    """A program that converts numbers, and computes with the results beside arrays and scalars of NumPy's."""

    def __init__(self, seed: int, is_smooth: bool = False) -> None:
        self._draw = random.Random(seed)
        self._is_smooth = is_smooth

    def _one(self, *texts: str) -> str:
        return self._draw.choice(texts)

    def _integer(self, depth: int) -> str:
        x = self._one("i", "k") if self._is_smooth else self._one(*_SCALARS)
        if not depth:
            return self._one(
                f"int({x})", f"bool({x})", f"round({x})", f"math.trunc(float({x}))", "len(a)", "j"
            )
        n = self._integer(depth - 1)
        return self._one(
            f"abs({n})",
            f"-{n}",
            f"({n} + {self._integer(depth - 1)})",
            f"({n} * 2)",
            f"({n} // 3)",
            f"({n} % 4)",
            f"divmod({n}, 3)[{self._draw.randrange(2)}]",
            f"min({n} + 0, 3)",  # of a truth value and an integer, the result is an integer
            f"max({n} + 0, {self._integer(0)} + 0)",
            f"(not {n})",
            f"({n} in (1, 3, 7))",
            f"any([{n} > 2, {x} > 1])",
            f"all([{n} > 2, {x} > 1])",
            f"math.floor({self._floating(depth - 1)})",
            f"math.ceil({self._floating(depth - 1)})",
            f"round({self._floating(depth - 1)})",
            f"({n} + 0 if {x} > 1 else {self._integer(0)} + 0)",
            f"math.isfinite({x})",
        )

    def _floating(self, depth: int) -> str:
        x = self._one(*_SCALARS)
        if not depth:
            return self._one(f"float({x})", f"math.sin({x})", f"math.hypot({x}, 2)", f"math.degrees({x})")
        y = self._floating(depth - 1)
        return self._one(
            f"abs({y})",
            f"({y} * 1.1)",
            f"({y} + {self._integer(depth - 1)})",
            f"({self._integer(depth - 1)} / 3)",
            f"math.sqrt(abs({y}) + 1)",
            f"math.exp(math.cos({y}))",
            f"math.copysign({y}, {x})",
            f"math.frexp({y})[0]",
            f"math.atan2({y}, 2)",
            f"divmod({y}, 2)[1]",
            f"min({y}, 1.5)",
            f"({y} if {x} > 1 else float({x}))",
            f"float({self._integer(depth - 1)})",
        )

    def text(self) -> str:
        """Return the source."""
        lines = [f"def program({', '.join(_NAMES)}):", "    j = 1"]
        results: list[str] = []
        if self._draw.random() < 0.5:
            start = self._one("0", "0.0")
            turn = self._integer(1) if start == "0" else self._floating(1)
            turns = self._one("3", "int(i) - 2", "i - 4")
            lines += [f"    n = {start}", f"    for j in range({turns}):", f"        n = n + {turn}"]
            results.append(f"n * {self._one('f', 'h', 'a', 'g')}")
        for number in range(3):
            is_integer = self._draw.random() < 0.5
            lines.append(f"    p{number} = {self._integer(2) if is_integer else self._floating(2)}")
            # What does not fit into 8 bits raises an exception.
            others = [*_NAMES] if is_integer else [name for name in _NAMES if name not in "us"]
            other = self._one(*others)
            value = f"abs(p{number}) % 7" if other in "us" else f"p{number}"
            results += [f"p{number}", f"{value} {self._one('*', '+')} {other}"]
        return "\n".join([*lines, f"    return {', '.join(results)}", ""])


def _program(text: str, name: str) -> Callable[..., Any]:
    filename = f"<{name}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    scope: dict[str, Any] = {"math": math, "np": np}
    exec(compile(text, filename, "exec"), scope)
    return scope["program"]


def _assert_same(found: Any, expected: Any, text: str) -> None:
    assert type(found) is type(expected), text
    one, other = np.asarray(found), np.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape), text
    np.testing.assert_allclose(one, other, rtol=_rtol(one, other), atol=_rtol(one, other), err_msg=text)


def _rtol(one: Any, other: Any) -> float:
    return _ROUNDING[one.dtype.itemsize] if one.dtype.kind in "fc" else 0


_VALUES = [*_SCALARS.values(), *_ARRAYS.values()]


@pytest.mark.parametrize("seed", range(_COUNT))
def test_conversions_give_numbers_of_pythons(seed: int) -> None:
    text = _Drawn(seed).text()
    program = _program(text, f"python numbers {seed}")
    for found, expected in zip(wg.jit(program)(*_VALUES), program(*_VALUES), strict=True):
        _assert_same(found, expected, text)


@pytest.mark.parametrize("seed", range(_COUNT // 2))
def test_conversions_of_examples_give_the_dtypes_of_one(seed: int) -> None:
    text = _Drawn(seed + 10_000).text()
    program = _program(text, f"examples of python numbers {seed}")
    others = [np.int64(6), np.int32(5), np.float64(-0.3), np.float32(0.4), np.float16(1.5), *_ARRAYS.values()]
    batch = [np.stack(pair) for pair in zip(_VALUES, others, strict=True)]
    rows = [program(*_VALUES), program(*others)]
    for number, found in enumerate(wg.vmap(program)(*batch)):
        for row, got in zip(rows, found, strict=True):
            expected = np.asarray(row[number])
            assert got.dtype == expected.dtype, text
            np.testing.assert_allclose(
                got, expected, rtol=_rtol(got, got), atol=_rtol(got, got), err_msg=text
            )


@pytest.mark.parametrize("seed", range(_COUNT // 2))
def test_derivatives_have_the_dtypes_of_the_values(seed: int) -> None:
    text = _Drawn(seed + 20_000, is_smooth=True).text()
    program = _program(text, f"derivatives of python numbers {seed}")
    at = _NAMES.index("x"), _NAMES.index("f"), _NAMES.index("a")

    def moving(x: Any, f: Any, a: Any) -> Any:
        values = [*_VALUES]
        for position, value in zip(at, (x, f, a), strict=True):
            values[position] = value
        return program(*values)

    def total(x: Any, f: Any, a: Any) -> Any:
        return x + sum(np.sum(value) for value in moving(x, f, a))

    point = tuple(_VALUES[position] for position in at)
    tangents = np.float64(1.0), np.float32(0.5), np.ones(3, np.float32)
    values, slopes = wg.jvp(moving, point, tangents)
    for value, slope, expected in zip(values, slopes, moving(*point), strict=True):
        _assert_same(value, expected, text)
        assert (
            np.asarray(slope).dtype == np.asarray(expected).dtype or np.asarray(expected).dtype.kind in "iub"
        )
    eager = wg.grad(total, argnums=(0, 1, 2))(*point)
    compiled = wg.jit(wg.grad(total, argnums=(0, 1, 2)))(*point)
    for found, expected, value in zip(compiled, eager, point, strict=True):
        assert np.asarray(found).dtype == np.asarray(expected).dtype == value.dtype
        np.testing.assert_allclose(found, expected, rtol=4e-3, atol=4e-3, err_msg=text)
    forward = sum(float(np.sum(np.multiply(slope, t))) for slope, t in zip(eager, tangents, strict=True))
    pushed = 1.0 + sum(float(np.sum(slope)) for slope in slopes)
    assert forward == pytest.approx(pushed, rel=1e-2, abs=1e-2), text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_without_an_integer_raise_as_in_python(value: float) -> None:
    def program(x: Any, y: Any) -> Any:
        return round(x) * y

    with pytest.raises((ValueError, OverflowError)) as expected:
        program(value, 1.0)
    with pytest.raises(type(expected.value)) as found:
        wg.jit(program)(value, 1.0)
    assert str(found.value).startswith(str(expected.value))
