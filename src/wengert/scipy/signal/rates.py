"""Chirp transforms, filters between changes of the sampling rate, and medians of images, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.errors import UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.complex import as_complex
from wengert.scipy.ndimage import median_filter
from wengert.scipy.registry import array, floats
from wengert.scipy.signal.filtering import lfilter


def _chirped(kind: str, x: Any, axis: int, *parameters: Any, **options: Any) -> Any:
    """Return a chirp transform by Bluestein's products of Fourier transforms, with the factors of SciPy's object."""
    from scipy import signal

    x = np.moveaxis(floats(x), axis, -1)
    made = getattr(signal, kind)(shape_of(x)[-1], *parameters, **options)
    waves = np.fft.fft(as_complex(x) * made._Awk2, made._nfft)
    result = np.fft.ifft(made._Fwk2 * waves)[..., made._yidx] * made._wk2
    return np.moveaxis(result, -1, axis)


@substitutes("scipy.signal.czt")
def czt(x: Any, m: Any = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """Return the z-transform of a signal on a spiral, whose parameters must be known.

    Example:
        >>> czt(np.array([1.0, 2.0])).round(6) + 0.0
        array([ 3.+0.j, -1.+0.j])
    """
    return _chirped("CZT", x, axis, m=m, w=w, a=a)


@substitutes("scipy.signal.zoom_fft")
def zoom_fft(x: Any, fn: Any, m: Any = None, *, fs: Any = 2, endpoint: bool = False, axis: int = -1) -> Any:
    """Return the spectrum of a signal on a range of frequencies, which must be known.

    Example:
        >>> zoom_fft(np.array([1.0, 2.0]), 2.0).round(6) + 0.0
        array([ 3.+0.j, -1.+0.j])
    """
    return _chirped("ZoomFFT", x, axis, fn, m=m, fs=fs, endpoint=endpoint)


@substitutes("scipy.signal.upfirdn")
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0
) -> Any:
    """Return a signal with zeros put in, filtered by h, and of the result each element of number ``down``.

    Raises:
        UnsupportedError: the signal does not continue as zeros.

    Example:
        >>> upfirdn(np.array([1.0, 1.0]), np.array([1.0, 2.0]), 2)
        array([1., 1., 2., 2.])
    """
    if mode not in ("constant", "zero") or np.any(cval != 0):
        raise UnsupportedError(message("upfirdn", "the signal must continue as zeros", f"{mode=}, {cval=}"))
    h, x = floats(h), np.moveaxis(floats(x), axis, -1)
    *lead, count = shape_of(x)
    gaps = np.zeros((*lead, count, up - 1))
    spread = np.concatenate([x[..., None], gaps], -1).reshape(*lead, count * up)[..., : count * up - up + 1]
    tail = np.zeros((*lead, shape_of(h)[0] - 1))
    filtered = lfilter(h, np.ones(1), np.concatenate([spread, tail], -1))
    return np.moveaxis(filtered[..., ::down], -1, axis)


@substitutes("scipy.signal.medfilt2d")
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Return the median around each element of an image, beyond which there are zeros.

    Example:
        >>> print(medfilt2d(np.eye(3))[1, 1])
        0.0
    """
    return median_filter(array(input), size=kernel_size, mode="constant", cval=0.0)
