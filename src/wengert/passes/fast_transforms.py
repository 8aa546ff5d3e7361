"""Fourier transforms as native code: which lengths, in which steps, and on the parts of complex numbers.

A transform along the last axis of a transposed array is one of columns: lanes run along them, and nothing is moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from wengert.compiler.machine import costs
from wengert.core.dtypes import Dtype, dtype_of
from wengert.core.shapes import shape_of
from wengert.ir.graph import Equation
from wengert.ir.types import TensorType
from wengert.ops.arithmetic import negative
from wengert.ops.butterflies import fast_dft, fast_irdft, fast_rdft, symmetry, tables
from wengert.ops.shape import concatenate, inverse_permutation, slice_, transpose, whole

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
def _tables(radices: tuple[int, ...], dtype: Dtype, half: int = 0) -> list[Any]:
    """Return the constants of a transform, for one of real numbers with those of its symmetry."""
    found = [*tables(radices, dtype), *([symmetry(half, dtype)] if half else [])]
    for table in found:
        table.flags.writeable = False
    return found


def is_native(equation: Equation) -> bool:
    """Tell whether an operation is a transform that becomes native code."""
    if equation.primitive not in ("dft", "rdft", "irdft"):
        return False
    x = equation.operands[0].type
    return bool(steps(equation.params.get("count", x.shape[-1]))) and math.prod(x.shape) > 0


def transformed(equation: Equation, parts: Sequence[Any], permutation: Sequence[int] = ()) -> list[Any]:
    """Transform the last axis.

    Args:
        equation: the operation.
        parts: the real and imaginary part of the operand, or a real operand.
        permutation: a transposition of the parts that brings another axis to the end, to transform it by columns.

    Returns:
        The parts of the result, or a real result.
    """
    if not permutation:
        return _of_rows(equation, parts, 0)
    shape = shape_of(parts[0])
    axis, last = permutation[-1], len(shape) - 1
    order = (*(other for other in range(last) if other != axis), axis, last)
    moved = [transpose(part, permutation=order) for part in parts]
    block = columns(shape[axis], shape[last], dtype_of(parts[0]))
    places = inverse_permutation(order)
    back = tuple(places[other] for other in permutation)
    return [transpose(part, permutation=back) for part in _of_rows(equation, moved, block)]


def _of_rows(equation: Equation, parts: Sequence[Any], block: int) -> list[Any]:
    """Transform along the last axis, or in blocks of columns along the one before."""
    x, dtype, axis = parts[0], dtype_of(parts[0]), -2 if block else -1
    params: dict[str, Any] = {"columns": block}
    if equation.primitive == "dft":
        radices = steps(shape_of(x)[axis])
        params.update(radices=radices, sign=equation.params["sign"], has_im=len(parts) == 2)
        return _apart(fast_dft(*parts, *_tables(radices, dtype), **params))
    count = equation.params.get("count", shape_of(x)[axis])
    half = count // 2
    params["radices"] = radices = steps(half)
    if equation.primitive == "rdft":
        if count % 2 == 0 and radices:
            return _apart(fast_rdft(x, *_tables(radices, dtype, half), **params))
        params.update(radices=steps(count), sign=-1, has_im=False)
        whole_ = fast_dft(x, *_tables(steps(count), dtype), **params)
        return [_cut(part, axis, 0, half + 1, 1) for part in _apart(whole_)]
    if count % 2 == 0 and radices:
        return [fast_irdft(*parts, *_tables(radices, dtype, half), **params)]
    # The other coefficients are the conjugates of the first.
    others = (count - 1) // 2
    mirrored = [_cut(part, axis, others, others, -1) for part in parts]
    place = len(shape_of(x)) + axis
    re = concatenate(parts[0], mirrored[0], axis=place)
    im = concatenate(parts[1], negative(mirrored[1]), axis=place)
    params.update(radices=steps(count), sign=1, has_im=True)
    return _apart(fast_dft(re, im, *_tables(steps(count), dtype), **params))[:1]


def _cut(x: Any, axis: int, start: int, extent: int, step: int) -> Any:
    index = whole(shape_of(x))
    index[axis] = (start, extent, step)
    return slice_(x, index=tuple(index))


def goes_by_columns(source: TensorType, permutation: Sequence[int]) -> bool:
    """Tell whether the last axis of a transposed value is transformed by columns, before the transposition."""
    return permutation[-1] != len(source.shape) - 1


def columns(count: int, width: int, dtype: Dtype) -> int:
    """Return how many columns are transformed together: a divisor of their number, if there is a large one."""
    lanes = costs.COSTS.lane_extent
    most = max(lanes, costs.COSTS.transform_block_bytes // (2 * count * dtype.itemsize))
    most = min(most, costs.COSTS.transform_columns)
    if width <= most:
        return width
    whole_ = (size for size in range(most, most // 2, -1) if width % size == 0)
    return next(whole_, most - most % lanes)


def _apart(pairs: Any) -> list[Any]:
    index = whole(shape_of(pairs))[:-1]
    return [slice_(pairs, index=(*index, part)) for part in range(2)]
