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
from wengert.scipy.registry import P, number, with_parameters_of

_TERMS = {
    "overwrite_x": "accepted, and not used: `x` stays as it is.",
    "workers": "accepted, and not used: a compiled program has its own threads.",
    "plan": "must be None.",
}
_described = documented(
    _TERMS, Raises="ArgumentError: a length is less than 1, `norm` is unknown, or a plan is given."
)
#: The norm of the transform in the other direction that divides as this one does.
_OTHER = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _check(operation: str, workers: Any, plan: Any) -> None:
    if plan is not None:
        raise ArgumentError(message(operation, "plan must be None", type(plan).__name__))
    if workers is not None and not operator.index(workers):
        raise ArgumentError(message(operation, "workers must not be 0", "0"))


def _transform(template: Callable[P, tuple[Any, ...]]) -> Callable[[Callable[..., Any]], Callable[P, Any]]:
    """Return a decorator of transforms with the parameters of a function, which returns those that are used.

    The first two are ``workers`` and ``plan``; the transform takes the others.
    """

    def decorate(transform: Callable[..., Any]) -> Callable[P, Any]:
        name = transform.__name__

        @functools.wraps(transform)
        def checked(workers: Any, plan: Any, *operands: Any) -> Any:
            _check(name, workers, plan)
            return transform(*operands)

        return substitutes(f"scipy.fft.{name}")(_described(with_parameters_of(template)(checked)))

    return decorate


@_transform
def _one_axis(
    x: Any,
    n: Any = None,
    axis: int = -1,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> tuple[Any, ...]:
    return workers, plan, x, n, axis, norm


@_transform
def _two_axes(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> tuple[Any, ...]:
    return workers, plan, x, s, axes, norm


@_transform
def _several_axes(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: bool = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> tuple[Any, ...]:
    return workers, plan, x, s, axes, norm


def distinct(operation: str, x: Any, s: Any, axes: Any, to_real: bool = False) -> tuple[list[int], list[int]]:
    """Return the lengths and the axes of a transform along several axes, which must differ."""
    sizes, places = fourier.sizes_and_axes(operation, x, s, axes, to_real)
    axes_tuple(operation, tuple(places), rank_of(x))
    return sizes, places


# -- one axis --------------------------------------------------------------------------------------------


@_one_axis
def fft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform along one axis, ``y_k = sum_j x_j e^(-2 pi i j k / n)``.

    Example:
        >>> fft(np.array([1.0, 2.0, 3.0, 4.0]))
        array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return fourier.transformed("fft", x, n, axis, norm, -1)


@_one_axis
def ifft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Undo `fft`, ``x_j = sum_k y_k e^(2 pi i j k / n) / n``.

    Example:
        >>> ifft(np.array([10.0, 0.0, 0.0, 0.0]))
        array([2.5+0.j, 2.5+0.j, 2.5+0.j, 2.5+0.j])
    """
    return fourier.transformed("ifft", x, n, axis, norm, 1)


@_one_axis
def rfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform real numbers: the first n // 2 + 1 elements of `fft`, whose others are their conjugates.

    Example:
        >>> rfft(np.array([1.0, 2.0, 3.0, 4.0]))
        array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return fourier.from_real("rfft", x, n, axis, norm)


@_one_axis
def irfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Undo `rfft`; the imaginary parts of elements that must be real are not read.

    Example:
        >>> irfft(np.array([10.0, -2.0 + 2.0j, -2.0]))
        array([1., 2., 3., 4.])
    """
    return fourier.to_real("irfft", x, n, axis, norm)


@_one_axis
def hfft(x: Any, n: Any, axis: int, norm: Any) -> Any:
    """Transform the first half of a Hermitian sequence, ``x_(n - j) = conj(x_j)``, whose transform is real.

    Example:
        >>> hfft(np.array([1.0, 2.0j, 3.0]))
        array([ 4.,  2.,  4., -6.])
    """
    return fourier.to_real("hfft", _conjugate(x), n, axis, _other("hfft", norm))


@_one_axis
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


@_two_axes
def fft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform along two axes, by `fft` along each.

    Example:
        >>> fft2(np.ones((2, 2)))
        array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _over_axes("fft2", x, s, axes, norm, -1)


@_two_axes
def ifft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `fft2`.

    Example:
        >>> ifft2(np.ones((2, 2)))
        array([[1.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _over_axes("ifft2", x, s, axes, norm, 1)


@_two_axes
def rfft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform real numbers along two axes: by `rfft` along the last one, by `fft` along the others.

    Example:
        >>> rfft2(np.ones((2, 2)))
        array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _from_real("rfft2", x, s, axes, norm)


@_two_axes
def irfft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `rfft2`.

    Example:
        >>> irfft2(np.ones((2, 2)))
        array([[1., 0.],
               [0., 0.]])
    """
    return _to_real("irfft2", x, s, axes, norm)


@_two_axes
def hfft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform along two axes: by `hfft` along the last one, by `fft` along the others.

    Example:
        >>> hfft2(np.ones((2, 2)))
        array([[4., 0.],
               [0., 0.]])
    """
    return _to_real("hfft2", _conjugate(x), s, axes, _other("hfft2", norm))


@_two_axes
def ihfft2(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `hfft2`.

    Example:
        >>> ihfft2(np.ones((2, 2)))
        array([[1.-0.j, 0.-0.j],
               [0.-0.j, 0.-0.j]])
    """
    return conjugate(_from_real("ihfft2", x, s, axes, _other("ihfft2", norm)))


@_several_axes
def fftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform along several axes, by `fft` along each.

    Example:
        >>> fftn(np.ones((2, 2)))
        array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _over_axes("fftn", x, s, axes, norm, -1)


@_several_axes
def ifftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `fftn`.

    Example:
        >>> ifftn(np.ones((2, 2)))
        array([[1.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _over_axes("ifftn", x, s, axes, norm, 1)


@_several_axes
def rfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform real numbers along several axes: by `rfft` along the last one, by `fft` along the others.

    Example:
        >>> rfftn(np.ones((2, 2)))
        array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]])
    """
    return _from_real("rfftn", x, s, axes, norm)


@_several_axes
def irfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `rfftn`.

    Example:
        >>> irfftn(np.ones((2, 2)))
        array([[1., 0.],
               [0., 0.]])
    """
    return _to_real("irfftn", x, s, axes, norm)


@_several_axes
def hfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Transform along several axes: by `hfft` along the last one, by `fft` along the others.

    Example:
        >>> hfftn(np.ones((2, 2)))
        array([[4., 0.],
               [0., 0.]])
    """
    return _to_real("hfftn", _conjugate(x), s, axes, _other("hfftn", norm))


@_several_axes
def ihfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Undo `hfftn`.

    Example:
        >>> ihfftn(np.ones((2, 2)))
        array([[1.-0.j, 0.-0.j],
               [0.-0.j, 0.-0.j]])
    """
    return conjugate(_from_real("ihfftn", x, s, axes, _other("ihfftn", norm)))


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
