"""The special functions and the distributions that `tests.special_domain` draws, with their references in mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from scipy import special as sc

from tests.special_domain import (
    Case,
    Draw,
    beside,
    close,
    degree,
    interval,
    negative,
    positive,
    real,
    unit,
    whole,
)
from tests.special_quantiles import beta_tails, gamma_tails, smaller_tail
from wengert import special
from wengert.scipy import stats

mp: Any = mpmath
CASES: list[Case] = []
#: Limits above the usual 100 units have a reason. Slopes made of SciPy's values have the errors of these: `beta`,
#: `poch` and `binom` (1e-12; 1e-8 from n = 1e5 on), Bessel functions far below their order (1e-13), `struve` (1e-11),
#: `hyp2f1` (1e-12), Laguerre's of fractional degrees (1e-10). Slopes by a parameter come from a quadrature: of the
#: incomplete functions (1e-11 to 1e-10), `zeta` (1e-11), and of Bessel functions by their orders (1e-8).


def case(
    name: str,
    function: Callable[..., Any],
    exact: Callable[..., Any],
    *draws: Draw,
    wrt: tuple[int, ...] | None = None,
    limit: float = 100,
    values: bool = False,
    cost: int = 1,
    partial: Callable[..., Any] | None = None,
) -> None:
    wrt = tuple(range(len(draws))) if wrt is None else wrt
    CASES.append(Case(name, function, exact, draws, wrt, limit, values, cost, partial))


def named(name: str, exact: Callable[..., Any], *draws: Draw, **options: Any) -> None:
    case(name, getattr(sc, name), exact, *draws, **options)


def part(name: str, n: int, label: str, exact: Callable[..., Any], *draws: Draw, **options: Any) -> None:
    case(label, lambda x: getattr(sc, name)(x)[n], exact, *draws, **options)


# -- gamma and beta functions ----------------------------------------------------------------------------


def log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def tail(
    name: str,
    side: int,
    tails: Callable[..., Any],
    *draws: Draw,
    function: Callable[..., Any] | None = None,
    **options: Any,
) -> None:
    """State the probability below (side 0) or above (1), of the function that returns both."""
    case(
        name,
        function or getattr(sc, name),
        lambda *x: tails(*x)[side],
        *draws,
        partial=smaller_tail(tails, side),
        **options,
    )


def of_gamma(a: Any, x: Any) -> Any:
    return gamma_tails(mp.log(x), a)


def of_beta(a: Any, b: Any, x: Any) -> Any:
    return beta_tails(mp.log(x / (1 - x)), a, b)


def exponential_integral(n: Any, x: Any) -> Any:
    """Return E_n(x) for a whole n, by the recurrence from E_1, which needs more digits for a large x."""
    value = mp.exp(-x) / x if n == 0 else mp.e1(x)
    for k in range(1, int(n)):
        value = (mp.exp(-x) - x * value) / k
    return value


_SHAPE = positive(1e-10, 1e3)
_AROUND = beside(0, positive(1e-320, 1e4))
named("gamma", mp.gamma, real(170.0, 1e-300))
named("beta", mp.beta, positive(1e-100, 1e5), positive(1e-100, 1e5), limit=1e5, cost=8)
named("betaln", log_beta, positive(1e-300, 1e15), positive(1e-300, 1e15), cost=8)
named("gammaln", lambda x: mp.log(abs(mp.gamma(x))), positive(1e-300, 1e15), values=True)
case(
    "gammaln, x < 0",
    sc.gammaln,
    lambda x: mp.log(abs(mp.gamma(x))),
    negative(positive(1e-300, 1e3)),
    values=True,
)
named("digamma", mp.digamma, real(1e3), values=True)
named("poch", lambda z, m: mp.gamma(z + m) / mp.gamma(z), positive(1e-10, 1e15), real(50.0, 1e-10), limit=1e4)
case("binom, n large", sc.binom, mp.binomial, positive(1e2, 1e15), positive(1e-10, 30.0), limit=1e8)
named("binom", mp.binomial, positive(1e-3, 200.0), real(30.0, 1e-3), limit=1e4)
tail("gammainc", 0, of_gamma, _SHAPE, _AROUND, limit=1e5)
tail("gammaincc", 1, of_gamma, _SHAPE, _AROUND, limit=1e5)
_BETAS = (positive(1e-3, 300.0), positive(1e-3, 300.0), unit())
tail("betainc", 0, of_beta, *_BETAS, limit=1e6)
tail("betaincc", 1, of_beta, *_BETAS, limit=1e6)

# -- the normal distribution and error functions ---------------------------------------------------------

named("erf", mp.erf, real(30.0), values=True)
named("erfc", mp.erfc, real(26.0), values=True)
named("erfi", mp.erfi, real(26.0))
named("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), positive(1e-300, 1e4))
case("erfcx, x < 0", sc.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), negative(positive(1e-300, 26.0)))
named("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), real(1e4))
named("ndtr", mp.ncdf, real(37.0), values=True)
named("log_ndtr", lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), real(1e3))

# -- integrals -------------------------------------------------------------------------------------------

named("expi", mp.ei, real(700.0))
named("exp1", mp.e1, positive(1e-300, 700.0))
named("expn", exponential_integral, whole(0, 60), positive(1e-300, 700.0), wrt=(1,))
part("sici", 0, "si", mp.si, real(1e5))
part("sici", 1, "ci", mp.ci, positive(1e-300, 1e5))
part("shichi", 0, "shi", mp.shi, real(700.0))
part("shichi", 1, "chi", mp.chi, positive(1e-300, 700.0))
part("fresnel", 0, "fresnel S", mp.fresnels, real(1e5))
part("fresnel", 1, "fresnel C", mp.fresnelc, real(1e5))

# -- Bessel functions ------------------------------------------------------------------------------------

_ORDER, _ARGUMENT = degree(30.0), positive(1e-10, 300.0)
named("jv", mp.besselj, _ORDER, _ARGUMENT, wrt=(1,), limit=2e3)
named("yv", mp.bessely, _ORDER, _ARGUMENT, wrt=(1,), limit=2e3, cost=8)
named("iv", mp.besseli, _ORDER, _ARGUMENT, wrt=(1,), limit=2e3)
named("kv", mp.besselk, _ORDER, _ARGUMENT, wrt=(1,), limit=2e3, cost=8)
named("ive", lambda v, x: mp.exp(-x) * mp.besseli(v, x), _ORDER, positive(1e-10, 1e8), wrt=(1,), limit=2e3)
named(
    "kve",
    lambda v, x: mp.exp(x) * mp.besselk(v, x),
    _ORDER,
    positive(1e-10, 1e8),
    wrt=(1,),
    limit=2e3,
    cost=2,
)


def _in_range(bessel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that knows no numbers below 1e-280, where SciPy's may be 0."""

    def exact(v: Any, x: Any) -> Any:
        value = bessel(v, x)
        if 0 < abs(value) < 1e-280:
            raise ValueError
        return value

    return exact


_FAR = degree(400.0), positive(1e-3, 300.0)
for _name, _partner in (("jv", mp.besselj), ("yv", mp.bessely), ("iv", mp.besseli), ("kv", mp.besselk)):
    case(
        f"{_name}, of high orders",
        getattr(sc, _name),
        _in_range(_partner),
        *_FAR,
        wrt=(1,),
        limit=1e5,
        cost=4,
    )
for _name, _exact, _high in (
    ("j0", lambda x: mp.besselj(0, x), 1e3),
    ("j1", lambda x: mp.besselj(1, x), 1e3),
    ("y0", lambda x: mp.bessely(0, x), 1e3),
    ("y1", lambda x: mp.bessely(1, x), 1e3),
    ("i0", lambda x: mp.besseli(0, x), 700.0),
    ("i1", lambda x: mp.besseli(1, x), 700.0),
    ("k0", lambda x: mp.besselk(0, x), 700.0),
    ("k1", lambda x: mp.besselk(1, x), 700.0),
    ("i0e", lambda x: mp.exp(-x) * mp.besseli(0, x), 1e15),
    ("i1e", lambda x: mp.exp(-x) * mp.besseli(1, x), 1e15),
    ("k0e", lambda x: mp.exp(x) * mp.besselk(0, x), 1e15),
    ("k1e", lambda x: mp.exp(x) * mp.besselk(1, x), 1e15),
):
    named(_name, _exact, positive(1e-300, _high), limit=1e3, cost=16 if _name[0] in "ky" else 1)
for _name, _partner in (("jv", mp.besselj), ("yv", mp.bessely), ("iv", mp.besseli), ("kv", mp.besselk)):
    case(
        f"{_name}, by its order",
        getattr(sc, _name),
        _partner,
        positive(1e-3, 50.0),
        positive(1e-6, 100.0),
        wrt=(0,),
        limit=1e8,
        cost=32 if _name == "kv" else 2,
    )
named("struve", mp.struveh, degree(10.0), positive(1e-3, 50.0), wrt=(1,), limit=1e5)


def _spherical(bessel: Callable[..., Any], factor: Any) -> Callable[..., Any]:
    return lambda n, x: mp.sqrt(factor() / (2 * x)) * bessel(n + mp.mpf(1) / 2, x)


for _kind, _bessel in (("jn", mp.besselj), ("yn", mp.bessely), ("in", mp.besseli), ("kn", mp.besselk)):
    case(
        f"spherical_{_kind}",
        lambda n, x, kind=_kind: getattr(special, f"spherical_{kind}")(n, x),
        _spherical(_bessel, lambda: mp.pi),
        whole(0, 20),
        positive(1e-3, 300.0),
        wrt=(1,),
    )
for _number, (_name, _order) in enumerate((("airyai", 0), ("airyai", 1), ("airybi", 0), ("airybi", 1))):
    part(
        "airy",
        _number,
        f"{_name[:4]} {_name[4:]}{_order}",
        lambda x, name=_name, order=_order: getattr(mp, name)(x, derivative=order),
        real(50.0),
    )

# -- hypergeometric functions, elliptic integrals, orthogonal polynomials --------------------------------

named("hyp0f1", mp.hyp0f1, positive(1e-2, 30.0), real(100.0), wrt=(1,))
named("hyp1f1", mp.hyp1f1, positive(1e-2, 20.0), positive(1e-2, 20.0), real(50.0), wrt=(2,))
named(
    "hyp2f1",
    mp.hyp2f1,
    positive(1e-2, 5.0),
    positive(1e-2, 5.0),
    positive(1e-2, 5.0),
    Draw("-5 to 0.95", lambda rng, before, count: rng.uniform(-5, 0.95, count)),
    wrt=(3,),
    limit=1e4,
)
case("ellipk", sc.ellipk, mp.ellipk, unit())
case("ellipk, m < 0", sc.ellipk, mp.ellipk, negative(positive(1e-300, 1e5)))
case("ellipe", sc.ellipe, mp.ellipe, unit())
case("ellipe, m < 0", sc.ellipe, mp.ellipe, negative(positive(1e-300, 1e5)))
case("ellipkm1", sc.ellipkm1, lambda p: mp.ellipk(1 - p), positive(1e-300, 1e5))
_ANGLE, _PARAMETER = real(30.0, 1e-10), interval()
named("ellipkinc", mp.ellipf, _ANGLE, _PARAMETER, limit=1e4, cost=2)
named("ellipeinc", mp.ellipe, _ANGLE, _PARAMETER, limit=1e4, cost=2)
case("ellipkinc, m < 0", sc.ellipkinc, mp.ellipf, _ANGLE, negative(positive(1e-10, 1e4)), limit=1e5, cost=2)
_SIDE = positive(1e-30, 1e30)
named("elliprc", mp.elliprc, _SIDE, _SIDE, limit=1e3)
named("elliprf", mp.elliprf, _SIDE, _SIDE, _SIDE, limit=1e3)
named("elliprd", mp.elliprd, _SIDE, _SIDE, _SIDE, limit=1e3)
named("elliprg", mp.elliprg, _SIDE, _SIDE, _SIDE, limit=1e3)
named("elliprj", mp.elliprj, *[positive(1e-8, 1e8)] * 4, limit=1e3, cost=2)
for _n, _kind in enumerate(("sn", "cn", "dn")):
    case(
        f"ellipj {_kind}",
        lambda u, m, n=_n: sc.ellipj(u, m)[n],
        lambda u, m, kind=_kind: mp.ellipfun(kind, u, m=m),
        real(10.0, 1e-5),
        unit(1e-5),
        limit=1e6,
        cost=2,
    )
for _name in ("ber", "bei", "ker", "kei"):
    named(_name, lambda x, name=_name: getattr(mp, name)(0, x), positive(1e-5, 20.0), limit=1e6)
named("berp", lambda x: (mp.ber(1, x) + mp.bei(1, x)) / mp.sqrt(2), positive(1e-5, 20.0), limit=1e6)
named("keip", lambda x: (mp.kei(1, x) - mp.ker(1, x)) / mp.sqrt(2), positive(1e-5, 20.0), limit=1e6)
named("rgamma", mp.rgamma, real(160.0, 1e-300))
named("spence", lambda z: mp.polylog(2, 1 - z), positive(1e-300, 1e15))
named("wrightomega", lambda x: mp.lambertw(mp.exp(x)), real(300.0, 1e-300))
_DEGREE = degree(12.0)
#: They start with SciPy's values beside 1, and steps up to -1 add their rounding errors.
_END: dict[str, Any] = {"values": True, "limit": 1e4}
named("eval_legendre", mp.legendre, _DEGREE, interval(), wrt=(1,), **_END)
named("eval_chebyt", mp.chebyt, _DEGREE, interval(), wrt=(1,), **_END)
named("eval_chebyu", mp.chebyu, _DEGREE, interval(), wrt=(1,), **_END)
named("eval_gegenbauer", mp.gegenbauer, _DEGREE, positive(1e-3, 10.0), interval(), wrt=(2,), cost=4, **_END)
named(
    "eval_jacobi",
    mp.jacobi,
    _DEGREE,
    positive(1e-3, 10.0),
    positive(1e-3, 10.0),
    interval(),
    wrt=(3,),
    cost=4,
    **_END,
)
named("eval_laguerre", lambda n, x: mp.laguerre(n, 0, x), _DEGREE, positive(1e-10, 30.0), wrt=(1,), limit=1e6)
named(
    "eval_genlaguerre", mp.laguerre, _DEGREE, positive(1e-3, 10.0), positive(1e-10, 30.0), wrt=(2,), limit=1e6
)
for _hermite, _scale in (("eval_hermite", 1), ("eval_hermitenorm", 2)):
    case(
        _hermite,
        lambda n, x, name=_hermite: getattr(sc, name)(n.astype(int), x),
        lambda n, x, scale=_scale: mp.hermite(n, x / mp.sqrt(scale)) / mp.sqrt(scale) ** n,
        *(whole(0, 20), real(30.0, 1e-10)),
        wrt=(1,),
    )
named("zeta", mp.zeta, positive(1.01, 50.0), positive(1e-3, 50.0), limit=1e5, cost=2)

# -- distribution functions ------------------------------------------------------------------------------


def of_student(df: Any, t: Any) -> Any:
    outer = beta_tails(mp.log(df / (t * t)), df / 2, mp.mpf(1) / 2)[0] / 2
    return (outer, 1 - outer) if t < 0 else (1 - outer, outer)


def of_f(n: Any, m: Any, x: Any) -> Any:
    return beta_tails(mp.log(n * x / m), n / 2, m / 2)


def of_binomial(k: Any, n: Any, p: Any) -> Any:
    return of_beta(n - k, k + 1, 1 - p)


tail("stdtr", 0, of_student, positive(1e-2, 300.0), real(1e3), limit=1e3)
tail("chdtr", 0, lambda v, x: of_gamma(v / 2, x / 2), whole(1, 300), _AROUND, wrt=(1,))
tail("fdtr", 0, of_f, whole(1, 100), whole(1, 100), positive(1e-10, 1e5), wrt=(2,))
tail("pdtr", 1, lambda k, m: of_gamma(k + 1, m), whole(0, 300), _AROUND, wrt=(1,))
tail("bdtr", 0, of_binomial, whole(0, 50), whole(51, 300), unit(), wrt=(2,))
tail("nbdtr", 0, lambda k, n, p: of_beta(n, k + 1, p), whole(0, 50), whole(1, 300), unit(), wrt=(2,))

# -- elementary functions --------------------------------------------------------------------------------


def relative(x: Any, y: Any) -> Any:
    return x * mp.log(x / y)


named("entr", lambda x: -x * mp.log(x), positive(), values=True)
named("rel_entr", relative, positive(), close(0, positive()), values=True)
named("kl_div", lambda x, y: relative(x, y) - x + y, positive(), close(0, positive()), values=True)
named("xlogy", lambda x, y: x * mp.log(y), real(), positive(), values=True)
named("xlog1py", lambda x, y: x * mp.log1p(y), real(), positive(), values=True)
named("logit", lambda p: mp.log(p / (1 - p)), unit(), values=True)
named("expit", lambda x: 1 / (1 + mp.exp(-x)), real(700.0), values=True)
named("log_expit", lambda x: -mp.log1p(mp.exp(-x)), real(700.0), values=True)
named("exprel", lambda x: mp.expm1(x) / x, real(700.0), values=True)
named("boxcox", lambda x, r: mp.expm1(r * mp.log(x)) / r, positive(1e-10, 1e10), real(20.0), values=True)
named("boxcox1p", lambda x, r: mp.expm1(r * mp.log1p(x)) / r, positive(1e-300, 1e10), real(20.0), values=True)
named(
    "inv_boxcox",
    lambda y, r: mp.exp(mp.log1p(r * y) / r),
    positive(1e-300, 1e3),
    positive(1e-300, 10.0),
    values=True,
)
named(
    "inv_boxcox1p",
    lambda y, r: mp.expm1(mp.log1p(r * y) / r),
    positive(1e-300, 1e3),
    positive(1e-300, 10.0),
    values=True,
)
named("powm1", lambda x, r: mp.expm1(r * mp.log(x)), positive(1e-10, 1e10), real(20.0), values=True)
named(
    "pseudo_huber",
    lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
    positive(1e-100, 1e10),
    real(1e10, 1e-100),
    values=True,
)
named("cosm1", lambda x: mp.cos(x) - 1, real(1e3), values=True)

# -- distributions ---------------------------------------------------------------------------------------

_LOG_ROOT = lambda: mp.log(2 * mp.pi) / 2  # noqa: E731


def family(name: str, rules: dict[str, Callable[..., Any]], *draws: Draw, **options: Any) -> None:
    for rule, exact in rules.items():
        case(
            f"stats.{name}.{rule}", getattr(getattr(stats, name), rule), exact, *draws, values=True, **options
        )


def log_gamma_density(z: Any, a: Any) -> Any:
    return (a - 1) * mp.log(z) - z - mp.loggamma(a)


def log_beta_density(z: Any, a: Any, b: Any) -> Any:
    return (a - 1) * mp.log(z) + (b - 1) * mp.log1p(-z) - log_beta(a, b)


def log_f(z: Any, n: Any, m: Any) -> Any:
    powers = n / 2 * mp.log(n / m) + (n / 2 - 1) * mp.log(z) - (n + m) / 2 * mp.log1p(n / m * z)
    return powers - log_beta(n / 2, m / 2)


def log_student(t: Any, df: Any) -> Any:
    return -log_beta(df / 2, mp.mpf(1) / 2) - mp.log(df) / 2 - (df + 1) / 2 * mp.log1p(t * t / df)


def choose(n: Any, k: Any) -> Any:
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def log_binomial(k: Any, n: Any, p: Any) -> Any:
    return choose(n, k) + k * mp.log(p) + (n - k) * mp.log1p(-p)


def log_poisson(k: Any, mu: Any) -> Any:
    return k * mp.log(mu) - mu - mp.loggamma(k + 1)


def log_negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return mp.loggamma(n + k) - mp.loggamma(k + 1) - mp.loggamma(n) + n * mp.log(p) + k * mp.log1p(-p)


def counts(high: float) -> Draw:
    return Draw(
        f"whole, 1 to {high:g}",
        lambda rng, before, count: np.floor(np.exp(rng.uniform(0, np.log(high), count))),
    )


def share(total: int) -> Draw:
    """Draw whole numbers up to another operand."""
    return Draw(
        "whole, up to n", lambda rng, before, count: np.floor(before[total] * rng.uniform(0, 1, count))
    )


def rate() -> Draw:
    """Draw a probability near the share of successes, or any."""

    def draw(rng: np.random.Generator, before: list[Any], count: int) -> Any:
        n, k = before
        near = (k + 0.5 + np.sqrt(k * (n - k) / n + 0.25) * rng.standard_normal(count)) / (n + 1)
        is_near = (near > 0) & (near < 1) & (rng.random(count) < 0.7)
        return np.where(is_near, near, unit().numbers(rng, before, count))

    return Draw("0 to 1", draw)


def swap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of (n, k, p) from one of (k, n, p): k is drawn after n."""

    def swapped(n: Any, k: Any, *rest: Any) -> Any:
        return function(k, n, *rest)

    return swapped


_BIG, _POINTS = positive(1e-10, 1e15), beside(0, positive(1e-320, 1e15))


def ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of (shape, point) from one of (point, shape): the point is drawn after the shape."""
    return lambda *numbers: function(numbers[-1], *numbers[:-1])


for _family, _exact in (
    ("gamma", log_gamma_density),
    ("chi2", lambda z, n: log_gamma_density(z / 2, n / 2) - mp.log(2)),
):
    case(
        f"stats.{_family}.logpdf",
        ordered(getattr(stats, _family).logpdf),
        ordered(_exact),
        _BIG,
        _POINTS,
        values=True,
    )
case(
    "stats.invgamma.logpdf",
    ordered(stats.invgamma.logpdf),
    lambda a, z: -(a + 1) * mp.log(z) - 1 / z - mp.loggamma(a),
    positive(1e-10, 1e10),
    beside(0, positive(1e-10, 1e10), lambda before: 1 / before[0]),
    values=True,
)
tail("stats.gamma.cdf", 0, of_gamma, _SHAPE, _AROUND, function=ordered(stats.gamma.cdf), limit=1e5)
case(
    "stats.gamma.logsf",
    ordered(stats.gamma.logsf),
    lambda a, x: mp.log(of_gamma(a, x)[1]),
    _SHAPE,
    _AROUND,
    limit=1e5,
    partial=lambda n, a, x: smaller_tail(of_gamma, 1)(n, a, x) / of_gamma(a, x)[1],
)
case(
    "stats.beta.logpdf",
    ordered(stats.beta.logpdf),
    ordered(log_beta_density),
    _BIG,
    _BIG,
    unit(),
    values=True,
)
case(
    "stats.f.logpdf", ordered(stats.f.logpdf), ordered(log_f), _BIG, _BIG, positive(1e-10, 1e10), values=True
)
case("stats.t.logpdf", ordered(stats.t.logpdf), ordered(log_student), _BIG, real(1e10), values=True)
case("stats.poisson.logpmf", stats.poisson.logpmf, log_poisson, counts(1e15), _POINTS, wrt=(1,), values=True)
case(
    "stats.binom.logpmf",
    swap(stats.binom.logpmf),
    swap(log_binomial),
    counts(1e15),
    share(0),
    rate(),
    wrt=(2,),
    values=True,
)
case(
    "stats.binom.pmf",
    swap(stats.binom.pmf),
    swap(lambda *x: mp.exp(log_binomial(*x))),
    counts(1e12),
    share(0),
    rate(),
    wrt=(2,),
    values=True,
)
case(
    "stats.nbinom.logpmf",
    stats.nbinom.logpmf,
    log_negative_binomial,
    counts(1e12),
    positive(1e-3, 1e12),
    unit(),
    wrt=(1, 2),
    values=True,
)
case(
    "stats.geom.logpmf",
    stats.geom.logpmf,
    lambda k, p: (k - 1) * mp.log1p(-p) + mp.log(p),
    counts(1e12),
    unit(),
    wrt=(1,),
    values=True,
)
case(
    "stats.bernoulli.logpmf",
    stats.bernoulli.logpmf,
    lambda k, p: k * mp.log(p) + (1 - k) * mp.log1p(-p),
    whole(0, 1),
    unit(),
    wrt=(1,),
    values=True,
)


def log1mexp(x: Any) -> Any:
    return mp.log(-mp.expm1(x))


_HALF = positive(1e-300, 30.0)
family(
    "norm",
    {
        "logpdf": lambda z: -z * z / 2 - _LOG_ROOT(),
        "cdf": mp.ncdf,
        "sf": lambda z: mp.ncdf(-z),
        "logcdf": lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / 2),
        "logsf": lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / 2),
    },
    real(30.0),
)
family(
    "cauchy",
    {
        "logpdf": lambda z: -mp.log(mp.pi) - mp.log1p(z * z),
        "cdf": lambda z: mp.atan2(1, -z) / mp.pi,
        "sf": lambda z: mp.atan2(1, z) / mp.pi,
        "logcdf": lambda z: mp.log(mp.atan2(1, -z) / mp.pi),
        "logsf": lambda z: mp.log(mp.atan2(1, z) / mp.pi),
    },
    real(),
)


def logistic(z: Any) -> Any:
    return 1 / (1 + mp.exp(-z))


family(
    "logistic",
    {
        "logpdf": lambda z: mp.log(logistic(z) * logistic(-z)),
        "cdf": logistic,
        "sf": lambda z: logistic(-z),
        "logcdf": lambda z: -mp.log1p(mp.exp(-z)),
        "logsf": lambda z: -mp.log1p(mp.exp(z)),
    },
    real(300.0),
)
family(
    "laplace",
    {
        "logpdf": lambda z: -abs(z) - mp.log(2),
        "cdf": lambda z: mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2,
        "logcdf": lambda z: z - mp.log(2) if z < 0 else mp.log1p(-mp.exp(-z) / 2),
    },
    real(300.0),
)
family(
    "gumbel_r",
    {
        "logpdf": lambda z: -z - mp.exp(-z),
        "cdf": lambda z: mp.exp(-mp.exp(-z)),
        "sf": lambda z: -mp.expm1(-mp.exp(-z)),
        "logsf": lambda z: log1mexp(-mp.exp(-z)),
    },
    real(600.0),
)
family(
    "gumbel_l",
    {
        "logpdf": lambda z: z - mp.exp(z),
        "cdf": lambda z: -mp.expm1(-mp.exp(z)),
        "logcdf": lambda z: log1mexp(-mp.exp(z)),
    },
    real(600.0),
)
family(
    "expon",
    {
        "cdf": lambda z: -mp.expm1(-z),
        "logcdf": lambda z: log1mexp(-z),
        "logsf": lambda z: -z,
    },
    positive(1e-300, 700.0),
)
family(
    "halfnorm",
    {
        "logpdf": lambda z: mp.log(2) - z * z / 2 - _LOG_ROOT(),
        "cdf": lambda z: mp.erf(z / mp.sqrt(2)),
        "sf": lambda z: mp.erfc(z / mp.sqrt(2)),
        "logsf": lambda z: mp.log(mp.erfc(z / mp.sqrt(2))),
        "logcdf": lambda z: mp.log(mp.erf(z / mp.sqrt(2))),
    },
    _HALF,
)
family(
    "rayleigh",
    {
        "logpdf": lambda z: mp.log(z) - z * z / 2,
        "cdf": lambda z: -mp.expm1(-z * z / 2),
        "logcdf": lambda z: log1mexp(-z * z / 2),
    },
    _HALF,
)
family(
    "lognorm",
    {
        "logpdf": lambda z, s: -((mp.log(z) / s) ** 2) / 2 - mp.log(s * z) - _LOG_ROOT(),
        "cdf": lambda z, s: mp.ncdf(mp.log(z) / s),
        "logsf": lambda z, s: mp.log(mp.erfc(mp.log(z) / s / mp.sqrt(2)) / 2),
    },
    positive(1e-3, 1e3),
    positive(0.3, 10.0),
)
family(
    "weibull_min",
    {
        "logpdf": lambda z, c: mp.log(c) + (c - 1) * mp.log(z) - z**c,
        "cdf": lambda z, c: -mp.expm1(-(z**c)),
        "logcdf": lambda z, c: log1mexp(-(z**c)),
        "logsf": lambda z, c: -(z**c),
    },
    positive(1e-100, 100.0),
    positive(1e-3, 3.0),
)
family(
    "pareto",
    {
        "logpdf": lambda z, b: mp.log(b) - (b + 1) * mp.log(z),
        "cdf": lambda z, b: -mp.expm1(-b * mp.log(z)),
        "logcdf": lambda z, b: log1mexp(-b * mp.log(z)),
    },
    positive(1 + 2.0**-40, 1e10),
    positive(1e-10, 30.0),
)
