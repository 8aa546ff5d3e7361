"""`scipy.interpolate` for values inside transforms: piecewise polynomials, splines, tables and grids.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> wg.grad(lambda y: CubicSpline(x, y)(0.6))(x**2).round(4)
    array([ 0.016, -0.128,  0.768,  0.384, -0.04 ])
"""

from __future__ import annotations

from typing import Any

from wengert.scipy.interpolate.bsplines import BSpline, make_interp_spline
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
from wengert.scipy.interpolate.piecewise import PPoly
from wengert.scipy.interpolate.tables import RegularGridInterpolator, interp1d, interpn
from wengert.scipy.registry import check_public as _check_public
from wengert.scipy.registry import passed_through as _passed_through

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "InterpolatedUnivariateSpline",
    "LSQUnivariateSpline", "PPoly", "PchipInterpolator", "RectBivariateSpline", "RegularGridInterpolator",
    "UnivariateSpline", "interp1d", "interpn", "make_interp_spline", "pchip_interpolate",
]  # fmt: skip
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """Return an object of SciPy's that Wengert does not follow."""
    _check_public(__name__, name)
    from scipy import interpolate as theirs

    return _passed_through(theirs, __name__, name)
