"""`check_grads` accepts correct derivatives and finds wrong ones: in each mode, at each order, in any element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.boxes import Box
from wengert.engine.core.errors import ArgumentError, DtypeError
from wengert.testing import GradientError, check_grads

X = np.array([[0.3, -1.2], [0.7, 2.0]])


def with_jvp(rule: Any) -> Any:
    """Return the sine with a forward rule of its own."""

    @wg.custom_jvp
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.defjvp(lambda primals, tangents: (np.sin(primals[0]), rule(primals[0]) * tangents[0]))
    return sine


def with_vjp(rule: Any) -> Any:
    """Return the sine with a reverse rule of its own."""

    @wg.custom_vjp
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.defvjp(lambda x: (np.sin(x), x), lambda x, cotangent: (rule(x) * cotangent,))
    return sine


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "fun",
    [
        np.sin,
        lambda x: np.sum(np.exp(x) * x),
        lambda x: {"a": np.tanh(x), "b": (x[0] * x[1], x[0].sum())},
        with_jvp(np.cos),
    ],
)
def test_right_derivatives_pass(fun, order):
    check_grads(fun, (X,), order=order)


@pytest.mark.parametrize(
    ("dtype", "order"), [(np.float64, 3), (np.float32, 2), (np.float16, 1)], ids=["f8", "f4", "f2"]
)
def test_dtypes_have_tolerances_of_their_own(dtype, order):
    check_grads(lambda x, s: np.sum(np.sin(x) * s), (X.astype(dtype), dtype(0.5)), order=order)


def test_the_coarsest_dtype_decides():
    check_grads(lambda x, y: np.sum(np.sin(x) * y), (X.astype("f4"), X))
    check_grads(lambda x: np.sin(x.astype("f4")), (X,))


def test_containers_numbers_and_integer_outputs():
    check_grads(lambda p, y: p["a"] * y[0] ** 2 - p["b"], ({"a": 2.0, "b": X}, [3.0]))
    check_grads(lambda x: (np.sum(x**2), np.argmax(x)), (X,))


def test_a_wrong_forward_rule_is_found():
    wrong = with_jvp(lambda x: 1.001 * np.cos(x))
    with pytest.raises(GradientError, match="jvp of f against differences"):
        check_grads(wrong, (X,), modes=["fwd"])
    with pytest.raises(AssertionError, match="vjp of f: "):
        check_grads(wrong, (X,), modes=["rev"])


def test_a_wrong_reverse_rule_is_found_without_forward_mode():
    check_grads(with_vjp(np.cos), (X,), modes=["rev"])
    with pytest.raises(GradientError, match="vjp of f: <J"):
        check_grads(with_vjp(lambda x: np.cos(x) + 1e-4), (X,), modes=["rev"])


def test_one_wrong_element_is_found_and_named():
    off = np.zeros_like(X)
    off[1, 0] = 1e-3
    with pytest.raises(GradientError, match=r"for .* at \[1, 0\], off by"):
        check_grads(with_jvp(lambda x: np.cos(x) + off), (X,), order=1)


@pytest.mark.parametrize(
    ("modes", "says"), [(("fwd",), "jvp of the jvp of f"), (("rev",), "vjp of the vjp of f")]
)
def test_a_wrong_second_derivative_is_found(modes, says):
    # A rule with a correct value that loses its own derivative.
    frozen = with_jvp(lambda x: wg.stop_gradient(np.cos(x)))
    check_grads(frozen, (X,), order=1, modes=modes)
    with pytest.raises(GradientError, match=says):
        check_grads(frozen, (X,), order=2, modes=modes)


def test_a_kink_is_found():
    with pytest.raises(GradientError, match="off by"):
        check_grads(np.abs, (np.array([1.0, 1e-4]),))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_does_not_pass(value):
    with pytest.raises(GradientError, match="nan"):
        check_grads(lambda x: x * value, (1.0,), order=1)


def test_tolerances_step_and_seed_are_heard():
    wrong = with_jvp(lambda x: 1.001 * np.cos(x))
    check_grads(wrong, (X,), order=1, rtol=1e-2)
    check_grads(wrong, (X,), order=1, rtol=0.0, atol=1e-2)
    with pytest.raises(GradientError, match=r"rtol=0, atol=1e-09"):
        check_grads(np.sin, (X,), order=1, rtol=0.0, atol=1e-9, eps=0.1)
    directions: list[Any] = []

    def note(x: Any) -> Any:
        if not isinstance(x, Box):
            directions.append(x.copy())
        return np.sum(x)

    for seed in (0, 0, 1):
        check_grads(note, (X,), order=1, seed=seed)
    first, same, other = np.split(np.array(directions), 3)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "says"),
    [
        (1.0, {}, ArgumentError, "args must be a tuple"),
        (X, {}, ArgumentError, "args must be a tuple"),
        ((), {}, ArgumentError, "at least one number"),
        (({},), {}, ArgumentError, "at least one number"),
        ((X,), {"order": 0}, ArgumentError, "order >= 1"),
        ((X,), {"modes": "fwd"}, ArgumentError, "modes must be"),
        ((X,), {"modes": ()}, ArgumentError, "modes must be"),
        ((X,), {"modes": ("forward",)}, ArgumentError, "modes must be"),
        ((1,), {}, DtypeError, "floating-point"),
    ],
)
def test_what_cannot_be_checked(arguments, options, error, says):
    with pytest.raises(error, match=says):
        check_grads(np.sin, arguments, **options)


def test_inside_a_transform():
    with pytest.raises(ArgumentError, match="outside of transforms"):
        wg.grad(lambda x: check_grads(lambda y: x * y, (2.0,)))(1.0)
