"""The object style in forward mode: `Dual`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert import Dual, Variable
from wengert.engine.core.errors import DtypeError, LostDerivativeError, ShapeError

FINITE = st.integers(-(2**30), 2**30).map(lambda n: n / 1024)  # no overflow or underflow in products
A = np.array([0.5, -1.5, 2.0])


def blog(x: Any, y: Any) -> Any:
    return 2 * x + x * y**3 + np.sin(x)


def test_dual_numbers_print_like_the_blog():
    assert str(blog(Dual(3, 1), Dual(5, 0))) == "381.14 + 126.01ε"
    assert str(blog(Dual(3, 0), Dual(5, 1))) == "381.14 + 225.0ε"
    assert f"{blog(Dual(3, 1), Dual(5, 0))}" == "381.14 + 126.01ε"


@pytest.mark.parametrize(
    ("real", "epsilon", "text"),
    [
        (2, -1, "2.0 - 1.0ε"),
        (-1.5, -0.25, "-1.5 - 0.25ε"),
        (0.0, 0.0, "0.0 + 0.0ε"),
        (1.0, -0.0, "1.0 - 0.0ε"),
        (1e-5, 1e20, "1e-05 + 1e+20ε"),
        (-0.004, 12345.678, "-0.004 + 12345.68ε"),
        (np.inf, -np.inf, "inf - infε"),
        (np.nan, 1.0, "nan + 1.0ε"),
        (np.array([1.0, 2.0]), np.array([0.0, -1.0]), "[1. 2.] + [ 0. -1.]ε"),
    ],
)
def test_how_duals_are_written(real, epsilon, text):
    assert str(Dual(real, epsilon)) == text


def test_formats_of_duals():
    assert f"{Dual(1.5, -2.25):.3f}" == "1.500 - 2.250ε"
    assert f"{Dual(1.5, 2.25):.1e}" == "1.5e+00 + 2.2e+00ε"
    assert repr(Dual(1.5, -2.25)) == "Dual(1.5, -2.25)"
    with pytest.raises(TypeError, match="format"):
        format(Dual(A), ".2f")


@given(a=FINITE, b=FINITE)
def test_the_square_of_epsilon_is_zero(a, b):
    x = Dual(a, b)
    square = x * x
    assert (square.real, square.epsilon) == (a * a, 2 * a * b)
    assert ((x - a) * (x - a)).epsilon == 0.0
    assert (Dual(0.0, b) ** 2).epsilon == 0.0
    assert (-x).epsilon == -b


@given(value=st.floats(0.1, 10.0), direction=st.floats(-3, 3))
def test_a_dual_carries_the_derivative(value, direction):
    def f(x: Any) -> Any:
        return np.log(x) * np.sqrt(x) / (1 + x**2)

    y = f(Dual(value, direction))
    expected, slope = wg.jvp(f, (value,), (direction,))
    assert (y.real, y.epsilon) == (expected, slope)


def test_duals_of_arrays():
    x = Dual(A, np.ones(3))
    y = np.tanh(x) * 2
    np.testing.assert_array_equal(y.real, 2 * np.tanh(A))
    np.testing.assert_allclose(y.epsilon, 2 * (1 - np.tanh(A) ** 2))
    total = np.sum(x[1:] ** 2)
    assert isinstance(total, Dual)
    assert (total.real, total.epsilon) == (np.sum(A[1:] ** 2), np.sum(2 * A[1:]))
    assert len(x) == 3
    assert [str(item) for item in x] == ["0.5 + 1.0ε", "-1.5 + 1.0ε", "2.0 + 1.0ε"]


def test_the_parts_of_a_dual():
    assert Dual(A).epsilon.tolist() == [0.0, 0.0, 0.0]
    assert Dual(A, 2).epsilon.tolist() == [2.0, 2.0, 2.0]
    assert Dual([1.0, 2.0], [1, 0]).epsilon.tolist() == [1.0, 0.0]
    assert Dual(A.astype("f4"), A).epsilon.dtype == np.float32
    assert type(Dual(3, 1).real) is type(Dual(3, 1).epsilon) is float
    given = A.copy()
    x = Dual(given, given)
    given[0] = 100.0
    np.testing.assert_array_equal(x.real, A)
    np.testing.assert_array_equal(x.epsilon, A)
    with pytest.raises(ValueError, match="read-only"):
        x.real[0] = 100.0
    with pytest.raises(AttributeError):
        x.real = 1.0


@pytest.mark.parametrize(
    ("real", "epsilon", "error"),
    [
        (A, np.ones(2), ShapeError),
        (1.0, np.ones(2), ShapeError),
        (np.array([1, 2]), 0.0, DtypeError),
        (True, 0.0, DtypeError),
        ("3", 0.0, DtypeError),
        (1.0, "1", DtypeError),
        (1j, 0.0, DtypeError),
    ],
)
def test_what_cannot_be_a_dual(real, epsilon, error):
    with pytest.raises(error, match="Dual"):
        Dual(real, epsilon)


def test_duals_keep_control_flow_and_comparisons():
    def f(x: Any) -> Any:
        while x < 100:
            x = x * x
        return x if x > 0 else -x

    assert f(Dual(3.0, 1.0)).epsilon == 8 * 3**7
    assert Dual(2.0, 5.0) == Dual(2.0, 1.0)
    assert np.argmax(Dual(A, 1.0)) == 2
    with pytest.raises(LostDerivativeError, match=r"leave x as it is"):
        float(Dual(1.0, 1.0))


def test_writes_into_a_dual():
    x = Dual(A, 1.0)
    x[0] = Dual(5.0, 7.0)
    x *= 2
    assert (x.real.tolist(), x.epsilon.tolist()) == ([10.0, -3.0, 4.0], [14.0, 2.0, 2.0])
    x //= 2.0  # locally constant
    assert (x.real.tolist(), x.epsilon.tolist()) == ([5.0, -2.0, 2.0], [0.0, 0.0, 0.0])


def test_transforms_of_duals():
    x = Dual(2.0, 1.0)
    for derive in (wg.grad, wg.derivative):
        slope = derive(lambda t: t**3)(x)
        assert (slope.real, slope.epsilon) == (12.0, 12.0)
    y = wg.vmap(lambda t: t * x)(A)
    np.testing.assert_array_equal(y.epsilon, A)
    inner = wg.grad(lambda t: t * wg.grad(lambda s: s * t)(x))(3.0)  # t · t
    assert inner == 6.0


def test_duals_of_variables():
    x = Variable(3.0)
    y = Dual(2.0, 1.0) * x**2
    y.epsilon.backward()
    assert (y.real.value, y.epsilon.value, x.grad) == (18.0, 9.0, 6.0)
    assert str(y) == "18.0 + 9.0ε"


def test_a_dual_is_pickled():
    again = pickle.loads(pickle.dumps(Dual(A, 2.0))) * Dual(A, 0.0)
    np.testing.assert_array_equal(again.epsilon, 2 * A)
