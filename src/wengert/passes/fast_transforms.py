"""Fourier transforms as native code: which lengths, in which steps, and on the parts of complex numbers.

A transform along the last axis of a transposed array is one of columns: lanes run along them, and nothing is moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from wengert.compiler.machine import costs
from wengert.core.dtypes import Dtype, dtype_of, real_dtype
from wengert.core.shapes import shape_of
from wengert.ir.graph import Equation
from wengert.ir.types import TensorType
from wengert.ops.butterflies import fast_dft, tables
from wengert.ops.shape import inverse_permutation, slice_, transpose, whole
from wengert.passes.complex_arithmetic import Parts

#: The lengths that are one step.
_SHORT = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13)


@functools.cache
def steps(count: int) -> tuple[int, ...]:
    """Return the lengths of the short transforms that make a long one; none for a length that is left to NumPy.

    The first step is one whose results are joined in registers, and a long one: its results lie along the lanes of the
    next ones.

    Example:
        >>> steps(1024), steps(60), steps(143), steps(17)
        ((8, 8, 4, 4), (4, 5, 3), (11, 13), ())
    """
    if not 2 <= count <= costs.COSTS.native_transform_points:
        return ()
    if count in _SHORT:
        return (count,)
    odd: list[int] = []
    rest = count
    for prime in (7, 5, 3, 11, 13):
        while rest % prime == 0:
            rest //= prime
            odd.append(prime)
    if rest & (rest - 1):
        return ()
    return (*_powers(rest), *odd)


def _powers(count: int) -> tuple[int, ...]:
    """Return a power of two as a product of eights and at most two fours."""
    if count <= 4:
        return (count,) if count > 1 else ()
    exponent = count.bit_length() - 1
    fours = -exponent % 3
    return (*[8] * ((exponent - 2 * fours) // 3), *[4] * fours)


@functools.lru_cache(maxsize=16)
def _tables(radices: tuple[int, ...], dtype: Dtype) -> list[Any]:
    found = tables(radices, dtype)
    for table in found:
        table.flags.writeable = False
    return found


def is_native(equation: Equation) -> bool:
    """Tell whether an operation is a transform that becomes native code."""
    if equation.primitive != "dft":
        return False
    x = equation.operands[0].type
    return bool(steps(x.shape[-1])) and math.prod(x.shape) > 0


def transformed(z: Parts, sign: int, permutation: Sequence[int] = ()) -> Parts:
    """Transform the last axis.

    Args:
        z: the parts.
        sign: the sign of the exponents.
        permutation: a transposition of the parts that brings another axis to the end, to transform it by columns.

    Returns:
        The parts of the transform of the transposed value.
    """
    if not permutation:
        return _parts(_pairs(z, shape_of(z.re)[-1], sign, 0))
    shape = shape_of(z.re)
    axis, last = permutation[-1], len(shape) - 1
    order = (*(other for other in range(last) if other != axis), axis, last)
    moved = Parts(*(None if part is None else transpose(part, permutation=order) for part in z))
    pairs = _pairs(moved, shape[axis], sign, columns(shape[axis], shape[last], dtype_of(z.re)))
    places = inverse_permutation(order)
    back = tuple(places[other] for other in permutation)
    return Parts(*(transpose(part, permutation=back) for part in _parts(pairs)))


def goes_by_columns(source: TensorType, permutation: Sequence[int]) -> bool:
    """Tell whether the last axis of a transposed value is transformed by columns, before the transposition."""
    axis, shape = permutation[-1], source.shape
    return axis != len(shape) - 1 and columns(shape[axis], shape[-1], real_dtype(source.dtype)) > 0


def columns(count: int, width: int, dtype: Dtype) -> int:
    """Return how many columns are transformed together: a divisor of their number, 0 for none that is good."""
    lanes = costs.COSTS.lane_extent
    most = max(lanes, costs.COSTS.transform_block_bytes // (2 * count * dtype.itemsize))
    most = min(most, costs.COSTS.transform_columns)
    if width <= most:
        return width
    return next(
        (size for size in range(most, lanes - 1, -1) if width % size == 0 and size % lanes == 0), 0
    ) or next((size for size in range(most, lanes - 1, -1) if width % size == 0), 0)


def _pairs(z: Parts, count: int, sign: int, block: int) -> Any:
    dtype = dtype_of(z.re)
    radices = steps(count)
    given = [z.re] if z.im is None else [z.re, z.im]
    params = {"radices": radices, "sign": sign, "has_im": z.im is not None, "columns": block}
    return fast_dft(*given, *_tables(radices, dtype), **params)


def _parts(pairs: Any) -> Parts:
    index = whole(shape_of(pairs))[:-1]
    return Parts(*(slice_(pairs, index=(*index, part)) for part in range(2)))
