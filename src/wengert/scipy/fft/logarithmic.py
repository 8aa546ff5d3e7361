"""Hankel transforms on logarithmic grids, under SciPy's names: Fourier transforms and SciPy's coefficients.

Source: Hamilton, "Uncorrelated modes of the non-linear power spectrum" (2000), appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.shapes import shape_of
from wengert.scipy.registry import floats, number


def _transformed(operation: str, a: Any, inverse: bool, *parameters: Any) -> Any:
    from scipy.fft import _fftlog_backend  # pyright: ignore[reportPrivateUsage]

    a, count = floats(a), shape_of(a)[-1]
    dln, mu, offset, bias = (number(operation, "a parameter", value) for value in parameters)
    factors = _fftlog_backend.fhtcoeff(count, dln, mu, offset=offset, bias=bias, inverse=inverse)
    from_middle = (np.arange(count) - (count - 1) / 2) * dln
    inner, outer = np.exp(-bias * from_middle), np.exp(-bias * (from_middle + offset))
    before, after = (1 / outer, 1 / inner) if inverse else (inner, outer)
    waves = np.fft.rfft(a * before)
    waves = waves / np.conj(factors) if inverse else waves * factors
    return np.fft.irfft(waves, count)[..., ::-1] * after


@substitutes("scipy.fft.fht")
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the discrete Hankel transform of samples on a logarithmic grid; its parameters must be known.

    Example:
        >>> ifht(fht(np.array([1.0, 2.0, 4.0]), 0.1, 0.5), 0.1, 0.5).round(6)
        array([1., 2., 4.])
    """
    return _transformed("fht", a, False, dln, mu, offset, bias)


@substitutes("scipy.fft.ifht")
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the inverse of `fht`.

    Example:
        >>> ifht(np.array([1.0, 0.0]), 0.1, 0.5).shape
        (2,)
    """
    return _transformed("ifht", A, True, dln, mu, offset, bias)
