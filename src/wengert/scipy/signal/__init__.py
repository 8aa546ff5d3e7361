"""`scipy.signal` for values inside transforms: convolutions, recursive filters and spectra.

Designs of filters and windows make plain numbers: they are SciPy's own.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.array([1.0, 0.0, 0.0, 0.0])
    >>> wg.grad(lambda a: np.sum(lfilter([1.0], np.stack([1.0, -a]), x)))(0.5)
    2.75
"""

from __future__ import annotations

from wengert.scipy.registry import others_of as _others_of
from wengert.scipy.signal import polynomials as _polynomials  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wengert.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from wengert.scipy.signal.filtering import (
    filtfilt,
    lfilter,
    lfilter_zi,
    lfiltic,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from wengert.scipy.signal.rates import czt, medfilt2d, upfirdn, zoom_fft
from wengert.scipy.signal.resampling import freqz, freqz_sos, resample, savgol_filter
from wengert.scipy.signal.spectra import (
    coherence,
    csd,
    detrend,
    hilbert,
    istft,
    periodogram,
    spectrogram,
    stft,
    welch,
)

__all__ = [
    "coherence", "convolve", "convolve2d", "correlate", "correlate2d", "csd", "czt", "detrend", "fftconvolve",
    "filtfilt", "freqz", "freqz_sos", "hilbert", "istft", "lfilter", "lfilter_zi", "lfiltic", "medfilt2d",
    "oaconvolve", "periodogram", "resample", "savgol_filter", "sosfilt", "sosfilt_zi", "sosfiltfilt",
    "spectrogram", "stft", "upfirdn", "welch", "zoom_fft",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
