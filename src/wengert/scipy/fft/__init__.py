"""`scipy.fft` for values inside transforms: Fourier transforms, and cosine and sine transforms of all four types.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> wg.grad(lambda x: np.sum(dct(x, norm="ortho") ** 2))(np.array([1.0, 2.0, 3.0])).round(6)
    array([2., 4., 6.])
"""

from __future__ import annotations

from wengert.scipy.fft.cosines import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from wengert.scipy.fft.exponentials import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    next_fast_len,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from wengert.scipy.fft.logarithmic import fht, ifht
from wengert.scipy.registry import others_of as _others_of

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "fht", "hfft", "hfft2", "hfftn",
    "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ifht", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "next_fast_len", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
