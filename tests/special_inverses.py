"""The inverses of distribution functions that `tests.special_domain` draws, with their references in mpmath."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath
from scipy import special as sc

from tests.special_cases import (
    CASES,
    case,
    incomplete,
    log_beta_density,
    log_f,
    log_gamma_density,
    log_student,
    lower,
    named,
    student,
    upper,
)
from tests.special_domain import Draw, positive, unit, whole
from wengert.scipy import stats

mp: Any = mpmath
Number = Callable[..., Any]


def inverse(theirs: Number, probability: Number, log_density: Number, sign: int = 1) -> Number:
    """Return the inverse by Newton's method from SciPy's value; it has no digits where that has none.

    Args:
        theirs: SciPy's function of the parameters and the probability.
        probability: of the parameters and the point.
        log_density: the logarithm of its slope's size, of the point and the parameters.
        sign: that of its slope.
    """

    def exact(*numbers: Any) -> Any:
        *shape, p = numbers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy truncates whole numbers that are moved
            t = mp.mpf(float(theirs(*map(float, numbers))))
        if not mp.isfinite(t) or not t:
            raise ValueError
        for _ in range(40):
            step = sign * (probability(*shape, t) - p) / mp.exp(log_density(t, *shape))
            t -= step if abs(step) < abs(t) / 2 else mp.sign(step) * abs(t) / 2  # t keeps its sign
            if abs(step) <= abs(t) * mp.power(mp.eps, 0.6):
                return mp.re(t)
        raise mp.libmp.NoConvergence

    return exact


def log_normal(z: Any) -> Any:
    return -z * z / 2 - mp.log(2 * mp.pi) / 2


def log_error(z: Any) -> Any:
    return mp.log(2) - z * z - mp.log(mp.pi) / 2


def of_f(n: Any, m: Any, x: Any) -> Any:
    return incomplete(n / 2, m / 2, n * x / (n * x + m))


def beta_or_above(a: Any, b: Any, x: Any) -> Any:
    return 1 - incomplete(a, b, x)


#: A slope 1/f(t) has the relative error of a density at a rounded t, some units times -ln f, which is at most 745.
_TAIL = 3e3
#: Slopes by a parameter come from a quadrature, of a relative error of 1e-11.
_QUADRATURE = 1e5
_SHAPE = positive(1e-2, 300.0)
_SIGNED = Draw(
    "-1 to 1", lambda rng, before, count: unit().numbers(rng, before, count) * rng.choice([-1.0, 1.0], count)
)
_TWICE = Draw("0 to 2", lambda rng, before, count: 2.0 * unit().numbers(rng, before, count))
named("erfinv", inverse(sc.erfinv, mp.erf, log_error), _SIGNED, values=True)
named("erfcinv", inverse(sc.erfcinv, mp.erfc, log_error, -1), _TWICE, limit=_TAIL)
named("ndtri", inverse(sc.ndtri, mp.ncdf, log_normal), unit(), limit=_TAIL)
for _name, _probability, _sign in (("gammaincinv", lower, 1), ("gammainccinv", upper, -1)):
    _exact = inverse(getattr(sc, _name), _probability, log_gamma_density, _sign)
    named(_name, _exact, _SHAPE, unit(), cost=4, limit=_QUADRATURE)
for _name, _probability, _sign in (("betaincinv", incomplete, 1), ("betainccinv", beta_or_above, -1)):
    _exact = inverse(getattr(sc, _name), _probability, log_beta_density, _sign)
    named(_name, _exact, _SHAPE, _SHAPE, unit(), cost=8, limit=_QUADRATURE)
named("stdtrit", inverse(sc.stdtrit, student, log_student), _SHAPE, unit(), cost=8, limit=_QUADRATURE)
named(
    "chdtri",
    inverse(
        sc.chdtri,
        lambda v, x: upper(v / 2, x / 2),
        lambda x, v: log_gamma_density(x / 2, v / 2) - mp.log(2),
        -1,
    ),
    whole(1, 300),
    unit(),
    wrt=(1,),
    cost=4,
    limit=_TAIL,
)
named(
    "fdtri",
    inverse(sc.fdtri, of_f, log_f),
    whole(1, 100),
    whole(1, 100),
    unit(),
    wrt=(2,),
    cost=8,
    limit=_TAIL,
)
named(
    "pdtri",
    inverse(sc.pdtri, lambda k, m: upper(k + 1, m), lambda m, k: log_gamma_density(m, k + 1), -1),
    whole(0, 300),
    unit(),
    wrt=(1,),
    cost=4,
    limit=_TAIL,
)
case(
    "bdtri",
    lambda k, n, y: sc.bdtri(k, n.astype(int), y),
    inverse(
        lambda k, n, y: sc.bdtri(k, int(n), y),
        lambda k, n, p: incomplete(n - k, k + 1, 1 - p),
        lambda p, k, n: log_beta_density(p, k + 1, n - k),
        -1,
    ),
    whole(0, 50),
    whole(51, 300),
    unit(),
    wrt=(2,),
    cost=8,
    limit=_TAIL,
)
named(
    "nbdtri",
    inverse(
        sc.nbdtri,
        lambda k, n, p: incomplete(n, k + 1, p),
        lambda p, k, n: log_beta_density(p, n, k + 1),
    ),
    whole(0, 50),
    whole(1, 300),
    unit(),
    wrt=(2,),
    cost=8,
    limit=_TAIL,
)

# -- quantiles of distributions --------------------------------------------------------------------------


def quantiles(name: str, quantile: Number, *shapes: Draw, **options: Any) -> None:
    """State ``ppf`` and ``isf``: the quantile is a function of (probability below, probability above, parameters)."""
    own = getattr(stats, name)
    case(
        f"stats.{name}.ppf", own.ppf, lambda q, *shape: quantile(q, 1 - q, *shape), unit(), *shapes, **options
    )
    case(
        f"stats.{name}.isf", own.isf, lambda q, *shape: quantile(1 - q, q, *shape), unit(), *shapes, **options
    )


quantiles("cauchy", lambda p, q: -mp.cot(mp.pi * p) if p < q else mp.cot(mp.pi * q), values=True)
quantiles("logistic", lambda p, q: mp.log(p / q), values=True)
quantiles("laplace", lambda p, q: mp.log(2 * p) if p < q else -mp.log(2 * q), values=True)
quantiles("gumbel_r", lambda p, q: -mp.log(-mp.log(p)), values=True)
quantiles("gumbel_l", lambda p, q: mp.log(-mp.log(q)), values=True)
quantiles("expon", lambda p, q: -mp.log(q), values=True)
quantiles("rayleigh", lambda p, q: mp.sqrt(-2 * mp.log(q)), values=True)
quantiles("weibull_min", lambda p, q, c: (-mp.log(q)) ** (1 / c), positive(0.1, 10.0), values=True)
quantiles("pareto", lambda p, q, b: q ** (-1 / b), positive(0.1, 30.0), values=True)

_normal = inverse(sc.ndtri, mp.ncdf, log_normal)


def normal(p: Any, q: Any) -> Any:
    return _normal(p) if p < q else -_normal(q)


quantiles("norm", normal, limit=_TAIL)
quantiles("lognorm", lambda p, q, s: mp.exp(s * normal(p, q)), positive(0.3, 10.0), limit=_TAIL)
quantiles("halfnorm", lambda p, q: -_normal(q / 2), limit=_TAIL)

# -- subnormal arguments ---------------------------------------------------------------------------------

_LEAST = Draw("5e-324 to 2e-308", lambda rng, before, count: rng.integers(1, 2**52, count) * 5e-324)
for _name in (
    "erf",
    "ndtr",
    "gammaln",
    "digamma",
    "entr",
    "logit",
    "expit",
    "cosm1",
    "exprel",
    "log_ndtr",
    "erfinv",
):
    _known = next(known for known in CASES if known.name == _name)
    CASES.append(_known._replace(name=f"{_name}, subnormal", draws=(_LEAST,)))
