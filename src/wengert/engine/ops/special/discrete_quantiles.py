"""Quantiles of discrete distributions: step functions, from SciPy's continuous inverses of the distribution functions.

The smallest k with ``cdf(k) >= q`` is the inverse in real numbers, rounded up; a step down or up corrects its rounding
error. The smallest k with ``sf(k) <= q`` comes from a bisection, as SciPy has no inverse for small q.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.elementwise import batch_elementwise, check_real
from wengert.engine.ops.special.scipy_ufuncs import scipys
from wengert.engine.primitive import Draw, NonDifferentiable, Primitive, primitive

_where: Any = np.where
_DOUBLINGS = 50  # up to 2^50, where sums of whole numbers are exact


def _stepped(k: Any, q: Any, cdf: Callable[[Any], Any]) -> Any:
    """Return the smallest whole number with ``cdf(k) >= q``, from a neighbour."""
    k = np.maximum(np.ceil(k), 0.0)
    k = _where((k > 0) & (cdf(np.maximum(k - 1, 0.0)) >= q), k - 1, k)
    return _where(cdf(k) < q, k + 1, k)


def _upper(quantile: Callable[..., Any], sf: Callable[..., Any]) -> Callable[..., Any]:
    """Return the smallest k with ``sf(k) <= q``, from 1/2 on by the quantile, as there ``1 - q`` is exact."""

    def function(q: Any, *parameters: Any) -> Any:
        tail = np.minimum(q, 0.5)
        high = _where(np.isnan(sf(0.0, *parameters) + tail), np.nan, 1.0)
        for _ in range(_DOUBLINGS):
            if not np.any(is_short := sf(high, *parameters) > tail):
                break
            high = _where(is_short, 2.0 * high, high)
        low = _where(np.isnan(high), np.nan, -1.0)
        while np.any(high - low > 1):
            middle = np.floor(0.5 * (low + high))
            is_enough = sf(middle, *parameters) <= tail
            low, high = _where(is_enough, low, middle), _where(is_enough, middle, high)
        return _where(q < 0.5, high, quantile(1.0 - q, *parameters))

    return function


def _poisson(q: Any, mu: Any) -> Any:
    k = _stepped(scipys("pdtrik")(q, mu), q, lambda k: scipys("gammaincc")(k + 1, mu))
    return _where(mu == 0, 0.0, k)


def _binomial(q: Any, n: Any, p: Any) -> Any:
    def cdf(k: Any) -> Any:
        return _where(k >= n, 1.0, scipys("betaincc")(k + 1, np.maximum(n - k, 1.0), p))

    k = np.minimum(_stepped(scipys("bdtrik")(q, n, p), q, cdf), n)
    return _where((p == 0) | (n == 0), 0.0 * p, _where(p == 1, n, k))


def _negative_binomial(q: Any, n: Any, p: Any) -> Any:
    k = _stepped(scipys("nbdtrik")(q, n, p), q, lambda k: scipys("betainc")(n, k + 1, p))
    return _where(p == 1, 0.0, k)


def _binomial_sf(k: Any, n: Any, p: Any) -> Any:
    return _where(k >= n, 0.0 * p, scipys("betainc")(k + 1, np.maximum(n - k, 1.0), p))


def _stated(name: str, function: Callable[..., Any], scipys_name: str, doc: str, *domains: Any) -> Primitive:
    """State a quantile of SciPy's name; a domain that is a whole number stands for that number."""

    def rule(*types: TensorType) -> TensorType:
        check_real(name, *types)
        return TensorType(FLOAT64, broadcast(name, *(operand.shape for operand in types)))

    def evaluate(*operands: Any) -> Any:
        check_real(name, *operands)
        with np.errstate(all="ignore"):
            return function(*(np.asarray(x, np.float64) for x in operands))[()]

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        shapes = zip(draw.broadcastable(len(domains)), domains, strict=True)
        operands = (
            draw.integers(shape, ends, ends) if isinstance(ends, int) else draw.array(shape, *ends)
            for shape, ends in shapes
        )
        return tuple(operands), {}

    arguments = ", ".join(f"{{{n}}}" for n in range(len(domains)))
    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=NonDifferentiable("a quantile of a discrete distribution is a step function"),
        batch=batch_elementwise,
        lowering=OnHost("SciPy computes it"),
        source=f"scipy.stats.{scipys_name}({arguments})".format,
        samples=samples,
        elementwise=True,
        operands=("q", "a", "b")[: len(domains)],
    )


poisson_quantile = _stated(
    "poisson_quantile",
    _poisson,
    "poisson.ppf",
    "the smallest k to which the Poisson distribution of mean a gives the probability q",
    (0.1, 0.9),
    (0.5, 9.0),
)
binomial_quantile = _stated(
    "binomial_quantile",
    _binomial,
    "binom.ppf",
    "the smallest k to which the binomial distribution of a trials of probability b gives the probability q",
    (0.1, 0.9),
    3,
    (0.1, 0.9),
)
negative_binomial_quantile = _stated(
    "negative_binomial_quantile",
    _negative_binomial,
    "nbinom.ppf",
    "the smallest k to which the negative binomial distribution, until a successes of probability b, gives q",
    (0.1, 0.9),
    (0.5, 4.0),
    (0.2, 0.9),
)
poisson_upper_quantile = _stated(
    "poisson_upper_quantile",
    _upper(_poisson, lambda k, mu: scipys("gammainc")(k + 1, mu)),
    "poisson.isf",
    "the smallest k beyond which the Poisson distribution of mean a has at most the probability q",
    (0.1, 0.9),
    (0.5, 9.0),
)
binomial_upper_quantile = _stated(
    "binomial_upper_quantile",
    _upper(_binomial, _binomial_sf),
    "binom.isf",
    "the smallest k beyond which the binomial distribution of a trials of probability b has at most q",
    (0.1, 0.9),
    3,
    (0.1, 0.9),
)
negative_binomial_upper_quantile = _stated(
    "negative_binomial_upper_quantile",
    _upper(_negative_binomial, lambda k, n, p: scipys("betaincc")(n, k + 1, p)),
    "nbinom.isf",
    "the smallest k beyond which the negative binomial distribution, until a successes of probability b, has at most q",
    (0.1, 0.9),
    (0.5, 4.0),
    (0.2, 0.9),
)
