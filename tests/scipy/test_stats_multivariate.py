"""The families of vectors and matrices of `wengert.scipy.stats` against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.scipy.checks import check, close
from wengert.engine.core.errors import ArgumentError, WengertError
from wengert.random import key
from wengert.scipy import stats

theirs = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(31)
A = RNG.uniform(-1, 1, (3, 3))
COV = A @ A.T + np.eye(3)
MEAN = RNG.uniform(-1, 1, 3)
X = RNG.uniform(-1, 1, (4, 3))
ALPHA = np.array([0.7, 1.5, 3.0])
SHARES = np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])
P = np.array([0.2, 0.3, 0.5])
COUNTS = np.array([[1, 2, 4], [0, 7, 0], [1, 1, 1], [-1, 4, 4]])
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])


def symmetric(x: Any) -> Any:
    return 0.5 * (x + np.swapaxes(x, 0, 1))


#: The function of a module, and arguments.
CALLS: dict[str, tuple[Any, ...]] = {
    "normal": (lambda m, x, mean, c: m.multivariate_normal.logpdf(x, mean, c), X, MEAN, COV),
    "normal pdf": (lambda m, x, mean, c: m.multivariate_normal(mean, c).pdf(x), X[0], MEAN, COV),
    "normal diagonal": (lambda m, x, d: m.multivariate_normal.logpdf(x, MEAN, d), X, np.array([0.5, 1.0, 2.0])),
    "normal isotropic": (lambda m, x, mean, c: m.multivariate_normal.logpdf(x, mean, c), X, MEAN, np.array(0.7)),
    "normal of one dimension": (
        lambda m, x, mean, c: m.multivariate_normal.logpdf(x, mean, c),
        *(X[0], MEAN[0], COV[0, 0]),
    ),
    "normal entropy": (lambda m, c: m.multivariate_normal.entropy(cov=c), COV),
    "normal moments": (
        lambda m, mean, c: (m.multivariate_normal(mean, c).mean, m.multivariate_normal(mean, c).cov),
        *(MEAN, COV),
    ),
    "dirichlet": (lambda m, a: m.dirichlet.logpdf(SHARES, a), ALPHA),
    "dirichlet last": (lambda m, x, a: m.dirichlet.logpdf(x, a), SHARES[:2, 0], ALPHA),
    "dirichlet pdf": (lambda m, a: m.dirichlet(a).pdf(SHARES[:, 0]), ALPHA),
    "dirichlet moments": (lambda m, a: (m.dirichlet.mean(a), m.dirichlet.var(a), m.dirichlet.cov(a)), ALPHA),
    "dirichlet entropy": (lambda m, a: m.dirichlet.entropy(a), ALPHA),
    "wishart": (lambda m, x, df, s: m.wishart.logpdf(symmetric(x), df, symmetric(s)), MATRIX, np.array(4.5), COV),
    "wishart of several": (
        lambda m, x, df, s: m.wishart.pdf(symmetric(np.stack([x, 2 * x], axis=2)), df, symmetric(s)),
        *(MATRIX, np.array(4.5), COV),
    ),
    "wishart of one row": (lambda m, x, df, s: m.wishart.logpdf(x, df, s), np.array(2.0), np.array(3.5), np.array(0.7)),
    "wishart moments": (lambda m, df, s: (m.wishart.mean(df, s), m.wishart.var(df, s)), np.array(4.5), COV),
    "invwishart": (
        lambda m, x, df, s: m.invwishart.logpdf(symmetric(x), df, symmetric(s)), MATRIX, np.array(4.5), COV,
    ),
    "invwishart of several": (
        lambda m, x, df, s: m.invwishart.pdf(symmetric(np.stack([x, 2 * x], axis=2)), df, symmetric(s)),
        *(MATRIX, np.array(4.5), COV),
    ),
    "invwishart of one row": (lambda m, x, s: m.invwishart.logpdf(x, 3.5, s), np.array(2.0), np.array(0.7)),
    "invwishart moments": (
        lambda m, df, s: (m.invwishart.mean(df, s), m.invwishart.mode(df, s)), np.array(5.5), COV,
    ),
    "t": (lambda m, x, mean, c, df: m.multivariate_t.logpdf(x, mean, c, df), X, MEAN, COV, np.array(3.5)),
    "t pdf": (lambda m, x, mean, c, df: m.multivariate_t.pdf(x[0], mean, c, df), X, MEAN, COV, np.array(0.4)),
    "t entropy": (lambda m, c, df: m.multivariate_t.entropy(shape=c, df=df), COV, np.array(3.5)),
    "t entropy of many": (lambda m, c, df: m.multivariate_t.entropy(shape=c, df=df), COV, np.array(1e3)),
    "wishart entropy": (lambda m, df, s: m.wishart.entropy(df, symmetric(s)), np.array(4.5), COV),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]
    check(
        lambda *x: call(stats, *x),
        lambda *x: call(theirs, *(one[()] for one in x)),
        *arguments,
        rtol=1e-11,
        order=2 if name in ("normal", "dirichlet", "wishart", "t") else 1,
    )


def test_the_multinomial_distribution() -> None:
    for function, arguments in (
        ("logpmf", (COUNTS, 7, P)),
        ("pmf", (COUNTS[:, np.newaxis], np.array([3, 7]), np.stack([P, P[::-1]]))),
        ("pmf", (COUNTS[0], 7, [0.2, 0.3, 0.5 + 1e-17])),
        ("pmf", (COUNTS[0], 7, [-0.2, 0.7, 0.5])),
        ("mean", (7, P)),
        ("cov", (np.array([7, 3]), P)),
        ("entropy", (7, P)),
    ):
        found = getattr(stats.multinomial, function)(*arguments)
        np.testing.assert_allclose(found, getattr(theirs.multinomial, function)(*arguments), rtol=1e-12)

    def value(z: Any) -> Any:
        return stats.multinomial.logpmf(COUNTS[:2], 7, wg.special.softmax(z))

    check(value, None, np.array([0.1, -0.3, 0.7]), order=2)
    check(lambda z: stats.multinomial(5, wg.special.softmax(z)).entropy(), None, np.array([0.1, -0.3, 0.7]))


# -- draws -----------------------------------------------------------------------------------------------

DRAWS: dict[str, tuple[Any, ...]] = {
    "normal": (lambda mean, c, **k: stats.multivariate_normal.rvs(mean, c, **k), MEAN, COV),
    "dirichlet": (lambda a, **k: stats.dirichlet.rvs(a, **k), ALPHA),
    "wishart": (lambda df, s, **k: stats.wishart.rvs(df, s, **k), np.array(4.5), COV),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_derivatives(name: str) -> None:
    draw, *arguments = DRAWS[name]
    check(lambda *x: draw(*x, size=2, random_state=key(1)), None, *arguments, rtol=1e-10)


def test_draws_have_scipys_shapes() -> None:
    for name, arguments in (
        ("multivariate_normal", (MEAN, COV)),
        ("multivariate_normal", (0.5, 2.0)),
        ("dirichlet", (ALPHA,)),
        ("multinomial", (7, P)),
        ("wishart", (4.5, COV)),
        ("wishart", (4.5, 2.0)),
    ):
        for size in ({}, {"size": 1}, {"size": 2}, {"size": (2, 3)})[name == "multinomial" :]:
            found = getattr(stats, name)(*arguments).rvs(random_state=key(2), **size)
            expected = getattr(theirs, name)(*arguments).rvs(random_state=2, **size)
            assert np.shape(found) == np.shape(expected), (name, size)


def test_draws_have_the_moments() -> None:
    size: dict[str, Any] = {"size": 6000, "random_state": key(3)}
    x = stats.multivariate_normal.rvs(MEAN, COV, **size)
    np.testing.assert_allclose(np.mean(x, 0), MEAN, atol=0.1)
    np.testing.assert_allclose(np.cov(x.T), COV, atol=0.2)
    x = stats.dirichlet.rvs([0.02, 0.5, 2.0], **size)
    np.testing.assert_allclose(np.sum(x, 1), 1.0)
    np.testing.assert_allclose(np.mean(x, 0), stats.dirichlet.mean([0.02, 0.5, 2.0]), atol=0.01)
    np.testing.assert_allclose(np.cov(x.T), stats.dirichlet.cov([0.02, 0.5, 2.0]), atol=0.01)
    x = stats.multinomial.rvs(9, [0.1, 0.0, 0.3, 0.6], **size)
    assert set(np.sum(x, 1)) == {9.0}
    np.testing.assert_allclose(np.mean(x, 0), [0.9, 0.0, 2.7, 5.4], atol=0.1)
    np.testing.assert_allclose(np.cov(x.T), stats.multinomial.cov(9, [0.1, 0.0, 0.3, 0.6]), atol=0.15)
    close(wg.jit(lambda p: stats.multinomial.rvs(9, p, **size))(P), stats.multinomial.rvs(9, P, **size), 0)
    x = stats.wishart.rvs(5.0, COV, **size)
    np.testing.assert_allclose(np.mean(x, 0), 5 * COV, atol=0.5)
    np.testing.assert_allclose(np.var(x, 0), stats.wishart.var(5.0, COV), rtol=0.15)


def test_errors_name_the_function() -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: stats.multivariate_normal.logpdf(X, MEAN[:2], COV),
            "logpdf: mean and cov must have one dimension",
        ),
        (lambda: stats.multivariate_normal.logpdf(X[:, :2], MEAN, COV), "logpdf: points of 3 dimensions"),
        (lambda: stats.multivariate_t.logpdf(X, MEAN, COV, -1.0), "logpdf: df must be positive"),
        (
            lambda: stats.multivariate_t.logpdf(X, MEAN[:2], COV),
            "logpdf: loc and shape must have one dimension",
        ),
        (
            lambda: wg.jit(lambda mean: stats.multivariate_normal.rvs(mean, COV))(MEAN),
            "rvs: random_state must be a key",
        ),
        (lambda: stats.dirichlet.logpdf(P, -ALPHA), "logpdf: all of alpha must be positive"),
        (lambda: stats.dirichlet.logpdf(2 * P, ALPHA), "logpdf: components must sum to 1"),
        (lambda: stats.dirichlet.logpdf(X[0, :1], ALPHA), "logpdf: points of 3 components"),
        (lambda: stats.multinomial.logpmf([1, 2], 3, P), "logpmf: x must have a count for each"),
        (lambda: stats.wishart.logpdf(MATRIX, 1.5, COV), "logpdf: df must be greater than 2"),
        (lambda: stats.wishart.mean(4.0, X), "mean: scale must be a square matrix"),
    ]
    for call, text in calls:
        with pytest.raises(WengertError, match=text):
            call()
    with pytest.raises(np.linalg.LinAlgError):
        stats.multivariate_normal.logpdf(X, MEAN, -COV)


def test_programs_with_scipys_families_are_followed() -> None:
    slope: Any = wg.grad(lambda mean: theirs.multivariate_normal.logpdf(X[0], mean, COV))(MEAN)
    close(slope, np.linalg.solve(COV, X[0] - MEAN), 1e-12)
    slope: Any = wg.grad(lambda alpha: theirs.dirichlet(alpha).logpdf(P))(ALPHA)
    close(slope, wg.grad(lambda alpha: stats.dirichlet.logpdf(P, alpha))(ALPHA), 1e-14)
    drawn = stats.multivariate_normal.rvs(MEAN, COV, 2, np.random.default_rng(0))
    close(drawn, theirs.multivariate_normal.rvs(MEAN, COV, 2, np.random.default_rng(0)), 0)


# -- matrices without full rank --------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_densities_on_a_subspace(rank: int) -> None:
    """Points and factors move along the subspace; beside it the normal density is 0."""
    rng = np.random.default_rng(rank)
    factor, steps, mean, df = rng.normal(size=(4, rank)), rng.normal(size=(3, rank)), rng.normal(size=4), 2.5

    def densities(m: Any, factor: Any, steps: Any, mean: Any, df: Any) -> Any:
        cov = factor @ factor.T
        x, normal = mean + steps @ factor.T, m.multivariate_normal(mean, cov, allow_singular=True)
        return normal.logpdf(x), normal.pdf(x[0]), normal.entropy(), m.multivariate_t.logpdf(x, mean, cov, df)

    arguments = factor, steps, mean, np.array(df)
    close(densities(stats, *arguments), densities(theirs, factor, steps, mean, df), 1e-9)
    check(lambda *x: densities(stats, *x), None, *arguments, rtol=1e-9, compiled=rank == 2, batched=rank == 3)
    if rank < 3:
        wg.check_grads(lambda f: densities(stats, f, steps, mean, df), (factor,), order=2)
    beside = rng.normal(size=4)
    value, slope = wg.value_and_grad(
        lambda x: stats.multivariate_normal.logpdf(x, mean, factor @ factor.T, allow_singular=True)
    )(beside)
    with np.errstate(all="ignore"):
        expected = theirs.multivariate_normal.logpdf(beside, mean, factor @ factor.T, allow_singular=True)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    assert np.all(slope == 0) == (rank < 4)


def test_ends_of_the_degrees_of_freedom() -> None:
    family, own = theirs.multivariate_t, stats.multivariate_t
    for df in (1e-3, 1.0, 30.0, 1e6, np.inf):
        np.testing.assert_allclose(own.logpdf(X, MEAN, COV, df), family.logpdf(X, MEAN, COV, df), rtol=1e-8)
        np.testing.assert_allclose(own.entropy(MEAN, COV, df), family.entropy(MEAN, COV, df), rtol=1e-11)
    assert wg.value_and_grad(lambda df: own.logpdf(X[0], MEAN, COV, df))(np.inf)[1] == 0.0
    assert np.isnan(wg.jit(lambda df: own.logpdf(X[0], MEAN, COV, df))(-1.0))
    assert np.isnan(own.logpdf([np.nan, 0.0, 0.0], MEAN, COV, 2.0))


@pytest.mark.parametrize("df", [0.5, 3.0, 1e3, 1e9])
def test_slopes_of_many_degrees_of_freedom(df: float) -> None:
    """In both modes, and those of the series in 1 / df, which begins with the normal distribution."""
    x, shape, n = np.array([0.3, -0.4, 1.0]), np.diag([1.0, 2.0, 0.5]), 3
    value = lambda df: stats.multivariate_t.logpdf(x, np.zeros(3), shape, df)  # noqa: E731
    expected = theirs.multivariate_t.logpdf(x, np.zeros(3), shape, df if df < 1e6 else np.inf)
    np.testing.assert_allclose(value(df), expected, rtol=1e-8)
    slope, distance = wg.grad(value)(df), np.sum(x**2 / np.diag(shape))
    assert wg.derivative(value)(df) == pytest.approx(slope, rel=1e-12)
    if df > 1e6:
        leading = n * (n - 2) / 4 - n * distance / 2 + distance**2 / 4  # of the logarithm, over df
        assert slope == pytest.approx(-leading / df**2, rel=1e-5)


def test_distributions_made_outside_keep_their_parameters() -> None:
    """They stand for themselves in a second run, which `np.zeros` makes necessary."""
    for made, point in (
        (theirs.multivariate_normal(MEAN, COV), MEAN + 0.3),
        (theirs.multivariate_normal(MEAN, np.ones((3, 3)), allow_singular=True), MEAN + 0.3),
        (theirs.multivariate_t(MEAN, COV, 2.5), MEAN + 0.3),
        (theirs.dirichlet(ALPHA), P),
        (theirs.wishart(4.5, COV), MATRIX),
    ):

        def density(t: Any, made: Any = made, point: Any = point) -> Any:
            x = np.zeros(np.shape(point))
            x[...] = point * t
            return made.logpdf(x / t)

        assert wg.value_and_grad(density)(1.0)[0] == pytest.approx(float(made.logpdf(point)), rel=1e-12)


def test_degrees_of_freedom_that_are_followed() -> None:
    def value(df: Any) -> Any:  # SciPy refuses a box in its own words, before it converts it
        return theirs.wishart.logpdf(COV, df, COV)

    def known(df: Any) -> Any:
        return stats.wishart.logpdf(COV, df, COV)

    close(wg.jit(value)(4.5), known(4.5), 1e-14)
    close(wg.grad(value)(4.5), wg.grad(known)(4.5), 1e-14)
    close(wg.vmap(wg.grad(value))(np.array([4.5, 5.0])), wg.vmap(wg.grad(known))(np.array([4.5, 5.0])), 1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda df: stats.wishart.logpdf(COV, df, COV),
        lambda df: stats.wishart.mean(df, COV),
        lambda df: stats.multivariate_t.logpdf(MEAN, MEAN, COV, df),
        lambda df: stats.dirichlet.logpdf(P, df * P),
        lambda df: stats.dirichlet.mean(df * P),
        lambda sign: stats.dirichlet.logpdf(sign * np.array([0.2, -0.7, -0.5]), P),
        lambda factor: stats.dirichlet.logpdf(-factor * P, P),
    ],
)
def test_parameters_and_points_that_a_compiled_program_cannot_refuse(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call(-0.5)
    assert np.all(np.isnan(wg.jit(call)(-0.5)))
