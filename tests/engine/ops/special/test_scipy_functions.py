"""SciPy's special functions on boxes: every transform, derivatives, the parameters without one, and late imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from scipy.special import _ufuncs  # where SciPy keeps its ufuncs

import wengert as wg
import wengert.special as special
from tests.compiler.comparing import check
from wengert.engine.core import tree
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.engine.ops.special.table import IN_TABLE
from wengert.testing import check_grads

X = np.array([0.3, 0.45, 0.7, 0.62])
ORDERS = np.array([1.0, 2.0, 3.0, 2.5])

#: The arguments of functions of several; for the others `X`.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("jv", "jn", "yv", "iv", "kv", "ive", "kve", "struve", "hyp0f1", "gammainc", "gammaincc"), (ORDERS, X)
    ),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "stdtr", "stdtrit"), (ORDERS, X)),
    **dict.fromkeys(("yn", "kn"), (np.array([1, 2, 3, 2]), X)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv", "hyp1f1"), (ORDERS, 2.0, X)),
    **dict.fromkeys(("beta", "betaln", "rel_entr", "kl_div", "xlogy", "xlog1py"), (ORDERS, X)),
    **dict.fromkeys(("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "powm1"), (X, ORDERS)),
    **dict.fromkeys(("huber", "pseudo_huber", "owens_t"), (X, ORDERS)),
    **dict.fromkeys(("_log1mexp", "ndtri_exp"), (-6 * X,)),
    "hyp2f1": (ORDERS, 2.0, 1.5, X),
    **dict.fromkeys(("chdtr", "chdtrc", "chdtri", "stdtr", "stdtrit", "poch", "binom"), (ORDERS, X)),
    **dict.fromkeys(("fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc"), (ORDERS, 3.0, X)),
    **dict.fromkeys(("pdtr", "pdtrc", "pdtri", "expn"), (np.array([1, 2, 0, 3]), X)),
    **dict.fromkeys(("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"), (np.array([1, 2, 0, 3]), 4, X)),
    "_zeta": (ORDERS + 1, X),
    **{
        f"_spherical_{kind}n{suffix}": (np.array([0, 1, 2, 5]), X) for kind in "jyik" for suffix in ("", "_d")
    },
    "voigt_profile": (X, ORDERS, X[::-1].copy()),
    **dict.fromkeys(("ellipkinc", "ellipeinc", "ellipj", "elliprc"), (ORDERS, X)),
    **dict.fromkeys(("elliprd", "elliprf", "elliprg"), (ORDERS, 2.0, X)),
    "elliprj": (ORDERS, 2.0, 1.5, X),
    "eval_jacobi": (np.array([0, 1, 2, 3]), 1.5, 0.5, X),
    "eval_gegenbauer": (np.array([0, 1, 2, 3]), 1.5, X),
    "eval_genlaguerre": (np.array([0, 1, 2, 3]), 1.5, X),
    **{
        f"eval_{name}": (np.array([0, 1, 2, 3]), X)
        for name in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre")
    },
}
#: Their results are complex: tests of their own.
OF_COMPLEX = {"_lambertw", "wofz", "hankel1", "hankel1e", "hankel2", "hankel2e"}
NAMES = sorted(
    name
    for name in BY_NAME
    if isinstance(getattr(_ufuncs, name, None), np.ufunc) and name not in OF_COMPLEX | IN_TABLE
)


def call(name: str) -> tuple[Callable[[Any], Any], Any]:
    """Return the function of its last argument, and that argument."""
    ufunc, arguments = getattr(_ufuncs, name), ARGUMENTS.get(name, (X,))
    return lambda x: ufunc(*arguments[:-1], x), arguments[-1]


def assert_close(actual: Any, expected: Any) -> None:
    for found, reference in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-12, atol=1e-14)


def test_the_table_has_the_functions_of_most_use() -> None:
    names = """
    gamma gammaln loggamma psi beta betaln betainc betaincinv gammainc gammaincc gammaincinv erf erfc erfcx
    erfi erfinv erfcinv ndtr log_ndtr ndtri expit logit log_expit xlogy xlog1py entr rel_entr kl_div expm1
    log1p cosm1 exprel exp2 exp10 boxcox inv_boxcox huber pseudo_huber jv yv iv kv j0 j1 y0 y1 i0 i0e i1 i1e
    k0 k1 _spherical_jn voigt_profile hyp1f1 hyp2f1 ellipk ellipe airy sici expi exp1 struve dawsn fresnel
    eval_legendre eval_chebyt eval_hermite eval_laguerre
    """
    assert set(names.split()) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scipys_own_functions_work_in_every_transform(name: str) -> None:
    function, x = call(name)
    expected = function(x)
    assert_close(wg.jvp(function, (x,), (x,))[0], expected)
    assert_close(wg.vjp(function, x)[0], expected)
    if name not in ARGUMENTS:
        twice = tree.map_tree(lambda value: np.stack([value, value]), expected)
        assert_close(wg.vmap(function)(np.stack([x, x])), twice)
    check_grads(function, (x,), order=2, rtol=1e-5)


@pytest.mark.parametrize("kind", ["jn", "yn", "in", "kn"])
@pytest.mark.parametrize("derivative", [False, True])
def test_spherical_bessel_functions(kind: str, derivative: bool) -> None:
    orders, x = np.array([0, 1, 2, 5]), np.array([0.5, 1.4, 4.2, 0.21])
    theirs, ours = (getattr(module, f"spherical_{kind}") for module in (scipy.special, wg.special))

    def in_program(x: Any) -> Any:
        return theirs(orders, x, derivative)

    np.testing.assert_allclose(wg.vjp(in_program, x)[0], in_program(x), rtol=1e-12)
    check_grads(in_program, (x,), order=2, rtol=1e-5)
    check_grads(lambda x: ours(orders, x, derivative), (-x,), order=2, rtol=1e-5)
    with np.errstate(all="ignore"):  # reflected in the complex plane, also by old versions of SciPy
        reflected = theirs(orders, -x + 0j, derivative).real
    np.testing.assert_allclose(ours(orders, -x, derivative), reflected, rtol=1e-8)


def test_spherical_bessel_functions_at_zero() -> None:
    assert wg.grad(lambda x: scipy.special.spherical_jn(1, x))(0.0) == pytest.approx(1 / 3)
    assert wg.grad(lambda x: scipy.special.spherical_in(1, x))(0.0) == pytest.approx(1 / 3)


@pytest.mark.skipif(not hasattr(scipy.special, "sph_harm_y"), reason="SciPy 1.15 brought it")
def test_spherical_harmonics() -> None:
    draw = np.random.default_rng(4)
    n, m = draw.integers(0, 9, 40), draw.integers(-10, 11, 40)
    theta, phi = draw.uniform(-np.pi, 2 * np.pi, 40), draw.uniform(0.0, 2 * np.pi, 40)
    found = special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(found, scipy.special.sph_harm_y(n, m, theta, phi), rtol=1e-12, atol=1e-13)

    def program(theta: Any, phi: Any) -> Any:
        value = scipy.special.sph_harm_y(n, m, theta, phi)
        return np.sum(value.real + 2.0 * value.imag)

    check_grads(program, (theta, phi), order=2, rtol=1e-5)
    slopes = wg.grad(program, (0, 1))(theta, phi)
    np.testing.assert_allclose(wg.jit(wg.grad(program, (0, 1)))(theta, phi), slopes, rtol=1e-11, atol=1e-12)
    with pytest.raises(wg.errors.ArgumentError, match="diff_n must be 0"):
        special.sph_harm_y(1, 0, 0.3, 0.2, diff_n=1)


@pytest.mark.parametrize("pole", [0.0, np.pi])
def test_spherical_harmonics_at_the_poles(pole: float) -> None:
    for m in range(-3, 4):
        first = wg.grad(lambda theta: special.sph_harm_y(3, m, theta, 0.2).real)  # noqa: B023
        step = 1e-4 if pole == 0.0 else -1e-4  # into the interval of polar angles
        difference = (-3 * first(pole) + 4 * first(pole + step) - first(pole + 2 * step)) / (2 * step)
        assert wg.grad(first)(pole) == pytest.approx(difference, rel=1e-6, abs=1e-5)


def test_lambert_w() -> None:
    x = np.array([0.3, 2.0, 40.0, -0.2])
    check_grads(lambda x: scipy.special.lambertw(x).real, (x,), order=2)
    check_grads(lambda x: scipy.special.lambertw(-0.1 * x * x, -1).real, (np.array([0.4, 1.0]),), order=2)
    check_grads(lambda x: scipy.special.lambertw(x + 1j, [1, -1, 0, 2]).imag, (x,), order=2)
    assert wg.grad(lambda x: scipy.special.lambertw(x).real)(0.0) == 1.0
    w, slope = wg.vmap(lambda x: wg.jvp(lambda x: scipy.special.lambertw(x).real, (x,), (1.0,)))(x)
    np.testing.assert_allclose(w * np.exp(w), x, rtol=1e-12)
    np.testing.assert_allclose(slope, w / (x * (1 + w)), rtol=1e-12)
    check(wg.grad(lambda x: np.sum(scipy.special.lambertw(x).real)), x, ulp=100.0, scale=1.0)


def test_owens_t_and_the_inverse_of_the_logarithm_of_the_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    h, a = 4 * rng.normal(size=500), rng.normal(size=500) * np.exp(2 * rng.normal(size=500))
    expected = scipy.special.owens_t(h, a)
    np.testing.assert_allclose(wg.jit(scipy.special.owens_t)(h, a), expected, rtol=1e-11, atol=1e-17)
    slopes = wg.grad(scipy.special.owens_t, argnums=(0, 1))(0.0, 0.0)
    np.testing.assert_allclose(slopes, (0.0, 0.5 / np.pi))
    curvature = wg.hessian(lambda h: scipy.special.owens_t(h, 3.0))(
        0.0
    )  # dT/dh = -erf(a h / sqrt 2) phi(h) / 2
    assert curvature == pytest.approx(-3.0 / (2 * np.pi))
    y = -np.concatenate([np.logspace(-300, 5, 500), [0.5, 5.0]])
    found = wg.jit(scipy.special.ndtri_exp)(y)
    np.testing.assert_allclose(found, scipy.special.ndtri_exp(y), rtol=1e-11)
    slopes = np.exp(y + 0.5 * found * found + 0.5 * np.log(2 * np.pi))  # Phi / phi
    np.testing.assert_allclose(wg.vmap(wg.grad(scipy.special.ndtri_exp))(y)[1:], slopes[1:], rtol=1e-7)


def test_voigt_profile() -> None:
    x, sigma, gamma = np.array([0.3, -2.0, 4.0]), np.array([0.5, 1.0, 2.0]), np.array([1.5, 0.1, 0.7])
    check_grads(scipy.special.voigt_profile, (x, sigma, gamma), order=2, rtol=1e-5)
    for parameters in ((0 * sigma, gamma), (sigma, 0 * gamma), (sigma, gamma)):
        value, slope = wg.jvp(lambda x, p=parameters: scipy.special.voigt_profile(x, *p), (x,), (np.ones(3),))
        np.testing.assert_allclose(value, scipy.special.voigt_profile(x, *parameters), rtol=1e-12)
        step = 1e-6
        above, below = (scipy.special.voigt_profile(x + moved, *parameters) for moved in (step, -step))
        np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-7, atol=1e-9)


def test_the_faddeeva_function() -> None:
    z = np.array([0.3 + 0.2j, -1.0 + 2.0j, 2.5 - 0.4j])
    check_grads(scipy.special.wofz, (z,), order=2, rtol=1e-5)
    np.testing.assert_allclose(
        wg.grad(lambda x: scipy.special.wofz(x).imag)(0.0), 2 / np.sqrt(np.pi), rtol=1e-14
    )


@pytest.mark.parametrize("name", ["gammaln", "j0", "ndtr", "airy", "betainc", "eval_legendre", "kl_div"])
def test_compiled(name: str) -> None:
    function, x = call(name)
    check(function, x, ulp=20.0)
    check(wg.grad(lambda x: np.sum(np.sin(np.stack(function(x))))), x, ulp=200.0, scale=1.0)


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    for function in (
        scipy.special.gamma,
        scipy.special.j0,
        scipy.special.ndtr,
        lambda x: scipy.special.fresnel(x)[1],
    ):
        assert function(x).dtype == wg.jvp(function, (x,), (x,))[1].dtype == np.float32


def test_both_parameters() -> None:
    check_grads(scipy.special.poch, (X, ORDERS))
    check_grads(scipy.special.binom, (ORDERS + 2, X))
    check_grads(scipy.special.gdtr, (X, ORDERS, X[::-1].copy()))


@pytest.mark.parametrize(
    "name", ["beta", "betaln", "gammainc", "gammaincc", "gammaincinv", "gammainccinv", "stdtr", "stdtrit"]
)
def test_first_parameters(name: str) -> None:
    check_grads(getattr(scipy.special, name), (ORDERS, X), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", ["betainc", "betaincc", "betaincinv", "betainccinv"])
def test_both_parameters_of_incomplete_beta_functions(name: str) -> None:
    check_grads(getattr(scipy.special, name), (ORDERS, np.array([0.6, 1.7, 2.0, 0.9]), X), order=2, rtol=1e-4)


ALL_PARAMETERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("jv", "yv", "iv", "kv", "ive", "kve"), (ORDERS, 1.0 + X)),
    "hyp1f1": (ORDERS, np.array([0.6, 1.7, 2.0, 0.9]), 2 * X - 1),
    "hyp2f1": (ORDERS, np.array([0.6, 1.7, 2.0, 0.9]), np.array([1.1, 0.8, 3.0, 2.2]), 2 * X - 1),
    "zeta": (1.0 + ORDERS, 0.5 + X),
}


@pytest.mark.parametrize("name", ALL_PARAMETERS)
def test_orders_and_parameters(name: str) -> None:
    function, operands = getattr(scipy.special, name), ALL_PARAMETERS[name]
    check_grads(function, operands, order=1, rtol=1e-5)
    in_argument = wg.grad(lambda *xs: np.sum(function(*xs)), argnums=len(operands) - 1)
    check_grads(in_argument, operands, order=1, rtol=1e-5)  # mixed second derivatives
    with pytest.raises(UnsupportedError, match="there is no derivative by operand 0"):
        wg.hessian(lambda v: np.sum(function(v, *operands[1:])))(operands[0])


def test_the_slope_of_students_distribution_in_its_tails() -> None:
    """Against differences in many digits of the incomplete beta function."""
    for df, t in ((2.5, 1e-4), (2.5, 0.5), (2.5, -3.0), (0.7, 40.0), (30.0, 9.0)):
        with mpmath.workdps(50):

            def tail(df: Any, t: float = t) -> Any:
                return mpmath.betainc(df / 2, 0.5, 0, df / (df + mpmath.mpf(t) ** 2), regularized=True) / 2

            expected = -float(np.sign(t) * mpmath.diff(tail, mpmath.mpf(df)))
        assert wg.grad(scipy.special.stdtr)(df, t) == pytest.approx(expected, rel=1e-9)


def test_a_parameter_without_a_derivative_raises_only_where_it_is_asked_for() -> None:
    orders = wg.vmap(lambda v: scipy.special.struve(v, 0.5))(ORDERS)
    np.testing.assert_allclose(orders, scipy.special.struve(ORDERS, 0.5))
    np.testing.assert_allclose(wg.jit(scipy.special.gammainc)(ORDERS, X), scipy.special.gammainc(ORDERS, X))
    for transform in (wg.grad, wg.derivative):
        with pytest.raises(
            UnsupportedError, match=r"scipy\.special\.struve: there is no derivative by operand 0"
        ):
            transform(lambda v: scipy.special.struve(v, 0.5))(1.5)


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
        ("dawsn", lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)),
        ("log_ndtr", lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)),
        ("ellipk", mpmath.ellipk),
        ("ellipe", mpmath.ellipe),
        ("exprel", lambda x: mpmath.expm1(x) / x),
    ],
)
def test_slopes_do_not_cancel(name: str, exact: Any) -> None:
    points = (
        [-0.95, -0.05, 1e-3, 0.099, 0.5, 0.9]
        if name.startswith("ellip")
        else [-300.0, -12.1, -8.0, -0.05, 0.3, 5.0, 11.9, 40.0, 300.0]
    )
    for x in points:
        with mpmath.workdps(60):
            expected = float(mpmath.diff(exact, mpmath.mpf(x)))
        if np.isfinite(expected):
            found = wg.grad(getattr(scipy.special, name))(x)
            assert abs(found - expected) <= 2e-12 * abs(expected), (x, found, expected)


def test_wengert_imports_no_scipy() -> None:
    program = (
        "import sys, wengert as wg, numpy as np; wg.jit(wg.grad(lambda x: np.sum(np.sin(x))))(np.ones(3)); "
    )
    subprocess.run([sys.executable, "-c", program + "assert 'scipy' not in sys.modules"], check=True)


EXTREMES = np.array([-np.inf, -2.0, -0.5, -0.0, 0.0, 0.25, 1.0, 3.0, np.inf, np.nan])


@pytest.mark.parametrize(
    "name", ["boxcox", "huber", "kl_div", "pseudo_huber", "rel_entr", "xlogy", "xlog1py"]
)
def test_values_at_the_ends_are_scipys(name: str) -> None:
    function = getattr(scipy.special, name)
    first, second = (grid.ravel() for grid in np.meshgrid(EXTREMES, EXTREMES))
    infinite = ~np.isfinite(first) & ("huber" in name) | ~np.isfinite(second) & (
        name == "boxcox"
    )  # no limit exists
    with np.errstate(all="ignore"):
        expected = function(first, second)
        found, _ = wg.vjp(lambda x: function(first, x), second)
    np.testing.assert_allclose(found[~infinite], expected[~infinite], rtol=1e-13)


@pytest.mark.parametrize("name", ["exprel", "loggamma", "entr", "expit", "log_ndtr", "erf"])
def test_values_at_the_ends_of_functions_of_one_argument(name: str) -> None:
    function = getattr(scipy.special, name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.vjp(function, EXTREMES)[0], function(EXTREMES), rtol=1e-13)


def test_integers_are_converted_first() -> None:
    for function in (
        scipy.special.huber,
        scipy.special.pseudo_huber,
        scipy.special.xlogy,
        scipy.special.kl_div,
    ):
        x, y = np.array([3, 4_000_000_000]), np.array([2.0, 7.0], np.float32)
        expected = function(x, y)
        found = wg.vmap(function)(x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_slopes_by_the_exponent_of_inv_boxcox() -> None:
    """Of (1 + l y)^(1/l) the slope by l at 0 is -y^2/2 e^y."""
    y = np.array([-0.3, 0.0, 0.5, 3.0])
    for exponent in (0.0, 1e-12, -1e-9):
        slopes = wg.jvp(lambda l: scipy.special.inv_boxcox(y, l), (exponent,), (1.0,))[1]  # noqa: E741
        np.testing.assert_allclose(slopes, -0.5 * y**2 * np.exp(y), rtol=1e-7, atol=1e-14)
    ends = np.array([np.inf, -np.inf])
    np.testing.assert_array_equal(wg.vmap(lambda y: scipy.special.inv_boxcox(y, 0.0))(ends), [np.inf, 0.0])


@pytest.mark.parametrize("name", ["i0e", "i1e", "k0e", "k1e"])
def test_scaled_bessel_functions_of_large_arguments_have_slopes(name: str) -> None:
    x = 1e10
    expected = -0.5 * getattr(scipy.special, name)(x) / x
    assert wg.grad(getattr(scipy.special, name))(x) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "betaln", "stdtr", "xlogy", "kl_div"])
def test_unsigned_integers_beyond_int64_count_as_their_values(name: str) -> None:
    large, function = np.uint64(2**63 + 2**40), getattr(scipy.special, name)
    found = wg.value_and_grad(lambda x: function(x, large))(0.5)
    expected = wg.value_and_grad(lambda x: function(x, float(large)))(0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(found[0], function(0.5, float(large)), rtol=1e-12)


@pytest.mark.parametrize("change", [lambda f: f, wg.jit])
def test_slopes_of_the_gamma_density_at_its_end_and_beside_it(change):
    """Of ``x^(a-1) e^-x / Gamma(a)`` at 0, from above, and beside 0, where quotients by x overflow."""
    second = change(wg.derivative(wg.derivative(scipy.special.gammainc, 1), 1))
    for a, slope in ((0.5, -np.inf), (1.0, -1.0), (1.5, np.inf), (2.0, 1.0), (3.0, 0.0)):
        assert second(a, 0.0) == slope
        if a != 1.5:  # which has the slope 1e155 there
            assert second(a, 1e-310) == pytest.approx(slope, rel=1e-12, abs=1e-150)
    first = change(wg.derivative(scipy.special.gammainc, 1))
    assert first(1e300, 1e-300) == 0.0
    assert first(1.0, 5e-324) == pytest.approx(1.0)
