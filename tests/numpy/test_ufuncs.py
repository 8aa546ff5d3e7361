from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.jit import jit
from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import LostDerivativeError
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(18)
A = RNG.uniform(-2, 2, (3, 4))
B = RNG.uniform(0.5, 2, (3, 4))
V = RNG.uniform(-2, 2, 5)

CASES: dict[str, tuple[Any, ...]] = {
    "deg2rad": (np.deg2rad, A),
    "radians": (np.radians, A),
    "rad2deg": (np.rad2deg, A),
    "degrees": (np.degrees, A),
    "conj": (lambda x: np.conj(x) + x.conj() + x.real, A),
    "divmod": (lambda x, y: np.divmod(x, y), A, B),
    "divmod operator": (lambda x, y: divmod(x, y), A, B),
    "modf": (np.modf, A),
    "ldexp": (lambda x: np.ldexp(x, [1, 2, -3, 0]), A),
    "frexp": (lambda x: np.frexp(x)[0], A),
    "float_power": (np.float_power, B, A),
    "power": (lambda x, y: x**y + x**2 + x**-1 + x**0.5 + 2**y, B, A),
    "positive": (lambda x: +x, A),
    "round": (np.round, A),
    "round decimals": (lambda x: np.round(x, 2), A),
    "around negative": (lambda x: np.around(x, -1), A * 20),
    "round method": (lambda x: x.round(1), A),
    "fix": (np.fix, A),
    "nan_to_num": (np.nan_to_num, A),
    "real": (np.real, A),
    "imag": (np.imag, A),
    "real_if_close": (np.real_if_close, A),
    "sinc": (np.sinc, A),
    "sinc near zero": (np.sinc, np.array([0.0, 1e-9, -1e-3, 0.1, 0.3183, 0.32])),
    "diff": (np.diff, A),
    "diff twice": (lambda x: np.diff(x, 2, axis=0), A),
    "diff zero times": (lambda x: np.diff(x, 0), A),
    "diff ends": (lambda x: np.diff(x, prepend=0.5, append=x[:, :1]), A),
    "diff appended": (lambda x: np.diff(x, axis=0, append=1.0), A),
    "ediff1d": (np.ediff1d, A),
    "ediff1d ends": (lambda x: np.ediff1d(x, to_end=[1.0, 2.0], to_begin=3.0), V),
    "trapezoid": (np.trapezoid, A),
    "trapezoid dx": (lambda x: np.trapezoid(x, dx=0.5, axis=0), A),
    "trapezoid x": (lambda y, x: np.trapezoid(y, x), A, np.array([0.0, 0.2, 0.7, 1.5])),
    "trapezoid x axis": (lambda y, x: np.trapezoid(y, x, axis=0), A, np.array([0.0, 0.2, 0.7])),
    "trapezoid xs": (lambda y, x: np.trapezoid(y, x, axis=0), A, np.cumsum(B, 0)),
    "gradient": (np.gradient, V),
    "gradient axes": (np.gradient, A),
    "gradient spacing": (lambda x: np.gradient(x, 0.5, axis=1), A),
    "gradient spacings": (lambda x: np.gradient(x, 0.5, 2.0), A),
    "gradient coordinates": (lambda x, c: np.gradient(x, c), V, np.array([0.0, 0.3, 1.0, 1.2, 2.0])),
    "gradient edges": (lambda x: np.gradient(x, 0.5, edge_order=2), V),
    "gradient edges, uneven": (
        lambda x, c: np.gradient(x, c, edge_order=2),
        V,
        np.array([0.0, 0.3, 1.0, 1.2, 2.0]),
    ),
    "gradient of two": (lambda x: np.gradient(x[:2]), V),
    "unwrap": (lambda x: np.unwrap(5 * x, axis=0), A),
    "unwrap period": (lambda x: np.unwrap(x, discont=1.5, period=2.0), A),
    "unwrap half a period": (lambda x: np.unwrap(np.round(2 * x) + 0 * x, period=4.0), A),
    "polyval": (np.polyval, V, A),
    "polyval number": (lambda x: np.polyval([1.0, 0.0, -2.0], x), np.array(1.5)),
    "vander": (np.vander, V),
    "vander increasing": (lambda x: np.vander(x, 3, increasing=True), V),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
TESTS = {
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "isreal": np.isreal,
    "iscomplex": np.iscomplex,
    "nan_to_num": lambda x: np.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-8.0),
    "isclose": lambda x: np.isclose(x, SPECIAL),
    "isclose nan": lambda x: np.isclose(x, SPECIAL, equal_nan=True),
    "isclose tolerance": lambda x: np.isclose(x, 1.5001, atol=1e-3),
    "round": np.round,
    "vander none": lambda x: np.vander(x, 0),
}


@pytest.mark.parametrize("name", TESTS)
def test_tests(values: Any, name: str) -> None:
    values(TESTS[name], SPECIAL)


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.nout == 1], ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_have_numpys_values_and_dtypes(values: Any, ufunc: Any) -> None:
    for dtype in ("bool", "int32", "float32", "float64"):
        operands = [np.array([1, 2, 1]).astype(dtype), np.array([1, 1, 2]).astype(dtype)][: ufunc.nin]
        try:
            with np.errstate(all="ignore"):
                ufunc(*operands)
        except TypeError:
            continue
        with np.errstate(all="ignore"):
            values(ufunc, *operands, rtol=1e-6)


def test_nan_to_num_in_place() -> None:
    box = CONSTANT.constant(SPECIAL.copy())
    assert np.nan_to_num(box, copy=False) is box
    np.testing.assert_array_equal(concrete(box), np.nan_to_num(SPECIAL))


def test_comparison_of_arrays_gives_truth_values() -> None:
    box, holes = CONSTANT.constant(A), CONSTANT.constant(SPECIAL)
    assert np.allclose(box, A) is True
    assert np.allclose(box, A + 1) is False
    assert np.array_equal(box, A) is True
    assert np.array_equal(box, A[:2]) is False
    assert np.array_equal(holes, SPECIAL) is False
    assert np.array_equal(holes, SPECIAL, equal_nan=True) is True
    assert np.array_equiv(box, A[None]) is True
    assert np.array_equiv(box, V) is False
    assert grad(lambda x: x if np.allclose(x, 2.0) else 0 * x)(2.0) == 1.0


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_sinc_at_zero_has_every_derivative(order: int) -> None:
    function = np.sinc
    for _ in range(order):
        function = grad(function)
    series = {1: 0.0, 2: -(np.pi**2) / 3, 3: 0.0, 4: np.pi**4 / 5}
    assert function(0.0) == pytest.approx(series[order], rel=1e-12, abs=1e-12)


def test_rounding_passes_no_derivative() -> None:
    assert grad(lambda x: np.round(x) + np.round(x, 1) + np.fix(x))(1.3) == 0.0
    assert jvp(np.modf, (1.3,), (1.0,))[1] == (1.0, 0.0)


def test_dtypes(values: Any) -> None:
    small = np.array([[1, 2, 4], [0, 1, 0]], np.float32)
    values(
        lambda x: (np.deg2rad(x), np.ldexp(x, 2), np.modf(x), np.sinc(x), np.round(x, 1), np.nan_to_num(x)),
        small,
        rtol=1e-6,
    )
    values(lambda x: (np.diff(x), np.gradient(x, axis=1), np.trapezoid(x), np.ediff1d(x)), small, rtol=1e-6)
    values(lambda x: (np.float_power(x, 2), np.vander(x[0])), small, rtol=1e-6)
    values(
        lambda x: (
            np.round(x),
            np.round(x, 1),
            np.diff(x),
            np.ediff1d(x),
            np.degrees(x),
            np.sinc(x),
            np.conj(x),
        ),
        small.astype(int),
    )
    values(lambda x: (np.diff(x), np.count_nonzero(x)), small > 0)
    values(lambda x: np.polyval([1, 2], x), np.arange(3))


def test_out_is_refused() -> None:
    for function in (np.round, np.fix, np.isposinf):
        with pytest.raises(LostDerivativeError, match="out= would lose"):
            function(CONSTANT.constant(A), out=np.zeros((3, 4)))


def test_modf_of_what_has_no_rest() -> None:
    x = np.array([np.inf, -np.inf, -1.0, -0.5, -0.0, 0.0, 2.5, np.nan])
    expected = np.modf(x)
    derivative = np.array([0.0, 0.0, 1, 1, 1, 1, 1, 1])
    with np.errstate(all="raise"):
        actual, tangents = wg.jvp(np.modf, (x,), (np.ones(8),))
    for parts in (actual, wg.jit(np.modf)(x)):
        for part, other in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(part, other)
            np.testing.assert_array_equal(np.signbit(part), np.signbit(other))
    np.testing.assert_array_equal(tangents[0], derivative)


# -- powers of two ---------------------------------------------------------------------------------------


def extremes(dtype: str) -> Any:
    """Return numbers of all magnitudes of a dtype: subnormal ones, zeros, infinities, NaN."""
    limits = np.finfo(dtype)
    rng = np.random.default_rng(3)
    low, high = int(limits.minexp) - int(limits.nmant), int(limits.maxexp)
    drawn = np.ldexp(rng.uniform(0.5, 1.0, 40).astype(dtype), rng.integers(low + 1, high, 40))
    ends = [0.0, np.inf, np.nan, 1.0, limits.max, limits.tiny, limits.smallest_subnormal]
    numbers = np.concatenate([np.array(ends, dtype), drawn])
    return np.concatenate([numbers, -numbers])


def exponents(dtype: str, of: str) -> Any:
    """Return integers around the exponents at which results overflow, turn subnormal and turn zero."""
    limits, widest = np.iinfo(dtype), 2 * (int(np.finfo(of).maxexp) + int(np.finfo(of).nmant))
    spread = [*range(-widest, widest, 11), *range(-3, 4), limits.min, limits.max]
    return np.unique([value for value in spread if limits.min <= value <= limits.max]).astype(dtype)


def assert_same_bits(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exponent", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ldexp_is_exact(dtype: str, exponent: str) -> None:
    x, e = extremes(dtype)[:, None], exponents(exponent, dtype)
    expected = np.ldexp(x, e)
    for actual in (
        wg.vjp(lambda x: np.ldexp(x, e), x)[0],
        jit(np.ldexp)(x, e),
        jit(lambda x: np.ldexp(x, e))(x),
        wg.vmap(np.ldexp, in_axes=(0, None))(x, e),
    ):
        assert_same_bits(actual, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_frexp_is_exact(dtype: str) -> None:
    x = extremes(dtype)
    expected = np.frexp(x)
    for actual in (wg.vjp(lambda x: np.frexp(x)[0], x)[0], jit(np.frexp)(x)[0]):
        assert_same_bits(actual, expected[0])
    np.testing.assert_array_equal(jit(np.frexp)(x)[1], expected[1])
    back = jit(lambda x: np.ldexp(*np.frexp(x)))(x)
    assert_same_bits(back, x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("size", "exponent"), [(-1000, 1050), (1000, -1100)])
def test_ldexp_has_its_derivative_where_the_power_is_no_number(size: int, exponent: int) -> None:
    backward = wg.grad(lambda x: np.ldexp(x, exponent) * 2.0**size)
    forward = wg.derivative(lambda x: np.ldexp(x * 2.0**size, exponent))
    for derivative in (backward, jit(backward), forward, jit(forward)):
        assert derivative(1.0) == 2.0 ** (size + exponent)


def test_ldexp_and_frexp_have_derivatives_of_every_order() -> None:
    assert wg.hessian(lambda x: np.ldexp(x**3, 2))(2.0) == 48.0
    assert wg.grad(lambda x: np.sum(np.frexp(x)[0] * np.frexp(x)[1]))(np.array([3.0])) == 0.5
