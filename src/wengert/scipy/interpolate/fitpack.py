"""SciPy's classes of splines after Dierckx's FITPACK: through samples, and those that a program made with SciPy.

A fit with smoothing chooses its knots step by step, and has no derivative in the samples here. The spline that SciPy
made of plain numbers works inside transforms as it is.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape
from wengert.scipy.interpolate.bsplines import (
    BSpline,
    local_basis,
    make_interp_spline,
    make_lsq_spline,
)
from wengert.scipy.interpolate.piecewise import check_samples, inexact, interval, outside
from wengert.scipy.registry import doubles

_BEYOND: dict[Any, int] = {0: 0, 1: 1, 2: 2, 3: 3, "extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def refuse_smoothing(operation: str, s: Any) -> NoReturn:
    """Raise `UnsupportedError`: the knots depend on the samples in steps."""
    requirement = f"a fit with smoothing, s={s}, is not followed"
    hint = "write s=0, or give the knots to LSQUnivariateSpline, or make the spline outside of plain numbers"
    raise UnsupportedError(message(operation, requirement, hint=hint))


def _beyond(operation: str, ext: Any) -> int:
    """Return the number of a rule for points beyond the ends."""
    code = _BEYOND.get(ext)
    if code is None:
        requirement = f"ext must be one of {', '.join(map(str, _BEYOND))}"
        raise ArgumentError(message(operation, requirement, repr(ext)))
    return code


def evaluated(operation: str, spline: Any, x: Any, nu: int, ext: Any) -> Any:
    """Return the values of a spline, or of a derivative, at points, with a rule for points beyond the ends.

    ``ext``: 0 to extrapolate, 1 for zeros, 2 for an error, 3 for the value at the end. Points that are not known, as in
    `wg.jit`, give NaN in place of an error.
    """
    code, points = _beyond(operation, ext), doubles(x)
    start, stop = spline.t[spline.k], spline.t[shape_of(spline.t)[0] - spline.k - 1]
    if code == 3 and not nu:  # SciPy extrapolates derivatives
        return spline(np.clip(points, start, stop), nu)
    value = spline(points, nu)
    if code in (0, 3):
        return value
    is_outside = outside(points, start, stop)
    flags = concrete(is_outside)
    if code == 2 and flags is not None and np.any(flags):
        requirement = "the points must lie between the ends of the spline"
        raise ArgumentError(message(operation, requirement, show(points)))
    return where(is_outside, 0.0 if code == 1 else np.nan, value)


class _Univariate:
    """A spline with a rule for points beyond its ends."""

    spline: Any
    ext: int

    def _set(self, spline: Any, ext: Any) -> None:
        self.spline, self.ext = spline, _beyond(type(self).__name__, ext)

    @classmethod
    def _made(cls, spline: Any, ext: int) -> Any:
        made = object.__new__(cls)
        made._set(spline, ext)
        return made

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the spline of an object of SciPy's."""
        t, c, k = theirs._eval_args
        return cls._made(BSpline.construct_fast(t, c, k), theirs.ext)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Return the values, or those of a derivative, at points.

        ``ext``: beyond the ends, 0 to extrapolate, 1 for zeros, 2 for an error, 3 for the value at the end; None for
        the choice of the object. Points that are not known, as in `wg.jit`, give NaN in place of an error.
        """
        return evaluated(type(self).__name__, self.spline, x, nu, self.ext if ext is None else ext)

    def derivative(self, n: int = 1) -> Any:
        """Return a derivative as a spline."""
        return _Univariate._made(self.spline.derivative(n), 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n: int = 1) -> Any:
        """Return an antiderivative as a spline."""
        return _Univariate._made(self.spline.antiderivative(n), self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from a to b, of a spline that is 0 beyond its ends."""
        return self.spline.integrate(a, b, False)

    def derivatives(self, x: Any) -> Any:
        """Return the value and all derivatives at a point."""
        return np.stack([self.spline(x, nu) for nu in range(self.spline.k + 1)])

    def get_knots(self) -> Any:
        """Return the knots from one end to the other."""
        t, k = self.spline.t, self.spline.k
        return t[k : shape_of(t)[0] - k]

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        return self.spline.c[: shape_of(self.spline.t)[0] - self.spline.k - 1]


def _refuse_ends(operation: str, bbox: Any) -> None:
    if any(end is not None for end in bbox):
        requirement = "the spline ends at the first and the last sample: other ends are not supported"
        raise UnsupportedError(message(operation, requirement, repr(bbox)))


def through(operation: str, x: Any, y: Any, bbox: Any, degree: int) -> Any:
    """Return the spline through samples."""
    x, y, _ = check_samples(operation, x, y, 0)
    _refuse_ends(operation, bbox)
    if not 1 <= degree <= 5 or degree >= shape_of(x)[0]:
        requirement = "a degree of 1 to 5, less than the number of samples, is required"
        raise ArgumentError(message(operation, requirement, str(degree)))
    return make_interp_spline(x, y, degree)


_described = documented(
    w="without effect.",
    bbox="the ends, which must be None.",
    check_finite="without effect: numbers that are known must be finite.",
    Raises="""\
ShapeError: the shapes do not fit.
ArgumentError: the abscissas do not rise, or the degree or ``ext`` is unknown.""",
)


@substitutes("scipy.interpolate.InterpolatedUnivariateSpline")
@_described
class InterpolatedUnivariateSpline(_Univariate):
    """The spline through samples; samples, abscissas and points have derivatives.

    Raises:
        UnsupportedError: other ends are given.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0, 3.0])
        >>> print(f"{InterpolatedUnivariateSpline(x, x**3)(1.5):.3f}")
        3.375
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        self._set(through("InterpolatedUnivariateSpline", x, y, bbox, k), ext)


@substitutes("scipy.interpolate.UnivariateSpline")
@_described
class UnivariateSpline(_Univariate):
    """The spline through samples: `InterpolatedUnivariateSpline`, for ``s=0``.

    Args:
        s: the smoothing, which must be 0.

    Raises:
        UnsupportedError: the spline is to be smooth: its knots depend on the samples in steps.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0, 3.0])
        >>> print(f"{UnivariateSpline(x, x**3, s=0).integral(0.0, 2.0):.3f}")
        4.000
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        if s is None or concrete(s) != 0:
            refuse_smoothing("UnivariateSpline", s)
        self._set(through("UnivariateSpline", x, y, bbox, k), ext)


@substitutes("scipy.interpolate.LSQUnivariateSpline")
@_described
class LSQUnivariateSpline(_Univariate):
    """The spline of least squares with given inner knots: `make_lsq_spline` with the first and last sample as ends.

    Samples, abscissas, knots and weights have derivatives.

    Args:
        w: the weights of the samples.

    Raises:
        UnsupportedError: other ends are given.
        MatrixError: an interval of the knots has too few abscissas.

    Example:
        >>> x = np.linspace(0.0, 4.0, 9)
        >>> print(f"{LSQUnivariateSpline(x, x**3, [2.0])(1.5):.3f}")
        3.375
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        t: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        operation = "LSQUnivariateSpline"
        x, y, _ = check_samples(operation, x, y, 0)
        _refuse_ends(operation, bbox)
        ends = np.ones(k + 1)
        t = np.concatenate([x[0] * ends, doubles(t), x[-1] * ends])
        self._set(make_lsq_spline(x, y, t, k, w), ext)


# -- two dimensions --------------------------------------------------------------------------------------


@substitutes("scipy.interpolate.RectBivariateSpline")
class RectBivariateSpline:
    """The spline through values on a grid; values, lines and points have derivatives.

    Points beyond the edges have the value at the edge, as in SciPy.

    Args:
        bbox: the edges, which must be None.
        s: the smoothing, which must be 0.
        maxit: without effect.

    Raises:
        ShapeError: the grid does not fit the values.
        ArgumentError: the lines do not rise, or a degree is unknown.
        UnsupportedError: other edges are given, or the spline is to be smooth.

    Example:
        >>> x = np.arange(4.0)
        >>> print(f"{RectBivariateSpline(x, x, np.outer(x, x**2)).ev(1.5, 2.5):.3f}")
        9.375
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        bbox: Any = (None,) * 4,
        kx: int = 3,
        ky: int = 3,
        s: Any = 0,
        maxit: int = 20,
    ) -> None:
        operation = "RectBivariateSpline"
        if concrete(s) != 0:
            refuse_smoothing(operation, s)
        first = through(operation, x, z, bbox[:2], kx)
        second = through(operation, y, np.swapaxes(first.c, 0, 1), bbox[2:], ky)
        self._set((first.t, second.t), np.swapaxes(second.c, 0, 1), (kx, ky))

    def _set(self, knots: Any, c: Any, degrees: tuple[int, int]) -> None:
        self.tck, self.degrees = (*knots, c), degrees

    @classmethod
    def of_tensor(cls, knots: Any, c: Any, degrees: tuple[int, int]) -> Any:
        """Return the spline of knots along both axes and a matrix of coefficients."""
        made = object.__new__(cls)
        made._set(knots, c, degrees)
        return made

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the spline of an object of SciPy's."""
        x, y, c = theirs.tck
        kx, ky = theirs.degrees
        return cls.of_tensor((x, y), np.reshape(c, (len(x) - kx - 1, len(y) - ky - 1)), (kx, ky))

    def _basis(self, axis: int, points: Any, order: int) -> tuple[Any, Any]:
        """Return the values of the basis splines that are not 0 at points, and the numbers of their coefficients."""
        t, k = self.tck[axis], self.degrees[axis]
        count = shape_of(t)[0] - k - 1
        inside = np.clip(points, t[k], t[count])
        number = interval(t, inside, k, count - 1)
        return local_basis(t, k, number, inside, order), number[:, None] + np.arange(-k, 1)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Return the values, or those of a derivative, on a grid or at points."""
        x, y = doubles(x), doubles(y)
        c = self.tck[2]
        if grid:
            x, y = (reshape(value, shape=(size(shape_of(value)),)) for value in (x, y))
            (u, i), (v, j) = self._basis(0, x, dx), self._basis(1, y, dy)
            rows = np.einsum("pa,pan->pn", u, gather(c, i))
            return np.einsum("qb,qbp->pq", v, gather(np.swapaxes(rows, 0, 1), j))
        shape = np.broadcast_shapes(shape_of(x), shape_of(y))
        x, y = (reshape(np.broadcast_to(value, shape), shape=(size(shape),)) for value in (x, y))
        (u, i), (v, j) = self._basis(0, x, dx), self._basis(1, y, dy)
        taken = gather(c, i[:, :, None], j[:, None, :])
        return reshape(np.einsum("pab,pa,pb->p", taken, u, v), shape=shape)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Return the values, or those of a derivative, at points."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Return the integral over a rectangle, of a spline that is 0 beyond its edges."""
        t, u, c = self.tck
        rows = BSpline.construct_fast(t, inexact(c), self.degrees[0]).integrate(xa, xb, False)
        return BSpline.construct_fast(u, rows, self.degrees[1]).integrate(ya, yb, False)

    def get_knots(self) -> tuple[Any, Any]:
        """Return the knots along both axes."""
        return self.tck[0], self.tck[1]

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        return reshape(self.tck[2], shape=(size(shape_of(self.tck[2])),))
