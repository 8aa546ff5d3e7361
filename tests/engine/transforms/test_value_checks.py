"""`WENGERT_CHECK` in eager transforms: the operation and the user's line that made a NaN or a subnormal number."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


@pytest.fixture(autouse=True)
def check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", "nan")


def root(x: Any) -> Any:
    shifted = x - 2.0
    return np.sum(np.sqrt(shifted))


X = np.array([1.0, 2.5, 3.0])
TRANSFORMS: dict[str, Any] = {
    "grad": wg.grad(root),
    "jvp": lambda x: wg.jvp(root, (x,), (x,)),
    "vjp": lambda x: wg.vjp(root, x),
    "hessian": wg.hessian(root),
    "laplacian": wg.laplacian(root),
    "vmap": lambda x: wg.vmap(root)(x),
    "vmap of grad": lambda x: wg.vmap(wg.grad(root))(x),
    "grad of vmap": wg.grad(lambda x: np.sum(wg.vmap(root)(x))),
    "derivative": lambda x: wg.derivative(root)(float(x[0])),
    "jit": lambda x: wg.jit(root)(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_line_that_made_a_nan_is_named(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "divide by zero")
        with pytest.raises(
            FloatingPointError, match=r"^sqrt: the result must not be NaN while WENGERT_CHECK=nan"
        ) as e:
            TRANSFORMS[name](X)
    line = root.__code__.co_firstlineno + 2
    assert str(e.value).endswith(f"[test_value_checks.py:{line}]")


def test_a_nan_that_was_there_before_passes() -> None:
    x = np.array([1.0, np.nan])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x * 2.0))(x), [2.0, 2.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x + np.nan))(np.ones(2)), [1.0, 1.0])
    rows = np.array([[1.0, np.nan], [np.nan, 1.0]])
    np.testing.assert_array_equal(wg.vmap(lambda row: row[0] * row)(rows), rows[:, :1] * rows)
    np.testing.assert_array_equal(wg.vmap(lambda row: row * x)(np.ones((2, 2))), [x, x])


def test_elements_are_checked_one_by_one() -> None:
    with pytest.raises(FloatingPointError, match=r"^sqrt"):
        wg.grad(lambda x: np.sum(np.sqrt(x)))(np.array([np.nan, -1.0]))


def test_rules_that_are_transposed_have_no_numbers_to_check() -> None:
    @wg.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, cotangent: (2.0 * x * cotangent,))
    assert wg.jvp(square, (3.0,), (1.0,)) == (9.0, 6.0)


def test_subnormal_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", "subnormal")
    with pytest.raises(FloatingPointError, match=r"^multiply: the result must not be subnormal"):
        wg.grad(lambda x: x * 1e-10)(1e-300)


def test_without_the_variable_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WENGERT_CHECK")
    with np.errstate(all="ignore"):
        assert np.isnan(wg.grad(root)(X)[0])
