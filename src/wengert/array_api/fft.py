"""The extension `fft` of the array API standard: NumPy's functions under its signatures.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.array_api import fft
    >>> wg.grad(lambda x: abs(fft.fft(x)[0]))(np.ones(3))
    array([1., 1., 1.])
"""

from __future__ import annotations

from typing import Any

import numpy.fft as _numpys

from wengert.array_api.standard import check_device, declared, others_of

_SIGNATURES = """
    fft(x, /, *, n=None, axis=-1, norm="backward")
    ifft(x, /, *, n=None, axis=-1, norm="backward")
    fftn(x, /, *, s=None, axes=None, norm="backward")
    ifftn(x, /, *, s=None, axes=None, norm="backward")
    rfft(x, /, *, n=None, axis=-1, norm="backward")
    irfft(x, /, *, n=None, axis=-1, norm="backward")
    rfftn(x, /, *, s=None, axes=None, norm="backward")
    irfftn(x, /, *, s=None, axes=None, norm="backward")
    hfft(x, /, *, n=None, axis=-1, norm="backward")
    ihfft(x, /, *, n=None, axis=-1, norm="backward")
    fftfreq(n, /, *, d=1.0, dtype=None, device=None)
    rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
    fftshift(x, /, *, axes=None)
    ifftshift(x, /, *, axes=None)
"""


def _frequencies(name: str) -> Any:
    def frequencies(n: int, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
        check_device(name, device)
        values = getattr(_numpys, name)(n, d)
        return values if dtype is None else values.astype(dtype)

    return frequencies


_OWN = {name: _frequencies(name) for name in ("fftfreq", "rfftfreq")}
_TABLE = declared(__name__, _SIGNATURES, _numpys, **_OWN)
globals().update(_TABLE)
__all__ = sorted(_TABLE)  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy
__getattr__ = others_of(__name__)
