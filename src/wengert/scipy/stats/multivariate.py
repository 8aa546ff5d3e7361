"""Families of vectors and matrices: dirichlet, multinomial, multivariate_normal, multivariate_t and wishart.

Functions, parameters and shapes of results are SciPy's: axes of extent 1 are dropped where SciPy drops them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import floor, size_to_compare
from wengert.engine.ops.comparison import (
    greater,
    greater_equal,
    isinf,
    less,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, log, log1p, sqrt
from wengert.engine.ops.linalg import square
from wengert.engine.ops.special.densities import log_half_step, log_poisson_mass
from wengert.engine.ops.special.discrete_quantiles import binomial_quantile
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma
from wengert.engine.ops.special.quantiles import gammaincinv
from wengert.numpy.registry import integers, rank_of
from wengert.random import normal, split
from wengert.scipy.linalg import solve_triangular
from wengert.scipy.registry import doubles
from wengert.scipy.stats.base import (
    INFINITY,
    Family,
    Frozen,
    check_key,
    only_if,
    open_uniform,
    scipys_draws,
)
from wengert.scipy.stats.discrete import mean_log_factorial
from wengert.scipy.stats.elementary import LOG_TWO_PI
from wengert.special import entr, softmax, xlogy

_cholesky: Any = np.linalg.cholesky


class Multivariate(Family):
    """A family of distributions of vectors or matrices, under the name and with the functions that SciPy gives it."""

    of_points = ("logpdf", "pdf")
    #: The functions that a distribution with parameters has as attributes.
    attributes: tuple[str, ...] = ()
    #: The attributes of SciPy's distribution that are its parameters.
    parameters: tuple[str, ...]

    def __init__(self) -> None:
        self._enter()

    def of_scipys(self, theirs: Any) -> Any:
        """Return the distribution of an object of SciPy's, which may be the family itself."""
        if not type(theirs).__name__.endswith("_frozen"):
            return self
        return self(**{name: getattr(theirs, name) for name in self.parameters})


def _squeezed(x: Any) -> Any:
    """Return an array without axes of extent 1, as SciPy does."""
    return np.squeeze(x)[()] if 1 in shape_of(x) else x


def _log_determinant(factor: Any) -> Any:
    """Return the logarithm of the determinant of a matrix from its Cholesky factor."""
    return 2.0 * np.sum(log(np.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def _square(operation: str, matrix: Any, name: str) -> Any:
    """Return a matrix: a number stands for one of one row, a vector for a diagonal."""
    matrix = doubles(matrix)
    if rank_of(matrix) == 0:
        matrix = np.reshape(matrix, (1, 1))
    if rank_of(matrix) == 1:
        matrix = np.diag(matrix)
    if rank_of(matrix) != 2 or shape_of(matrix)[0] != shape_of(matrix)[1]:
        raise ShapeError(message(operation, f"{name} must be a square matrix", show(matrix)))
    return matrix


@custom_jvp
def _semidefinite(matrix: Any) -> Any:
    """Return the pseudoinverse P, the projector N on the null space, the log-determinant on the range, and the rank.

    As in SciPy, eigenvalues up to 1e6 units of rounding of the largest count as 0, and one below minus that gives NaN.
    Derivatives are those among matrices of one rank: ``P' = -P M' P + P^2 M' N + N M' P^2, N' = -(P M' N + N M' P)``.
    The last result is the distance from the range that counts as 0.
    """
    values, vectors = np.linalg.eigh(matrix)
    limit = 1e6 * float(np.finfo(float).eps) * np.max(size_to_compare(values))
    counts = greater(values, limit)
    inverse = where(counts, 1.0 / where(counts, values, 1.0), 0.0)
    inverse = where(np.all(values >= -limit), inverse, np.nan)
    ones = where(counts, 1.0, 0.0)
    pseudoinverse, projector = ((vectors * x) @ vectors.T for x in (inverse, 1.0 - ones))
    return pseudoinverse, projector, np.sum(log(where(counts, values, 1.0))), np.sum(ones), 1e3 * limit


def _of_same_rank(primals: Any, tangents: Any) -> Any:
    inverse, projector, logarithm, rank, limit = _semidefinite(primals[0])
    change = square.symmetric(tangents[0], "L")
    turned = inverse @ change @ projector
    of_inverse, away = -inverse @ change @ inverse, inverse @ turned
    zero = 0.0 * stop_gradient(rank)
    results = inverse, projector, logarithm, rank, limit
    moved = of_inverse + away + away.T, -(turned + turned.T), np.sum(inverse * change), zero, zero
    return results, moved


_semidefinite.defjvp(_of_same_rank)


def _points(operation: str, x: Any, count: int) -> Any:
    """Return points along the last axis; a vector of one dimension has a point in each element."""
    x = doubles(x)
    x = np.reshape(x, (*shape_of(x), 1)) if count == 1 and rank_of(x) < 2 else x
    if not shape_of(x) or shape_of(x)[-1] != count:
        raise ShapeError(message(operation, f"points of {count} dimensions are required", show(x)))
    return x


def _checked(operation: str, requirement: str, value: Any, holds: Any) -> Any:
    """Return a value; where it breaks a requirement raise `ArgumentError`, or give NaN if it is unknown."""
    plain = concrete(value)
    if plain is None:
        return where(holds(value), value, np.nan)
    if not np.all(holds(np.asarray(plain))):
        raise ArgumentError(message(operation, requirement, str(plain)))
    return value


def _located(operation: str, names: tuple[str, str], location: Any, matrix: Any) -> tuple[Any, Any]:
    """Return a vector and a square matrix of one dimension."""
    location = None if location is None else np.reshape(doubles(location), (-1,))
    matrix = doubles(1.0 if matrix is None else matrix)
    if rank_of(matrix) == 0:
        matrix = matrix * np.eye(1 if location is None else shape_of(location)[0])
    matrix = _square(operation, matrix, names[1])
    count = shape_of(matrix)[0]
    location = np.zeros(count) if location is None else location
    if shape_of(location) != (count,):
        requirement = f"{' and '.join(names)} must have one dimension"
        raise ShapeError(message(operation, requirement, show(location, matrix)))
    return location, matrix


class MultivariateNormal(Multivariate):
    """The normal distribution of vectors, of density ``exp(-(x-m)' C^-1 (x-m) / 2) / sqrt(det(2 pi C))``.

    Example:
        >>> print(multivariate_normal(cov=[1.0, 2.0]).mean, multivariate_normal([0.0, 0.0], 2.0).cov[0])
        [0. 0.] [2. 0.]
        >>> print(
        ...     f"{multivariate_normal.logpdf([0.0, 0.0], cov=[1.0, 4.0]):.4f} {multivariate_normal.pdf(0.0):.4f}"
        ... )
        -2.5310 0.3989
        >>> print(f"{multivariate_normal.entropy(cov=np.eye(2)):.4f}")
        2.8379
    """

    name = "multivariate_normal"
    of_parameters = ("entropy", "rvs")
    attributes = ("mean", "cov")
    parameters = ("mean", "cov", "allow_singular")

    def _parameters(self, function: str, mean: Any, cov: Any) -> tuple[Any, Any]:
        return _located(f"scipy.stats.{self.name}.{function}", ("mean", "cov"), mean, cov)

    def mean(self, mean: Any = None, cov: Any = 1, *, allow_singular: bool = False) -> Any:
        """Return the mean."""
        return self._parameters("mean", mean, cov)[0]

    def cov(self, mean: Any = None, cov: Any = 1, *, allow_singular: bool = False) -> Any:
        """Return the covariance matrix."""
        return self._parameters("cov", mean, cov)[1]

    def __call__(
        self, mean: Any = None, cov: Any = 1, allow_singular: bool = False, seed: Any = None
    ) -> Frozen:
        """Return the distribution with these parameters."""
        return Frozen(self, (), {"mean": mean, "cov": cov, "allow_singular": allow_singular})

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density, from the Cholesky factor of the covariance matrix.

        ``allow_singular``: the density on the range of the covariance matrix, and -inf beside it; derivatives are those
        among matrices of the same rank. A matrix with a negative eigenvalue gives NaN.

        Raises:
            LinAlgError: the covariance matrix is not positive definite, without ``allow_singular``.
        """
        operation = f"scipy.stats.{self.name}.logpdf"
        mean, cov = self._parameters("logpdf", mean, cov)
        count = shape_of(mean)[0]
        x = _points(operation, x, count)
        if allow_singular:
            inverse, projector, logarithm, rank, limit = _semidefinite(cov)
            distance = np.sum((x - mean) @ inverse * (x - mean), axis=-1)
            beside = stop_gradient(np.sum(((x - mean) @ projector) ** 2, axis=-1))
            value = -0.5 * (rank * LOG_TWO_PI + logarithm + distance)
            return _squeezed(where(greater_equal(beside, stop_gradient(limit) ** 2), -INFINITY, value))
        logarithm, distance = _standardised(x - mean, cov)
        return _squeezed(-0.5 * (count * LOG_TWO_PI + logarithm + distance))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density."""
        return exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1, *, allow_singular: bool = False) -> Any:
        """Return the entropy, ``ln det(2 pi e C) / 2``."""
        mean, cov = self._parameters("entropy", mean, cov)
        if allow_singular:
            _, _, logarithm, rank, _ = _semidefinite(cov)
            return 0.5 * (rank * (LOG_TWO_PI + 1) + logarithm)
        return 0.5 * (shape_of(mean)[0] * (LOG_TWO_PI + 1) + _log_determinant(_cholesky(cov)))

    def rvs(
        self,
        mean: Any = None,
        cov: Any = 1,
        size: Any = 1,
        random_state: Any = None,
        *,
        allow_singular: bool = False,
    ) -> Any:
        """Draw vectors ``mean + L z`` with the Cholesky factor L, with derivatives in both parameters.

        ``random_state``: a key of `wengert.random`, or SciPy's for plain parameters.

        Example:
            >>> from wengert.random import key
            >>> print(multivariate_normal.rvs(cov=np.eye(3), size=4, random_state=key(0)).shape)
            (4, 3)
        """
        if theirs := scipys_draws(self.name, random_state, mean, cov):
            return theirs(mean, cov, size, random_state)
        check_key(f"scipy.stats.{self.name}.rvs", random_state)
        mean, cov = self._parameters("rvs", mean, cov)
        z = normal(random_state, (*integers(size), shape_of(mean)[0]))
        return _squeezed(mean + z @ _cholesky(cov).T)


def _standardised(deviations: Any, matrix: Any) -> tuple[Any, Any]:
    """Return the log-determinant of a matrix M, and ``d' M^-1 d`` of deviations along the last axis."""
    factor = _cholesky(matrix)
    columns = np.reshape(deviations, (-1, shape_of(matrix)[0])).T
    standard = np.reshape(
        solve_triangular(factor, columns, lower=True, check_finite=False).T, shape_of(deviations)
    )
    return _log_determinant(factor), np.sum(standard * standard, axis=-1)


class MultivariateT(Multivariate):
    """Student's distribution of vectors, a normal vector over ``sqrt(chi2 / df)``.

    The shape matrix may be singular; derivatives are those among matrices of the same rank.

    Example:
        >>> print(f"{multivariate_t.logpdf([0.0, 0.0], df=3.0, shape=np.eye(2)):.4f}")  # -ln 2 pi
        -1.8379
        >>> print(f"{multivariate_t.pdf(0.0):.4f} {multivariate_t(df=2.0).entropy():.4f}")  # 1 / pi
        0.3183 1.9603
    """

    name = "multivariate_t"
    of_parameters = ("entropy",)
    parameters = ("loc", "shape", "df", "allow_singular")

    def __call__(
        self, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False, seed: Any = None
    ) -> Frozen:
        """Return the distribution with these parameters."""
        return Frozen(self, (), {"loc": loc, "shape": shape, "df": df, "allow_singular": allow_singular})

    def _parameters(self, function: str, loc: Any, shape: Any, df: Any) -> tuple[Any, Any, Any, Any]:
        """Return the parameters, and whether the degrees of freedom are allowed."""
        operation = f"scipy.stats.{self.name}.{function}"
        df = doubles(1.0 if df is None else df)
        _checked(operation, "df must be positive", df, lambda df: df > 0)
        loc, shape = _located(operation, ("loc", "shape"), loc, shape)
        return loc, shape, df, greater(df, 0.0)

    def logpdf(
        self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = True
    ) -> Any:
        """Return the logarithm of the density."""
        loc, shape, df, is_allowed = self._parameters("logpdf", loc, shape, df)
        count = shape_of(loc)[0]
        deviation = _points(f"scipy.stats.{self.name}.logpdf", x, count) - loc
        if allow_singular:
            inverse, _, logarithm, rank, _ = _semidefinite(shape)
            distance = np.sum(deviation @ inverse * deviation, axis=-1)
        else:
            (logarithm, distance), rank = _standardised(deviation, shape), float(count)
        is_normal = isinf(df)
        df = where(logical_or(is_normal, ~is_allowed), 1.0, df)
        half = 0.5 * (df + count)
        # ln gamma(half) - ln gamma(df / 2) by steps of 1/2, which do not cancel for many degrees of freedom.
        steps = np.arange(count)
        rise = np.sum(log_half_step(0.5 * (df + steps)) + 0.5 * log1p(steps / df))
        constant = rise - 0.5 * count * LOG_TWO_PI
        value = constant - 0.5 * logarithm - half * log1p(distance / df)
        normal = -0.5 * (rank * LOG_TWO_PI + logarithm + distance)
        return _squeezed(only_if(is_allowed, where(is_normal, normal, value)))

    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density.

        Raises:
            LinAlgError: the shape matrix is not positive definite, without ``allow_singular``.
        """
        return exp(self.logpdf(x, loc, shape, df, allow_singular))

    def entropy(self, loc: Any = None, shape: Any = 1, df: Any = 1, *, allow_singular: bool = True) -> Any:
        """Return the entropy, by an asymptotic series for many degrees of freedom."""
        loc, shape, df, is_allowed = self._parameters("entropy", None, shape, df)
        n = shape_of(loc)[0]
        _, _, logarithm, rank, _ = _semidefinite(shape)
        is_far = ~less(df, 400.0 * n / (math.log(n) + 1))
        near = where(logical_or(is_far, ~is_allowed), 1.0, df)
        half = 0.5 * (n + near)
        value = lgamma(0.5 * near) - lgamma(half) + 0.5 * n * log(near * math.pi)
        value = value + half * (digamma(half) - digamma(0.5 * near))
        r = 1.0 / where(is_far, df, 1.0)
        series = (n**2 * (3 * n**3 - 10 * n**2 + 16) / 30 * r + n * (-3 * n**3 + 8 * n**2 - 8) / 24) * r
        series = (((series + n**2 * (n - 2) / 6) * r - n * (n - 2) / 4) * r + n) * r
        far = 0.5 * where(isinf(df), rank, n) * (LOG_TWO_PI + 1) + series
        return only_if(is_allowed, 0.5 * logarithm + where(is_far, far, value))


class Dirichlet(Multivariate):
    """The Dirichlet distribution of vectors with the sum 1, of density ``prod x_i^(a_i-1) / B(a)``.

    Example:
        >>> a = [1.0, 1.0, 1.0]
        >>> x = [0.2, 0.3, 0.5]
        >>> print(
        ...     f"{dirichlet.logpdf(x, a):.4f} {dirichlet.pdf(x, a):.4f} {dirichlet.entropy(a):.4f}"
        ... )  # ln 2, 2, -ln 2
        0.6931 2.0000 -0.6931
        >>> print(
        ...     dirichlet.mean([1.0, 3.0]),
        ...     dirichlet.var([1.0, 1.0]).round(4),
        ...     dirichlet.cov([1.0, 1.0])[0].round(4),
        ... )
        [0.25 0.75] [0.0833 0.0833] [ 0.0833 -0.0833]
    """

    name = "dirichlet"
    parameters = ("alpha",)
    of_parameters = ("mean", "var", "cov", "entropy", "rvs")

    def _parameter(self, function: str, alpha: Any) -> Any:
        alpha, operation = doubles(alpha), f"scipy.stats.{self.name}.{function}"
        if rank_of(alpha) != 1:
            raise ShapeError(message(operation, "alpha must be a vector", show(alpha)))
        return _checked(operation, "all of alpha must be positive", alpha, lambda alpha: alpha > 0)

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the logarithm of the density.

        Raises:
            ArgumentError: components are negative, or do not sum to 1.
        """
        operation = f"scipy.stats.{self.name}.logpdf"
        alpha, x = self._parameter("logpdf", alpha), doubles(x)
        count = shape_of(alpha)[0]
        if not shape_of(x) or shape_of(x)[0] not in (count, count - 1):
            raise ShapeError(message(operation, f"points of {count} components are required", show(x)))
        if shape_of(x)[0] == count - 1:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        x = _checked(operation, "components must not be negative", x, lambda x: x >= 0)
        x = _checked(operation, "components must sum to 1", x, lambda x: np.abs(np.sum(x, 0) - 1) < 1e-9)
        exponents = np.reshape(alpha - 1.0, (count, *(1,) * (rank_of(x) - 1)))
        return _squeezed(np.sum(xlogy(exponents, x), axis=0) - _log_beta(alpha))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """Return the density."""
        return exp(self.logpdf(x, alpha))

    def mean(self, alpha: Any) -> Any:
        """Return the mean, ``a / sum a``."""
        alpha = self._parameter("mean", alpha)
        return alpha / np.sum(alpha)

    def var(self, alpha: Any) -> Any:
        """Return the variance of each component."""
        alpha = self._parameter("var", alpha)
        total = np.sum(alpha)
        return alpha * (total - alpha) / (total * total * (total + 1.0))

    def cov(self, alpha: Any) -> Any:
        """Return the covariance matrix."""
        alpha = self._parameter("cov", alpha)
        total = np.sum(alpha)
        share = alpha / total
        return (np.diag(share) - np.outer(share, share)) / (total + 1.0)

    def entropy(self, alpha: Any) -> Any:
        """Return the entropy."""
        alpha = self._parameter("entropy", alpha)
        total, count = np.sum(alpha), shape_of(alpha)[0]
        digammas = (total - count) * digamma(total) - np.sum((alpha - 1.0) * digamma(alpha))
        return _log_beta(alpha) + digammas

    def rvs(self, alpha: Any, size: Any = 1, random_state: Any = None) -> Any:
        """Draw vectors with derivatives in the parameters: gamma variables over their sum.

        The logarithm of a gamma variable of shape a is that of one of shape a + 1, plus ``ln(u) / a`` for a uniform u
        (Stuart's theorem), so no component underflows before the division. Gamma variables are quantiles.

        ``random_state``: a key of `wengert.random`, or SciPy's for plain parameters.

        Example:
            >>> from wengert.random import key
            >>> print(np.mean(dirichlet.rvs([1.0, 3.0], size=5000, random_state=key(0)), axis=0).round(2))
            [0.25 0.75]
        """
        if theirs := scipys_draws(self.name, random_state, alpha):
            return theirs(alpha, size, random_state)
        check_key(f"scipy.stats.{self.name}.rvs", random_state)
        alpha = self._parameter("rvs", alpha)
        shape = (*integers(() if size is None else size), *shape_of(alpha))
        first, second = split(random_state)
        larger = gammaincinv(alpha + 1.0, open_uniform(first, shape))
        return softmax(log(larger) + log(open_uniform(second, shape)) / alpha, axis=-1)


def _log_beta(alpha: Any) -> Any:
    """Return the logarithm of the multivariate beta function."""
    return np.sum(lgamma(alpha)) - lgamma(np.sum(alpha))


class Multinomial(Multivariate):
    """The multinomial distribution: counts of outcomes in n trials, of probability ``n! prod p_i^x_i / x_i!``.

    The number of trials has no derivative.

    Example:
        >>> x, n, p = [1, 1], 2, [0.5, 0.5]
        >>> print(
        ...     f"{multinomial.logpmf(x, n, p):.4f} {multinomial.pmf(x, n, p):.4f} {multinomial.entropy(1, p):.4f}"
        ... )
        -0.6931 0.5000 0.6931
        >>> print(multinomial.mean(8, [0.25, 0.75]), multinomial.cov(8, p)[0])
        [2. 6.] [ 2. -2.]
    """

    name = "multinomial"
    parameters = ("n", "p")
    of_points = ("logpmf", "pmf")
    of_parameters = ("mean", "cov", "entropy", "rvs")

    def _parameters(self, function: str, n: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return the number of trials, the probabilities, and whether they are allowed."""
        n, p = stop_gradient(doubles(n)), doubles(p)
        if not shape_of(p):
            operation = f"scipy.stats.{self.name}.{function}"
            raise ShapeError(message(operation, "p must have an axis of outcomes", show(p)))
        # As in SciPy, the last probability makes up for a sum that is not 1, so it has the derivative 0.
        last, complement = p[..., -1:], 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)
        is_whole = less(size_to_compare(complement - last), 2e-15)
        complement = complement + where(is_whole, stop_gradient(last - complement), 0.0)
        p = np.concatenate([p[..., :-1], complement], axis=-1)
        is_probability = np.all(logical_and(~less(p, 0.0), ~greater(p, 1.0)), axis=-1)
        p = where(np.expand_dims(is_probability, -1), p, 1.0)
        return n, p, logical_and(is_probability, ~less(n, 0.0))

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the logarithm of the probability of counts, -inf where that is 0."""
        n, p, is_allowed = self._parameters("logpmf", n, p)
        x = stop_gradient(doubles(x))
        if not shape_of(x) or shape_of(x)[-1] != shape_of(p)[-1]:
            operation = f"scipy.stats.{self.name}.logpmf"
            raise ShapeError(message(operation, "x must have a count for each probability", show(x, p)))
        is_wrong = np.any(logical_or(less(x, 0.0), not_equal(x, floor(x))), axis=-1)
        is_outside = logical_or(is_wrong, not_equal(np.sum(x, axis=-1), n))
        x = where(np.expand_dims(is_outside, -1), 0.0, x)
        mean = np.expand_dims(n, -1) * p
        value = np.sum(log_poisson_mass(x, mean), axis=-1) - log_poisson_mass(n, n)
        return where(is_allowed, where(is_outside, -INFINITY, value), np.nan)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the probability of counts."""
        return exp(self.logpmf(x, n, p))

    def mean(self, n: Any, p: Any) -> Any:
        """Return the mean, ``n p``."""
        n, p, is_allowed = self._parameters("mean", n, p)
        return where(np.expand_dims(is_allowed, -1), np.expand_dims(n, -1) * p, np.nan)

    def cov(self, n: Any, p: Any) -> Any:
        """Return the covariance matrix, ``n (diag(p) - p p')``."""
        n, p, is_allowed = self._parameters("cov", n, p)
        columns = np.expand_dims(p, -1)
        single = columns * np.eye(shape_of(p)[-1]) - columns * np.expand_dims(p, -2)
        n, is_allowed = (np.reshape(x, (*shape_of(x), 1, 1)) for x in (n, is_allowed))
        return where(is_allowed, n * single, np.nan)

    def entropy(self, n: Any, p: Any) -> Any:
        """Return the entropy."""
        n, p, is_allowed = self._parameters("entropy", n, p)
        factorials = np.sum(mean_log_factorial(np.expand_dims(n, -1), p), axis=-1)
        value = n * np.sum(entr(p), axis=-1) - lgamma(n + 1.0) + factorials
        return where(is_allowed, value, np.nan)

    def rvs(self, n: Any, p: Any, size: Any = None, random_state: Any = None) -> Any:
        """Draw counts, outcome by outcome, each from the binomial distribution given the earlier ones.

        ``random_state``: a key of `wengert.random`, or SciPy's for plain parameters.

        Example:
            >>> from wengert.random import key
            >>> print(np.sum(multinomial.rvs(10, [0.2, 0.3, 0.5], size=2, random_state=key(0)), axis=-1))
            [10. 10.]
        """
        if theirs := scipys_draws(self.name, random_state, n, p):
            return theirs(n, p, size, random_state)
        operation = f"scipy.stats.{self.name}.rvs"
        check_key(operation, random_state)
        n, p, is_allowed = self._parameters("rvs", n, p)
        if rank_of(n) or rank_of(p) != 1:
            raise ShapeError(message(operation, "one number and one vector are required", show(n, p)))
        shape = tuple(integers(() if size is None else size))
        left, remainder, counts = n + np.zeros(shape), 1.0, list[Any]()
        for k, key in enumerate(split(random_state, shape_of(p)[0])[:-1]):
            is_gone = less(remainder, 1e-300)
            share = where(is_gone, 1.0, np.clip(p[k] / where(is_gone, 1.0, remainder), 0.0, 1.0))
            counts.append(binomial_quantile(open_uniform(key, shape), left, stop_gradient(share)))
            left, remainder = left - counts[-1], remainder - p[k]
        return where(is_allowed, np.stack([*counts, left], axis=-1), np.nan)


class Wishart(Multivariate):
    """The Wishart distribution of sums of df products ``z z'`` of normal vectors with the covariance scale.

    Example:
        >>> print(
        ...     f"{wishart.logpdf(2.0, 3, 1.0):.4f} {wishart.pdf(2.0, 3, 1.0):.4f} {wishart.entropy(3, 1.0):.4f}"
        ... )  # chi2
        -1.5724 0.2076 2.0541
        >>> print(wishart.mean(3, [1.0, 2.0])[0], wishart.mode(5, np.eye(2))[0, 0], wishart.var(3, 2.0))
        [3. 0.] 2.0 24.0
    """

    name = "wishart"
    parameters = ("df", "scale")
    of_parameters = ("mean", "mode", "var", "entropy", "rvs")

    def _parameters(self, function: str, df: Any, scale: Any) -> tuple[Any, Any]:
        operation = f"scipy.stats.{self.name}.{function}"
        df, scale = doubles(df), _square(operation, scale, "scale")
        if rank_of(df):
            raise ShapeError(message(operation, "df must be one number", show(df)))
        count = shape_of(scale)[0]
        df = _checked(operation, f"df must be greater than {count - 1}", df, lambda df: df > count - 1)
        return df, scale

    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the logarithm of the density.

        With p rows it is ``((df - p - 1) ln det x - tr(scale^-1 x) - df ln det(2 scale)) / 2 - ln Gamma_p(df / 2)``.
        Only the lower triangles of the matrices are read.
        """
        operation = f"scipy.stats.{self.name}.logpdf"
        df, scale = self._parameters("logpdf", df, scale)
        count, x = shape_of(scale)[0], doubles(x)
        if count == 1 and rank_of(x) < 2:
            x = np.reshape(x, (1, 1, *shape_of(x)))
        if shape_of(x)[:2] != (count, count) or rank_of(x) > 3:
            raise ShapeError(message(operation, f"x must have {count} rows and columns", show(x)))
        x = np.moveaxis(x, 2, 0) if rank_of(x) == 3 else x
        factor, root = _cholesky(scale), _cholesky(x)
        return _squeezed(self._log_density(root, factor, df, count) - _log_gamma(0.5 * df, count))

    @staticmethod
    def _log_density(root: Any, factor: Any, df: Any, count: int) -> Any:
        """Return the logarithm of the density by Cholesky factors of x and of the scale, but for the gamma function."""
        ratio = solve_triangular(factor, root, lower=True)
        norm = df * (count * math.log(2) + _log_determinant(factor))
        return 0.5 * (
            (df - count - 1.0) * _log_determinant(root) - np.sum(ratio * ratio, axis=(-2, -1)) - norm
        )

    def pdf(self, x: Any, df: Any, scale: Any) -> Any:
        """Return the density."""
        return exp(self.logpdf(x, df, scale))

    def mean(self, df: Any, scale: Any) -> Any:
        """Return the mean, ``df scale``."""
        df, scale = self._parameters("mean", df, scale)
        return _squeezed(df * scale)

    def mode(self, df: Any, scale: Any) -> Any:
        """Return the mode, ``(df - p - 1) scale`` with p rows."""
        df, scale = self._parameters("mode", df, scale)
        factor = df - shape_of(scale)[0] - 1.0
        return _squeezed(where(less(factor, 0.0), np.nan, factor) * scale)

    def var(self, df: Any, scale: Any) -> Any:
        """Return the variance of each element, ``df (s_ij^2 + s_ii s_jj)``."""
        df, scale = self._parameters("var", df, scale)
        diagonal = np.diagonal(scale)
        return _squeezed(df * (scale * scale + np.outer(diagonal, diagonal)))

    def entropy(self, df: Any, scale: Any) -> Any:
        """Return the entropy."""
        df, scale = self._parameters("entropy", df, scale)
        count = shape_of(scale)[0]
        determinant = _log_determinant(_cholesky(scale)) + count * math.log(2)
        digammas = sum(digamma(0.5 * (df - i)) for i in range(count))
        moments = 0.5 * df * count - 0.5 * (df - count - 1.0) * digammas
        return 0.5 * (count + 1) * determinant + _log_gamma(0.5 * df, count) + moments

    def rvs(self, df: Any, scale: Any, size: Any = 1, random_state: Any = None) -> Any:
        """Draw matrices by Bartlett's decomposition, with derivatives in both parameters.

        The Cholesky factor of a draw is that of the scale, times a triangle of normal variables with roots of
        chi-squared variables on the diagonal.

        ``random_state``: a key of `wengert.random`, or SciPy's for plain parameters.

        Example:
            >>> from wengert.random import key
            >>> draws = wishart.rvs(5.0, np.eye(2), size=4000, random_state=key(1))
            >>> print(np.mean(draws, axis=0).round(0) + 0.0)
            [[5. 0.]
             [0. 5.]]
        """
        if theirs := scipys_draws(self.name, random_state, df, scale):
            return theirs(df, scale, size, random_state)
        check_key(f"scipy.stats.{self.name}.rvs", random_state)
        df, scale = self._parameters("rvs", df, scale)
        count, leading = shape_of(scale)[0], integers(size)
        first, second = split(random_state)
        halves = 0.5 * (df - np.arange(count))
        roots = sqrt(2.0 * gammaincinv(halves, open_uniform(first, (*leading, count))))
        below = np.tril(normal(second, (*leading, count, count)), -1)
        triangle = below + np.expand_dims(roots, -1) * np.eye(count)
        factor = _cholesky(scale) @ triangle
        return _squeezed(factor @ np.swapaxes(factor, -1, -2))


class InverseWishart(Wishart):
    """The distribution of the inverses of matrices of the Wishart distribution, whose scale is inverse, too.

    Example:
        >>> print(f"{invwishart.logpdf(0.5, 3, 1.0):.4f} {invwishart.mode(5, np.eye(2))[0, 0]:.3f}")
        -0.1861 0.125
    """

    name = "invwishart"
    of_parameters = ("mean", "mode")

    @staticmethod
    def _log_density(root: Any, factor: Any, df: Any, count: int) -> Any:
        ratio = solve_triangular(root, np.broadcast_to(factor, shape_of(root)), lower=True)
        norm = df * (count * math.log(2) - _log_determinant(factor))
        trace = np.sum(ratio * ratio, axis=(-2, -1))
        return -0.5 * ((df + count + 1.0) * _log_determinant(root) + trace + norm)

    def mean(self, df: Any, scale: Any) -> Any:
        """Return the mean, ``scale / (df - p - 1)`` with p rows, NaN where there is none."""
        df, scale = self._parameters("mean", df, scale)
        factor = df - shape_of(scale)[0] - 1.0
        return _squeezed(scale / where(less(0.0, factor), factor, np.nan))

    def mode(self, df: Any, scale: Any) -> Any:
        """Return the mode, ``scale / (df + p + 1)`` with p rows."""
        df, scale = self._parameters("mode", df, scale)
        return _squeezed(scale / (df + shape_of(scale)[0] + 1.0))


def _log_gamma(a: Any, count: int) -> Any:
    """Return the logarithm of the multivariate gamma function."""
    return 0.25 * count * (count - 1) * math.log(math.pi) + sum(lgamma(a - 0.5 * i) for i in range(count))


multivariate_normal = MultivariateNormal()
multivariate_t = MultivariateT()
dirichlet = Dirichlet()
multinomial = Multinomial()
wishart = Wishart()
invwishart = InverseWishart()
