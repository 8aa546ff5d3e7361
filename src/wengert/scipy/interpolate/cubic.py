"""Cubic interpolants of samples: Hermite, splines, PCHIP and Akima."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import equal, logical_and, logical_or, where
from wengert.engine.ops.linalg.banded import solve_banded
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import is_sequence, rank_of
from wengert.scipy.interpolate.piecewise import PPoly, check_samples, column, inexact

_CONDITIONS = ("not-a-knot", "periodic", "clamped", "natural")

_described = documented(
    Raises="""\
ShapeError: the shapes do not fit.
ArgumentError: numbers are not finite, or the abscissas do not rise.""",
)


def _real_only(operation: str, y: Any) -> None:
    if is_complex(dtype_of(y)):
        hint = "interpolate np.real(y) and np.imag(y)"
        raise DtypeError(message(operation, "the samples must be real", show(y), hint))


@substitutes("scipy.interpolate.CubicHermiteSpline")
@_described
class CubicHermiteSpline(PPoly):
    """The piecewise cubic with given values and slopes; samples, slopes, abscissas and points have derivatives.

    Example:
        >>> float(CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])(0.5))
        0.5
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        slopes = inexact(dydx)
        x, y, axis = check_samples(type(self).__name__, x, y, axis)
        slopes = np.moveaxis(slopes, axis, 0)
        if shape_of(slopes) != shape_of(y):
            raise ShapeError(message(type(self).__name__, "y and dydx must have one shape", show(y, slopes)))
        self._join(x, y, slopes, extrapolate, axis)

    def _join(self, x: Any, y: Any, slopes: Any, extrapolate: Any, axis: int) -> None:
        """Set the coefficients, for samples with their axis first."""
        width = column(np.diff(x), rank_of(y))
        chord = np.diff(y, axis=0) / width
        bend = (slopes[:-1] + slopes[1:] - 2.0 * chord) / width
        c = np.stack([bend / width, (chord - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]])
        self._build(c, x, extrapolate, axis)


# -- splines ---------------------------------------------------------------------------------------------


@substitutes("scipy.interpolate.CubicSpline")
@_described
class CubicSpline(CubicHermiteSpline):
    """The cubic spline through samples: twice continuously differentiable.

    Samples, abscissas, points and the values of end conditions have derivatives. The slopes solve a banded system,
    which SciPy's LAPACK does.

    Raises:
        ArgumentError: a condition is unknown.

    Example:
        >>> round(float(CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])(1.5)), 9)
        3.375
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y, axis = check_samples("CubicSpline", x, y, axis)
        start, stop = _conditions(bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if start == "periodic" else True
        self._join(x, y, _spline_slopes(x, y, start, stop), extrapolate, axis)


def _conditions(bc_type: Any, y: Any) -> list[Any]:
    """Return the condition at each end: a name, or an order with a value."""
    pair = [bc_type] * 2 if isinstance(bc_type, str) else list(bc_type)
    if len(pair) != 2 or (pair[0] == "periodic" and not isinstance(bc_type, str)):
        requirement = 'bc_type must be a name, or a pair of conditions other than "periodic"'
        raise ArgumentError(message("CubicSpline", requirement, repr(bc_type)))
    conditions: list[Any] = []
    for condition in pair:
        if isinstance(condition, str):
            if condition not in _CONDITIONS:
                requirement = f"a condition must be one of {', '.join(_CONDITIONS)}"
                raise ArgumentError(message("CubicSpline", requirement, repr(condition)))
            order = {"clamped": 1, "natural": 2}.get(condition)
            conditions.append((order, np.zeros(shape_of(y)[1:])) if order else condition)
            continue
        if not is_sequence(condition) or len(condition) != 2 or condition[0] not in (1, 2):
            requirement = "a condition must be a name, (1, slope) or (2, second derivative)"
            raise ArgumentError(message("CubicSpline", requirement, repr(condition)))
        value = inexact(condition[1])
        if shape_of(value) != shape_of(y)[1:]:
            requirement = f"the value of a condition must have the shape {shape_of(y)[1:]}"
            raise ShapeError(message("CubicSpline", requirement, show(value)))
        conditions.append((condition[0], value))
    start, stop = concrete(y[0]), concrete(y[-1])
    both: Any = () if start is None or stop is None else (start, stop)
    if conditions[0] == "periodic" and both and not np.allclose(*both, rtol=1e-15, atol=1e-15):
        requirement = "the first and the last sample must be equal for periodic splines"
        raise ArgumentError(message("CubicSpline", requirement, show(y)))
    return conditions


def _solved(diagonals: list[list[Any]], right: Any) -> Any:
    """Solve a tridiagonal system, given by the parts of its upper, main and lower diagonal."""
    bands = np.stack([np.concatenate([np.reshape(part, (-1,)) for part in parts]) for parts in diagonals])
    shape = shape_of(right)
    columns = reshape(right, shape=(shape[0], size(shape[1:])))
    return reshape(solve_banded(bands, columns, lower=1, upper=1), shape=shape)


def _spline_slopes(x: Any, y: Any, start: Any, stop: Any) -> Any:
    """Return the slopes at the abscissas for which the second derivative is continuous."""
    count, dx = shape_of(x)[0], np.diff(x)
    width = column(dx, rank_of(y))
    chord = np.diff(y, axis=0) / width
    if count == 2:
        by_name = [(1, chord[0]) if isinstance(end, str) else end for end in (start, stop)]
        start, stop = by_name
    elif start == "periodic":
        return _periodic_slopes(dx, width, chord)
    elif count == 3 and start == "not-a-knot" and stop == "not-a-knot":  # a parabola
        middle = (width[0] * chord[1] + width[1] * chord[0]) / (width[0] + width[1])
        return np.stack([2.0 * chord[0] - middle, middle, 2.0 * chord[1] - middle])
    first, last = _end(dx, width, chord, start, False), _end(dx, width, chord, stop, True)
    inner = 3.0 * (width[1:] * chord[:-1] + width[:-1] * chord[1:])
    diagonals = [
        [0.0, first[1], dx[:-1]],
        [first[0], 2.0 * (dx[:-1] + dx[1:]), last[0]],
        [dx[1:], last[1], 0.0],
    ]
    return _solved(diagonals, np.concatenate([first[2][None], inner, last[2][None]]))


def _end(dx: Any, width: Any, chord: Any, condition: Any, last: bool) -> tuple[Any, Any, Any]:
    """Return the equation at an end: the factors of the slopes there and next to it, and the right-hand side."""
    near, far = (-1, -2) if last else (0, 1)
    if condition == "not-a-knot":
        both = dx[near] + dx[far]
        wide = width[near] + width[far]
        right = ((width[near] + 2.0 * wide) * width[far] * chord[near] + width[near] ** 2 * chord[far]) / wide
        return dx[far], both, right
    order, value = condition
    if order == 1:
        return 1.0, 0.0, value + chord[near] * 0.0
    bend = 0.5 * value * width[near] ** 2
    return 2.0 * dx[near], dx[near], 3.0 * chord[near] * width[near] + (bend if last else -bend)


def _periodic_slopes(dx: Any, width: Any, chord: Any) -> Any:
    """Solve the cyclic system: the unknown u of the last equation is split off as in ``s = p - u q``."""
    if shape_of(dx)[0] == 2:
        slope = np.sum(chord / width, 0) / np.sum(1.0 / width, 0)
        return np.stack([slope, slope, slope])
    before, before_chord = np.roll(width, 1, 0), np.roll(chord, 1, 0)
    right = 3.0 * (width * before_chord + before * chord)
    left = np.roll(dx, 1)
    count = shape_of(dx)[0] - 1
    corner = np.concatenate([dx[:1], np.zeros(count - 2), left[count - 1 : count]])
    shape = shape_of(right)
    columns = reshape(right, shape=(shape[0], size(shape[1:])))
    both = np.concatenate([columns[:count], reshape(corner, shape=(count, 1))], 1)
    diagonals = [
        [0.0, left[: count - 1]],
        [2.0 * (left[:count] + dx[:count])],
        [dx[1:count], 0.0],
    ]
    solved = _solved(diagonals, both)
    p, q = solved[:, :-1], solved[:, -1:]
    u = (columns[-1] - dx[-1] * p[-1] - left[-1] * p[0]) / (
        2.0 * (left[-1] + dx[-1]) - dx[-1] * q[-1] - left[-1] * q[0]
    )
    slopes = p - u * q
    return reshape(np.concatenate([slopes, u[None], slopes[:1]]), shape=(shape[0] + 1, *shape[1:]))


# -- slopes from neighbours ------------------------------------------------------------------------------


@substitutes("scipy.interpolate.PchipInterpolator")
@_described
class PchipInterpolator(CubicHermiteSpline):
    """The monotone piecewise cubic of Fritsch and Butland, with slopes that are harmonic means of those of the chords.

    Samples, abscissas and points have derivatives. Where the sign of a chord's slope changes, the slope is 0 and so is
    its derivative.

    Raises:
        DtypeError: the samples are complex.

    Example:
        >>> PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])(np.array([0.5, 1.5]))
        array([0.6875, 1.    ])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, axis = check_samples("PchipInterpolator", x, y, axis)
        _real_only("PchipInterpolator", y)
        self._join(x, y, monotone_slopes(x, y), extrapolate, axis)


def monotone_slopes(x: Any, y: Any) -> Any:
    """Return the slopes of `PchipInterpolator` at the abscissas, for samples with their axis first."""
    width = column(np.diff(x), rank_of(y))
    chord = np.diff(y, axis=0) / width
    if shape_of(x)[0] == 2:
        return np.concatenate([chord, chord])
    left, right = chord[:-1], chord[1:]
    turns = logical_or(np.sign(left) != np.sign(right), logical_or(equal(left, 0), equal(right, 0)))
    of_left, of_right = 2.0 * width[1:] + width[:-1], width[1:] + 2.0 * width[:-1]
    mean = of_left / where(turns, 1.0, left) + of_right / where(turns, 1.0, right)
    inner = where(turns, 0.0, (of_left + of_right) / where(turns, 1.0, mean))
    first = _monotone_end(width[0], width[1], chord[0], chord[1])
    last = _monotone_end(width[-1], width[-2], chord[-1], chord[-2])
    return np.concatenate([first[None], inner, last[None]])


def _monotone_end(near: Any, far: Any, chord: Any, next_chord: Any) -> Any:
    """Return the slope at an end by three points, kept to the sign and to three times the slope of the chord."""
    slope = ((2.0 * near + far) * chord - near * next_chord) / (near + far)
    steep = logical_and(np.sign(chord) != np.sign(next_chord), np.abs(slope) > 3.0 * np.abs(chord))
    return where(np.sign(slope) != np.sign(chord), 0.0, where(steep, 3.0 * chord, slope))


@substitutes("scipy.interpolate.pchip_interpolate")
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Interpolate samples by `PchipInterpolator`.

    Example:
        >>> float(pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 1.0], 0.5))
        0.6875
    """
    whole = PchipInterpolator(xi, yi, axis)
    return [whole(x, nu) for nu in der] if np.ndim(der) else whole(x, der)


_NEGLIGIBLE = 1e-9
"""Changes of the slope up to this fraction of the largest count as 0, as in SciPy."""


@substitutes("scipy.interpolate.Akima1DInterpolator")
@_described
class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's piecewise cubic, which follows flat parts without overshoot.

    Samples, abscissas and points have derivatives. Where the slope of the chords does not change on either side, the
    slope is the mean of its neighbours', and its derivative is that of the mean.

    Raises:
        ArgumentError: the method is unknown.
        DtypeError: the samples are complex.

    Example:
        >>> float(Akima1DInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0])(1.5))
        0.0
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        operation = "Akima1DInterpolator"
        if method not in ("akima", "makima"):
            raise ArgumentError(message(operation, 'method must be "akima" or "makima"', repr(method)))
        x, y, axis = check_samples(operation, x, y, axis)
        _real_only(operation, y)
        self._join(x, y, _akima_slopes(x, y, method), bool(extrapolate) and extrapolate, axis)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    chord = np.diff(y, axis=0) / column(np.diff(x), rank_of(y))
    if shape_of(x)[0] == 2:
        return np.concatenate([chord, chord])
    start = 2.0 * chord[:1] - chord[1:2]
    stop = 2.0 * chord[-1:] - chord[-2:-1]
    m = np.concatenate([2.0 * start - chord[:1], start, chord, stop, 2.0 * stop - chord[-1:]])
    change = np.abs(np.diff(m, axis=0))
    after, before = change[2:], change[:-2]
    if method == "makima":
        level = np.abs(m[1:] + m[:-1])
        after, before = after + 0.5 * level[2:], before + 0.5 * level[:-2]
    total = after + before
    is_defined = total > _NEGLIGIBLE * np.max(total, initial=0.0)
    share = before / where(is_defined, total, 1.0)
    return where(is_defined, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
