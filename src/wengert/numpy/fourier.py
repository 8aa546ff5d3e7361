"""`np.fft` on boxes: transforms along one axis and several, of real and of Hermitian sequences.

`wengert.numpy` loads this module when a program first calls a function of `np.fft`, as NumPy loads its own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.fft as numpys

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import FLOAT32, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, AxisError, DtypeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.memory import lay_like
from wengert.engine.ops.complex import as_complex, conjugate
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.fourier.transforms import dft, irdft, rdft
from wengert.engine.ops.shape import embed, slice_, whole
from wengert.numpy.joining import roll
from wengert.numpy.registry import floating, implements, integers, rank_of
from wengert.numpy.shaping import moveaxis

#: The norm of the inverse transform that divides it where this norm divides the transform.
_INVERSE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def length_of(operation: str, n: Any, default: int) -> int:
    """Return the length of a transform."""
    count = default if n is None else operator.index(n)
    if count < 1:
        raise ArgumentError(message(operation, "a transform has at least one point", str(count)))
    return count


def norm_name(operation: str, norm: str | None, inverse: bool = False) -> str:
    """Return the norm of a transform, or that of the transform whose division an inverse one shares."""
    name = "backward" if norm is None else norm
    if name not in _INVERSE:
        raise ArgumentError(message(operation, 'norm must be "backward", "ortho" or "forward"', repr(norm)))
    return _INVERSE[name] if inverse else name


def normalised(x: Any, norm: str, count: int) -> Any:
    """Divide a transform of a length as a norm asks."""
    return x if norm == "backward" else x * (1 / (math.sqrt(count) if norm == "ortho" else count))


def sized(x: Any, count: int) -> Any:
    """Return a value cut, or filled up with zeros, to a length along its last axis."""
    shape = shape_of(x)
    if shape[-1] == count:
        return x
    index = whole(shape)
    if shape[-1] > count:
        return slice_(x, index=(*index[:-1], (0, count, 1)))
    return embed(x, shape=(*shape[:-1], count), index=tuple(index))


def along(operation: str, x: Any, axis: int, transform: Callable[[Any], Any], like: Any = None) -> Any:
    """Apply a transform of the last axis to another one; a result of NumPy's lies in memory as ``like``."""
    axis = axis_index(operation, axis, rank_of(x))
    order = "K" if operation.startswith("np.") else "C"
    if axis == rank_of(x) - 1:
        return lay_like(transform(x), like, order)
    return lay_like(moveaxis(transform(moveaxis(x, axis, -1)), -1, axis), like, order)


def transformed(operation: str, x: Any, n: Any, axis: int, norm: str | None, sign: int) -> Any:
    """Transform along one axis, with a sign of the exponents: -1 for the transform, 1 for its inverse."""
    x = operand(x)

    def transform(x: Any) -> Any:
        count = length_of(operation, n, shape_of(x)[-1])
        return normalised(dft(sized(x, count), sign=sign), norm_name(operation, norm, sign > 0), count)

    return along(operation, as_complex(floating(x)), axis, transform, x)


# -- real sequences --------------------------------------------------------------------------------------


def real_operand(operation: str, x: Any) -> Any:
    """Return an operand that must be real, in single or double precision."""
    x = floating(operand(x))
    if is_complex(dtype_of(x)):
        raise DtypeError(
            message(operation, "real numbers are required", show(x), "write fft in place of rfft")
        )
    return cast(x, dtype=FLOAT32) if dtype_of(x) == np.float16 else x


def from_real(operation: str, x: Any, n: Any, axis: int, norm: str | None) -> Any:
    """Return the first half of the transform of real numbers."""
    x = operand(x)

    def transform(x: Any) -> Any:
        count = length_of(operation, n, shape_of(x)[-1])
        return normalised(rdft(sized(x, count)), norm_name(operation, norm), count)

    return along(operation, real_operand(operation, x), axis, transform, x)


def to_real(operation: str, x: Any, n: Any, axis: int, norm: str | None) -> Any:
    """Return the real numbers of which a value is the first half of the transform."""

    def transform(x: Any) -> Any:
        count = length_of(operation, n, 2 * (shape_of(x)[-1] - 1))
        result = irdft(sized(x, count // 2 + 1), count=count)
        return normalised(result, norm_name(operation, norm, True), count)

    x = operand(x)
    return along(operation, as_complex(floating(x)), axis, transform, x)


@implements(numpys.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The imaginary parts of the coefficients that must be real, the first and for even n the last, are not read."""
    return to_real("np.fft.irfft", a, n, axis, norm)


@implements(numpys.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    hermitian = conjugate(as_complex(floating(operand(a))))
    return to_real("np.fft.hfft", hermitian, n, axis, norm_name("np.fft.hfft", norm, True))


@implements(numpys.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return conjugate(from_real("np.fft.ihfft", a, n, axis, norm_name("np.fft.ihfft", norm, True)))


# -- several axes ----------------------------------------------------------------------------------------


def sizes_and_axes(
    operation: str, x: Any, s: Any, axes: Any, to_real: bool = False
) -> tuple[list[int], list[int]]:
    """Return the length and the axis of each transform."""
    rank = rank_of(x)
    requested = None if s is None else integers(s)
    if axes is None:
        named: Sequence[int] = range(rank) if requested is None else range(-len(requested), 0)
    else:
        named = integers(axes)
    places = [axis_index(operation, axis, rank) for axis in named]
    if not places:
        raise AxisError(message(operation, "at least one axis is required", show(x)))
    if requested is not None and len(requested) != len(places):
        raise ArgumentError(message(operation, "s and axes must have the same length", f"{s}, {axes}"))
    sizes = [shape_of(x)[place] for place in places]
    if requested is None and to_real:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if requested is not None:
        sizes = [own if size == -1 else size for own, size in zip(sizes, requested, strict=True)]
    return sizes, places


def over_axes(operation: str, x: Any, s: Any, axes: Any, norm: Any, sign: int) -> Any:
    """Transform along several axes, the last one first."""
    x = operand(x)
    for size, axis in reversed(list(zip(*sizes_and_axes(operation, x, s, axes), strict=True))):
        x = transformed(operation, x, size, axis, norm, sign)
    return x


def from_real_over_axes(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform real numbers along several axes: half of the coefficients along the last one."""
    sizes, places = sizes_and_axes(operation, operand(x), s, axes)
    x = from_real(operation, x, sizes[-1], places[-1], norm)
    for size, axis in reversed(list(zip(sizes[:-1], places[:-1], strict=True))):
        x = transformed(operation, x, size, axis, norm, -1)
    return x


def to_real_over_axes(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `from_real_over_axes`."""
    x = operand(x)
    sizes, places = sizes_and_axes(operation, x, s, axes, to_real=True)
    for size, axis in zip(sizes[:-1], places[:-1], strict=True):
        x = transformed(operation, x, size, axis, norm, 1)
    return to_real(operation, x, sizes[-1], places[-1], norm)


# -- NumPy's functions -----------------------------------------------------------------------------------


def _implement(function: Any, transform: Callable[..., Any], *sign: int) -> None:
    """Implement a transform along one axis, two or several, as its name says."""
    name = f"np.fft.{function.__name__}"

    def along_one(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return transform(name, a, n, axis, norm, *sign)

    def along_two(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return transform(name, a, s, axes, norm, *sign)

    def along_several(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        return transform(name, a, s, axes, norm, *sign)

    implements(function)({"n": along_several, "2": along_two}.get(name[-1], along_one))


_implement(numpys.fft, transformed, -1)
_implement(numpys.ifft, transformed, 1)
_implement(numpys.rfft, from_real)
for _name in ("fft2", "fftn"):
    _implement(getattr(numpys, _name), over_axes, -1)
    _implement(getattr(numpys, f"i{_name}"), over_axes, 1)
    _implement(getattr(numpys, f"r{_name}"), from_real_over_axes)
    _implement(getattr(numpys, f"ir{_name}"), to_real_over_axes)

# -- order of the coefficients ---------------------------------------------------------------------------


def shifted(x: Any, axes: Any, amount: Callable[[int], int]) -> Any:
    """Roll along axes by an amount that depends on their lengths."""
    named = range(rank_of(x)) if axes is None else integers(axes)
    return roll(x, [amount(shape_of(x)[axis]) for axis in named], list(named))


@implements(numpys.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    return shifted(operand(x), axes, lambda extent: extent // 2)


@implements(numpys.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    return shifted(operand(x), axes, lambda extent: -(extent // 2))
