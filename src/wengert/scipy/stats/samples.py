"""Statistics of samples: means, moments, standard scores, Pearson's correlation, and those of angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import absolute, maximum, minimum
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.exponential import exp, log, log1p, sqrt
from wengert.engine.ops.special.error_and_gamma import root
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.numpy.registry import rank_of, strong
from wengert.scipy.registry import floats, signatures
from wengert.scipy.stats.gammas import beta
from wengert.special import entr

ResultT = TypeVar("ResultT")
#: NumPy's mean, of which a checker knows no type for values inside transforms.
_average: Any = np.mean
_scipys = signatures(
    "scipy.stats",
    """
        gmean(a, axis=0, dtype=None, weights=None, *, nan_policy="propagate", keepdims=False)
        hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False)
        sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False)
        variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False)
        zscore(a, axis=0, ddof=0, nan_policy="propagate")
        skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False)
        kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False)
        entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False)
        describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate")
        circmean circvar(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, keepdims=False)
        circstd(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, normalize=False, keepdims=False)
    """,
)


_described = documented(
    nan_policy="must be 'propagate'.", Raises="UnsupportedError: ``nan_policy`` is another one."
)


def _sample(statistic: Callable[..., ResultT]) -> Callable[..., ResultT]:
    return _described(_scipys(statistic))


def _samples(operation: str, a: Any, axis: Any, nan_policy: str, dtype: Any = None) -> tuple[Any, int]:
    """Return samples in floating point, and their axis."""
    if nan_policy != "propagate":
        requirement, hint = "nan_policy must be 'propagate'", "remove the NaNs: a[~np.isnan(a)]"
        raise UnsupportedError(message(f"scipy.stats.{operation}", requirement, repr(nan_policy), hint))
    a = floats(a) if dtype is None else strong(operand(a), dtype)
    if axis is None or not rank_of(a):
        return np.reshape(a, (-1,)), 0
    return a, axis_index(operation, axis, rank_of(a))


def _count(a: Any, axis: int) -> int:
    return shape_of(a)[axis]


def _mean(a: Any, axis: int, weights: Any, keepdims: bool) -> Any:
    if weights is None:
        return _average(a, axis=axis, keepdims=keepdims)
    weights = floats(weights)
    if rank_of(weights) > rank_of(a):  # all elements are samples
        weights = np.reshape(weights, (-1,))
    if rank_of(weights) == 1:
        weights = np.reshape(weights, (-1, *(1,) * (rank_of(a) - axis - 1)))
    weights = np.broadcast_to(weights, shape_of(a))
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / total


@_sample
def gmean(a: Any, axis: Any, dtype: Any, weights: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the geometric mean, ``exp(mean(ln a))``.

    Example:
        >>> print(f"{gmean([1.0, 4.0]):.1f}")
        2.0
    """
    a, axis = _samples("gmean", a, axis, nan_policy, dtype)
    return exp(_mean(log(a), axis, weights, keepdims))


@_sample
def hmean(a: Any, axis: Any, dtype: Any, weights: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the harmonic mean, ``1 / mean(1 / a)``.

    Example:
        >>> print(f"{hmean([1.0, 3.0]):.1f}")
        1.5
    """
    a, axis = _samples("hmean", a, axis, nan_policy, dtype)
    return 1.0 / _mean(1.0 / a, axis, weights, keepdims)


@_sample
def sem(a: Any, axis: Any, ddof: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the standard error of the mean, ``std(a) / sqrt(n)``.

    Example:
        >>> print(f"{sem([1.0, 2.0, 3.0]):.4f}")
        0.5774
    """
    a, axis = _samples("sem", a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(shape_of(a)[axis])


@_sample
def variation(a: Any, axis: Any, nan_policy: Any, ddof: Any, keepdims: Any) -> Any:
    """Return the coefficient of variation, ``std(a) / mean(a)``.

    Example:
        >>> print(f"{variation([1.0, 3.0]):.1f}")
        0.5
    """
    a, axis = _samples("variation", a, axis, nan_policy)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / _average(a, axis=axis, keepdims=keepdims)


@_sample
def zscore(a: Any, axis: Any, ddof: Any, nan_policy: Any) -> Any:
    """Return the standard scores, ``(a - mean(a)) / std(a)``; NaN where all samples are equal.

    Example:
        >>> print(zscore(np.array([1.0, 3.0])))
        [-1.  1.]
    """
    shape = shape_of(floats(a))
    a, axis = _samples("zscore", a, axis, nan_policy)
    centred = a - _average(a, axis=axis, keepdims=True)
    return np.reshape(centred / np.std(a, axis=axis, ddof=ddof, keepdims=True), shape)


def _standardised_moment(a: Any, axis: int, order: int, keepdims: bool) -> Any:
    """Return ``mean((a - mean)^order) / var^(order/2)``, NaN where all samples are equal."""
    centred = a - _average(a, axis=axis, keepdims=True)
    variance = _average(centred * centred, axis=axis, keepdims=keepdims)
    is_zero = equal(variance, 0.0)
    variance = where(is_zero, 1.0, variance)
    scale = variance * sqrt(variance) if order == 3 else variance * variance
    return where(is_zero, np.nan, _average(centred**order, axis=axis, keepdims=keepdims) / scale)


@_sample
def skew(a: Any, axis: Any, bias: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the skewness, ``mean((a - mean)^3) / var^(3/2)``.

    Example:
        >>> print(f"{skew([0.0, 0.0, 3.0]):.4f}")
        0.7071
    """
    a, axis = _samples("skew", a, axis, nan_policy)
    n = _count(a, axis)
    value = _standardised_moment(a, axis, 3, keepdims)
    return value if bias or n < 3 else value * (math.sqrt(n * (n - 1)) / (n - 2))


@_sample
def kurtosis(a: Any, axis: Any, fisher: Any, bias: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the kurtosis, ``mean((a - mean)^4) / var^2 - 3``.

    Example:
        >>> print(f"{kurtosis([0.0, 0.0, 3.0]):.4f}")
        -1.5000
    """
    a, axis = _samples("kurtosis", a, axis, nan_policy)
    n = _count(a, axis)
    value = _standardised_moment(a, axis, 4, keepdims)
    if not bias and n > 3:
        value = ((n * n - 1.0) * value - 3.0 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3.0
    return value - 3.0 if fisher else value


@_sample
def entropy(pk: Any, qk: Any, base: Any, axis: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the entropy of probabilities, ``-sum p ln p``, or the relative one, ``sum p ln(p / q)``.

    Example:
        >>> print(f"{entropy([1.0, 1.0], base=2):.1f} {entropy([0.5, 0.5], [0.9, 0.1]):.4f}")
        1.0 0.5108
    """
    pk, along = _samples("entropy", pk, axis, nan_policy)
    pk = pk / np.sum(pk, axis=along, keepdims=True)
    if qk is None:
        terms = entr(pk)
    else:
        qk, _ = _samples("entropy", qk, axis, nan_policy)
        terms = BY_NAME["rel_entr"](pk, qk / np.sum(qk, axis=along, keepdims=True))
    total = np.sum(terms, axis=along, keepdims=keepdims)
    return total if base is None else total / log(floats(base))


class DescribeResult(NamedTuple):
    """The result of `describe`: the number of samples and their statistics."""

    nobs: int
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@_sample
def describe(a: Any, axis: Any, ddof: Any, bias: Any, nan_policy: Any) -> DescribeResult:
    """Return the number of samples, their extremes and their first four moments.

    Example:
        >>> print(f"{describe([1.0, 2.0, 6.0]).variance:.1f}")
        7.0
    """
    a, axis = _samples("describe", a, axis, nan_policy)
    return DescribeResult(
        shape_of(a)[axis],
        (np.min(a, axis=axis), np.max(a, axis=axis)),
        _average(a, axis=axis),
        np.var(a, axis=axis, ddof=ddof),
        skew(a, axis, bias),
        kurtosis(a, axis, True, bias),
    )


class PearsonRResult(NamedTuple):
    """The result of `pearsonr`: the correlation, and the probability of one as large without a relation."""

    statistic: Any
    pvalue: Any


@substitutes("scipy.stats.pearsonr")
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> PearsonRResult:
    """Return Pearson's correlation coefficient of samples, and its p-value.

    The coefficient is ``sum dx dy / sqrt(sum dx^2 sum dy^2)`` with the deviations from the means. Without a relation it
    has a beta distribution of two equal parameters ``n / 2 - 1`` on [-1, 1], if the samples are normal.

    Raises:
        ArgumentError: the alternative is not one of the three.
        ShapeError: there are fewer than two samples, or the numbers of samples differ.
        UnsupportedError: ``method`` is not None.

    Example:
        >>> print(f"{pearsonr([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]).statistic:.1f}")
        0.5
    """
    operation = "scipy.stats.pearsonr"
    if method is not None:
        raise UnsupportedError(message(operation, "method must be None", type(method).__name__))
    x, axis_of_x = _samples("pearsonr", x, axis, "propagate")
    y, axis_of_y = _samples("pearsonr", y, axis, "propagate")
    x, y = np.moveaxis(x, axis_of_x, -1), np.moveaxis(y, axis_of_y, -1)
    n = shape_of(x)[-1]
    if shape_of(y)[-1] != n or n < 2:
        raise ShapeError(message(operation, "two or more pairs of samples are required", show(x, y)))
    dx, dy = (z - _average(z, axis=-1, keepdims=True) for z in (x, y))
    # Each variable is scaled by its norm first: the product of sums of squares could overflow.
    dx, dy = (z / sqrt(np.sum(z * z, axis=-1, keepdims=True)) for z in (dx, dy))
    r = minimum(maximum(np.sum(dx * dy, axis=-1), -1.0), 1.0)
    return PearsonRResult(r, _pvalue(operation, r, n, alternative))


def _pvalue(operation: str, r: Any, n: int, alternative: str) -> Any:
    if n == 2:
        return where(equal(r, r), 1.0, np.nan)
    null = beta(0.5 * n - 1.0, 0.5 * n - 1.0, loc=-1.0, scale=2.0)
    if alternative == "two-sided":
        return 2.0 * null.sf(absolute(r))
    if alternative == "less":
        return null.cdf(r)
    if alternative == "greater":
        return null.sf(r)
    requirement = "alternative must be 'two-sided', 'less' or 'greater'"
    raise ArgumentError(message(operation, requirement, repr(alternative)))


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class LinregressResult(_Line):
    """The result of `linregress`: a line, its correlation, the probability of one as large, and a standard error.

    Attributes:
        intercept_stderr: the standard error of the intercept, which is not an element of the tuple.
    """

    intercept_stderr: Any = None


@substitutes("scipy.stats.linregress")
def linregress(x: Any, y: Any, alternative: str = "two-sided") -> LinregressResult:
    """Fit a line to pairs of numbers by least squares, ``slope = sum dx dy / sum dx^2``.

    Raises:
        ArgumentError: the alternative is not one of the three.
        ShapeError: there are fewer than two pairs, or the numbers of x and y differ.

    Example:
        >>> print(f"{linregress([0.0, 1.0, 2.0], [1.0, 2.9, 5.1]).slope:.2f}")
        2.05
    """
    x, y = floats(x), floats(y)
    r, pvalue = pearsonr(x, y, alternative=alternative)
    n, centre = shape_of(x)[-1], _average(x)
    dx, dy = x - centre, y - _average(y)
    square, height = _average(dx * dx), _average(dy * dy)
    slope = _average(dx * dy) / square
    if n == 2:
        pvalue, error = where(equal(y[0], y[1]), 1.0, 0.0), 0.0 * slope
    else:
        error = sqrt(maximum(1.0 - r * r, 0.0) * height / square / (n - 2))
    result = LinregressResult(slope, _average(y) - slope * centre, r, pvalue, error)
    result.intercept_stderr = error * sqrt(square + centre * centre)
    return result


# -- angles ----------------------------------------------------------------------------------------------


class _Angles:
    """Angles in radians from samples of a period, and their means along an axis."""

    def __init__(self, operation: str, samples: Any, period: Any, axis: Any, nan_policy: str) -> None:
        if nan_policy not in ("propagate", "omit"):
            requirement = "nan_policy must be 'propagate' or 'omit'"
            raise UnsupportedError(message(f"scipy.stats.{operation}", requirement, repr(nan_policy)))
        self._mean, self._axis = np.nanmean if nan_policy == "omit" else _average, axis
        self._turn = period / (2 * math.pi)
        self._angles = floats(samples) / self._turn

    def direction(self, keepdims: bool) -> Any:
        """Return the direction of the mean vector."""
        sine, cosine = (self._mean(f(self._angles), self._axis, keepdims=keepdims) for f in (np.sin, np.cos))
        return np.arctan2(sine, cosine)

    def variance(self, keepdims: bool) -> Any:
        """Return 1 less the length of the mean vector, by the deviations from its direction: nothing cancels."""
        half = np.sin(0.5 * (self._angles - self.direction(True)))
        return self._mean(2.0 * (half * half), self._axis, keepdims=keepdims)


@_scipys
def circmean(samples: Any, high: Any, low: Any, axis: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return the direction of the mean vector of angles, between ``low`` and ``high``.

    Example:
        >>> print(f"{circmean([0.1, 6.2]):.4f}")
        0.0084
    """
    angles = _Angles("circmean", samples, high - low, axis, nan_policy)
    return (angles.direction(keepdims) * (high - low) / (2 * math.pi) - low) % (high - low) + low


@_scipys
def circvar(samples: Any, high: Any, low: Any, axis: Any, nan_policy: Any, keepdims: Any) -> Any:
    """Return 1 less the length of the mean vector of angles.

    Example:
        >>> print(f"{circvar([0.1, 0.3]):.6f}")
        0.004996
    """
    return _Angles("circvar", samples, high - low, axis, nan_policy).variance(keepdims)


@_scipys
def circstd(
    samples: Any, high: Any, low: Any, axis: Any, nan_policy: Any, normalize: Any, keepdims: Any
) -> Any:
    """Return ``sqrt(-2 ln R)`` for the length R of the mean vector of angles; its derivative is 0 where that is 0.

    Example:
        >>> print(f"{circstd([0.1, 0.3]):.6f}")
        0.100084
    """
    variance = _Angles("circstd", samples, high - low, axis, nan_policy).variance(keepdims)
    spread = root(-2.0 * log1p(-variance))
    return spread if normalize else spread * ((high - low) / (2 * math.pi))
