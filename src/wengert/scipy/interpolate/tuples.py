"""SciPy's functions of splines as tuples of knots, coefficients and degree, after Dierckx's FITPACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.numpy.registry import is_sequence, rank_of
from wengert.scipy.interpolate.bsplines import BSpline
from wengert.scipy.interpolate.fitpack import LSQUnivariateSpline, evaluated, refuse_smoothing, through
from wengert.scipy.registry import doubles


def _tuple_of(spline: Any, last: Any = 0.0) -> tuple[Any, Any, int]:
    """Return knots, as many coefficients, of which the last ones have no meaning, and the degree."""
    t, c, k = spline.t, spline.c, spline.k
    missing = shape_of(t)[0] - shape_of(c)[0]
    return t, np.concatenate([c, last + np.zeros((missing, *shape_of(c)[1:]))]), k


def _each(operation: str, tck: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of a spline, or a list of its results for the splines of a curve."""
    if isinstance(tck, BSpline):
        return function(tck)
    if not is_sequence(tck) or len(tck) != 3:
        raise ArgumentError(message(operation, "(t, c, k) or a BSpline is required", show(tck)))
    t, c, k = doubles(tck[0]), tck[1], tck[2]
    if is_sequence(c) and len(c) and rank_of(c[0]):
        return [function(BSpline.construct_fast(t, doubles(part), k)) for part in c]
    return function(BSpline.construct_fast(t, doubles(c), k))


@substitutes("scipy.interpolate.splrep")
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: Any = 0,
    per: Any = 0,
    quiet: Any = 1,
) -> Any:
    """Return the spline through samples, or for inner knots ``t`` that of least squares.

    Samples, abscissas, knots and weights have derivatives.

    Raises:
        ArgumentError: the abscissas or knots do not rise, or a degree is unknown.
        UnsupportedError: the spline is to be smooth, periodic, or have other ends; a report is asked for.

    Example:
        >>> x = np.arange(5.0)
        >>> print(f"{splev(1.5, splrep(x, x**3)):.3f}")
        3.375
    """
    operation = "splrep"
    if full_output or per:
        raise UnsupportedError(message(operation, "full_output and per are not followed"))
    if t is not None or task == -1:
        return _tuple_of(LSQUnivariateSpline(x, y, t, w, (xb, xe), k).spline)
    if s is None:
        count = shape_of(x)[0]
        s = 0 if w is None else count - math.sqrt(2 * count)
    if concrete(s) != 0:
        refuse_smoothing(operation, s)
    return _tuple_of(through(operation, x, y, (xb, xe), k))


@substitutes("scipy.interpolate.splprep")
def splprep(
    x: Any,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: Any = 0,
    nest: Any = None,
    per: Any = 0,
    quiet: Any = 1,
) -> Any:
    """Return the curve through points, for ``s=0``, and its parameters: by default, lengths of the polygon up to them.

    Raises:
        ArgumentError: the parameters do not rise, or a degree is unknown.
        UnsupportedError: the curve is to be smooth, periodic, or have other ends or given knots; a report is asked for.

    Example:
        >>> (t, c, k), u = splprep([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], k=2, s=0)
        >>> print(f"{splev(0.25, (t, c, k))[0]:.3f}")
        0.500
    """
    operation = "splprep"
    if full_output or per or t is not None or task == -1 or s is None or concrete(s) != 0:
        requirement = "only curves through their points, s=0, are followed"
        hint = "leave out full_output, per, t and task"
        raise UnsupportedError(message(operation, requirement, hint=hint))
    points = np.stack([doubles(row) for row in x])
    if u is None:
        lengths = np.sqrt(np.sum(np.diff(points, axis=1) ** 2, 0))
        u = np.concatenate([np.zeros(1), np.cumsum(lengths)])
        u = u / u[-1]
    spline = through(operation, u, np.swapaxes(points, 0, 1), (ub, ue), k)
    return [spline.t, [spline.c[:, row] for row in range(shape_of(points)[0])], k], u


@substitutes("scipy.interpolate.splev")
def splev(x: Any, tck: Any, der: int = 0, ext: Any = 0) -> Any:
    """Return the values, or those of a derivative, at points; for a curve, a list of its coordinates.

    Points, coefficients and knots have derivatives. With ``ext=2`` points that are not known give NaN in place of an
    error.

    Raises:
        ArgumentError: the order is not one of 0 to the degree, ``ext`` is unknown, or a point lies outside.

    Example:
        >>> print(f"{splev(0.5, ([0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0], 1)):.1f}")
        2.0
    """

    def values(spline: Any) -> Any:
        if not 0 <= der <= spline.k:
            requirement = f"the order must be one of 0 to the degree, {spline.k}"
            raise ArgumentError(message("splev", requirement, str(der)))
        return evaluated("splev", spline, x, der, ext)

    return _each("splev", tck, values)


@substitutes("scipy.interpolate.splint")
def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """Return the integral from a to b of a spline that is 0 beyond its ends; both have derivatives, too.

    Raises:
        UnsupportedError: a report is asked for.

    Example:
        >>> print(f"{splint(0.0, 1.0, ([0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0], 1)):.1f}")
        2.0
    """
    if full_output:
        raise UnsupportedError(message("splint", "full_output is not followed"))
    return _each("splint", tck, lambda spline: spline.integrate(a, b, False))


@substitutes("scipy.interpolate.splder")
def splder(tck: Any, n: int = 1) -> Any:
    """Return the derivative of a spline, in the form that it has.

    Raises:
        ArgumentError: the order is larger than the degree.

    Example:
        >>> t, c, k = splder(([0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0], 1))
        >>> c[:1], k
        (array([2.]), 0)
    """
    found = _each("splder", tck, lambda spline: spline.derivative(n))
    if isinstance(tck, BSpline):
        return found
    return _tuple_of(found, found.c[-1] if n < 0 else 0.0)


@substitutes("scipy.interpolate.splantider")
def splantider(tck: Any, n: int = 1) -> Any:
    """Return the antiderivative of a spline that is 0 at the first knot, in the form that the spline has.

    Example:
        >>> whole = splantider(([0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0], 1))
        >>> print(f"{splev(1.0, whole):.1f}")
        2.0
    """
    return splder(tck, -n)


@substitutes("scipy.interpolate.spalde")
def spalde(x: Any, tck: Any) -> Any:
    """Return a spline and all its derivatives at a point; at several points, or for a curve, a list of such arrays.

    Points, coefficients and knots have derivatives.

    Raises:
        ArgumentError: a point lies outside.

    Example:
        >>> spalde(0.5, ([0.0, 0.0, 1.0, 1.0], [1.0, 3.0, 0.0, 0.0], 1))
        array([2., 2.])
    """
    points = np.atleast_1d(doubles(x))

    def rows(spline: Any) -> Any:
        values = [evaluated("spalde", spline, points, order, 2) for order in range(spline.k + 1)]
        found = list(np.stack(values, 1))
        return found if len(found) > 1 else found[0]

    return _each("spalde", tck, rows)
