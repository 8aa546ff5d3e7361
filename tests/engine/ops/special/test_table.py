"""The table of further functions of SciPy's: values, derivatives in both modes, compiled and batched, and refusals."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import ArgumentError, ConcreteError, DtypeError, UnsupportedError
from wengert.engine.ops.special import table

special = pytest.importorskip("scipy.special")
_UFUNCS = special._ufuncs
_ANY, _POSITIVE, _SHARE = (-3.0, 3.0), (0.3, 4.0), (0.1, 0.9)
_INSIDE = (-0.9, 0.9)
#: Where operands are drawn: whole numbers between whole ends.
DOMAINS: dict[str, tuple[tuple[Any, Any] | None, ...]] = {
    **dict.fromkeys(("sindg", "cosdg", "tandg"), ((-300.0, 300.0),)),
    "cotdg": ((5.0, 170.0),),
    "radian": (_ANY, _ANY, _ANY),
    **dict.fromkeys(("zetac", "_riemann_zeta"), ((-9.0, 3.0),)),
    "agm": (_POSITIVE, (0.05, 20.0)),
    "hyperu": ((1, 3), (1, 3), _POSITIVE),
    "modstruve": ((0, 3), _POSITIVE),
    "itstruve0": (_ANY,),
    "it2struve0": (_ANY,),
    "itmodstruve0": (_ANY,),
    "besselpoly": (_POSITIVE, (1, 3), (0, 3)),
    "lpmv": ((-3, 3), (0, 5), _INSIDE),
    "eval_sh_jacobi": ((0, 4), (3, 5), (1, 2), _SHARE),
    "wright_bessel": ((1, 2), (1, 3), _POSITIVE),
    "log_wright_bessel": ((1, 2), (1, 3), _POSITIVE),
    "kolmogorov": ((0.3, 2.0),),
    "kolmogi": (_SHARE,),
    "smirnov": ((2, 6), (0.1, 0.6)),
    "smirnovi": ((2, 6), _SHARE),
    **dict.fromkeys(("mathieu_a", "mathieu_b"), ((1, 4), _POSITIVE)),
    **dict.fromkeys(("pro_cv", "obl_cv"), ((0, 2), (2, 4), (0.3, 2.0))),
    **dict.fromkeys(("itairy", "itj0y0", "iti0k0", "it2j0y0", "it2i0k0"), (_POSITIVE,)),
    "airye": ((0.1, 20.0),),
    **dict.fromkeys(("modfresnelp", "modfresnelm"), ((0.0, 4.0),)),
    **dict.fromkeys(("pbdv", "pbvv", "pbwa"), ((0, 3), _POSITIVE)),
    **dict.fromkeys(("pro_ang1", "obl_ang1"), ((0, 2), (2, 4), (1, 2), _INSIDE)),
    **dict.fromkeys(("pro_rad1",), ((0, 2), (2, 4), (1, 2), (1.3, 2.0))),
    **dict.fromkeys(("obl_rad1",), ((0, 2), (2, 4), (1, 2), (0.3, 2.0))),
    **dict.fromkeys(("pro_ang1_cv", "obl_ang1_cv"), ((1, 1), (2, 2), (2, 2), None, _INSIDE)),
    "pro_rad1_cv": ((1, 1), (2, 2), (2, 2), None, (1.3, 2.0)),
    "obl_rad1_cv": ((1, 1), (2, 2), (2, 2), None, (0.3, 2.0)),
    **dict.fromkeys(("mathieu_cem", "mathieu_sem"), ((1, 4), (1, 2), (0.0, 180.0))),
    **{f"mathieu_mod{c}em{n}": ((1, 4), (1, 2), (0.3, 1.5)) for c in "cs" for n in "12"},
    "chdtriv": (_SHARE, _POSITIVE),
    "gdtria": (_SHARE, _POSITIVE, _POSITIVE),
    "gdtrib": (_POSITIVE, _SHARE, _POSITIVE),
    "gdtrix": (_POSITIVE, _POSITIVE, _SHARE),
    "btdtria": (_SHARE, _POSITIVE, _SHARE),
    "btdtrib": (_POSITIVE, _SHARE, _SHARE),
    "pdtrik": ((0.5, 0.9), (1.0, 5.0)),
    "bdtrik": ((0.4, 0.9), (4.0, 9.0), (0.3, 0.8)),
    "bdtrin": ((1.0, 3.0), (0.2, 0.8), (0.1, 0.6)),
    "nbdtrik": ((0.5, 0.9), (2.0, 6.0), (0.2, 0.5)),
    "nbdtrin": ((1.0, 3.0), (0.2, 0.8), (0.2, 0.6)),
    "fdtridfd": ((2.0, 4.0), (0.5, 0.6), (1.0, 1.2)),
    "stdtridf": ((0.8, 0.83), (1.1, 1.2)),
    "nrdtrimn": (_SHARE, _POSITIVE, _ANY),
    "nrdtrisd": ((1.0, 2.0), (0.6, 0.9), (3.0, 4.0)),
    "chndtr": (_POSITIVE, (2, 5), _POSITIVE),
    "chndtrix": (_SHARE, (2, 5), _POSITIVE),
    "chndtrinc": ((5.0, 9.0), (2, 3), (0.2, 0.6)),
    "ncfdtr": ((2, 4), (3, 6), _POSITIVE, _POSITIVE),
    "ncfdtri": ((2, 4), (3, 6), _POSITIVE, _SHARE),
    "ncfdtrinc": ((2, 4), (3, 6), (0.2, 0.6), (3.0, 5.0)),
    "nctdtr": ((2, 6), _ANY, _ANY),
    "nctdtrit": ((2, 6), _ANY, _SHARE),
    "nctdtrinc": ((2, 6), _SHARE, _ANY),
    "_ncx2_pdf": (_POSITIVE, (1, 5), _POSITIVE),
    "_ncx2_sf": (_POSITIVE, (1, 5), _POSITIVE),
    **dict.fromkeys(("_ncf_pdf", "_ncf_sf"), (_POSITIVE, (2, 4), (3, 6), _POSITIVE)),
    **dict.fromkeys(("_nct_pdf", "_nct_sf"), (_ANY, (2, 6), _ANY)),
    **dict.fromkeys(("_kolmogc",), ((0.3, 2.0),)),
    "_kolmogci": (_SHARE,),
    "_gen_harmonic": ((2, 30), (0.2, 3.0)),
    "_normalized_gen_harmonic": ((2, 4), (5, 8), (9, 30), (0.2, 3.0)),
    "tklmbda": (_INSIDE, (0.2, 0.9)),
    "chdtr": (_POSITIVE, _POSITIVE),
    "chdtrc": (_POSITIVE, _POSITIVE),
    "chdtri": (_POSITIVE, _SHARE),
    "fdtr": (_POSITIVE, _POSITIVE, _POSITIVE),
    "fdtrc": (_POSITIVE, _POSITIVE, _POSITIVE),
    "fdtri": (_POSITIVE, _POSITIVE, _SHARE),
    **{f"eval_{name}": ((0, 5), _ANY) for name in ("chebyc", "chebys")},
    **{f"eval_sh_{name}": ((0, 5), _SHARE) for name in ("chebyt", "chebyu", "legendre")},
    **dict.fromkeys(("jve", "yve"), ((0, 3), _POSITIVE)),
    "kelvin": (_POSITIVE,),
}
#: Their slopes have no derivative in the last operand.
FIRST_ORDER = {"smirnov", "smirnovi", "mathieu_a", "mathieu_b", "pro_cv", "obl_cv", "zetac", "_riemann_zeta"}
FIRST_ORDER |= {name for name in DOMAINS if name.startswith(("ncf", "nct"))} - {"ncfdtr", "nctdtr"}
FIRST_ORDER |= {"_gen_harmonic", "_normalized_gen_harmonic"}
#: Functions that SciPy computes by a search with a tolerance, which differences show.
INEXACT = dict.fromkeys(("ncfdtrinc",), 1e-2)


def _drawn(name: str, rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """Return the real parts of a function as one of the operands that are drawn as floats, and these."""
    operands: list[Any] = [
        ends and (rng.integers(*ends, endpoint=True) if isinstance(ends[0], int) else rng.uniform(*ends, 4))
        for ends in DOMAINS[name]
    ]
    if None in DOMAINS[name]:  # the characteristic value of the orders
        operands[3] = getattr(special, f"{name[:3]}_cv")(*operands[:3])
    places = [n for n, x in enumerate(operands) if isinstance(x, np.ndarray)]

    def function(*moving: Any) -> Any:
        values = list(operands)
        for place, value in zip(places, moving, strict=True):
            values[place] = value
        return np.stack(table.parts_of(getattr(_UFUNCS, name)(*values)))

    return function, [operands[place] for place in places]


def test_every_row_has_a_domain() -> None:
    hidden = {name for name in table.ROWS if name not in DOMAINS and name not in ("lqn", "lqmn")}
    assert all(name.startswith("_") for name in hidden), hidden


@pytest.mark.parametrize("seed", range(many(4)))
@pytest.mark.parametrize("name", DOMAINS)
def test_values_and_derivatives(name: str, seed: int) -> None:
    function, operands = _drawn(name, np.random.default_rng([seed, len(name), ord(name[-1])]))
    value = function(*operands)
    assert np.isfinite(value).all(), (value, operands)
    tangents = [np.full(4, 1.0)] * len(operands)
    np.testing.assert_allclose(wg.jvp(function, operands, tangents)[0], value, rtol=1e-13, atol=1e-300)
    wg.check_grads(function, operands, order=1, rtol=INEXACT.get(name, 1e-5))
    in_last = lambda x: function(*operands[:-1], x)  # noqa: E731
    if name not in FIRST_ORDER:
        wg.check_grads(in_last, operands[-1:], order=2, rtol=INEXACT.get(name, 1e-5))
    total = wg.grad(lambda *xs: np.sum(np.sin(function(*xs))), argnums=tuple(range(len(operands))))
    slopes = total(*operands)
    if not seed:
        np.testing.assert_allclose(wg.jit(total)(*operands), slopes, rtol=1e-11, atol=1e-14)
        batched = wg.vmap(total)(*(np.stack([x, x[::-1]]) for x in operands))
        np.testing.assert_allclose([x[0] for x in batched], slopes, rtol=1e-11, atol=1e-14)


#: Functions of all orders up to one, with an order or two and the interval of the variable.
SEQUENCES: dict[str, tuple[tuple[Any, ...], tuple[float, float]]] = {
    **dict.fromkeys(("riccati_jn", "riccati_yn"), ((4,), (0.5, 6.0))),
    **dict.fromkeys(("pbdv_seq", "pbvv_seq"), ((2.5,), (0.3, 3.0))),
    "pbdn_seq": ((3,), (-2.0, 3.0)),
    "lmbda": ((3.5,), (0.3, 6.0)),
    **dict.fromkeys(("pro_cv_seq", "obl_cv_seq"), ((1, 4), (0.3, 2.0))),
    "lqn": ((4,), _INSIDE),
    "lqmn": ((2, 3), (1.2, 4.0)),
}


@pytest.mark.parametrize("seed", range(many(3)))
@pytest.mark.parametrize("name", SEQUENCES)
def test_functions_of_all_orders(name: str, seed: int) -> None:
    orders, ends = SEQUENCES[name]
    orders = tuple(order - seed % 2 for order in orders)
    x = np.random.default_rng([seed, len(name)]).uniform(*ends)

    def function(x: Any) -> Any:
        return np.stack(table.parts_of(getattr(special, name)(*orders, x)))

    np.testing.assert_allclose(wg.jvp(function, (x,), (1.0,))[0], function(x), rtol=1e-10, atol=1e-12)
    wg.check_grads(function, (x,), order=1 if name.endswith("cv_seq") else 2, rtol=1e-5)
    total = wg.grad(lambda x: np.sum(np.sin(function(x))))
    np.testing.assert_allclose(wg.jit(total)(x), total(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(wg.vmap(total)(np.array([x, x])), [total(x)] * 2, rtol=1e-11, atol=1e-14)


def test_orders_of_sequences_are_known() -> None:
    with pytest.raises(ConcreteError, match=r"scipy\.special\.lmbda: the order must be known"):
        wg.jit(lambda v: special.lmbda(v, 0.3)[0])(1.5)
    with pytest.raises(ArgumentError, match=r"scipy\.special\.pbdv_seq: an order of at least 0"):
        wg.grad(lambda x: special.pbdv_seq(-1.5, x)[0][0])(1.5)


@pytest.mark.parametrize("x", [-1.5, -0.3, 0.5])
def test_modified_fresnel_integrals(x: float) -> None:
    """Also for negative numbers, where the imaginary part of SciPy 1.17 is wrong."""
    whole = mpmath.sqrt(mpmath.pi) / 2 * mpmath.expj(mpmath.pi / 4)
    expected = complex(whole - mpmath.quad(lambda t: mpmath.expj(t * t), [0, x]))
    for name, value in (("modfresnelp", expected), ("modfresnelm", expected.conjugate())):
        found, slope = wg.jvp(lambda x, name=name: getattr(special, name)(x)[0], (x,), (1.0,))
        assert found == pytest.approx(value, rel=1e-13)
        turn = np.exp(1j * x * x)
        assert slope == pytest.approx(-(turn if name[-1] == "p" else turn.conjugate()), rel=1e-13)


@pytest.mark.parametrize(
    ("name", "point", "slope"),
    [
        ("it2j0y0", 0.0, 0.0),
        ("it2i0k0", 0.0, 0.0),
        ("it2struve0", 0.0, -2 / np.pi),
        ("kolmogorov", 0.0, 0.0),
        ("kolmogorov", -1.0, 0.0),
        ("zetac", 0.0, -0.5 * np.log(2 * np.pi)),
        ("zetac", -2.0, -0.030448457058393270780),
        ("radian", 0.0, np.pi / 180),
        ("agm", 1.0, 0.5),
    ],
)
def test_at_removable_points_and_ends(name: str, point: float, slope: float) -> None:
    more = {"radian": (0.0, 0.0), "agm": (1.0,)}.get(name, ())
    first = lambda x: table.parts_of(getattr(special, name)(x, *more))[0]  # noqa: E731
    assert wg.grad(first)(point) == pytest.approx(slope, rel=1e-14)
    if name != "zetac":
        assert np.isfinite(wg.grad(wg.grad(first))(point))


def test_legendre_functions_at_the_ends() -> None:
    """Of m = 0 the slope is v (v+1) / 2, of m = 1 infinite, of m = 2 that of ``(1 - x^2) P''``."""
    slope = wg.grad(special.lpmv, argnums=2)
    assert slope(0, 3, 1.0) == pytest.approx(6.0, rel=1e-12)
    assert slope(0, 3, -1.0) == pytest.approx(6.0, rel=1e-12)
    assert np.isinf(slope(1, 3, 1.0))
    assert slope(2, 3, 1.0) == pytest.approx(-30.0, rel=1e-12)
    assert slope(4, 5, 1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("v", range(4))
def test_legendre_functions_of_all_orders(v: int) -> None:
    for m in range(-v, v + 3):
        wg.check_grads(lambda x: special.lpmv(m, v, x), (np.array([-0.7, 0.1, 0.8]),), order=2, rtol=1e-5)  # noqa: B023


def test_scaled_airy_functions_of_large_arguments() -> None:
    for x in (9.99, 10.01, 50.0, 1e4):
        for part, function in ((0, mpmath.airyai), (2, mpmath.airybi)):
            sign = 1 if part < 2 else -1
            with mpmath.workdps(60):
                scaled = lambda x: function(x) * mpmath.exp(sign * 2 * x ** mpmath.mpf("1.5") / 3)  # noqa: B023, E731
                expected = float(mpmath.diff(scaled, mpmath.mpf(x)))
            found = wg.grad(lambda x: special.airye(x)[part])(x)  # noqa: B023
            assert found == pytest.approx(expected, rel=1e-11)


def test_refusals_name_the_function_and_the_operand() -> None:
    with pytest.raises(
        UnsupportedError, match=r"scipy\.special\.hyperu: there is no derivative by operand 0"
    ):
        wg.grad(lambda a: special.hyperu(a, 1.0, 0.5))(1.5)
    with pytest.raises(
        UnsupportedError, match=r"scipy\.special\._smirnovp: there is no derivative by operand 1"
    ):
        wg.hessian(lambda d: special.smirnov(3, d))(0.3)
    with pytest.raises(DtypeError, match=r"scipy\.special\.airye: real numbers or booleans are required"):
        wg.jvp(special.airye, (1.0 + 1j,), (1.0 + 0j,))


def test_integers_and_single_precision() -> None:
    assert wg.vjp(special.sindg, np.float32(30.0))[0].dtype == np.float32
    assert (
        wg.jvp(lambda x: special.lpmv(1, 2, x), (np.float32(0.3),), (np.float32(1.0),))[1].dtype == np.float32
    )
    np.testing.assert_allclose(
        wg.vmap(special.agm)(np.array([1, 2]), np.array([3, 4])), special.agm([1, 2], [3, 4])
    )
