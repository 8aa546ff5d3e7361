"""`wengert.scipy.interpolate` against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, check_signatures, close
from wengert.engine.core.errors import ArgumentError, WengertError
from wengert.scipy import interpolate

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(32)
X = np.cumsum(RNG.uniform(0.5, 1.5, 7))
Y = RNG.uniform(-1, 1, 7)
TABLE = RNG.uniform(-1, 1, (2, 7))
PERIODIC = np.append(Y[:-1], Y[0])
Q = RNG.uniform(X[0], X[-1], (2, 3))
LINES = [np.cumsum(RNG.uniform(0.5, 1.5, n)) for n in (5, 6)]
GRID = RNG.uniform(-1, 1, (5, 6))
POINTS = np.stack([RNG.uniform(line[0], line[-1], 4) for line in LINES], -1)

CALLS: dict[str, tuple[Any, ...]] = {
    "BarycentricInterpolator": (lambda m, x, y, q: m.BarycentricInterpolator(x, y)(q), X, Y, Q),
    "KroghInterpolator axis": (lambda m, x, y, q: m.KroghInterpolator(x, y, axis=1)(q), X, TABLE, Q),
    "barycentric_interpolate": (lambda m, x, y: m.barycentric_interpolate(x, y, x), X, Y),
    "CubicSpline": (lambda m, x, y, q: m.CubicSpline(x, y)(q), X, Y, Q),
    "CubicSpline axis": (lambda m, x, y, q: m.CubicSpline(x, y, axis=1)(q, 1), X, TABLE, Q),
    "CubicSpline conditions": (
        lambda m, x, y, q, s: m.CubicSpline(x, y, bc_type=((1, s), "natural"))(q),
        *(X, Y, Q, np.array(0.3)),
    ),
    "CubicSpline clamped": (lambda m, x, y, q: m.CubicSpline(x, y, bc_type="clamped")(q, 2), X, Y, Q),
    "CubicSpline integral": (
        lambda m, x, y, a: m.CubicSpline(x, y).integrate(a, 3.3),
        X,
        Y,
        np.array(1.7),
    ),
    "CubicSpline antiderivative": (lambda m, y, q: m.CubicSpline(X, y).antiderivative()(q), Y, Q),
    "CubicHermiteSpline": (lambda m, x, y, s, q: m.CubicHermiteSpline(x, y, s)(q), X, Y, TABLE[0], Q),
    "PchipInterpolator": (lambda m, x, y, q: m.PchipInterpolator(x, y)(q), X, Y, Q),
    "Akima1DInterpolator": (lambda m, x, y, q: m.Akima1DInterpolator(x, y)(q), X, Y, Q),
    "makima": (lambda m, x, y, q: m.Akima1DInterpolator(x, y, method="makima")(q), X, Y, Q),
    "pchip_interpolate": (lambda m, y, q: m.pchip_interpolate(X, y, q, [0, 1]), Y, Q),
    "PPoly": (lambda m, c, x, q: m.PPoly(c, x)(q), RNG.uniform(-1, 1, (3, 6)), X, Q),
    "BPoly": (lambda m, c, x, q: m.BPoly(c, x)(q), RNG.uniform(-1, 1, (4, 6)), X, Q),
    "BPoly slopes": (
        lambda m, c, x, q: (
            m.BPoly(c, x).derivative(2)(q) + m.BPoly(c, x)(q, 1) + m.BPoly(c, x).integrate(1.5, q[0, 0])
        ),
        *(RNG.uniform(-1, 1, (4, 6)), X, Q),
    ),
    "BPoly antiderivative": (
        lambda m, c, x, q: m.BPoly(c, x, axis=1).antiderivative(2)(q),
        *(RNG.uniform(-1, 1, (2, 4, 6)), X, Q),
    ),
    "FloaterHormannInterpolator": (lambda m, x, y, q: m.FloaterHormannInterpolator(x, y)(q), X, Y, Q[0]),
    "FloaterHormannInterpolator of degree 1": (
        lambda m, x, y, q: m.FloaterHormannInterpolator(x, y, d=1, axis=1)(q),
        *(X[::-1], TABLE, Q[0]),
    ),
    "FloaterHormannInterpolator at points": (
        lambda m, y, q: m.FloaterHormannInterpolator(X, y, d=2)(q),
        *(Y, np.append(X[::2], 2.2)),
    ),
    "NdBSpline": (
        lambda m, s, t, c, x: (
            m.NdBSpline((s, t), c, (2, 1))(x) + m.NdBSpline((s, t), c, (2, 1))(x, nu=[1, 0])
        ),
        *(np.append(X, 20.0), np.arange(6.0), RNG.uniform(-1, 1, (5, 4, 2)), RNG.uniform(2, 4, (3, 2))),
    ),
    "bisplev": (
        lambda m, s, t, c, x: m.bisplev(x, x + 0.3, (s, t, c, 2, 1), dx=1),
        *(np.append(X, 20.0), np.arange(6.0), RNG.uniform(-1, 1, 20), np.array([2.0, 2.6, 3.3])),
    ),
    "spalde": (lambda m, t, c, q: m.spalde(q, (t, c, 2)), X, Y, np.array([X[2] + 0.1, X[3] + 0.2])),
    "BSpline": (lambda m, t, c, q: m.BSpline(t, c, 2)(q), np.append(X, X[-1] + [1, 2, 3]), Y, Q),
    "make_interp_spline": (lambda m, x, y, q: m.make_interp_spline(x, y)(q), X, Y, Q),
    "make_interp_spline quadratic": (lambda m, x, y, q: m.make_interp_spline(x, y, 2)(q, 1), X, Y, Q),
    "make_interp_spline natural": (
        lambda m, x, y, q: m.make_interp_spline(x, y, bc_type="natural", axis=1)(q),
        X,
        TABLE,
        Q,
    ),
    "make_interp_spline integral": (
        lambda m, x, y, b: m.make_interp_spline(x, y, 4).integrate(2.0, b),
        X,
        Y,
        np.array(4.2),
    ),
    "make_lsq_spline": (
        lambda m, x, y, t, w, q: m.make_lsq_spline(x, y, t, 2, w, axis=1)(q),
        *(
            X,
            TABLE,
            X[[0, 0, 0, 3, -1, -1, -1]] + [-0.3, -0.2, -0.1, 0.2, 0.1, 0.2, 0.3],
            RNG.uniform(0.5, 2, 7),
            Q,
        ),
    ),
    "LSQUnivariateSpline": (
        lambda m, x, y, t, w, q: m.LSQUnivariateSpline(x, y, t, w, k=2)(q),
        *(X, Y, X[[2, 4]] + 0.1, RNG.uniform(0.5, 2.0, 7), Q),
    ),
    "splrep": (lambda m, x, y, q: m.splev(q, m.splrep(x, y, k=4), 2), X, Y, Q),
    "splrep knots": (lambda m, x, y, t: m.splrep(x, y, t=t)[1], X, Y, X[[3]] + 0.1),
    "splev": (
        lambda m, t, c, q: m.splev(q, (t, c, 2), 1, ext=1),
        *(np.append(X, X[-1] + [1, 2, 3]), np.append(Y, [0.0] * 3), Q),
    ),
    "splint": (lambda m, y, a: m.splint(a, 3.0, m.splrep(X, y)), Y, np.array(1.2)),
    "splder": (lambda m, y, q: m.splev(q, m.splder(m.splrep(X, y), 2)), Y, Q),
    "splantider": (lambda m, y, q: m.splev(q, m.splantider(m.splrep(X, y))), Y, Q),
    "splantider coefficients": (lambda m, y: m.splantider(m.splrep(X, y), 2)[1], Y),
    "splder coefficients": (lambda m, y: m.splder(m.splrep(X, y), 2)[1], Y),
    "splprep": (lambda m, x, q: np.stack(m.splev(q / 9, m.splprep(x, s=0)[0])), TABLE, Q),
    "InterpolatedUnivariateSpline": (
        lambda m, x, y, q: m.InterpolatedUnivariateSpline(x, y, ext=3)(q, 1),
        *(X, Y, Q),
    ),
    "UnivariateSpline": (
        lambda m, x, y, b: m.UnivariateSpline(x, y, k=4, s=0).integral(1.0, b),
        *(X, Y, np.array(4.2)),
    ),
    "RectBivariateSpline": (
        lambda m, v, x, y: m.RectBivariateSpline(*LINES, v)(x, y, dx=1),
        *(GRID, np.sort(POINTS[:, 0]), np.sort(POINTS[:, 1])),
    ),
    "RectBivariateSpline points": (
        lambda m, x, v, q: m.RectBivariateSpline(x, LINES[1], v, kx=2, ky=4).ev(q[:, 0], q[:, 1]),
        *(LINES[0], GRID, POINTS),
    ),
    "RectBivariateSpline integral": (
        lambda m, v, a: m.RectBivariateSpline(*LINES, v).integral(a, 3.0, 0.5, 2.5),
        *(GRID, np.array(1.1)),
    ),
    "interp1d linear": (lambda m, x, y, q: m.interp1d(x, y)(q), X, TABLE, Q),
    "interp1d nearest": (lambda m, y: m.interp1d(X, y, kind="nearest")(Q), TABLE),
    "interp1d cubic": (
        lambda m, x, y, q: m.interp1d(x, y, kind="cubic", fill_value="extrapolate")(q),
        X,
        Y,
        Q,
    ),
    "RegularGridInterpolator": (
        lambda m, v, q, line: m.RegularGridInterpolator((line, LINES[1]), v)(q),
        *(GRID, POINTS, LINES[0]),
    ),
    "RegularGridInterpolator slinear": (
        lambda m, v, q: m.RegularGridInterpolator(LINES, v, "slinear")(q),
        GRID,
        POINTS,
    ),
    "RegularGridInterpolator pchip": (
        lambda m, v, q: m.RegularGridInterpolator(LINES, v, "pchip")(q),
        GRID,
        POINTS,
    ),
    "interpn": (lambda m, v, q: m.interpn(LINES, v, q, "nearest"), GRID, POINTS),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.exhaustive
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]

    def scipys(*values: Any) -> Any:  # SciPy takes numbers for limits
        return call(theirs, *(x if np.ndim(x) else float(x) for x in values))

    check(lambda *x: call(interpolate, *x), scipys, *arguments, rtol=1e-11, compiled=False)


#: One of each kind: the others compile the same systems of equations, intervals and polynomials.
COMPILED = {
    "CubicSpline conditions",
    "PchipInterpolator",
    "makima",
    "BSpline",
    "make_interp_spline quadratic",
    "RectBivariateSpline points",
    "interp1d nearest",
    "RegularGridInterpolator",
}


@pytest.mark.parametrize(
    "call", [pytest.param(name, marks=[] if name in COMPILED else [pytest.mark.rest]) for name in CALLS]
)
def test_compiled_functions(call: str) -> None:
    function, *arguments = CALLS[call]

    def own(*arguments: Any) -> Any:
        return function(interpolate, *arguments)

    close(wg.jit(own)(*arguments), own(*arguments), 1e-11)


def closed(y: Any) -> Any:
    return np.concatenate([y, y[:1]])


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x, y, q: m.CubicSpline(x, closed(y), bc_type="periodic")(q),
        lambda m, x, y, q: m.make_interp_spline(x, closed(y), 4, bc_type="periodic")(q),
        lambda m, x, y, q: m.make_interp_spline(x[:4], closed(y[:3]), 5, bc_type="periodic")(q),
    ],
    ids=["cubic", "quartic", "quintic"],
)
def test_periodic_splines(call: Any) -> None:
    own, other = (lambda *a: call(interpolate, *a)), (lambda *a: call(theirs, *a))
    check(own, other, X, Y[:-1], Q + 3.0, rtol=1e-11)


def test_cubics_on_grids() -> None:
    """SciPy solves for the coefficients to a tolerance, so it must be compared loosely."""
    for method in ("cubic", "cubic_legacy"):
        found = interpolate.RegularGridInterpolator(LINES, GRID, method)(POINTS)
        close(found, theirs.RegularGridInterpolator(LINES, GRID, method)(POINTS), 1e-5)

    def call(v: Any, q: Any, line: Any) -> Any:
        return interpolate.RegularGridInterpolator((line, LINES[1]), v, "cubic")(q, nu=(1, 0))

    check(call, None, GRID, POINTS, LINES[0])


KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 4)
CONDITIONS = (
    "not-a-knot",
    "clamped",
    "natural",
    "periodic",
    ((1, 0.5), (2, -1.0)),
    ("natural", "not-a-knot"),
)


@examples(60)
@given(data=st.data())
def test_drawn_interpolants_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    count = draw.integer(2, 20)
    x = np.cumsum(draw.rng.uniform(0.2, 1.5, count))
    further, axis = draw.choice([(), (2,)]), draw.choice([0, -1])
    y = np.moveaxis(np.round(draw.rng.standard_normal((count, *further)), draw.choice([0, 9])), 0, axis)
    q = np.concatenate([draw.rng.uniform(x[0] - 2, x[-1] + 2, 9), x, [np.nan]])
    extrapolate, nu = draw.choice([None, False, True, "periodic"]), draw.integer(0, 4)
    ends = x[0] + draw.rng.uniform(-1, 1), x[-1] + draw.rng.uniform(-1, 1)
    condition = draw.choice(CONDITIONS)
    if further and not isinstance(condition, str) and not isinstance(condition[0], str):
        condition = "natural"
    cyclic = np.moveaxis(y.copy(), axis, 0)
    cyclic[-1] = cyclic[0]
    cyclic = np.moveaxis(cyclic, 0, axis) if condition == "periodic" else y

    def splines(m: Any) -> Any:
        spline = m.CubicSpline(x, cyclic, axis, condition, extrapolate)
        return spline(q, nu), spline.integrate(*ends), spline.derivative(2)(q), spline.c

    def by_slopes(m: Any) -> Any:
        pchip, akima = m.PchipInterpolator(x, y, axis), m.Akima1DInterpolator(x, y, axis)
        makima = m.Akima1DInterpolator(x, y, axis, method="makima", extrapolate=extrapolate)
        return pchip(q, nu), akima(q), makima(q, nu), akima.integrate(x[0], x[-1])

    degree = draw.integer(0, min(count - 1, 5))

    def bsplines(m: Any) -> Any:
        spline = m.make_interp_spline(x, y, degree, axis=axis)
        limits = ends if degree else (x[0], x[0])  # of degree 0, SciPy loses the integral up to the last knot
        return spline(q, min(nu, degree), extrapolate), spline.c, spline.t, spline.integrate(*limits)

    kind, fill = draw.choice(KINDS), draw.choice([np.nan, (1.0, 2.0), "extrapolate"])
    order = draw.rng.permutation(count)
    middles = (x[1:] + x[:-1]) / 2

    def table(m: Any) -> Any:
        samples = np.take(y, order, axis)
        options: dict[str, Any] = {} if fill == "extrapolate" else {"bounds_error": False}
        found = m.interp1d(x[order], samples, kind, axis, fill_value=fill, **options)
        return found(np.append(q[:-1], middles))

    for call in (splines, by_slopes, bsplines, *([table] if count > 4 else [])):
        close(call(interpolate), call(theirs), 1e-8)


def test_grids_of_drawn_sizes_are_scipys() -> None:
    for shape in ((4,), (4, 5), (4, 5, 4)):
        lines = [np.cumsum(RNG.uniform(0.5, 1.5, n)) for n in shape]
        lines[-1] = lines[-1][::-1]
        values = np.round(RNG.standard_normal((*shape, 2)), 1)
        points = np.stack([RNG.uniform(line.min() - 1, line.max() + 1, (2, 5)) for line in lines], -1)
        points[0, 0, 0] = np.nan
        for method in ("linear", "nearest", "slinear", "pchip"):
            for fill in (np.nan, None, 2.0):
                options: dict[str, Any] = {"method": method, "bounds_error": False, "fill_value": fill}
                own = interpolate.interpn(lines, values, points, **options)
                close(own, theirs.interpn(lines, values, points, **options), 1e-11)


@pytest.mark.parametrize("count", [2, 3, 15, 19, 33, 200])
def test_intervals_of_long_tables(count: int) -> None:
    """By counting, by bisection, and by NumPy's search of known numbers."""
    rng = np.random.default_rng(count)
    x = np.sort(rng.integers(0, 50, count).astype(float)) + np.arange(count) * 0.5
    q = np.concatenate([x, x + 0.1, [x[0] - 1, x[-1] + 1]])
    c = rng.uniform(-1, 1, (2, count - 1))

    def calls(x: Any, q: Any) -> Any:
        return interpolate.PPoly(c, x)(q), interpolate.interp1d(x, x, fill_value="extrapolate")(q)

    for found, expected in zip(wg.jit(calls)(x, q), calls(x, q), strict=True):
        close(found, expected, 1e-12)


def test_interpolants_go_through_the_samples_and_know_polynomials() -> None:
    cube = X**3 - X
    for make in (
        interpolate.CubicSpline,
        interpolate.PchipInterpolator,
        interpolate.Akima1DInterpolator,
        interpolate.make_interp_spline,
    ):
        np.testing.assert_allclose(make(X, cube)(X), cube, rtol=1e-12)
    for make in (interpolate.CubicSpline, interpolate.make_interp_spline):
        np.testing.assert_allclose(make(X, cube)(Q), Q**3 - Q, rtol=1e-11)
        slope = wg.grad(lambda q: make(X, cube)(q))(2.0)  # noqa: B023
        assert slope == pytest.approx(3 * 2.0**2 - 1, rel=1e-11)


def test_second_derivatives() -> None:
    for make in (interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.make_interp_spline):
        wg.check_grads(lambda x, y, q: make(x, y)(q), (X, Y, Q[0]), order=2)  # noqa: B023


def test_flat_samples_have_finite_derivatives() -> None:
    flat = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.5, 0.5])
    for make in (interpolate.PchipInterpolator, interpolate.Akima1DInterpolator):
        for argument in (0, 1):
            derivative = wg.grad(lambda x, y: np.sum(make(x, y)(Q)), argument)(X, flat)  # noqa: B023
            assert np.isfinite(derivative).all()


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "CubicSpline": lambda m: m.CubicSpline(X, TABLE, axis=1, extrapolate=False),
    "PchipInterpolator": lambda m: m.PchipInterpolator(X, Y),
    "BSpline": lambda m: m.make_interp_spline(X, Y, 2),
    "UnivariateSpline": lambda m: m.UnivariateSpline(X, Y, s=0, ext="const"),
    "interp1d": lambda m: m.interp1d(X, TABLE),
    "interp1d cubic": lambda m: m.interp1d(X, TABLE, "cubic", fill_value="extrapolate"),
    "interp1d next": lambda m: m.interp1d(X, Y, "next", bounds_error=False, fill_value=(1.0, 2.0)),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_scipys_work_in_transforms(name: str) -> None:
    made, own = OBJECTS[name](theirs), OBJECTS[name](interpolate)
    direction = np.ones(Q.shape)
    close(wg.jvp(lambda q: made(q), (Q,), (direction,)), wg.jvp(lambda q: own(q), (Q,), (direction,)), 1e-12)
    close(wg.jit(lambda q: made(q))(Q), made(Q), 1e-12)


def test_splines_with_smoothing_of_scipys_work_in_transforms() -> None:
    knots = X[2:-2]
    for made in (theirs.UnivariateSpline(X, Y, s=0.5), theirs.LSQUnivariateSpline(X, Y, knots, ext=1)):
        close(wg.jit(lambda q: made(q))(Q), made(Q), 1e-12)  # noqa: B023
        slopes = wg.grad(lambda q: np.sum(made(q)))(Q)  # noqa: B023
        close(slopes, made(Q, 1), 1e-11)
    grid = theirs.RectBivariateSpline(*LINES, GRID, s=0.1)
    close(wg.jit(lambda q: grid.ev(q[:, 0], q[:, 1]))(POINTS), grid.ev(*POINTS.T), 1e-12)


def test_rules_beyond_the_ends() -> None:
    q = np.array([X[0] - 1.0, X[2], X[-1] + 1.0])
    for ext in (0, 1, 3, "zeros"):
        own, other = (m.InterpolatedUnivariateSpline(X, Y, k=2, ext=ext) for m in (interpolate, theirs))
        for call in (
            lambda s: s(q),
            lambda s: s(q, 1),
            lambda s: s.derivative()(q),
            lambda s: s.antiderivative()(X),
            lambda s: s.derivatives(X[3]),
            lambda s: (s.get_knots(), s.get_coeffs(), s.integral(q[0], X[3])),
        ):
            close(call(own), call(other), 1e-11)
    own, other = (m.RectBivariateSpline(*LINES, GRID) for m in (interpolate, theirs))
    edge = POINTS + np.array([5.0, -5.0])
    close(own.ev(*edge.T), other.ev(*edge.T), 1e-12)
    close((own.get_coeffs(), *own.get_knots()), (other.get_coeffs(), *other.get_knots()), 1e-11)


def test_grids_of_scipys_work_in_transforms() -> None:
    made = theirs.RegularGridInterpolator(LINES, GRID, bounds_error=False, fill_value=None)
    own = interpolate.RegularGridInterpolator(LINES, GRID, bounds_error=False, fill_value=None)
    close(
        wg.grad(lambda q: np.sum(made(q)))(POINTS + 3.0),
        wg.grad(lambda q: np.sum(own(q)))(POINTS + 3.0),
        1e-12,
    )


def test_splines_of_several_variables_made_outside_and_beyond_their_ends() -> None:
    c = RNG.uniform(-1, 1, (4, 4))
    for extrapolate in (True, False):
        spline = theirs.NdBSpline((X, X), c, 2, extrapolate=extrapolate)
        close(wg.vjp(lambda x, s=spline: s(x), POINTS)[0], spline(POINTS), 1e-11)
    rational = theirs.FloaterHormannInterpolator(X, Y)
    close(wg.jit(lambda q: rational(q))(Q[0]), rational(Q[0]), 1e-11)
    close(wg.vjp(lambda q: rational(q), np.array([np.inf, 2.0]))[0], rational(np.array([np.inf, 2.0])), 1e-11)
    wg.check_grads(
        lambda x, y: interpolate.FloaterHormannInterpolator(x, y, d=2)(X[2]), (X + 0.1, Y), order=2
    )
    wg.check_grads(lambda q: rational(q), (X[:3],), order=2)


def test_single_precision_stays_in_tables() -> None:
    x, y = X.astype(np.float32), TABLE.astype(np.float32)
    for kind in ("linear", "next"):
        own, other = (m.interp1d(x, y, kind, bounds_error=False) for m in (interpolate, theirs))
        close(own(x + np.float32(0.1)), other(x + np.float32(0.1)), 1e-5)


def test_points_outside() -> None:
    table = interpolate.interp1d(X, Y)
    with pytest.raises(ValueError, match="interp1d: the points must lie inside the table"):
        table(X[-1] + 1)
    assert np.isnan(wg.jit(lambda q: table(q))(X[-1] + 1))
    with pytest.raises(ValueError, match="RegularGridInterpolator: the points must lie inside"):
        interpolate.RegularGridInterpolator(LINES, GRID)([[0.0, -5.0]])


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "rising": (lambda: interpolate.CubicSpline(X[::-1], Y), "CubicSpline: x must be finite and rise"),
    "finite": (lambda: interpolate.CubicSpline(X, Y * np.nan), "CubicSpline: the samples must be finite"),
    "length": (lambda: interpolate.PchipInterpolator(X, Y[1:]), "PchipInterpolator: at least two abscissas"),
    "condition": (lambda: interpolate.CubicSpline(X, Y, bc_type="odd"), "CubicSpline: a condition must be"),
    "periodic": (lambda: interpolate.CubicSpline(X, Y, bc_type="periodic"), "CubicSpline: the first and the"),
    "value": (
        lambda: interpolate.CubicSpline(X, Y, bc_type=((1, Y), "natural")),
        "CubicSpline: the value of a condition",
    ),
    "complex": (lambda: interpolate.Akima1DInterpolator(X, Y * 1j), "Akima1DInterpolator: the samples must"),
    "method": (lambda: interpolate.Akima1DInterpolator(X, Y, method="x"), "Akima1DInterpolator: method must"),
    "knots": (lambda: interpolate.BSpline(X[::-1], Y, 1), "BSpline: the knots must be finite"),
    "coefficients": (lambda: interpolate.BSpline(X, Y[:2], 1), "BSpline: a vector of at least 4 knots"),
    "missing": (lambda: interpolate.make_interp_spline(X, Y, 3, bc_type=([(1, 0.0)], None)), "1 \\+ 0"),
    "kind": (lambda: interpolate.interp1d(X, Y, kind="odd"), "interp1d: kind must be linear"),
    "few": (lambda: interpolate.interp1d(X[:3], Y[:3], kind="cubic"), "interp1d: at least 4 samples"),
    "bounds": (
        lambda: interpolate.interp1d(X, Y, bounds_error=True, fill_value="extrapolate"),
        "interp1d: bounds_error must not be True",
    ),
    "smoothing": (
        lambda: interpolate.UnivariateSpline(X, Y),
        "UnivariateSpline: a fit with smoothing, s=None",
    ),
    "smoothing of splrep": (lambda: interpolate.splrep(X, Y, s=0.5), "splrep: a fit with smoothing, s=0.5"),
    "weights of splrep": (lambda: interpolate.splrep(X, Y, np.ones(7)), "splrep: a fit with smoothing"),
    "periodic splrep": (lambda: interpolate.splrep(X, Y, per=1), "splrep: full_output and per"),
    "smooth curve": (lambda: interpolate.splprep(TABLE), "splprep: only curves through their points"),
    "order": (lambda: interpolate.splev(1.0, interpolate.splrep(X, Y), 4), "one of 0 to the degree, 3"),
    "tuple": (lambda: interpolate.splev(1.0, (X, Y)), r"splev: \(t, c, k\) or a BSpline"),
    "weights": (lambda: interpolate.make_lsq_spline(X, Y, X, w=Y[:2]), "an abscissa and a weight"),
    "beyond knots": (
        lambda: interpolate.make_lsq_spline(X, Y, np.repeat(X[[0, 3]], 4)),
        "abscissas must lie between",
    ),
    "too few abscissas": (
        lambda: interpolate.LSQUnivariateSpline(X, Y, X[2] + [0.01, 0.02, 0.03, 0.04, 0.05]),
        "singular",
    ),
    "ends": (
        lambda: interpolate.RectBivariateSpline(*LINES, GRID, (0, 9, 0, 9)),
        "other ends are not supported",
    ),
    "degree": (lambda: interpolate.InterpolatedUnivariateSpline(X, Y, k=9), "a degree of 1 to 5"),
    "beyond": (lambda: interpolate.InterpolatedUnivariateSpline(X, Y, ext=7), "ext must be one of 0, 1"),
    "raise": (
        lambda: interpolate.InterpolatedUnivariateSpline(X, Y, ext=2)(99.0),
        "the points must lie between",
    ),
    "grid": (lambda: interpolate.RegularGridInterpolator(LINES[:1], GRID[1:]), "lines for each extent"),
    "grid method": (
        lambda: interpolate.interpn(LINES, GRID, POINTS, "odd"),
        "method must be nearest, pchip, linear",
    ),
    "points": (lambda: interpolate.interpn(LINES, GRID, np.ones((2, 3))), "points of 2 coordinates"),
    "nu": (lambda: interpolate.RegularGridInterpolator(LINES, GRID)(POINTS, nu=(1, 0)), "nu is for the"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_operation(name: str) -> None:
    call, text = ERRORS[name]
    with pytest.raises(WengertError, match=text):
        call()


@pytest.mark.parametrize("name", interpolate.__all__)
def test_signatures_are_scipys(name: str) -> None:
    check_signatures(getattr(interpolate, name), getattr(theirs, name))


def test_polynomials_made_outside_and_their_refusals() -> None:
    made = theirs.BarycentricInterpolator(X, TABLE, axis=1)
    point = np.array([0.4, 1.7])
    program = lambda q: made(q)  # noqa: E731
    np.testing.assert_allclose(wg.vjp(program, point)[0], made(point), rtol=1e-10)
    wg.check_grads(program, (point,), order=2, rtol=1e-5)
    for refused, words in (
        (lambda y: theirs.KroghInterpolator(np.zeros(2), y)(0.5), "abscissas must differ"),
        (lambda y: theirs.krogh_interpolate(np.arange(2.0), y, 0.5, der=1), "der must be 0"),
    ):
        with pytest.raises(ArgumentError, match=words):
            wg.grad(refused)(np.ones(2))
