"""Fourier transforms as native code: which lengths, in which steps, and on the parts of complex numbers.

A transform along the last axis of a transposed array is one of columns: lanes run along them, and nothing is moved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from wengert.engine.core.dtypes import FLOAT64, Dtype, dtype_of, real_dtype
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Equation
from wengert.engine.ir.types import TensorType
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Apply, Buffer, Load, walk
from wengert.engine.nest.index import Index
from wengert.engine.ops.arithmetic import negative
from wengert.engine.ops.fourier.butterflies import fast_dft, fast_irdft, fast_rdft
from wengert.engine.ops.fourier.short_transforms import Complex, short_transform
from wengert.engine.ops.fourier.transform_nests import is_convolved, symmetry, tables
from wengert.engine.ops.shape import concatenate, inverse_permutation, slice_, transpose, whole

#: The lengths that are one step.
_SHORT = (*range(2, 12), 13, 17, 19, 23, 29, 31, 37, 41, 43)
#: The odd prime factors that are one step, in the order of the steps. By a chirp, 37 had twice the error of NumPy.
_PRIMES = (7, 5, 3, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
#: Odd factors of the lengths of convolutions.
_ODD = (1, 3, 5, 7, 9, 11, 13, 15, 21, 25, 27, 33, 35, 39, 45, 49)


@functools.cache
def steps(count: int) -> tuple[int, ...]:
    """Return the lengths of the short transforms that make a long one; none for a length that is left to NumPy.

    They make one of that length, or a longer one, to convolve with a chirp. The first step is one whose results are
    joined in registers, and a long one: its results lie along the lanes of the next ones.

    Example:
        >>> steps(1024), steps(60), steps(143), steps(17)
        ((8, 8, 4, 4), (4, 5, 3), (11, 13), (17,))
    """
    if not 2 <= count <= costs.COSTS.native_transform_points:
        return ()
    return _factors(count) or _convolution(count)


def _factors(count: int) -> tuple[int, ...]:
    """Return the lengths of short transforms whose product is a length; none for a length with a large prime factor."""
    if count in _SHORT:
        return (count,)
    odd: list[int] = []
    remaining = count
    for prime in _PRIMES:
        while remaining % prime == 0:
            remaining //= prime
            odd.append(prime)
    return () if remaining & (remaining - 1) else (*_powers(remaining), *odd)


def _convolution(count: int) -> tuple[int, ...]:
    """Return the steps of the cheapest transform of at least ``2 count - 1`` points."""
    least = 2 * count - 1
    candidates = (_factors(odd << max(0, (-(-least // odd) - 1).bit_length())) for odd in _ODD)
    factors = min(candidates, key=_work)
    return factors if math.prod(factors) <= costs.COSTS.native_transform_points else ()


def _work(radices: tuple[int, ...]) -> float:
    """Return about how many operations a transform takes."""
    return math.prod(radices) * sum(map(_step_work, radices))


@functools.cache
def _step_work(radix: int) -> float:
    """Return about how many operations a step takes at each point, with the factors and the pass through memory."""
    xs = [Complex(*(Load(Buffer(FLOAT64, (radix,)), (Index(k),)) for _ in range(2))) for k in range(radix)]
    seen = set[int]()
    parts = (part for x in short_transform(xs, -1) for part in x if part is not None)
    inside = sum(isinstance(node, Apply) for part in parts for node in walk(part, seen=seen))
    return (inside + 6 * (radix - 1)) / radix + 2 * costs.COSTS.memory_pass_work


def _powers(count: int) -> tuple[int, ...]:
    """Return a power of two as a product of eights and at most two fours."""
    if count <= 4:
        return (count,) if count > 1 else ()
    exponent = count.bit_length() - 1
    fours = -exponent % 3
    return (*[8] * ((exponent - 2 * fours) // 3), *[4] * fours)


@functools.lru_cache(maxsize=16)
def _tables(points: int, dtype: Dtype, *, real: bool = False) -> list[Any]:
    """Return the constants of a transform, for one of twice as many real numbers with those of its symmetry."""
    arrays = [*tables(points, steps(points), dtype), *([symmetry(points, dtype)] if real else [])]
    for table in arrays:
        table.flags.writeable = False
    return arrays


def is_native(equation: Equation) -> bool:
    """Return whether an operation is a transform that becomes native code."""
    if equation.primitive not in ("dft", "rdft", "irdft"):
        return False
    x = equation.operands[0].type
    count = equation.params.get("count", x.shape[-1])
    is_real = equation.primitive != "dft"
    points = count // 2 if is_real and count % 2 == 0 and steps(count // 2) else count
    radices, rows = steps(points), math.prod(x.shape[:-1])
    if not radices or not rows:
        return False
    if not is_convolved(points, radices):
        return True
    of_a_row = _host_work(count) * (0.5 if is_real else 1) * (1 if real_dtype(x.dtype) == FLOAT64 else 2)
    by_host = costs.COSTS.host_call_work + costs.COSTS.host_transform_work * rows * of_a_row
    return 2 * rows * _work(radices) <= by_host


def _host_work(count: int) -> float:
    """Return about how many operations NumPy's transform takes: steps of its prime factors, or a convolution."""
    longer = 1 << (2 * count - 2).bit_length()
    return min(count * sum(_prime_factors(count)), 3 * longer * sum(_prime_factors(longer)))


def _prime_factors(count: int) -> list[int]:
    factors, prime = list[int](), 2
    while prime * prime <= count:
        if count % prime:
            prime += 1
        else:
            factors.append(prime)
            count //= prime
    return [*factors, count] if count > 1 else factors


def transformed(equation: Equation, parts: Sequence[Any], permutation: Sequence[int] = ()) -> list[Any]:
    """Transform the last axis of a real operand, or of a real and an imaginary part.

    A permutation of the parts brings another axis to the end, to transform it by columns.
    """
    if not permutation:
        return _of_rows(equation, parts, 0)
    shape = shape_of(parts[0])
    axis, last = permutation[-1], len(shape) - 1
    order = (*(number for number in range(last) if number != axis), axis, last)
    moved = [transpose(part, permutation=order) for part in parts]
    block = columns(shape[axis], shape[last], dtype_of(parts[0]))
    places = inverse_permutation(order)
    back = tuple(places[number] for number in permutation)
    return [transpose(part, permutation=back) for part in _of_rows(equation, moved, block)]


def _of_rows(equation: Equation, parts: Sequence[Any], block: int) -> list[Any]:
    """Transform along the last axis, or in blocks of columns along the one before."""
    x, dtype, axis = parts[0], dtype_of(parts[0]), -2 if block else -1
    if equation.primitive == "dft":
        return _complex(parts, block, equation.params["sign"])
    count = equation.params.get("count", shape_of(x)[axis])
    half = count // 2
    if count % 2 == 0 and steps(half):
        params = {"points": half, "radices": steps(half), "columns": block}
        constants = _tables(half, dtype, real=True)
        if equation.primitive == "rdft":
            return _apart(fast_rdft(x, *constants, **params))
        return [fast_irdft(*parts, *constants, **params)]
    if equation.primitive == "rdft":
        return [_cut(part, axis, 0, half + 1, 1) for part in _complex(parts, block, -1)]
    # The other coefficients are the conjugates of the first.
    others = (count - 1) // 2
    mirrored = [_cut(part, axis, others, others, -1) for part in parts]
    place = len(shape_of(x)) + axis
    re = concatenate(parts[0], mirrored[0], axis=place)
    im = concatenate(parts[1], negative(mirrored[1]), axis=place)
    return _complex([re, im], block, 1)[:1]


def _complex(parts: Sequence[Any], block: int, sign: int) -> list[Any]:
    """Transform complex points, or real ones as complex ones."""
    points = shape_of(parts[0])[-2 if block else -1]
    constants = _tables(points, dtype_of(parts[0]))
    return _apart(
        fast_dft(
            *parts,
            *constants,
            points=points,
            radices=steps(points),
            sign=sign,
            has_im=len(parts) == 2,
            columns=block,
        )
    )


def _cut(x: Any, axis: int, start: int, extent: int, step: int) -> Any:
    index = whole(shape_of(x))
    index[axis] = (start, extent, step)
    return slice_(x, index=tuple(index))


def goes_by_columns(source: TensorType, permutation: Sequence[int]) -> bool:
    """Return whether the last axis of a transposed value is transformed by columns, before the transposition."""
    return permutation[-1] != len(source.shape) - 1


def columns(count: int, width: int, dtype: Dtype) -> int:
    """Return how many columns are transformed together: a divisor of their number, if there is a large one."""
    lanes = costs.COSTS.lane_extent
    points = max(count, math.prod(steps(count)))
    most = max(lanes, costs.COSTS.transform_block_bytes // (2 * points * dtype.itemsize))
    most = min(most, costs.COSTS.transform_columns)
    if width <= most:
        return width
    whole_ = (size for size in range(most, most // 2, -1) if width % size == 0)
    return next(whole_, most - most % lanes)


def _apart(pairs: Any) -> list[Any]:
    index = whole(shape_of(pairs))[:-1]
    return [slice_(pairs, index=(*index, part)) for part in range(2)]
