"""The truncated normal distribution."""

from __future__ import annotations

from typing import Any

from wengert.engine.ops.comparison import equal, greater, isfinite, less, where
from wengert.engine.ops.exponential import exp, log, log1p, logaddexp
from wengert.engine.ops.special.compositions import log1mexp
from wengert.engine.ops.special.inverse_error import ndtri_exp
from wengert.engine.ops.special.scipy_functions import log_ndtr, ndtr
from wengert.scipy.stats.base import INFINITY, Continuous
from wengert.scipy.stats.elementary import LOG_TWO_PI


def _log_mass(a: Any, b: Any) -> Any:
    """Return ``ln(Phi(b) - Phi(a))`` for a < b, from the side of the normal distribution where it is small."""
    is_right = greater(a, 0.0)
    low, high = where(is_right, -b, a), where(is_right, -a, b)
    is_tail = less(high, 0.0)
    below, above = log_ndtr(where(is_tail, low, -2.0)), log_ndtr(where(is_tail, high, -1.0))
    is_gone = equal(above, -INFINITY)
    tail = above + log1mexp(where(is_gone, -1.0, below - above))
    centre = log1p(-ndtr(where(is_tail, -1.0, low)) - ndtr(where(is_tail, -1.0, -high)))
    return where(is_tail, tail, centre)


def _log_density(z: Any, a: Any, b: Any) -> Any:
    return -0.5 * (z * z) - 0.5 * LOG_TWO_PI - _log_mass(a, b)


def _log_cdf(z: Any, a: Any, b: Any) -> Any:
    return _near_one(_log_mass(a, z) - _log_mass(a, b), _log_mass(z, b) - _log_mass(a, b))


def _log_sf(z: Any, a: Any, b: Any) -> Any:
    return _near_one(_log_mass(z, b) - _log_mass(a, b), _log_mass(a, z) - _log_mass(a, b))


def _near_one(logarithm: Any, other: Any) -> Any:
    """Return the logarithm of a probability, by that of the complement where the probability is near 1."""
    is_near = greater(logarithm, -0.1)
    return where(is_near, log1p(-exp(where(is_near, other, -1.0))), logarithm)


def _quantile(q: Any, a: Any, b: Any) -> Any:
    """Return the quantile from the side on which the normal distribution is small."""
    is_left = less(a, 0.0)
    mass = _log_mass(a, b)
    outside = log_ndtr(where(is_left, a, -b))
    inside = log(where(is_left, q, 0.5)) + mass, log1p(-where(is_left, 0.5, q)) + mass
    z = ndtri_exp(logaddexp(outside, where(is_left, *inside)))
    return where(is_left, z, -z)


def _ends(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the densities at the ends, and their products with the ends."""
    densities = [exp(_log_density(end, a, b)) for end in (a, b)]
    products = [
        where(isfinite(end), where(isfinite(end), end, 0.0) * density, 0.0)
        for end, density in zip((a, b), densities, strict=True)
    ]
    return (*densities, *products)


def _mean(a: Any, b: Any) -> Any:
    at_a, at_b, _, _ = _ends(a, b)
    return at_a - at_b


def _variance(a: Any, b: Any) -> Any:
    at_a, at_b, product_a, product_b = _ends(a, b)
    mean = at_a - at_b
    return 1.0 + product_a - product_b - mean * mean


def _entropy(a: Any, b: Any) -> Any:
    _, _, product_a, product_b = _ends(a, b)
    return 0.5 * (LOG_TWO_PI + 1.0) + _log_mass(a, b) + 0.5 * (product_a - product_b)


def _inside(a: Any, b: Any) -> Any:
    """Return a point between the ends: the middle, or one beside the finite end."""
    has_a, has_b = isfinite(a), isfinite(b)
    low = where(has_a, a, where(has_b, where(has_b, b, 0.0) - 1.0, -0.5))
    high = where(has_b, b, low + 1.0)
    return 0.5 * (low + high)


truncnorm = Continuous(
    "truncnorm",
    "The normal distribution between a and b: distances from the location in units of the scale, or infinite.",
    shapes=("a", "b"),
    support=(lambda a, b: a, lambda a, b: b),
    inside=_inside,
    valid=lambda a, b: less(a, b),
    logpdf=_log_density,
    cdf=lambda z, a, b: exp(_log_cdf(z, a, b)),
    sf=lambda z, a, b: exp(_log_sf(z, a, b)),
    logcdf=_log_cdf,
    logsf=_log_sf,
    ppf=_quantile,
    isf=lambda q, a, b: -_quantile(q, -b, -a),
    mean=_mean,
    var=_variance,
    entropy=_entropy,
)
