"""Fourier transforms of complex, real and Hermitian sequences, as in `scipy.fft`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import axes_tuple
from wengert.engine.ops.complex import as_complex, conjugate
from wengert.numpy import fourier
from wengert.numpy.registry import floating, integers, rank_of
from wengert.scipy.registry import number, signatures

#: The norm of the transform in the other direction that divides as this one does.
_OTHER = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _check(operation: str, workers: Any, plan: Any) -> None:
    if plan is not None:
        raise ArgumentError(message(operation, "plan must be None", type(plan).__name__))
    if workers is not None and not operator.index(workers):
        raise ArgumentError(message(operation, "workers must not be 0", "0"))


_scipys = signatures(
    "scipy.fft",
    """
        fft ifft rfft irfft hfft ihfft(x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None)
        fft2 ifft2 rfft2 irfft2 hfft2 ihfft2(x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *,
            plan=None)
        fftn ifftn rfftn irfftn hfftn ihfftn(x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
            plan=None)
    """,
)


def _transform(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Give a transform the parameters of SciPy's, and check those that it does not take."""
    name = transform.__name__

    @documented(
        overwrite_x="accepted, and not used: `x` stays as it is.",
        workers="accepted, and not used: a compiled program has its own threads.",
        plan="must be None.",
        Raises="ArgumentError: a length is less than 1, `norm` is unknown, or a plan is given.",
    )
    @_scipys
    @functools.wraps(transform)
    def checked(overwrite_x: bool, workers: Any, plan: Any, **operands: Any) -> Any:
        _check(name, workers, plan)
        return transform(**operands)

    return checked


def distinct(operation: str, x: Any, s: Any, axes: Any, to_real: bool = False) -> tuple[list[int], list[int]]:
    """Return the lengths and the axes of a transform along several axes, which must differ."""
    sizes, places = fourier.sizes_and_axes(operation, x, s, axes, to_real)
    axes_tuple(operation, tuple(places), rank_of(x))
    return sizes, places


# -- one axis --------------------------------------------------------------------------------------------


@_transform
def fft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform along one axis, ``y_k = sum_j x_j e^(-2 pi i j k / n)``.

    Example:
        >>> fft(np.array([1.0, 2.0, 3.0, 4.0]))
        array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return fourier.transformed("fft", x, n, axis, norm, -1)


@_transform
def ifft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Undo `fft`, ``x_j = sum_k y_k e^(2 pi i j k / n) / n``.

    Example:
        >>> ifft(np.array([10.0, 0.0, 0.0, 0.0]))
        array([2.5+0.j, 2.5+0.j, 2.5+0.j, 2.5+0.j])
    """
    return fourier.transformed("ifft", x, n, axis, norm, 1)


@_transform
def rfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform real numbers: the first n // 2 + 1 elements of `fft`, whose others are their conjugates.

    Example:
        >>> rfft(np.array([1.0, 2.0, 3.0, 4.0]))
        array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return fourier.from_real("rfft", x, n, axis, norm)


@_transform
def irfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Undo `rfft`; the imaginary parts of elements that must be real are not read.

    Example:
        >>> irfft(np.array([10.0, -2.0 + 2.0j, -2.0]))
        array([1., 2., 3., 4.])
    """
    return fourier.to_real("irfft", x, n, axis, norm)


@_transform
def hfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform the first half of a Hermitian sequence, ``x_(n - j) = conj(x_j)``, whose transform is real.

    Example:
        >>> hfft(np.array([1.0, 2.0j, 3.0]))
        array([ 4.,  2.,  4., -6.])
    """
    return fourier.to_real("hfft", _conjugate(x), n, axis, _other("hfft", norm))


@_transform
def ihfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Undo `hfft`.

    Example:
        >>> ihfft(np.array([4.0, 2.0, 4.0, -6.0]))
        array([1.-0.j, 0.+2.j, 3.-0.j])
    """
    return conjugate(fourier.from_real("ihfft", x, n, axis, _other("ihfft", norm)))


def _conjugate(x: Any) -> Any:
    return conjugate(as_complex(floating(operand(x))))


def _other(operation: str, norm: Any) -> str:
    fourier.norm_name(operation, norm)
    return _OTHER[norm]


# -- several axes ----------------------------------------------------------------------------------------


def _over_axes(operation: str, x: Any, s: Any, axes: Any, norm: Any, sign: int) -> Any:
    if axes is not None and not integers(axes):
        return as_complex(floating(operand(x)))
    sizes, places = distinct(operation, operand(x), s, axes)
    return fourier.over_axes(operation, x, sizes, places, norm, sign)


def _from_real(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    sizes, places = distinct(operation, operand(x), s, axes)
    return fourier.from_real_over_axes(operation, x, sizes, places, norm)


def _to_real(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    sizes, places = distinct(operation, operand(x), s, axes, to_real=True)
    return fourier.to_real_over_axes(operation, x, sizes, places, norm)


def _of_axes(
    name: str, summary: str, rows: tuple[str, str], compute: Callable[..., Any], *options: Any
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the transforms along two axes and along several axes, made of one along one axis.

    ``rows``: the transform of four ones, as printed. ``compute`` takes a name, an array, lengths, axes, a norm and the
    options.
    """

    def declare(suffix: str, axes: str) -> Callable[..., Any]:
        operation = f"{name}{suffix}"

        def transform(x: Any, s: Any, axes: Any, norm: Any) -> Any:
            return compute(operation, x, s, axes, norm, *options)

        transform.__name__ = transform.__qualname__ = operation
        example = f">>> {operation}(np.ones((2, 2)))\n    array([[{rows[0]}],\n           [{rows[1]}]])"
        transform.__doc__ = f"{summary.format(axes=axes, suffix=suffix)}\n\nExample:\n    {example}\n"
        return _transform(transform)

    return declare("2", "two axes"), declare("n", "several axes")


def _hermitian(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return _to_real(operation, _conjugate(x), s, axes, _other(operation, norm))


def _to_hermitian(operation: str, x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return conjugate(_from_real(operation, x, s, axes, _other(operation, norm)))


fft2, fftn = _of_axes(
    "fft", "Transform along {axes}, by `fft` along each.",
    ("4.+0.j, 0.+0.j", "0.+0.j, 0.+0.j"), _over_axes, -1,
)  # fmt: skip
ifft2, ifftn = _of_axes("ifft", "Undo `fft{suffix}`.", ("1.+0.j, 0.+0.j", "0.+0.j, 0.+0.j"), _over_axes, 1)
rfft2, rfftn = _of_axes(
    "rfft", "Transform real numbers along {axes}: by `rfft` along the last one, by `fft` along the others.",
    ("4.+0.j, 0.+0.j", "0.+0.j, 0.+0.j"), _from_real,
)  # fmt: skip
irfft2, irfftn = _of_axes("irfft", "Undo `rfft{suffix}`.", ("1., 0.", "0., 0."), _to_real)
hfft2, hfftn = _of_axes(
    "hfft", "Transform along {axes}: by `hfft` along the last one, by `fft` along the others.",
    ("4., 0.", "0., 0."), _hermitian,
)  # fmt: skip
ihfft2, ihfftn = _of_axes(
    "ihfft", "Undo `hfft{suffix}`.", ("1.-0.j, 0.-0.j", "0.-0.j, 0.-0.j"), _to_hermitian
)


# -- order and lengths -----------------------------------------------------------------------------------


@substitutes("scipy.fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Any:
    """Roll the coefficient of frequency 0 into the middle.

    Example:
        >>> fftshift(np.array([0.0, 1.0, -2.0, -1.0]))
        array([-2., -1.,  0.,  1.])
    """
    return fourier.shifted(operand(x), axes, lambda extent: extent // 2)


@substitutes("scipy.fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Undo `fftshift`.

    Example:
        >>> ifftshift(np.array([-2.0, -1.0, 0.0, 1.0]))
        array([ 0.,  1., -2., -1.])
    """
    return fourier.shifted(operand(x), axes, lambda extent: -(extent // 2))


_FREQUENCIES = documented(
    xp="must be None: the arrays are NumPy's.",
    device='must be None or "cpu".',
    Raises="ArgumentError: ``n`` is less than 1, or arrays of another library are asked for.",
)


def _check_frequencies(operation: str, n: Any, xp: Any, device: Any) -> int:
    if (xp is not None and xp.__name__ != "numpy") or device not in (None, "cpu"):
        raise ArgumentError(message(operation, "arrays are NumPy's", f"xp={xp}, device={device}"))
    return fourier.length_of(operation, n, 1)


@substitutes("scipy.fft.fftfreq")
@_FREQUENCIES
def fftfreq(n: int, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of `fft`, ``k / (n d)``, the negative ones last.

    Example:
        >>> fftfreq(4)
        array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    frequencies: Any = np.fft.fftfreq
    return frequencies(_check_frequencies("fftfreq", n, xp, device), d)


@substitutes("scipy.fft.rfftfreq")
@_FREQUENCIES
def rfftfreq(n: int, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of `rfft`, ``k / (n d)``.

    Example:
        >>> rfftfreq(4)
        array([0.  , 0.25, 0.5 ])
    """
    frequencies: Any = np.fft.rfftfreq
    return frequencies(_check_frequencies("rfftfreq", n, xp, device), d)


@substitutes("scipy.fft.next_fast_len")
def next_fast_len(target: int, real: bool = False) -> int:
    """Return the least length from a target on that has small prime factors only, as fast transforms have.

    Raises:
        ArgumentError: ``target`` is negative.

    Example:
        >>> next_fast_len(13), next_fast_len(13, real=True)
        (14, 15)
    """
    length = operator.index(number("next_fast_len", "target", target))
    if length < 0:
        raise ArgumentError(message("next_fast_len", "a length is not negative", str(target)))
    if not length:
        return 0
    primes = (2, 3, 5) if real else (2, 3, 5, 7, 11)
    products = [1]
    for prime in primes:
        # Products beyond twice the target are not the least: a power of 2 lies below.
        for product in list(products):
            while (product := product * prime) < 2 * length:
                products.append(product)
    return min(product for product in products if product >= length)
