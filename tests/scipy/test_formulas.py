"""Families by SciPy's own formulas: values are SciPy's, derivatives those of differences, in each mode."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.array.substitutes import SUBSTITUTES, substitute_for
from wengert.engine.core.errors import UnsupportedError
from wengert.scipy import stats as own
from wengert.scipy.stats import formulas
from wengert.scipy.stats.base import Continuous, Distribution

theirs = pytest.importorskip("scipy.stats")
_parameters = pytest.importorskip("scipy.stats._distr_params")
pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::scipy.integrate.IntegrationWarning"
)

substitute_for(theirs.norm)  # enters the families
FAMILIES = [
    name.rpartition(".")[2]
    for name, family in SUBSTITUTES.items()
    if isinstance(family, Distribution) and type(family).__module__ == formulas.__name__
]
#: Shape parameters of each family, as SciPy tests it.
SHAPES: dict[str, tuple[float, ...]] = {}
for _name, _shapes in (*_parameters.distcont, *_parameters.distdiscrete):
    SHAPES.setdefault(str(_name), tuple(map(float, np.ravel(np.array(_shapes, object)))))
LEVELS = 0.06, 0.37, 0.9
#: Degrees of freedom have no derivative, and the error says so.
REFUSED = {"ncf": (0, 1), "nct": (0,)}
#: Numbers of terms must be known.
KNOWN = ("irwinhall",)


def _draw(name: str, seed: int) -> list[float]:
    """Return shape parameters near those of SciPy's tests; whole numbers stay, and so do those that must be ordered."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {seed}".encode()))
    family = getattr(theirs, name)
    for _ in range(20):
        shapes = [s if s == round(s) else s * (1 + 0.1 * rng.random()) for s in SHAPES[name]]
        if np.all(family._argcheck(*shapes)):
            return shapes
    return [*SHAPES[name]]


def _cases(name: str, seed: int) -> list[tuple[str, list[float], tuple[int, ...]]]:
    """Return functions of a family with arguments, and the places of those that have a derivative."""
    family, shapes = getattr(own, name), _draw(name, seed)
    is_continuous = isinstance(family, Continuous)
    places = [0.3, 1.7] if is_continuous else [2.0]
    count = len(shapes) + len(places)
    cases: list[tuple[str, list[float], tuple[int, ...]]] = []
    for function in family.functions:
        if function in ("interval", "rvs", "support", "median", "pdf", "pmf", "std"):
            continue
        of_points = function in family.of_points
        for level in LEVELS if of_points else (0.0,):
            first = [level] if function in ("ppf", "isf") else []
            if of_points and not first:
                first = [float(getattr(theirs, name).ppf(level, *shapes, *places))]
            moving = range(0 if is_continuous else len(first), len(first) + count)
            is_whole = [s == round(s) for s in (*first, *shapes, *places)]
            held = [len(first) + place for place in REFUSED.get(name, ())]
            chosen = tuple(p for p in moving if p not in held and (is_continuous or not is_whole[p]))
            cases.append((function, [*first, *shapes, *places], chosen))
    return cases


def _difference(function: Callable[..., float], arguments: list[float], place: int) -> tuple[float, float]:
    """Return the central difference of fourth order, and how far one of twice the step is from it."""

    def at(distance: float) -> float:
        moved = [*arguments]
        moved[place] += distance
        return float(function(*moved))

    step = 1e-4 * max(abs(arguments[place]), 0.1)
    whole, half = ((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h) for h in (step, step / 2))
    return half, abs(whole - half)


def _assert_slope(slope: Any, function: Callable[..., float], arguments: list[float], place: int) -> None:
    difference, error = _difference(function, arguments, place)
    size = max(1.0, abs(float(function(*arguments))), abs(difference))
    if np.isfinite(difference) and error < 1e-3 * size:
        assert abs(slope - difference) <= 2e-5 * size + 10 * error, (arguments, place, slope, difference)


@pytest.mark.parametrize("seed", range(many(4)))
@pytest.mark.parametrize("name", FAMILIES)
def test_values_and_derivatives(name: str, seed: int) -> None:
    for function, arguments, places in _cases(name, seed):
        scipys = getattr(getattr(theirs, name), function)
        expected = float(scipys(*arguments))

        def call(*values: Any, function: str = function) -> Any:
            return getattr(getattr(theirs, name), function)(*values)

        if not places:
            found: Any = wg.jit(call)(*arguments)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13, err_msg=function)
            continue
        value, slopes = wg.value_and_grad(call, argnums=places)(*arguments)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-13, err_msg=function)
        for place, slope in zip(places, slopes, strict=True):
            _assert_slope(slope, scipys, arguments, place)


@pytest.mark.parametrize("name", FAMILIES)
def test_compiled_and_batched(name: str) -> None:
    function, arguments, places = next(case for case in _cases(name, 0) if case[0] in ("logpdf", "logpmf"))
    family = getattr(theirs, name)
    points = np.array([float(family.ppf(level, *arguments[1:])) for level in LEVELS])

    def total(x: Any, *shapes: Any) -> Any:
        return np.sum(getattr(family, function)(x, *shapes))

    if not places:
        np.testing.assert_allclose(wg.jit(total)(points, *arguments[1:]), total(points, *arguments[1:]))
        return
    slope = wg.grad(total, argnums=places)
    expected = slope(points, *arguments[1:])
    static = tuple(range(1, 1 + len(SHAPES[name]))) if name in KNOWN else ()
    for found, one in zip(
        wg.jit(slope, static_argnums=static)(points, *arguments[1:]), expected, strict=True
    ):
        np.testing.assert_allclose(found, one, rtol=1e-8, atol=1e-11)
    each = wg.vmap(lambda x: slope(x, *arguments[1:]))(points)
    for place, many_slopes, one in zip(places, each, expected, strict=True):
        np.testing.assert_allclose(
            many_slopes if place == 0 else np.sum(many_slopes), one, rtol=1e-8, atol=1e-11
        )


@pytest.mark.parametrize("name", [n for n in FAMILIES if isinstance(getattr(own, n), Continuous)])
def test_outside_and_at_the_ends(name: str) -> None:
    family, shapes = getattr(theirs, name), _draw(name, 0)
    low, high = family.support(*shapes)
    for point in map(float, (low - 1.0, low, high, high + 1.0, np.inf, -np.inf)):
        with np.errstate(all="ignore"):
            expected = family.logpdf(point, *shapes)
        value, slope = wg.value_and_grad(lambda x: family.logpdf(x, *shapes))(point)
        # At an end SciPy may have the limit; of infinity it may have NaN.
        if point not in (low, high) or np.isinf(point):
            assert value == expected or (value == -np.inf and np.isnan(expected))
        assert np.isnan(expected) or not np.isnan(value)
        assert slope == 0.0
    for function in getattr(own, name).of_points:
        if function != "interval":
            assert np.isnan(wg.value_and_grad(getattr(family, function))(np.nan, *shapes)[0]), function
    if shapes and np.isfinite(low):
        places = tuple(set(range(len(shapes))) - {*REFUSED.get(name, ())})
        slopes = wg.grad(lambda *s: family.logpdf(low - 1.0, *s), argnums=places)(*shapes)
        assert np.all(np.array(slopes) == 0.0)


#: Parameters at which SciPy chooses another formula.
SPECIAL = {
    "genextreme": [(0.0,), (1e-7,)],
    "genpareto": [(0.0,), (-1e-7,)],
    "pearson3": [(0.0,), (1e-5,)],
    "kappa4": [(0.0, 0.0), (0.0, 0.3), (0.3, 0.0), (1e-7, -0.2)],
    "tukeylambda": [(0.0,)],
    "genhyperbolic": [(0.0, 1.0, 0.2)],
    "geninvgauss": [(0.0, 1.3)],
    "nct": [(3.0, 0.0)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_derivatives_where_scipy_changes_its_formula(name: str) -> None:
    family, step = getattr(theirs, name), 1e-3
    for shapes in SPECIAL[name]:
        for function in {"logpdf", "cdf", "sf", "ppf", "isf"} & {*getattr(own, name).functions}:
            for level in LEVELS:
                x = level if function in ("ppf", "isf") else float(family.ppf(level, *shapes))
                for place in set(range(len(shapes))) - {*REFUSED.get(name, ())}:

                    def at(
                        distance: float, x: float = x, place: int = place, function: str = function
                    ) -> float:
                        moved = [*shapes]  # noqa: B023
                        moved[place] += distance
                        return float(getattr(family, function)(x, *moved))

                    call = lambda *shapes, x=x, function=function: getattr(family, function)(x, *shapes)  # noqa: E731
                    expected = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)
                    found = wg.grad(call, argnums=place)(*shapes)
                    assert not np.isfinite(expected) or found == pytest.approx(
                        expected, rel=1e-4, abs=1e-5
                    ), (
                        shapes,
                        function,
                        level,
                        place,
                    )


def test_degrees_of_freedom_without_a_derivative_are_refused() -> None:
    for name, places in REFUSED.items():
        shapes = SHAPES[name]
        for place in places:
            with pytest.raises(UnsupportedError, match="there is no derivative by operand"):
                wg.grad(getattr(theirs, name).logpdf, argnums=1 + place)(0.7, *shapes)


def test_parameters_that_are_not_allowed_give_nan() -> None:
    assert np.isnan(wg.jit(theirs.skewcauchy.logpdf)(0.5, 2.0))
    assert np.isnan(wg.value_and_grad(theirs.genextreme.cdf)(0.5, 0.1, 0.0, -1.0)[0])


def test_draws_are_quantiles() -> None:
    drawn = wg.jit(lambda c: theirs.weibull_max.rvs(c, size=20_000, random_state=wg.random.key(0)))(1.5)
    assert np.mean(drawn) == pytest.approx(theirs.weibull_max.mean(1.5), abs=0.02)
    slope = wg.grad(lambda c: np.mean(theirs.weibull_max.rvs(c, size=20_000, random_state=wg.random.key(0))))(
        1.5
    )
    step = 1e-5
    difference = (theirs.weibull_max.mean(1.5 + step) - theirs.weibull_max.mean(1.5 - step)) / (2 * step)
    assert slope == pytest.approx(difference, abs=0.02)


def test_most_families_are_followed() -> None:
    every = [
        n for n in dir(theirs) if isinstance(getattr(theirs, n), theirs.rv_continuous | theirs.rv_discrete)
    ]
    assert len(FAMILIES) > 75
    assert {*formulas._UNFOLLOWED} <= {*every}
    assert {*formulas._LEFT_OUT} <= {*every}


@pytest.mark.parametrize(("a", "b"), [(-2.0, 3.0), (1.0, np.inf), (-np.inf, -8.0), (30.0, 31.0), (-0.1, 0.2)])
def test_truncated_normals(a: float, b: float) -> None:
    family = theirs.truncnorm
    points = family.ppf([0.001, 0.3, 0.5, 0.8, 0.999], a, b)
    names, quantiles, moments = (
        ("logpdf", "cdf", "sf", "logcdf", "logsf"),
        ("ppf", "isf"),
        ("mean", "var", "entropy"),
    )
    levels = np.array([0.01, 0.3, 0.9])
    of_points, of_levels, of_a = wg.jit(
        lambda x, q, a: (
            [getattr(family, name)(x, a, b) for name in names],
            [getattr(family, name)(q, a, b) for name in quantiles],
            [getattr(family, name)(a, b) for name in moments],
        )
    )(points, levels, a)
    for function, found in zip(names, of_points, strict=True):
        np.testing.assert_allclose(
            found, getattr(family, function)(points, a, b), rtol=2e-8, atol=1e-13, err_msg=function
        )
        for x in points[1:4]:
            slope = wg.grad(lambda x, f=function: getattr(family, f)(x, a, b))(x)
            _assert_slope(slope, lambda x, f=function: getattr(family, f)(x, a, b), [x], 0)
    for function, found in zip(quantiles, of_levels, strict=True):
        np.testing.assert_allclose(found, getattr(family, function)(levels, a, b), rtol=1e-9)
    for function, found in zip(moments, of_a, strict=True):
        expected = getattr(family, function)(a, b)
        if np.isfinite(expected):  # SciPy has no entropy of an infinite end
            np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=function)


@pytest.mark.parametrize(
    "name",
    [name for name in FAMILIES if any(map(callable, getattr(own, name)._support)) and hasattr(theirs, name)],
)
def test_ends_that_move_with_the_shapes(name: str) -> None:
    """Compiled, a fused product may put an end beyond itself, where the formula of the density is NaN."""
    family = getattr(own, name)
    if not isinstance(family, Continuous) or "pdf" not in family.functions or name in KNOWN:
        return
    logpdf = wg.jit(family.logpdf)
    for seed in range(many(10)):
        shapes = _draw(name, seed)
        for end in family.support(*shapes):
            assert not np.isnan(logpdf(end, *shapes))
