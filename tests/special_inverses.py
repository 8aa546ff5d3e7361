"""The inverses of distribution functions that `tests.special_domain` draws, with their references in mpmath."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
from scipy import special as sc

from tests.special_cases import CASES, case, named
from tests.special_domain import Draw, positive, unit, whole
from tests.special_quantiles import LAWS, quantile, slopes
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


#: A slope 1/f(t) has the relative error of a density at a rounded t, some units times -ln f, which is at most 745.
_TAIL = 3e3
#: Slopes by a parameter come from a quadrature, of a relative error of 1e-11.
_QUADRATURE = 1e5
#: Slopes of F by its degrees of freedom are differences of two, of which 1e-9 may be left.
_CANCELLED = 1e7
_SHAPE = positive(1e-2, 300.0)
_SIGNED = Draw(
    "-1 to 1", lambda rng, before, count: unit().numbers(rng, before, count) * rng.choice([-1.0, 1.0], count)
)
_TWICE = Draw("0 to 2", lambda rng, before, count: 2.0 * unit().numbers(rng, before, count))
named("erfinv", inverse(sc.erfinv, mp.erf, log_error), _SIGNED, values=True)
named("erfcinv", inverse(sc.erfcinv, mp.erfc, log_error, -1), _TWICE, limit=_TAIL)
named("ndtri", inverse(sc.ndtri, mp.ncdf, log_normal), unit(), limit=_TAIL)


def _tail_first(function: Number, sign: int, q: Any, *shape: Any) -> Any:
    return function(q, 1 - q, *shape) if sign > 0 else function(1 - q, q, *shape)


def of_law(
    name: str,
    law: str,
    sign: int,
    parameters: Number,
    *draws: Draw,
    function: Number | None = None,
    **options: Any,
) -> None:
    """State a function of operands and, last, a probability: the quantile of a law, of parameters made of the operands.

    A derivative by an operand is taken only where the operands are the parameters.
    """
    value, partial, last = quantile(LAWS[law]), slopes(LAWS[law], sign), len(draws) - 1
    case(
        name,
        function or getattr(sc, name),
        lambda *x: _tail_first(value, sign, x[-1], *parameters(*x[:-1])),
        *draws,
        partial=lambda n, *x: partial(0 if n == last else n + 1, x[-1], *parameters(*x[:-1])),
        **options,
    )


def _same(*parameters: Any) -> tuple[Any, ...]:
    return parameters


_COUNT = whole(1, 300)
_FEW = (whole(0, 50), whole(51, 300), unit())
for _name, _sign in (("gammaincinv", 1), ("gammainccinv", -1)):
    of_law(_name, "gamma", _sign, _same, _SHAPE, unit(), limit=_QUADRATURE, cost=2)
for _name, _sign in (("betaincinv", 1), ("betainccinv", -1)):
    of_law(_name, "beta", _sign, _same, _SHAPE, _SHAPE, unit(), limit=_QUADRATURE, cost=2)
of_law("stdtrit", "t", 1, _same, _SHAPE, unit(), limit=_QUADRATURE, values=True)
of_law("chdtri", "chi2", -1, _same, _COUNT, unit(), wrt=(1,), limit=_TAIL)
of_law("fdtri", "f", 1, _same, whole(1, 100), whole(1, 100), unit(), wrt=(2,), limit=_TAIL)
of_law("pdtri", "gamma", -1, lambda k: (k + 1,), whole(0, 300), unit(), wrt=(1,), limit=_TAIL)
of_law(
    "bdtri",
    "beta",
    -1,
    lambda k, n: (k + 1, n - k),
    *_FEW,
    function=lambda k, n, y: sc.bdtri(k, n.astype(int), y),
    wrt=(2,),
    limit=_TAIL,
)
of_law(
    "nbdtri", "beta", 1, lambda k, n: (n, k + 1), whole(0, 50), whole(1, 300), unit(), wrt=(2,), limit=_TAIL
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

_SHAPES = positive(1e-3, 1e8)
for _name, _law in LAWS.items():
    for _rule, _sign in (("ppf", 1), ("isf", -1)):
        case(
            f"stats.{_name}.{_rule}",
            getattr(getattr(stats, _name), _rule),
            functools.partial(_tail_first, quantile(_law), _sign),
            unit(),
            *[_SHAPES] * (2 if _name in ("beta", "f") else 1),
            limit=_CANCELLED if _name == "f" else _QUADRATURE,
            values=True,
            cost=1 if _name == "t" else 4,
            partial=slopes(_law, _sign),
        )

_SMALL = Draw("1e-300 to 1e-20", lambda rng, before, count: 10.0 ** -rng.uniform(20, 300, count))
# Far out, where the reference is cheap, each draw comes near an end.
for _known in [known for known in CASES if known.name.startswith(tuple(f"stats.{law}.ppf" for law in LAWS))]:
    _shapes = [positive(1e-3, 3.0)] * (len(_known.draws) - 1)
    _far = _known._replace(name=f"far {_known.name[6:-4]} quantiles", draws=(_SMALL, *_shapes), cost=1)
    CASES.append(_far)

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
