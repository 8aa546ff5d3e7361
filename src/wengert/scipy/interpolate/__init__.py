"""`scipy.interpolate` for values inside transforms: piecewise polynomials, splines, tables and grids.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> wg.grad(lambda y: CubicSpline(x, y)(0.6))(x**2).round(4)
    array([ 0.016, -0.128,  0.768,  0.384, -0.04 ])
"""

from __future__ import annotations

from wengert.scipy.interpolate.bsplines import BSpline, make_interp_spline, make_lsq_spline
from wengert.scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from wengert.scipy.interpolate.fitpack import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    RectBivariateSpline,
    UnivariateSpline,
)
from wengert.scipy.interpolate.piecewise import BPoly, PPoly
from wengert.scipy.interpolate.polynomials import (
    BarycentricInterpolator,
    FloaterHormannInterpolator,
    KroghInterpolator,
    barycentric_interpolate,
)
from wengert.scipy.interpolate.scattered import NearestNDInterpolator
from wengert.scipy.interpolate.tables import RegularGridInterpolator, interp1d, interpn
from wengert.scipy.interpolate.tensors import NdBSpline, bisplev
from wengert.scipy.interpolate.tuples import spalde, splantider, splder, splev, splint, splprep, splrep
from wengert.scipy.registry import others_of as _others_of

__all__ = [
    "Akima1DInterpolator", "BPoly", "BSpline", "BarycentricInterpolator", "CubicHermiteSpline",
    "CubicSpline", "FloaterHormannInterpolator", "InterpolatedUnivariateSpline", "KroghInterpolator",
    "LSQUnivariateSpline", "NdBSpline", "NearestNDInterpolator", "PPoly", "PchipInterpolator",
    "RectBivariateSpline", "RegularGridInterpolator", "UnivariateSpline", "barycentric_interpolate",
    "bisplev", "interp1d", "interpn", "make_interp_spline", "make_lsq_spline", "pchip_interpolate",
    "spalde", "splantider", "splder", "splev", "splint", "splprep", "splrep",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
