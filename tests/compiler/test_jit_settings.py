"""The settings of `jit`: which arguments are fixed or given up, and what tells fixed values apart."""

from __future__ import annotations

import dataclasses
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same
from wengert.engine.core.errors import ArgumentError
from wengert.engine.core.tree import static

X = np.linspace(-1.0, 1.0, 7)


def test_options_before_the_function() -> None:
    @wg.jit(static_argnums=1, donate=0)
    def power(x: Any, exponent: int) -> Any:
        return x**exponent

    given = np.full(3, 2.0)
    np.testing.assert_array_equal(power(given, 3), np.full(3, 8.0))
    with pytest.raises(ArgumentError, match="belongs to the result of that call"):
        power(given, 3)
    assert wg.jit()(np.sum)(X) == pytest.approx(np.sum(X))


def test_static_arguments_by_name() -> None:
    @wg.jit(static_argnames=("mode", "power"))
    def function(x: Any, power: int = 1, *, mode: str = "sum", scale: Any = 1.0) -> Any:
        return getattr(np, mode)(x**power) * scale

    for _ in range(2):
        assert function(X) == pytest.approx(X.sum())
        assert function(X, 2, mode="max") == pytest.approx(1.0)
        assert function(X, mode="min", scale=2.0, power=3) == pytest.approx(-2.0)
        assert function(X, scale=2.0, mode="min") == pytest.approx(-2.0)
    with pytest.raises(ArgumentError, match="a static argument must be hashable; got list"):
        function(X, mode=["sum"])  # pyright: ignore[reportArgumentType]
    assert wg.jit(lambda x, **rest: x * rest["k"], static_argnames="k")(3.0, k=2) == 6.0


def test_settings_that_python_calls_equal_are_told_apart() -> None:
    @dataclasses.dataclass
    class Scaled:
        x: Any
        factor: Any = static(1)

    compiled, x = wg.jit(lambda scaled: scaled.x * scaled.factor), np.array([True, False])
    for _ in range(2):
        for factor in (1, 1.0, True, 0.0, -0.0):
            found, expected = compiled(Scaled(x, factor)), x * factor
            assert (str(found), found.dtype) == (str(expected), expected.dtype)
    with pytest.raises(ArgumentError, match="settings of dataclasses and keys of dicts must be hashable"):
        compiled(Scaled(x, [1]))


@dataclasses.dataclass(frozen=True)
class Power:
    exponent: Any
    parts: Any = ()

    def __hash__(self) -> int:
        return hash(self.exponent)


def test_static_arguments_that_python_calls_equal_are_told_apart() -> None:
    compiled, x = wg.jit(lambda x, power: x**power.exponent, static_argnums=1), np.array([2, 3])
    for _ in range(2):
        for exponent in (2, 2.0, np.int64(2), np.float32(2.0)):
            found, expected = compiled(x, Power(exponent, [])), x**exponent
            assert (str(found), found.dtype) == (str(expected), expected.dtype)
    zeros = wg.jit(lambda x, zero: x * zero, static_argnums=1)
    for zero in (np.float32(0.0), np.float32(-0.0)):
        assert np.signbit(zeros(np.ones(2), zero)).all() == np.signbit(zero)


def test_dicts_in_another_order_are_other_arguments() -> None:
    def stacked(*given: Any, **named: Any) -> Any:
        return np.stack([value for one in (*given, named) for value in one.values()]), dict(named)

    compiled, x, y = wg.jit(stacked), np.ones(2), np.zeros(2)
    for _ in range(3):
        for given, named in (
            ({"a": x, "b": y}, {}),
            ({"b": y, "a": x}, {}),
            ({}, {"a": x, "b": y}),
            ({}, {"b": y, "a": x}),
            (OrderedDict(a=x, b=y), {}),
            (OrderedDict(b=y, a=x), {}),
            ({1: x}, {}),
            ({True: x}, {}),
        ):
            (found, order), (expected, expected_order) = compiled(given, **named), stacked(given, **named)
            assert found.tolist() == expected.tolist()
            assert list(order) == list(expected_order)


def test_an_argument_may_be_named_as_the_methods_own() -> None:
    assert wg.jit(lambda self, b=1.0: self * b)(self=X).tolist() == X.tolist()


def test_options_do_not_reach_what_only_shares_a_name() -> None:
    def function(a: Any, /, **named: Any) -> Any:
        return a + named["a"]

    y = np.ones(3)
    compiled = wg.jit(function, donate=0)
    for _ in range(2):
        assert compiled(np.ones(3), a=y).tolist() == [2.0] * 3
    assert y.tolist() == [1.0] * 3
    assert wg.jit(lambda n, /, **k: n * k["n"], static_argnums=0)(2, n=y).tolist() == [2.0] * 3


def test_options_reach_arguments_behind_those_that_a_call_leaves_out() -> None:
    def function(x: Any, keep: Any = 1.0, axis: int = 0, y: Any = None) -> Any:
        return np.sum(x, axis=axis) * keep, y if y is None else y + 1

    x, y = np.ones((2, 3)), np.ones(4)
    for options in ({"static_argnums": 2}, {"static_argnames": ["axis"]}):
        compiled = wg.jit(function, donate=3, **options)  # pyright: ignore[reportArgumentType,reportCallIssue]
        np.testing.assert_array_equal(compiled(x, axis=1)[0], [3.0, 3.0])
        np.testing.assert_array_equal(compiled(x, axis=0)[0], [2.0, 2.0, 2.0])
        given = y.copy()
        np.testing.assert_array_equal(compiled(x, axis=1, y=given)[1], y + 1)
        with pytest.raises(ArgumentError, match="belongs to the result of that call"):
            compiled(x, y=given)


@pytest.mark.parametrize(
    ("function", "names", "said"),
    [
        (lambda x: x, "kind", r"no argument 'kind'; got static_argnames='kind'"),
        (lambda x, *rest: x, ("rest",), r"no argument 'rest'"),
        (lambda x, /: x, "x", r"no argument 'x'"),
        (lambda x: x, 1, r"static_argnames must be names of arguments; got 1"),
        (max, [0], r"static_argnames must be names of arguments; got \[0\]"),
    ],
)
def test_names_of_no_argument(function: Any, names: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        wg.jit(function, static_argnames=names)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"static_argnums": -1}, "static_argnums must be positions of arguments, from 0; got -1"),
        ({"donate": (0, "x")}, "donate must be positions"),
        (
            {"donate": (0, 1), "static_argnums": 1},
            "a static argument cannot be donated; got 1",
        ),
    ],
)
def test_options_that_make_no_sense(options: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        wg.jit(lambda x, y: x, **options)


@wg.jit
def decorated(x: Any) -> Any:
    return np.sum(x**2)


def scaled(x: Any, times: int, y: Any) -> Any:
    return x * times + y


def test_functions_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    first = wg.jit(scaled, static_argnums=1, donate=0)
    again = pickle.loads(pickle.dumps(first))
    for compiled in (first, again):
        given = np.ones(3)
        assert_same(compiled(given, 2, np.arange(3.0)), np.array([2.0, 3.0, 4.0]))
        with pytest.raises(ValueError, match="donated"):
            compiled(given, 2, np.arange(3.0))
    by_name = pickle.loads(pickle.dumps(wg.jit(scaled, static_argnums=(1,))))
    assert_same(by_name(np.ones(3), times=2, y=np.arange(3.0)), np.array([2.0, 3.0, 4.0]))
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"local|lambda"):
        pickle.dumps(wg.jit(lambda x: x))


def test_jit_of_a_jitted_function_has_its_own_settings() -> None:
    inner, x = wg.jit(lambda w, n=2: w * n), np.ones(4)
    np.testing.assert_array_equal(wg.jit(inner, donate=0)(x), np.full(4, 2.0))
    assert not x.flags.writeable
    np.testing.assert_array_equal(wg.jit(inner, static_argnums=1)(np.ones(2), 3), [3.0, 3.0])


def test_jit_of_a_custom_rule_around_a_jitted_function_keeps_the_rule() -> None:
    rule = wg.custom_vjp(wg.jit(lambda x: np.sum(np.sin(x))))
    rule.defvjp(lambda x: (np.sum(np.sin(x)), x), lambda x, g: (7.0 * g * np.ones(3),))
    np.testing.assert_array_equal(wg.grad(wg.jit(rule))(np.ones(3)), [7.0] * 3)
