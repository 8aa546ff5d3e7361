from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import WengertError

RNG = np.random.default_rng(62)
P, Q = RNG.uniform(-2, 2, 4), RNG.uniform(-2, 2, 2)
X = np.linspace(-1, 2, 7)
Y, ROWS, W = RNG.uniform(-1, 1, 7), RNG.uniform(-1, 1, (7, 2)), RNG.uniform(0.5, 1, 7)

CASES: dict[str, tuple[Any, ...]] = {
    "polyadd": (np.polyadd, P, Q),
    "polyadd number": (np.polyadd, P, np.array(2.0)),
    "polysub": (np.polysub, Q, P),
    "polyder": (np.polyder, P),
    "polyder twice": (lambda p: np.polyder(p, 2), P),
    "polyder to nothing": (lambda p: np.polyder(p, 5), P),
    "polyint": (np.polyint, P),
    "polyint constants": (lambda p, k: np.polyint(p, 2, k), P, Q),
    "polyint constant": (lambda p: np.polyint(p, 3, 1.5), P),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), X, Y),
    "polyfit rows": (lambda y: np.polyfit(X, y, 3), ROWS),
    "polyfit weights": (lambda y, w: np.polyfit(X, y, 1, w=w), Y, W),
    "polyfit rows with weights": (lambda y: np.polyfit(X, y, 1, w=W), ROWS),
    "polyfit full": (lambda y: np.polyfit(X, y, 2, full=True)[:4], Y),
    "polyfit cov": (lambda y: np.polyfit(X, y, 2, cov=True), Y),
    "polyfit cov rows": (lambda y: np.polyfit(X, y, 1, cov=True), ROWS),
    "polyfit cov unscaled": (lambda x: np.polyfit(x, Y, 1, cov="unscaled"), X),
    "polyfit cov unscaled rows": (lambda x: np.polyfit(x, ROWS, 1, cov="unscaled"), X),
}


@pytest.mark.parametrize("name", CASES)
def test_polynomials(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments, rtol=1e-9)


def test_dtypes(values: Any) -> None:
    for dtype in (np.float32, np.int64, np.int8):
        values(lambda p: (np.polyder(p), np.polyint(p), np.polyadd(p, p[:2])), np.arange(4).astype(dtype))
        values(lambda y: np.polyfit(np.arange(4), y, 1), np.array([1, 3, 2, 5], dtype), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda p: np.polyder(p, -1), "polyder: the order must not be negative; got -1"),
        (lambda p: np.polyint(p, -1), "polyint: the order must not be negative; got -1"),
        (lambda p: np.polyint(p, 3, [1.0, 2.0]), "polyint: one constant or one for each of m"),
        (lambda p: np.polyfit(p, p[:3], 1), "polyfit: points x, as many values"),
        (lambda p: np.polyfit(p, p, -1), "polyfit: .* a degree that is not negative"),
        (lambda p: np.polyfit(p, p, 1, w=p[:2]), "polyfit: one weight for each point"),
        (lambda p: np.polyfit(p, p, 3, cov=True), "polyfit: a covariance needs more points"),
    ],
)
def test_errors_name_the_operation(call: Any, text: str) -> None:
    with pytest.raises(WengertError, match=text):
        wg.jit(call)(P)


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_what_counts_as_rounding_is_told_by_the_dtype_of_x(agrees: Any, dtype: str) -> None:
    x, y = np.arange(60, 64).astype(dtype), np.array([1.0, 3.0, 2.0, 5.0])

    def fitted(x: Any) -> Any:
        fitted, _, rank, values, rcond = np.polyfit(x, y, 2, full=True)
        return fitted, rank, values, rcond

    agrees(fitted, x, rtol=1e-6)
    agrees(lambda y: np.polyfit(x, y, 2), y, rtol=1e-6)


@pytest.mark.parametrize("count", [None, 0, -1, 1, 3, np.int8(4)])
@pytest.mark.parametrize("increasing", [False, True])
def test_vander_has_as_many_columns_as_asked_for(agrees: Any, count: Any, increasing: bool) -> None:
    agrees(lambda x: np.vander(x, count, increasing=increasing), P)


# -- products, quotients, zeros --------------------------------------------------------------------------

P, Q = np.array([2.0, -1.0, 0.5, 3.0]), np.array([1.5, 0.25])


def test_products_and_quotients(check: Any) -> None:
    check(np.polymul, P, Q)
    check(np.polydiv, P, Q)
    check(lambda p, q: np.polydiv(q, p), P, Q)
    check(lambda p: (np.polymul(p, 2.0), np.polydiv(p, 2.0), np.polydiv(p, p[:1])), P)
    check(np.poly, P)


def test_leading_zeros_are_left_out() -> None:
    p = np.array([0.0, 0.0, 2.0, 1.0])
    for function in (
        lambda p: np.polymul(p, Q),
        lambda p: np.polydiv(np.polymul(p, Q), p[2:]),
        np.poly1d(Q).__mul__,
    ):
        actual, expected = wg.vjp(lambda p, f=function: _coefficients(f(p)), p)[0], _coefficients(function(p))
        for value, other in zip(np.atleast_1d(*actual), np.atleast_1d(*expected), strict=True):
            np.testing.assert_allclose(value, other, atol=1e-15)


def _coefficients(result: Any) -> tuple[Any, ...]:
    parts = result if isinstance(result, tuple) else (result,)
    return tuple(part.c if isinstance(part, np.poly1d) else part for part in parts)


def test_the_characteristic_polynomial(check: Any) -> None:
    matrix = RNG.normal(size=(3, 3))
    check(np.poly, matrix, order=1, rtol=1e-10)
    turn = np.array([[0.0, -1.0], [1.0, 0.5]])  # complex eigenvalues
    check(np.poly, turn, rtol=1e-10)
    np.testing.assert_allclose(wg.jit(np.poly)(turn), np.poly(turn))


POLYNOMIALS = {
    "value": lambda p, q: np.poly1d(p)(q),
    "sum": lambda p, q: (np.poly1d(p) + np.poly1d(q)).c,
    "difference": lambda p, q: (np.poly1d(p) - 1.0).coeffs,
    "product": lambda p, q: (np.poly1d(p) * np.poly1d(q))(0.5),
    "scaled": lambda p, q: (2.0 * np.poly1d(p) * q[0])(0.5),
    "power": lambda p, q: (np.poly1d(p) ** 2)(0.5),
    "derivative": lambda p, q: np.poly1d(p).deriv(2)(q),
    "integral": lambda p, q: np.poly1d(p).integ(k=q[0]).c,
    "of zeros": lambda p, q: np.poly1d(p, True)(q),
    "of one": lambda p, q: np.poly1d(p[0])(q),
    "coefficient": lambda p, q: np.poly1d(p)[1] * q,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_numpys_class_of_polynomials(check: Any, name: str) -> None:
    check(POLYNOMIALS[name], P, Q)
    check(lambda p: POLYNOMIALS[name](p, Q), P, order=1)


@pytest.mark.skipif("axis" not in inspect.signature(np.trim_zeros).parameters, reason="NumPy's has no axis")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_trimmed_matrices(axis: Any) -> None:
    x = np.zeros((5, 4))
    x[1:3, 2] = [2.0, 3.0]
    for trim in ("fb", "f", "b"):
        trimmed = wg.vjp(lambda x, t=trim: np.trim_zeros(x, t, axis), x)[0]
        np.testing.assert_array_equal(trimmed, np.trim_zeros(x, trim, axis))
