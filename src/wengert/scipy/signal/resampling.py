"""Smoothing by polynomials, another sampling rate, and the frequency response of filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import complex_dtype, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.conversion import cast
from wengert.numpy.registry import floating, is_sequence, rank_of
from wengert.numpy.shaping import part
from wengert.scipy.ndimage import convolve1d
from wengert.scipy.registry import array, number, signatures
from wengert.scipy.signal.spectra import named_window

_EDGES = ("mirror", "constant", "nearest", "wrap", "interp")


_resampling = signatures(
    "scipy.signal",
    """
        savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0)
        freqz(b, a=1, worN=512, whole=False, plot=None, fs=6.283185307179586, include_nyquist=False)
    """,
)


def _fitted(width: int, degree: int, order: int, positions: Any) -> Any:
    """Return the weights of samples in a derivative, at positions, of the polynomial of least squares through them."""
    middle = (width - 1) / 2
    half = max(middle, 1.0)
    powers = np.arange(degree + 1)
    fit = np.linalg.pinv(((np.arange(width) - middle) / half)[:, None] ** powers)
    factors = np.array([float(math.perm(power, order)) for power in powers])
    values = ((np.asarray(positions) - middle) / half)[:, None] ** np.maximum(powers - order, 0)
    return (values * factors / half**order) @ fit


@_resampling
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int, delta: Any, axis: int, mode: Any, cval: Any
) -> Any:
    """Smooth by polynomials of least squares in a window, after Savitzky and Golay.

    Raises:
        ArgumentError: the window does not fit the signal or the degree, or the mode is unknown.

    Example:
        >>> savgol_filter(np.array([0.0, 1.0, 4.0, 9.0, 16.0]), 3, 2, deriv=1).round(6) + 0.0
        array([0., 2., 4., 6., 8.])
    """
    operation, x = "savgol_filter", floating(array(x))
    if mode not in _EDGES:
        raise ArgumentError(message(operation, f"mode must be one of {', '.join(_EDGES)}", repr(mode)))
    axis = axis_index(operation, axis, rank_of(x))
    count, half = shape_of(x)[axis], window_length // 2
    if not 0 <= polyorder < window_length or (mode == "interp" and window_length > count):
        requirement = (
            "polyorder < window_length is required, and for the mode interp a signal as long as the window"
        )
        raise ArgumentError(message(operation, requirement, f"{polyorder}, {window_length}, {count}"))
    weights = _fitted(window_length, polyorder, deriv, [(window_length - 1) / 2])[0]
    extension = "constant" if mode == "interp" else mode
    y = convolve1d(x, weights[::-1], axis, None, extension, cval)
    if mode == "interp" and half:
        ends: list[Any] = []
        for positions, window in (
            (np.arange(half), slice(0, window_length)),
            (np.arange(window_length - half, window_length), slice(count - window_length, count)),
        ):
            fit = _fitted(window_length, polyorder, deriv, positions).astype(real_dtype(dtype_of(x)))
            samples = np.moveaxis(part(x, axis, window), axis, 0)
            ends.append(np.moveaxis(np.tensordot(fit, samples, 1), 0, axis))
        y = np.concatenate([ends[0], part(y, axis, slice(half, count - half)), ends[1]], axis)
    return y if deriv == 0 else y / cast(array(delta), dtype=dtype_of(y)) ** deriv


# -- another sampling rate -------------------------------------------------------------------------------


def _spectral_window(operation: str, window: Any, count: int) -> Any:
    """Return the weights of the frequencies in the order of the transform, or None."""
    if window is None:
        return None
    if callable(window):
        return window(np.fft.fftfreq(count))
    if isinstance(window, str) or is_sequence(window):
        return np.fft.fftshift(named_window(operation, window, count))
    weights = array(window)
    if shape_of(weights) != (count,):
        requirement = f"a window must be a name, a function, or {count} numbers"
        raise ShapeError(message(operation, requirement, show(weights)))
    return weights


def _resized(spectrum: Any, count: int, wanted: int) -> Any:
    """Return a two-sided spectrum with another number of frequencies."""
    common = min(count, wanted)
    split = common // 2 + 1
    head, tail = spectrum[..., :split], spectrum[..., count - max(common - split, 0) :]
    middle: Any = np.zeros((*shape_of(spectrum)[:-1], wanted - common), dtype_of(spectrum))
    if common % 2 == 0 and wanted < count:  # both frequencies of a pair become the unpaired one
        partner = spectrum[..., count - common // 2 : count - common // 2 + 1]
        head = np.concatenate([head[..., :-1], head[..., -1:] + partner], -1)
    elif common % 2 == 0 and count < wanted:  # the unpaired frequency becomes a pair
        unpaired = head[..., -1:] * 0.5
        head = np.concatenate([head[..., :-1], unpaired], -1)
        middle = np.concatenate([middle[..., 1:], unpaired], -1)
    return np.concatenate([head, middle, tail], -1)


@substitutes("scipy.signal.resample")
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """Return a periodic signal at another number of points, by Fourier transforms.

    Raises:
        ArgumentError: the domain is unknown, or there are no points.
        ShapeError: the window does not fit.

    Example:
        >>> resample(np.array([1.0, 0.0, -1.0, 0.0]), 8).round(3)[:3] + 0.0
        array([1.   , 0.707, 0.   ])
    """
    operation, x = "resample", floating(array(x))
    num = int(number(operation, "num", num))
    if domain not in ("time", "freq") or num < 1:
        requirement = 'num >= 1 and a domain "time" or "freq" are required'
        raise ArgumentError(message(operation, requirement, f"{num}, {domain!r}"))
    axis = axis_index(operation, axis, rank_of(x))
    x = np.moveaxis(x, axis, -1)
    count = shape_of(x)[-1]
    weights = _spectral_window(operation, window, count)
    common, scale = min(num, count), num / count
    if weights is not None:
        weights = cast(array(weights), dtype=real_dtype(dtype_of(x)))
    if domain == "time" and not is_complex(dtype_of(x)):
        spectrum = np.fft.rfft(x)
        frequencies = shape_of(spectrum)[-1]
        if weights is not None:
            mirrored = weights[count - frequencies + 1 :][::-1]
            spectrum = spectrum * np.concatenate([weights[:1], (weights[1:frequencies] + mirrored) / 2])
        factors = np.full(common // 2 + 1, scale, real_dtype(dtype_of(x)))
        if common % 2 == 0 and num != count:  # the unpaired frequency
            factors[-1] *= 2.0 if num < count else 0.5
        result = np.fft.irfft(spectrum[..., : common // 2 + 1] * factors, num)
    else:
        spectrum = np.fft.fft(x) if domain == "time" else x + 0j
        spectrum = spectrum if weights is None else spectrum * weights
        result = np.fft.ifft(_resized(spectrum, count, num) * scale)
    result = np.moveaxis(result, -1, axis)
    if t is None:
        return result
    t = array(t)
    return result, t[0] + (t[1] - t[0]) * np.arange(num) / scale


# -- responses -------------------------------------------------------------------------------------------


def _polynomial(c: Any, z: Any) -> Any:
    """Return ``sum_k c[k] z^k`` by Horner's rule."""
    value = c[-1] + z * 0.0
    for k in reversed(range(shape_of(c)[0] - 1)):
        value = value * z + c[k]
    return value


@_resampling
def freqz(b: Any, a: Any, worN: Any, whole: Any, plot: Any, fs: Any, include_nyquist: Any) -> tuple[Any, Any]:
    """Return the frequency response of a filter, ``sum_k b[k] e^(-i k w) / sum_k a[k] e^(-i k w)``.

    Raises:
        ShapeError: the coefficients are not vectors.

    Example:
        >>> abs(freqz([0.5, 0.5], worN=2)[1]).round(3)
        array([1.   , 0.707])
    """
    b, a = (floating(array(x)) for x in (b, a))
    b, a = (np.reshape(x, (1,)) if not rank_of(x) else x for x in (b, a))
    if rank_of(b) != 1 or rank_of(a) != 1 or not shape_of(b)[0] or not shape_of(a)[0]:
        raise ShapeError(message("freqz", "the coefficients must be vectors with elements", show(b, a)))
    dtype = np.result_type(dtype_of(b), dtype_of(a))
    worN = 512 if worN is None else worN
    points = concrete(worN)
    if points is not None and not np.ndim(points) and float(points).is_integer():
        last = 2 * math.pi if whole else math.pi
        w: Any = np.linspace(0, last, int(points), endpoint=include_nyquist and not whole)
        w = w.astype(real_dtype(dtype))
    else:
        w = cast(array(worN), dtype=real_dtype(dtype))
        w = 2 * math.pi * (np.reshape(w, (1,)) if not rank_of(w) else w) / fs
    z = cast(np.exp(-1j * w), dtype=complex_dtype(real_dtype(dtype)))
    response = _polynomial(b, z) / _polynomial(a, z)
    w = w * (fs / (2 * math.pi))
    if plot is not None:
        plot(w, response)
    return w, response


@substitutes("scipy.signal.freqz_sos", "scipy.signal.sosfreqz")
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * math.pi) -> tuple[Any, Any]:
    """Return the frequency response of sections of second order: the product of theirs.

    Raises:
        ShapeError: the sections are not rows of 6.

    Example:
        >>> abs(freqz_sos([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], worN=2)[1]).round(3)
        array([1.   , 0.707])
    """
    sos = floating(array(sos))
    if rank_of(sos) != 2 or shape_of(sos)[1] != 6 or not shape_of(sos)[0]:
        raise ShapeError(message("freqz_sos", "sos must have a row of 6 coefficients a section", show(sos)))
    w, response = freqz(sos[0, :3], sos[0, 3:], worN, whole, None, fs)
    for section in range(1, shape_of(sos)[0]):
        response = response * freqz(sos[section, :3], sos[section, 3:], worN, whole, None, fs)[1]
    return w, response
