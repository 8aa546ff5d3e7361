"""The families of `wengert.scipy.stats`: properties of all, from one table of their shape parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES
from tests.scipy.checks import check, close
from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.core.errors import WengertError
from wengert.random import key
from wengert.scipy import stats
from wengert.scipy.stats.base import Continuous, Discrete

theirs = pytest.importorskip("scipy.stats")

#: The interval of each shape parameter.
SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(
        ("norm", "cauchy", "laplace", "logistic", "expon", "uniform", "gumbel_r", "gumbel_l", "halfnorm"), ()
    ),
    "rayleigh": (),
    "invgamma": ((2.5, 5.0),),
    "lognorm": ((0.3, 1.5),),
    "weibull_min": ((0.6, 4.0),),
    "pareto": ((0.5, 5.0),),
    "gamma": ((0.4, 5.0),),
    "beta": ((0.5, 4.0), (0.5, 4.0)),
    "chi2": ((0.7, 9.0),),
    "f": ((0.8, 9.0), (4.5, 12.0)),
    "t": ((1.1, 9.0),),
    "vonmises": ((0.3, 6.0),),
    "bernoulli": ((0.1, 0.9),),
    "binom": ((3, 9), (0.1, 0.9)),
    "geom": ((0.2, 0.9),),
    "nbinom": ((0.7, 5.0), (0.2, 0.8)),
    "poisson": ((0.5, 9.0),),
    "truncnorm": ((-2.0, -0.5), (0.5, 3.0)),
}
FAMILIES = [name for name in stats.__all__ if isinstance(getattr(stats, name), Continuous | Discrete)]
CONTINUOUS = [name for name in FAMILIES if isinstance(getattr(stats, name), Continuous)]
each_family = pytest.mark.parametrize("name", FAMILIES)
each_continuous = pytest.mark.parametrize("name", CONTINUOUS)
QUANTILES = np.array([1e-5, 0.01, 0.3, 0.49, 0.77, 0.999])
#: Levels where differences are accurate.
LEVELS = np.array([0.06, 0.3, 0.49, 0.77, 0.9])
ROWS = 4


def both(name: str) -> tuple[Any, Any]:
    return getattr(stats, name), getattr(theirs, name)


def parameters(name: str, seed: int = 0, rows: int = ROWS) -> list[Any]:
    """Draw the shape parameters, the location and, of continuous families, the scale, as columns."""
    rng = np.random.default_rng(seed)
    ends = [*zip(both(name)[0].shapes, SHAPES[name], strict=True)]
    shapes = [
        rng.integers(*e, (rows, 1)) * 1.0 if (name, n) == ("binom", "n") else rng.uniform(*e, (rows, 1))
        for n, e in ends
    ]
    if name not in CONTINUOUS:
        return [*shapes, rng.integers(-2, 3, (rows, 1)).astype(float)]
    return [*shapes, rng.uniform(-1, 1, (rows, 1)), rng.uniform(0.5, 2.0, (rows, 1))]


def inner_points(name: str, arguments: list[Any]) -> Any:
    return both(name)[1].ppf(LEVELS, *arguments)


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["logpdf", "cdf", "sf", "ppf", "mean", "var", "entropy"])
def test_a_family_states_every_rule(missing: str) -> None:
    rules = {name: rule for name, rule in vars(stats.expon)["_rules"].items() if name != missing}
    with pytest.raises(TypeError, match=rf"scipy\.stats\.halved: state a rule for {missing}$"):
        Continuous("halved", "A family.", **rules)
    assert "scipy.stats.halved" not in SUBSTITUTES


def test_the_table_is_complete() -> None:
    assert set(FAMILIES) == set(SHAPES)


@each_family
def test_values_are_scipys(name: str) -> None:
    own, other = both(name)
    arguments = parameters(name, rows=1 if name == "vonmises" else ROWS)
    low, high = other.support(*arguments)
    # Rounding decides on which side of an end that is no round number its own place lies.
    at_ends = [] if name == "truncnorm" else [low, high]
    beyond = [low - 1.0, *at_ends, high + 1.0]
    x = np.concatenate(
        [other.ppf(QUANTILES, *arguments), *(np.where(np.isfinite(e), e, 0.5) for e in beyond)], 1
    )
    densities = ("pdf", "logpdf") if name in CONTINUOUS else ("pmf", "logpmf")
    with np.errstate(all="ignore"):
        for function in (*densities, "cdf", "logcdf", "sf", "logsf"):
            expected = getattr(other, function)(x, *arguments)
            np.testing.assert_allclose(
                getattr(own, function)(x, *arguments), expected, 1e-9, 1e-11, err_msg=function
            )
        q = np.concatenate([QUANTILES, [0.0, 1.0, -0.1, 1.1, np.nan]])
        for function in ("ppf", "isf"):
            found, expected = (getattr(m, function)(q, *arguments) for m in (own, other))
            np.testing.assert_allclose(found, expected, 1e-8, 1e-10, err_msg=function)
        quick = () if name == "vonmises" else ("std",)  # SciPy integrates it
        for function in ("mean", "var", *quick, "entropy", "support", "median"):
            found, expected = (getattr(m, function)(*arguments) for m in (own, other))
            np.testing.assert_allclose(found, expected, 1e-9, err_msg=function)
        ends, expected = own.interval(0.9, *arguments), other.interval(0.9, *arguments)
        np.testing.assert_allclose(ends, expected, 1e-9)


@each_family
def test_forms_of_calls(name: str) -> None:
    """By position, by name, frozen, of scalars and of lists; the result has SciPy's type."""
    own, other = both(name)
    arguments = [float(p[0, 0]) for p in parameters(name)]
    names = [*own.shapes, *own.placed]
    x = float(other.ppf(0.4, *arguments))
    for call in (
        lambda m: m.cdf(x, *arguments),
        lambda m: m.cdf(x, **dict(zip(names, arguments, strict=True))),
        lambda m: m(*arguments).cdf(x),
        lambda m: m(*arguments[:-1], **{names[-1]: arguments[-1]}).sf([x, x + 1.0]),
        lambda m: m.mean(*arguments),
        lambda m: m(*arguments).median(),
        lambda m: m(*arguments).interval(0.5)[1],
    ):
        found, expected = call(own), call(other)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@each_continuous
def test_derivatives(name: str) -> None:
    """Of the functions of points, in the point and in each parameter, against differences in both modes."""
    own = both(name)[0]
    arguments = parameters(name, 1, 2)
    x = inner_points(name, arguments)
    for function in ("logpdf", "cdf", "logcdf", "sf", "logsf"):
        wg.check_grads(getattr(own, function), (x, *arguments), order=1, rtol=1e-4, atol=1e-6)
    wg.check_grads(own.ppf, (LEVELS, *arguments), order=1, rtol=1e-4)
    wg.check_grads(own.logpdf, (x[0, 2], *(p[0, 0] for p in arguments)), order=2, rtol=1e-4)


@each_continuous
def test_the_slope_of_the_distribution_function_is_the_density(name: str) -> None:
    own = both(name)[0]
    arguments = parameters(name, 2)
    x = inner_points(name, arguments)
    density = own.pdf(x, *arguments)
    for function, sign in (("cdf", 1), ("sf", -1)):
        slope = wg.grad(lambda x, f=function: np.sum(getattr(own, f)(x, *arguments)))(x)
        np.testing.assert_allclose(slope, sign * density, rtol=1e-10)
    slope = wg.grad(lambda q: np.sum(own.ppf(q, *arguments)))(own.cdf(x, *arguments))
    np.testing.assert_allclose(slope * density, np.ones_like(x), rtol=1e-6)


@each_continuous
def test_quantiles_are_inverse(name: str) -> None:
    own = both(name)[0]
    arguments = parameters(name, 3)
    arguments[-2] = np.zeros(1)  # a location costs digits
    q = np.array([[1e-5, 1e-3, 0.2, 0.5, 0.8]] * ROWS)
    np.testing.assert_allclose(own.cdf(own.ppf(q, *arguments), *arguments), q, rtol=1e-9)
    np.testing.assert_allclose(own.sf(own.isf(q, *arguments), *arguments), q, rtol=1e-9)


@each_family
def test_no_derivative_is_nan(name: str) -> None:
    """At the ends of the support, beyond them, far out, and where a parameter is not allowed."""
    own, other = both(name)
    arguments = parameters(name, 4)
    low, high = other.support(*arguments)
    far = 2.0 if name == "vonmises" else 1e3  # its distribution function counts whole turns
    ends = [np.where(np.isfinite(end), end, far) for end, far in ((low, -far), (high, far))]
    x = np.concatenate([ends[0] - 1, ends[0], ends[1], ends[1] + 1], 1)
    functions = (
        *(("logpdf", "pdf") if name in CONTINUOUS else ("logpmf", "pmf")),
        "cdf",
        "logcdf",
        "sf",
        "logsf",
    )
    with np.errstate(all="ignore"):
        for function in functions:
            value, pull = wg.vjp(getattr(own, function), x, *arguments)
            assert not np.isnan(value).any(), function
            for slope in pull(np.ones_like(x)):
                assert not np.isnan(slope).any(), function
        wrong = [-np.abs(p) - 1 for p in arguments]
        if len(wrong) > 1:
            assert np.isnan(own.cdf(x, *wrong)).all()
            assert np.isnan(own.mean(*wrong)).all()


@pytest.mark.parametrize(
    ("name", "arguments", "ends"),
    [
        ("gamma", (1.0,), (0.0,)),
        ("chi2", (2.0,), (0.0,)),
        ("f", (2.0, 3.0), (0.0,)),
        ("weibull_min", (1.0,), (0.0,)),
        ("beta", (1.0, 1.0), (0.0, 1.0)),
        ("beta", (1.0, 2.5), (0.0,)),
        ("beta", (2.5, 1.0), (1.0,)),
    ],
)
def test_densities_that_are_finite_at_an_end(name: str, arguments: Any, ends: Any) -> None:
    own, other = both(name)
    for end in ends:
        for function in ("logpdf", "pdf"):
            value, slope = wg.value_and_grad(getattr(own, function))(end, *arguments)
            theirs = getattr(other, function)
            step = 1e-6 if end == 0 else -1e-6
            inward = (theirs(end + step, *arguments) - theirs(end, *arguments)) / step
            np.testing.assert_allclose(
                (value, slope), (theirs(end, *arguments), inward), rtol=1e-5, atol=1e-7
            )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("poisson", (2.6,)), ("binom", (100.0, 0.4)), ("nbinom", (4.0, 0.35)), ("geom", (0.3,))],
)
def test_upper_quantiles_far_in_the_tail(name: str, arguments: Any) -> None:
    """SciPy's are those of 1 - q."""
    own, other = both(name)
    q = 10.0 ** -np.random.default_rng(CASES).uniform(0.1, 200, 40)
    k = own.isf(q, *arguments)
    assert (other.sf(k, *arguments) <= q * (1 + 1e-9)).all()
    assert (other.sf(k - 1, *arguments) > q * (1 - 1e-9)).all()
    np.testing.assert_array_equal(own.isf(np.array([np.nan, -0.1, 1.1]), *arguments), [np.nan] * 3)
    np.testing.assert_array_equal(wg.jit(own.isf)(q, *arguments), k)
    ordinary = np.linspace(0.01, 0.99, 30)
    np.testing.assert_array_equal(own.isf(ordinary, *arguments), other.isf(ordinary, *arguments))


def test_quantiles_of_no_trials() -> None:
    own = both("binom")[0]
    np.testing.assert_array_equal(own.ppf(np.array([0.2, 0.9]), 0, 0.4), [0.0, 0.0])


@each_family
def test_compiled_and_batched(name: str) -> None:
    own = both(name)[0]
    arguments = parameters(name, 5, 2)
    x = both(name)[1].ppf(QUANTILES[1:4], *arguments)
    density = own.logpdf if name in CONTINUOUS else own.logpmf

    def functions(x: Any, *arguments: Any) -> Any:
        points = (density, own.cdf, own.sf)
        moments = (own.mean, own.var)
        return (
            [f(x, *arguments) for f in points],
            own.ppf(QUANTILES, *arguments),
            [f(*arguments) for f in moments],
        )

    check(functions, None, x, *arguments, rtol=1e-11, order=0, batched=name in CONTINUOUS)
    if name not in CONTINUOUS:  # whose points must stay whole numbers
        rows = wg.vmap(density, in_axes=(0, *(None for _ in arguments)))(np.stack([x, x]), *arguments)
        close(rows, np.stack([density(x, *arguments)] * 2), 1e-11)

    def loss(x: Any, *arguments: Any) -> Any:
        return np.sum(density(x, *arguments)) + np.sum(own.cdf(x, *arguments))

    gradient = wg.grad(loss, argnums=tuple(range(1 + len(arguments))))
    close(wg.jit(gradient)(x, *arguments), gradient(x, *arguments), 1e-10)


@each_family
def test_draws(name: str) -> None:
    """They have the distribution, are the same when compiled, and move with the parameters."""
    own, other = both(name)
    arguments = [float(p[0, 0]) for p in parameters(name, 6)]
    if name == "vonmises":
        arguments[1:] = [0.0, 1.0]  # draws are angles from -pi to pi
    drawn = own.rvs(*arguments, size=(50, 40), random_state=key(3))
    assert drawn.shape == (50, 40)
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    points = other.ppf(levels, *arguments)
    found = np.mean(drawn.ravel() <= points[:, np.newaxis], axis=1)
    np.testing.assert_allclose(found, other.cdf(points, *arguments), atol=0.04)
    assert own(*arguments).rvs(size=2, random_state=key(1)).shape == (2,)

    def few(*arguments: Any) -> Any:
        return own.rvs(*arguments, size=3, random_state=key(4))

    np.testing.assert_allclose(wg.jit(few)(*arguments), few(*arguments), rtol=1e-10)
    if name in CONTINUOUS:
        wg.check_grads(few, tuple(arguments), order=1, rtol=1e-4)


# -- other properties ------------------------------------------------------------------------------------


def test_far_tails() -> None:
    for x in (-40.0, -1e3, -1e8):
        assert stats.norm.logcdf(x) == pytest.approx(theirs.norm.logcdf(x), rel=1e-14)
        assert wg.grad(stats.norm.logcdf)(x) == pytest.approx(-x, rel=1e-2)
    assert wg.grad(stats.gumbel_r.logsf)(600.0) == pytest.approx(-1.0)
    assert wg.grad(stats.laplace.logcdf)(-1e4) == 1.0
    for x in (1e-300, 1e-30, 1 - 1e-15):
        assert stats.beta.logpdf(x, 0.3, 2.5) == pytest.approx(theirs.beta.logpdf(x, 0.3, 2.5), rel=1e-13)
    for x in (1e99, 1e101, -1e200):
        assert wg.jit(stats.cauchy.logpdf)(x) == pytest.approx(theirs.cauchy.logpdf(x), rel=1e-15)
        assert wg.grad(stats.cauchy.logpdf)(x) == pytest.approx(-2.0 / x)
    assert stats.t.sf(1e10, 2.5) == pytest.approx(theirs.t.sf(1e10, 2.5), rel=1e-13)
    assert stats.f.sf(stats.f.isf(1e-100, 3.0, 7.0), 3.0, 7.0) == pytest.approx(1e-100, rel=1e-12)


def test_infinitely_many_degrees_of_freedom_are_normal() -> None:
    df = np.array([np.inf, 3.0])
    for function in ("logpdf", "cdf", "sf"):
        value, pull = wg.vjp(lambda df, f=function: getattr(stats.t, f)(0.7, df), df)
        np.testing.assert_allclose(value, getattr(theirs.t, function)(0.7, df), rtol=1e-13)
        assert pull(np.ones(2))[0][0] == 0.0
    np.testing.assert_allclose(stats.t.ppf(0.7, df), theirs.t.ppf(0.7, df), rtol=1e-12)
    np.testing.assert_allclose(stats.t.entropy(df), theirs.t.entropy(df), rtol=1e-12)


def test_draws_of_a_small_shape() -> None:
    """Most of these gamma variables underflow; no derivative is NaN."""
    value, pull = wg.vjp(lambda a: stats.gamma.rvs(a, size=200, random_state=key(5)), 0.003)
    (slope,) = pull(np.ones(200))
    assert np.isfinite(slope)
    assert np.min(value) == 0.0


def test_angles_of_all_concentrations() -> None:
    """The distribution function against SciPy's integral, whole turns, and tails."""
    kappa = np.array([0.0, 1e-3, 0.5, 3.0, 40.0, 49.0])[:, np.newaxis]
    x = np.array([-9.0, -3.0, -0.4, 0.0, 0.3, 2.0, np.pi, 4.0, 12.0])
    np.testing.assert_allclose(
        stats.vonmises.cdf(x, kappa), theirs.vonmises.cdf(x, kappa), rtol=1e-9, atol=1e-12
    )
    q = np.array([1e-5, 0.01, 0.3, 0.5, 0.9])
    kappa = np.array([1e-3, 0.5, 3.0, 40.0, 500.0, 1e7])[:, np.newaxis]
    found = stats.vonmises.cdf(stats.vonmises.ppf(q, kappa), kappa)
    np.testing.assert_allclose(found, np.broadcast_to(q, found.shape), rtol=1e-10)
    wide = (
        stats.vonmises.sf(5e-4 * np.array([1.0, 3.0]), 1e7),
        theirs.norm.sf(5e-4 * np.sqrt(1e7) * np.array([1.0, 3.0])),
    )
    np.testing.assert_allclose(*wide, rtol=1e-5)


def test_names_that_are_not_followed_are_scipys() -> None:
    data = np.array([1.0, 2.0, 4.0])
    assert stats.norm.fit(data) == theirs.norm.fit(data)
    assert stats.norm(1.0, 2.0).moment(2) == theirs.norm(1.0, 2.0).moment(2)
    assert stats.ks_2samp is theirs.ks_2samp
    drawn = stats.gamma.rvs(2.0, 1.0, size=3, random_state=1)
    np.testing.assert_array_equal(drawn, theirs.gamma.rvs(2.0, 1.0, size=3, random_state=1))


def test_errors_name_the_function() -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: stats.norm.cdf(0.0, 1.0, 2.0, 3.0),
            r"scipy\.stats\.norm\.cdf: the parameters are loc, scale",
        ),
        (
            lambda: stats.pareto.cdf(0.0),
            r"scipy\.stats\.pareto\.cdf: the parameters are b, loc, scale; got none",
        ),
        (
            lambda: stats.norm.pdf(0.0, mean=1.0),
            r"scipy\.stats\.norm\.pdf: the parameters are loc, scale; got mean=",
        ),
        (
            lambda: wg.grad(lambda x: stats.norm.rvs(x, size=()))(1.0),
            r"scipy\.stats\.norm\.rvs: random_state must be a key of wengert\.random; got None",
        ),
    ]
    for call, text in calls:
        with pytest.raises(WengertError, match=text):
            call()
