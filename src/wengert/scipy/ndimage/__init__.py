"""`scipy.ndimage` for values inside transforms: filters, and interpolation at points and of transformed images.

The computation is in double precision, as SciPy's.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> image = np.array([[0.0, 1.0], [2.0, 4.0]])
    >>> def brightness(point):
    ...     return map_coordinates(image, point[:, None], order=1)[0]
    >>> wg.grad(brightness)(np.array([0.5, 0.25]))
    array([2.25, 1.5 ])
"""

from __future__ import annotations

from wengert.scipy.ndimage import callables as _callables  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wengert.scipy.ndimage.filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from wengert.scipy.ndimage.fourier import fourier_ellipsoid, fourier_gaussian, fourier_shift, fourier_uniform
from wengert.scipy.ndimage.interpolation import affine_transform, map_coordinates, rotate, shift, zoom
from wengert.scipy.ndimage.ranks import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from wengert.scipy.ndimage.splines import spline_filter, spline_filter1d
from wengert.scipy.registry import others_of as _others_of

__all__ = [
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "fourier_ellipsoid",
    "fourier_gaussian", "fourier_shift", "fourier_uniform", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace",
    "map_coordinates", "maximum_filter", "maximum_filter1d", "median_filter", "minimum_filter",
    "minimum_filter1d", "percentile_filter", "prewitt", "rank_filter", "rotate", "shift", "sobel",
    "spline_filter", "spline_filter1d", "uniform_filter", "uniform_filter1d", "zoom",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
