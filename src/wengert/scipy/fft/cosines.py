"""Cosine and sine transforms of the types 1 to 4, as in `scipy.fft`.

Types 2 and 3 take one Fourier transform of the same length (J. Makhoul, A fast cosine transform in one and two
dimensions, 1980), types 1 and 4 one of the sequence continued by symmetry, or of half the length.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import FLOAT32, Dtype, complex_dtype, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.complex import as_complex, from_parts, imag, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.fourier.transforms import dft, irdft, rdft
from wengert.numpy import fourier
from wengert.numpy.registry import floating, integers, rank_of
from wengert.numpy.shaping import flip, part
from wengert.scipy.fft.exponentials import distinct
from wengert.scipy.registry import signatures

# -- transforms along the last axis, without a norm ------------------------------------------------------


def _turns(angles: Any, dtype: Dtype) -> Any:
    """Return ``e^(i pi angle)`` as constants of a program."""
    return np.exp(1j * np.pi * angles).astype(complex_dtype(dtype))


def _alternating(x: Any) -> Any:
    """Change the sign of each second element."""
    signs = np.ones(shape_of(x)[-1], dtype_of(x))
    signs[1::2] = -1
    return x * signs


def _last(x: Any, *bounds: int | None) -> Any:
    return part(x, rank_of(x) - 1, slice(*bounds))


def _reversed(x: Any) -> Any:
    return flip(x, -1)


def _cosine1(x: Any) -> Any:
    """Transform the even continuation about both ends."""
    even = np.concatenate([x, _reversed(_last(x, 1, -1))], -1) if shape_of(x)[-1] > 2 else x
    return real(rdft(even))


def _cosine2(x: Any) -> Any:
    """Transform the even elements, then the odd ones backwards."""
    count = shape_of(x)[-1]
    half = count // 2
    turned = rdft(np.concatenate([_last(x, 0, None, 2), _reversed(_last(x, 1, None, 2))], -1))
    turned = turned * (2 * _turns(-np.arange(half + 1) / (2 * count), dtype_of(x)))
    if count < 3:
        return real(turned)
    return np.concatenate([real(turned), -_reversed(imag(_last(turned, 1, (count + 1) // 2)))], -1)


def _cosine3(x: Any) -> Any:
    """Undo `_cosine2`, times twice the length."""
    count = shape_of(x)[-1]
    half, dtype = count // 2, dtype_of(x)
    partner = np.concatenate([_last(x, 0, 1) * 0, _reversed(_last(x, count - half, None))], -1)
    turned = from_parts(_last(x, 0, half + 1), -partner) * _turns(np.arange(half + 1) / (2 * count), dtype)
    sequence = irdft(turned, count=count)
    if count < 3:
        return sequence
    even, odd = _last(sequence, 0, count - half), _reversed(_last(sequence, count - half, None))
    if count % 2:
        odd = np.concatenate([odd, _last(odd, 0, 1)], -1)
    pairs = np.reshape(np.stack([even, odd], -1), (*shape_of(x)[:-1], 2 * (count - half)))
    return _last(pairs, 0, count)


def _cosine4(x: Any) -> Any:
    count, dtype = shape_of(x)[-1], dtype_of(x)
    if count % 2:  # the elements at even places of a transform of twice the length
        turned = as_complex(x) * _turns(-np.arange(count) / (2 * count), dtype)
        turned = _last(dft(fourier.sized(turned, 2 * count), sign=-1), 0, count)
        return real(turned * (2 * _turns(-(2 * np.arange(count) + 1) / (4 * count), dtype)))
    half = count // 2
    turns = _turns(-(4 * np.arange(half) + 1) / (4 * count), dtype)
    turned = dft(from_parts(_last(x, 0, None, 2), _reversed(_last(x, 1, None, 2))) * turns, sign=-1)
    turned = turned * (2 * _turns(-np.arange(half) / count, dtype))
    pairs = np.stack([real(turned), -_reversed(imag(turned))], -1)
    return np.reshape(pairs, shape_of(x))


def _sine1(x: Any) -> Any:
    """Transform the odd continuation about both ends."""
    zero = _last(x, 0, 1) * 0
    odd = np.concatenate([zero, x, zero, -_reversed(x)], -1)
    return -imag(_last(rdft(odd), 1, -1))


_TRANSFORMS: dict[tuple[str, int], Callable[[Any], Any]] = {
    ("dct", 1): _cosine1,
    ("dct", 2): _cosine2,
    ("dct", 3): _cosine3,
    ("dct", 4): _cosine4,
    ("dst", 1): _sine1,
    ("dst", 2): lambda x: _reversed(_cosine2(_alternating(x))),
    ("dst", 3): lambda x: _alternating(_cosine3(_reversed(x))),
    ("dst", 4): lambda x: _alternating(_cosine4(_reversed(x))),
}
#: The type whose transform undoes that of a type.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
#: The elements that `orthogonalize` scales, before the transform and after it.
_ENDS = {
    ("dct", 1): ((0, -1), (0, -1)),
    ("dct", 2): ((), (0,)),
    ("dct", 3): ((0,), ()),
    ("dst", 2): ((), (-1,)),
    ("dst", 3): ((-1,), ()),
}


# -- norms, axes and types -------------------------------------------------------------------------------


def _scaled(x: Any, places: tuple[int, ...], factor: float) -> Any:
    """Multiply elements along the last axis."""
    if not places:
        return x
    weights = np.ones(shape_of(x)[-1], dtype_of(x))
    weights[list(places)] = factor
    return x * weights


def _along_last(x: Any, kind: tuple[str, int], norm: str, orthogonal: bool) -> Any:
    count = shape_of(x)[-1]
    before, after = _ENDS.get(kind, ((), ())) if orthogonal else ((), ())
    x = _scaled(_TRANSFORMS[kind](_scaled(x, before, math.sqrt(2))), after, math.sqrt(0.5))
    points = 2 * (count + ((kind[0] == "dst") - (kind[0] == "dct") if kind[1] == 1 else 0))
    return fourier.normalised(x, norm, points)


def _transformed(
    name: str, x: Any, sizes: list[int], axes: list[int], type: Any, norm: Any, orthogonalize: Any
) -> Any:
    """Transform along axes: ``name`` is that of a function of one axis."""
    inverse = name[0] == "i"
    if type not in _INVERSE:
        raise ArgumentError(message(name, "type must be 1, 2, 3 or 4", repr(type)))
    kind = name[-3:], _INVERSE[type] if inverse else int(type)
    norm = fourier.norm_name(name, norm, inverse)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    for size, axis in zip(sizes, axes, strict=True):
        if fourier.length_of(name, size, 1) == 1 and kind == ("dct", 1):
            raise ArgumentError(message(name, "a transform of type 1 has at least two points", "1"))
        transform = functools.partial(_along_last, kind=kind, norm=norm, orthogonal=orthogonal)
        x = fourier.along(name, x, axis, lambda x, size=size, f=transform: f(fourier.sized(x, size)))
    return x


def _operand(x: Any) -> Any:
    x = floating(operand(x))
    return cast(x, dtype=FLOAT32) if dtype_of(x) == np.float16 else x


def _of_parts(name: str, x: Any, sizes: list[int], axes: list[int], **kind: Any) -> Any:
    """Transform the real and the imaginary part of a complex array."""
    if not is_complex(dtype_of(x)):
        return _transformed(name, x, sizes, axes, **kind)
    return from_parts(*(_transformed(name, y, sizes, axes, **kind) for y in (real(x), imag(x))))


def _one(name: str, x: Any, n: Any, axis: int, overwrite_x: bool, workers: Any, **kind: Any) -> Any:
    x = _operand(x)
    sizes, axes = distinct(name, x, None if n is None else [fourier.length_of(name, n, 1)], axis)
    return _of_parts(name, x, sizes, axes, **kind)


def _several(name: str, x: Any, s: Any, axes: Any, overwrite_x: bool, workers: Any, **kind: Any) -> Any:
    x = _operand(x)
    if (axes is not None and not integers(axes)) or not rank_of(x):
        return x
    return _of_parts(name, x, *distinct(name, x, s, axes), **kind)


_scipys = signatures(
    "scipy.fft",
    """
        dct idct dst idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None,
            orthogonalize=None)
        idctn dstn idstn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None,
            orthogonalize=None)
        dctn(x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None)
    """,
)
_described = documented(
    overwrite_x="accepted, and not used: `x` stays as it is.",
    workers="accepted, and not used: a compiled program has its own threads.",
    Raises="ArgumentError: `type` or `norm` is unknown, or a length too small.",
)


def _transform(transform: Callable[..., Any]) -> Callable[..., Any]:
    return _described(_scipys(transform))


@_transform
def dct(**arguments: Any) -> Any:
    """Transform by cosines.

    ====  ===================================================================
    type  ``y_k``, with sums over j from 0 to n - 1
    ====  ===================================================================
    1     ``x_0 + (-1)^k x_(n-1) + 2 sum_(0<j<n-1) x_j cos(pi j k / (n - 1))``
    2     ``2 sum_j x_j cos(pi k (2 j + 1) / (2 n))``
    3     ``x_0 + 2 sum_(j>0) x_j cos(pi j (2 k + 1) / (2 n))``
    4     ``2 sum_j x_j cos(pi (2 j + 1) (2 k + 1) / (4 n))``
    ====  ===================================================================

    Example:
        >>> dct(np.array([1.0, 2.0, 3.0]), norm="ortho").round(4)
        array([ 3.4641, -1.4142,  0.    ])
    """
    return _one("dct", **arguments)


@_transform
def dctn(**arguments: Any) -> Any:
    """Transform along several axes, by `dct` along each.

    Example:
        >>> dctn(np.ones((2, 2))).round(4)
        array([[16.,  0.],
               [ 0.,  0.]])
    """
    return _several("dct", **arguments)


@_transform
def idct(**arguments: Any) -> Any:
    """Undo `dct` of the same type.

    Example:
        >>> idct(np.array([1.0, 2.0, 3.0]), norm="ortho").round(4)
        array([ 3.2163, -1.8721,  0.3879])
    """
    return _one("idct", **arguments)


@_transform
def idctn(**arguments: Any) -> Any:
    """Undo `dctn` of the same type.

    Example:
        >>> idctn(np.ones((2, 2))).round(4)
        array([[ 0.3643, -0.0625],
               [-0.0625,  0.0107]])
    """
    return _several("idct", **arguments)


@_transform
def dst(**arguments: Any) -> Any:
    """Transform by sines.

    ====  ===================================================================
    type  ``y_k``, with sums over j from 0 to n - 1
    ====  ===================================================================
    1     ``2 sum_j x_j sin(pi (j + 1) (k + 1) / (n + 1))``
    2     ``2 sum_j x_j sin(pi (k + 1) (2 j + 1) / (2 n))``
    3     ``(-1)^k x_(n-1) + 2 sum_(j<n-1) x_j sin(pi (j + 1) (2 k + 1) / (2 n))``
    4     ``2 sum_j x_j sin(pi (2 j + 1) (2 k + 1) / (4 n))``
    ====  ===================================================================

    Example:
        >>> dst(np.array([1.0, 2.0, 3.0]), norm="ortho").round(4)
        array([ 3.266 , -1.4142,  1.1547])
    """
    return _one("dst", **arguments)


@_transform
def dstn(**arguments: Any) -> Any:
    """Transform along several axes, by `dst` along each.

    Example:
        >>> dstn(np.ones((2, 2))).round(4)
        array([[8., 0.],
               [0., 0.]])
    """
    return _several("dst", **arguments)


@_transform
def idst(**arguments: Any) -> Any:
    """Undo `dst` of the same type.

    Example:
        >>> idst(np.array([1.0, 2.0, 3.0]), norm="ortho").round(4)
        array([ 3.5545, -0.9156,  0.7261])
    """
    return _one("idst", **arguments)


@_transform
def idstn(**arguments: Any) -> Any:
    """Undo `dstn` of the same type.

    Example:
        >>> idstn(np.ones((2, 2))).round(4)
        array([[0.3643, 0.0625],
               [0.0625, 0.0107]])
    """
    return _several("idst", **arguments)
