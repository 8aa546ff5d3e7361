"""B-splines: evaluation by de Boor's algorithm, and the spline through samples."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.indexing import gather, scatter_add
from wengert.engine.ops.linalg.banded import solve_banded
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import is_sequence, rank_of
from wengert.scipy.interpolate.piecewise import (
    at_axis,
    check_rising,
    column,
    inexact,
    interval,
    outside,
    wrapped,
)
from wengert.scipy.registry import doubles


def local_values(
    knots: Any, degree: int, number: Any, x: Any, coefficients: Sequence[Any], nu: int = 0
) -> Any:
    """Return the values of splines of a degree k at points along one axis, by de Boor's algorithm.

    ``number``: for each point the number i of its interval, from knot i to knot i + 1, which is not empty.
    ``coefficients``: the k + 1 coefficients ``c[i - k], ..., c[i]`` of each point, with further axes.
    """
    rank = max(map(rank_of, coefficients))
    if nu > degree:
        return coefficients[0] * column(x * 0.0, rank)
    near = [gather(knots, number + (j - degree + 1)) for j in range(2 * degree)]
    d = list(coefficients)
    for step in range(1, degree + 1):
        left = near[step - 1 : degree]
        right = near[degree : 2 * degree - step + 1]
        is_slope = step <= nu
        following: list[Any] = []
        for j in range(degree - step + 1):
            width = right[j] - left[j]
            is_empty = equal(width, 0)  # of degree 0, the last interval is
            width = where(is_empty, 1.0, width)
            if is_slope:
                following.append((d[j + 1] - d[j]) * column((degree - step + 1.0) / width, rank))
            else:
                share = column(where(is_empty, 1.0, (x - left[j]) / width), rank)
                following.append(d[j] + share * (d[j + 1] - d[j]))
        d = following
    return d[0]


def local_basis(knots: Any, degree: int, number: Any, x: Any, nu: int = 0) -> Any:
    """Return the values of the k + 1 basis splines that are not 0 at each point, along a last axis."""
    units = np.eye(degree + 1)
    ones = np.ones((*shape_of(x), 1))
    return local_values(knots, degree, number, x, [ones * unit for unit in units], nu)


def _checked_knots(operation: str, t: Any, count: int, degree: int) -> Any:
    t = doubles(t)
    if degree < 0:
        raise ArgumentError(message(operation, "the degree must not be negative", str(degree)))
    least = 2 * degree + 2
    if rank_of(t) != 1 or shape_of(t)[0] < least or count < shape_of(t)[0] - degree - 1:
        requirement = (
            f"a vector of at least {least} knots, and a coefficient for each basis spline, are required"
        )
        raise ShapeError(message(operation, requirement, f"{show(t)}, {count} coefficients"))
    knots = concrete(t)
    if knots is not None and not (np.isfinite(knots).all() and (np.diff(knots) >= 0).all()):
        raise ArgumentError(message(operation, "the knots must be finite and must not fall", show(t)))
    return t


@substitutes("scipy.interpolate.BSpline")
class BSpline:
    """A spline ``sum_j c[j] B_j(x)`` of basis splines over knots.

    Coefficients, points and knots have derivatives; knots that move apart from an equal one have those of one side.

    Raises:
        ShapeError: the knots and the coefficients do not fit.
        ArgumentError: the knots fall, or are not finite.

    Example:
        >>> float(BSpline([0.0, 0.0, 1.0, 2.0, 2.0], [1.0, 3.0, 5.0], 1)(1.5))
        4.0
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        c = inexact(c)
        if not -rank_of(c) <= axis < rank_of(c):
            raise ShapeError(message("BSpline", f"the coefficients must have an axis {axis}", show(c)))
        axis %= rank_of(c)
        c = np.moveaxis(c, axis, 0)
        self._build(_checked_knots("BSpline", t, shape_of(c)[0], k), c, k, extrapolate, axis)

    def _build(self, t: Any, c: Any, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.axis = t, c, operator.index(k), axis
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """Return a spline without checks.

        ``extrapolate``: as for the class.
        """
        made = object.__new__(cls)
        made._build(t, c, k, extrapolate, axis)
        return made

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the spline of an object of SciPy's."""
        return cls.construct_fast(theirs.t, theirs.c, theirs.k, theirs.extrapolate, theirs.axis)

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """Return the basis spline over knots.

        ``extrapolate``: as for the class.
        """
        t = doubles(t)
        k = shape_of(t)[0] - 2
        ends = np.ones(k)
        knots = np.concatenate([(t[0] - 1.0) * ends, t, (t[-1] + 1.0) * ends])
        c = np.zeros(shape_of(knots)[0])
        c[k] = 1.0
        return cls.construct_fast(knots, c, k, extrapolate)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def _ends(self) -> tuple[int, int]:
        """Return the numbers of the knots at which the spline begins and ends."""
        return self.k, shape_of(self.t)[0] - self.k - 1

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or those of a derivative, at points.

        ``extrapolate``: as for the class; None for its choice.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, end = self._ends()
        points = doubles(x)
        shape = shape_of(points)
        flat = reshape(points, shape=(size(shape),))
        if extrapolate == "periodic":
            flat = wrapped(flat, self.t[first], self.t[end])
        number = interval(self.t, flat, first, end - 1)
        taken = [gather(self.c, number + (j - self.k)) for j in range(self.k + 1)]
        value = local_values(self.t, self.k, number, flat, taken, nu)
        rank = rank_of(self.c)
        if not extrapolate:
            value = where(column(outside(flat, self.t[first], self.t[end]), rank), np.nan, value)
        value = where(column(np.isnan(flat), rank), np.nan, value)
        return at_axis(reshape(value, shape=(*shape, *shape_of(self.c)[1:])), shape, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """Return a derivative as a spline."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ArgumentError(message("BSpline", f"the order must be at most the degree {self.k}", str(nu)))
        t, c, k = self.t, self.c[: shape_of(self.t)[0] - self.k - 1], self.k
        for _ in range(nu):
            width = column(t[k + 1 : -1] - t[1 : -k - 1], rank_of(c))
            c, t, k = (c[1:] - c[:-1]) * float(k) / width, t[1:-1], k - 1
        return BSpline.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an antiderivative, 0 at the first knot, as a spline."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c[: shape_of(self.t)[0] - self.k - 1], self.k
        for _ in range(nu):
            width = column(t[k + 1 :] - t[: -k - 1], rank_of(c))
            sums = np.cumsum(c * width, 0) / (k + 1.0)
            c, k = np.concatenate([sums[:1] * 0.0, sums]), k + 1
            t = np.concatenate([t[:1], t, t[-1:]])
        extrapolate = self.extrapolate if self.extrapolate != "periodic" else False
        return BSpline.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, which have derivatives, too.

        ``extrapolate``: as for the class; None for its choice. Without it, the spline is 0 beyond the ends.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        whole.axis = 0
        first, end = self._ends()
        start, stop = self.t[first], self.t[end]

        def up_to(limit: Any) -> Any:
            limit = doubles(limit)
            if extrapolate == "periodic":
                periods = np.floor((limit - start) / (stop - start))
                remainder = limit - periods * (stop - start)
                return whole(remainder, 0, True) + periods * (whole(stop, 0, True) - whole(start, 0, True))
            return whole(limit if extrapolate else np.clip(limit, start, stop), 0, True)

        return up_to(b) - up_to(a)


# -- the spline through samples --------------------------------------------------------------------------


def _repeated(x: Any, times: int) -> Any:
    return x * np.ones(times)


def _knots(x: Any, degree: int, kind: str) -> Any:
    """Return the knots for samples at x: "not-a-knot", "periodic", or "augmented" for conditions at the ends."""
    if kind == "augmented":
        return np.concatenate([_repeated(x[0], degree), x, _repeated(x[-1], degree)])
    if kind == "periodic":
        inner = x
        if degree % 2 == 0:
            inner = np.concatenate([x[:1], x[1:-1] - np.diff(x)[:-1] / 2.0, x[-1:]])
        steps = np.diff(inner)
        count = shape_of(steps)[0]
        before, after = [inner[0]], [inner[-1]]
        for i in range(degree):
            before.append(before[-1] - steps[count - 1 - i % count])
            after.append(after[-1] + steps[i % count])
        return np.concatenate([np.stack(before[:0:-1]), inner, np.stack(after[1:])] if degree else [inner])
    half = (degree + 1) // 2 if degree % 2 else degree // 2
    inner = x if degree % 2 else (x[1:] + x[:-1]) / 2.0
    ends = [_repeated(x[k], degree + 1) for k in (0, -1)]
    return np.concatenate([ends[0], inner[half : shape_of(inner)[0] - half], ends[1]])


def _end_conditions(conditions: Any, shape: Sequence[int]) -> list[tuple[int, Any]]:
    """Return the derivatives at an end, as pairs of order and value."""
    if conditions is None:
        return []
    if isinstance(conditions, str):
        order = {"clamped": 1, "natural": 2}.get(conditions)
        if order is None:
            requirement = (
                "bc_type must be not-a-knot, periodic, clamped, natural, or pairs of order and value"
            )
            raise ArgumentError(message("make_interp_spline", requirement, repr(conditions)))
        return [(order, np.zeros(shape))]
    return [(int(order), np.reshape(inexact(value), shape)) for order, value in conditions]


@substitutes("scipy.interpolate.make_interp_spline")
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    """Return the spline through samples, which has derivatives in samples, abscissas, knots and conditions.

    The coefficients solve a banded system, which SciPy's LAPACK does, and for periodic splines a full one.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: the abscissas or the knots do not rise, or a condition is unknown.
        MatrixError: the samples do not determine the spline.

    Example:
        >>> float(make_interp_spline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], k=2)(1.5))
        2.25
    """
    operation = "make_interp_spline"
    x, y, k = doubles(x), inexact(y), operator.index(k)
    rank = rank_of(y)
    if not rank or not -rank <= axis < rank or rank_of(x) != 1 or shape_of(x)[0] != shape_of(y)[axis]:
        requirement = "an abscissa for each sample along the axis is required"
        raise ShapeError(message(operation, requirement, show(x, y)))
    axis %= rank
    y = np.moveaxis(y, axis, 0)
    check_rising(operation, x)
    pair = (None, None) if bc_type in (None, "not-a-knot", "periodic") else bc_type
    pair = (pair, pair) if isinstance(pair, str) else pair
    if not is_sequence(pair) or len(pair) != 2:
        raise ArgumentError(message(operation, "bc_type must be a name, or a pair", repr(bc_type)))
    left, right = (_end_conditions(end, shape_of(y)[1:]) for end in pair)
    if k < 2 and (left or right or (k == 0 and t is not None)):
        raise ArgumentError(message(operation, f"degree {k} leaves no conditions to choose", repr(bc_type)))
    if k == 0:
        return BSpline.construct_fast(np.concatenate([x, x[-1:]]), y, k, axis=axis)
    if k == 1 and t is None:
        return BSpline.construct_fast(np.concatenate([x[:1], x, x[-1:]]), y, k, axis=axis)
    if bc_type == "periodic":
        return _periodic(x, y, k, t, axis)
    if t is None:
        t = _knots(x, k, "not-a-knot" if pair == (None, None) else "augmented")
    t = _checked_knots(operation, t, shape_of(t)[0], k)
    missing = shape_of(t)[0] - k - 1 - shape_of(x)[0]
    if missing != len(left) + len(right) or any(not 0 <= order <= k for order, _ in [*left, *right]):
        requirement = f"{max(missing, 0)} conditions at the ends are required, of orders up to {k}"
        raise ArgumentError(message(operation, requirement, f"{len(left)} + {len(right)}"))
    return BSpline.construct_fast(t, _coefficients(x, y, k, t, left, right), k, axis=axis)


def _coefficients(x: Any, y: Any, k: int, t: Any, left: list[Any], right: list[Any]) -> Any:
    """Solve the equations of the samples, below those of the left end and above those of the right."""
    count = shape_of(t)[0] - k - 1
    rows: list[Any] = []
    numbers: list[Any] = []
    for end, conditions in ((0, left), (None, None), (-1, right)):
        if conditions is None:
            numbers.append(interval(t, x, k, count - 1))
            rows.append(local_basis(t, k, numbers[-1], x))
            continue
        point = x[end:][:1]
        for order, _ in conditions:
            numbers.append(interval(t, point, k, count - 1))
            rows.append(local_basis(t, k, numbers[-1], point, order))
    basis, number = np.concatenate(rows), np.concatenate(numbers)
    columns = number[:, None] + np.arange(-k, 1)
    diagonal = np.clip(k + np.arange(count)[:, None] - columns, 0, 2 * k)
    bands = scatter_add(basis, diagonal, columns, shape=(2 * k + 1, count))
    values = [np.stack([value for _, value in end]) for end in (left, right) if end]
    parts = [*values[: len(left) > 0], y, *values[len(left) > 0 :]]
    whole = np.concatenate(parts)
    solved = solve_banded(bands, reshape(whole, shape=(count, size(shape_of(y)[1:]))), lower=k, upper=k)
    return reshape(solved, shape=(count, *shape_of(y)[1:]))


def _periodic(x: Any, y: Any, k: int, t: Any, axis: int) -> Any:
    """Return the periodic spline: its last k coefficients are the first ones."""
    operation = "make_interp_spline"
    ends = concrete(y[0]), concrete(y[-1])
    if t is not None:
        raise ArgumentError(message(operation, "the knots of periodic splines follow from x", show(t)))
    if ends[0] is not None and ends[1] is not None and not np.allclose(*ends, atol=1e-15):
        requirement = "the first and the last sample must be equal for periodic splines"
        raise ArgumentError(message(operation, requirement, show(y)))
    t = _knots(x, k, "periodic")
    count = shape_of(x)[0] - 1
    number = interval(t, x[:-1], k, count + k - 1)
    columns = (number[:, None] + np.arange(-k, 1)) % count
    basis = local_basis(t, k, number, x[:-1])
    matrix = scatter_add(basis, np.arange(count)[:, None], columns, shape=(count, count))
    right = reshape(y[:-1], shape=(count, size(shape_of(y)[1:])))
    solved = reshape(np.linalg.solve(matrix, right), shape=(count, *shape_of(y)[1:]))
    c = gather(solved, np.arange(count + k) % count)
    return BSpline.construct_fast(t, c, k, "periodic", axis)


# -- least squares ---------------------------------------------------------------------------------------


@substitutes("scipy.interpolate.make_lsq_spline")
def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    *,
    method: str = "qr",
) -> Any:
    """Return the spline of given knots that minimises ``sum_i (w[i] (y[i] - s(x[i])))^2``.

    It has derivatives in samples, abscissas, knots and weights. The normal equations are banded, and solved twice: for
    the samples, and for their rounding errors. ``method`` has no effect.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: the knots do not rise, or a known abscissa lies outside of them.
        MatrixError: an interval of the knots has too few abscissas.

    Example:
        >>> x = np.linspace(0.0, 1.0, 7)
        >>> t = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
        >>> print(f"{make_lsq_spline(x, x**2, t, k=2)(0.3):.3f}")
        0.090
    """
    operation = "make_lsq_spline"
    x, y, k = doubles(x), inexact(y), operator.index(k)
    rank = rank_of(y)
    w = np.ones(shape_of(x)) if w is None else doubles(w)
    if not rank or not -rank <= axis < rank or not shape_of(x) == shape_of(w) == (shape_of(y)[axis],):
        requirement = "an abscissa and a weight for each sample along the axis are required"
        raise ShapeError(message(operation, requirement, show(x, y, w)))
    axis %= rank
    y = np.moveaxis(y, axis, 0)
    t = _checked_knots(operation, t, shape_of(t)[0], k)
    count = shape_of(t)[0] - k - 1
    flags = concrete(outside(x, t[k], t[count]))
    if flags is not None and np.any(flags):
        requirement = "abscissas must lie between the first and the last knot"
        raise ArgumentError(message(operation, requirement, show(x, t)))
    number = interval(t, x, k, count - 1)
    basis = local_basis(t, k, number, x) * column(w, 2)
    columns = number[:, None] + np.arange(-k, 1)
    diagonal = k + columns[:, :, None] - columns[:, None, :]
    places = np.broadcast_to(columns[:, None, :], shape_of(diagonal))
    products = basis[:, :, None] * basis[:, None, :]
    bands = scatter_add(products, diagonal, places, shape=(2 * k + 1, count))
    values = reshape(y, shape=(shape_of(y)[0], size(shape_of(y)[1:]))) * column(w, 2)

    def projected(values: Any) -> Any:
        moments = scatter_add(
            basis[:, :, None] * values[:, None, :], columns, shape=(count, shape_of(values)[1])
        )
        return solve_banded(bands, moments, lower=k, upper=k)

    c = projected(values)
    c = c + projected(values - np.einsum("ia,iaj->ij", basis, gather(c, columns)))
    return BSpline.construct_fast(t, reshape(c, shape=(count, *shape_of(y)[1:])), k, axis=axis)
