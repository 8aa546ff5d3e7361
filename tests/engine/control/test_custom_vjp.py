from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.running import TRANSFORMS, assert_close, check_everywhere, names, staged, write_down
from wengert.engine.core.errors import (
    ArgumentError,
    DtypeError,
    LostDerivativeError,
    ShapeError,
    UnsupportedError,
)


@wg.custom_vjp
def wave(x: Any, params: Any) -> Any:
    return {"o": np.sin(x) * params["a"], "q": x + params["b"]}


def wave_forward(x: Any, params: Any) -> Any:
    return wave(x, params), (x, params["a"])


def wave_backward(residuals: Any, cotangent: Any) -> Any:
    x, a = residuals
    return (
        np.cos(x) * a * cotangent["o"] + cotangent["q"],
        {"a": np.sin(x) * cotangent["o"], "b": cotangent["q"]},
    )


wave.defvjp(wave_forward, wave_backward)


def loss(x: Any, a: Any, b: Any) -> Any:
    out = wave(x, {"a": a, "b": b})
    return out["o"] * out["q"]


def loss_python(x: Any, a: Any, b: Any) -> Any:
    return np.sin(x) * a * (x + b)


def test_everywhere_as_without() -> None:
    check_everywhere(loss, loss_python, [(0.3, 2.0, 0.5), (-1.0, 0.5, 1.0)])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_inside_a_scan(transform: str) -> None:
    def chain(x: Any, a: Any) -> Any:
        return wg.scan(lambda c, b: (loss(c, a, b), None), x, np.array([0.5, 1.0]))[0]

    def python(x: Any, a: Any) -> Any:
        for b in (0.5, 1.0):
            x = loss_python(x, a, b)
        return x

    check_everywhere(chain, python, [(0.3, 1.5), (1.2, 0.4)], only=[transform])


@wg.custom_vjp
def clipped(x: Any, limit: Any) -> Any:
    return x


clipped.defvjp(lambda x, limit: (x, limit), lambda limit, ct: (np.clip(ct, -limit, limit), None))


def test_the_rule_is_used_everywhere() -> None:
    def square(x: Any) -> Any:
        return clipped(x, 1.0) ** 2

    xs = np.array([0.2, 5.0, -3.0])
    slopes = np.array([0.4, 1.0, -1.0])
    for run in (lambda f: f, staged):
        assert run(wg.grad(square))(5.0) == 1.0
        assert wg.grad(run(square))(5.0) == 1.0
        assert_close(run(wg.vmap(wg.grad(square)))(xs), slopes)
        assert_close(wg.vmap(wg.grad(run(square)))(xs), slopes)
        assert_close(run(wg.grad(lambda xs: np.sum(wg.vmap(square)(xs))))(xs), slopes)
        assert run(wg.grad(wg.checkpoint(square)))(5.0) == 1.0
        chain = lambda x: wg.fori_loop(0, 3, lambda i, c: clipped(c, 1.0) * 2.0, x)  # noqa: E731
        assert run(wg.grad(chain))(5.0) == 1.0
        assert wg.grad(run(chain))(5.0) == 1.0


def test_shared_arguments_get_the_sum_over_the_examples() -> None:
    xs, params = np.array([0.3, 0.8, 1.5]), {"a": 2.0, "b": 0.5}

    def total(xs: Any, params: Any) -> Any:
        out = wg.vmap(wave, in_axes=(0, None))(xs, params)
        return np.sum(out["o"] * out["q"])

    def python(xs: Any, params: Any) -> Any:
        return np.sum(np.sin(xs) * params["a"] * (xs + params["b"]))

    for run in (lambda f: f, staged):
        assert_close(
            run(wg.grad(total, argnums=(0, 1)))(xs, params), wg.grad(python, argnums=(0, 1))(xs, params)
        )


def test_functions_that_wengert_does_not_know() -> None:
    """Eagerly, the function and its rule get plain values."""
    sine = wg.custom_vjp(lambda x: math.sin(x))
    sine.defvjp(lambda x: (math.sin(x), x), lambda x, ct: (ct * math.cos(x),))
    assert wg.grad(sine)(0.5) == math.cos(0.5)
    assert_close(wg.jvp(sine, (0.5,), (2.0,)), (math.sin(0.5), 2.0 * math.cos(0.5)))
    assert_close(wg.grad(wg.checkpoint(lambda x: sine(x) * x))(0.5), math.sin(0.5) + 0.5 * math.cos(0.5))
    with pytest.raises(LostDerivativeError, match="math"):
        wg.grad(wg.grad(sine))(0.5)


def test_nondiff_argnums_and_keywords() -> None:
    def scaled(x: Any, kind: str, y: Any = 2.0) -> Any:
        return x * y if kind == "product" else x

    function = wg.custom_vjp(scaled, nondiff_argnums=(1,))
    function.defvjp(
        lambda x, kind, y: (scaled(x, kind, y), (x, y)),
        lambda kind, residuals, ct: (ct * residuals[1] * 7.0, None if kind == "product" else ct),
    )
    for run in (lambda f: f, staged):
        assert run(wg.grad(lambda x: function(x, "product")))(3.0) == 14.0
        actual = run(wg.grad(lambda x, y: function(kind="product", y=y, x=x), argnums=(0, 1)))(3.0, 4.0)
        assert actual == (28.0, 0.0)


def test_integers_have_no_cotangent() -> None:
    def repeated(x: Any, counts: Any) -> Any:
        return x * counts, counts + 1

    function = wg.custom_vjp(repeated)

    def backward(counts: Any, cotangents: Any) -> Any:
        ct, none = cotangents
        assert none.dtype == np.int64
        assert not np.any(wg.stop_gradient(none))
        return ct * counts, None

    function.defvjp(lambda x, counts: (repeated(x, counts), counts), backward)
    gradient = wg.grad(lambda x: np.sum(function(x, np.array([1, 2]))[0]))(np.ones(2))
    assert_close(gradient, np.array([1.0, 2.0]))


def test_the_equation_holds_the_program_and_the_rule() -> None:
    graph, _, _ = write_down(clipped, 0.3, 1.0)
    (equation,) = graph.equations
    assert equation.primitive == "custom_vjp"
    assert names(equation.params["graph"]) == []
    assert repr(equation.params["call"]) == "clipped"


def test_values_closed_over() -> None:
    def outer(x: Any, w: Any) -> Any:
        scaled = wg.custom_vjp(lambda x: x * w)
        scaled.defvjp(lambda x: (x * w, None), lambda _, ct: (ct * w,))
        return scaled(x)

    assert_close(wg.grad(lambda w: wg.grad(outer)(2.0, w))(3.0), 1.0)
    for transform in (
        lambda x: wg.grad(outer, argnums=(0, 1))(x, x),
        lambda x: wg.jvp(outer, (x, x), (x, x)),
        lambda x: wg.grad(staged(outer), argnums=(0, 1))(x, x),
        lambda x: wg.vmap(outer)(np.stack([x, x]), np.stack([x, x])),
    ):
        with pytest.raises(LostDerivativeError, match=r"closes over a value.*pass it as an argument"):
            transform(np.float64(2.0))


@pytest.mark.parametrize(
    "backward",
    [lambda _, ct: (ct * ct,), lambda _, ct: (math.exp(ct),), lambda _, ct: (ct if ct > 0 else 0.0,)],
)
def test_forward_mode_needs_a_linear_backward_function(backward: Any) -> None:
    function = wg.custom_vjp(lambda x: x)
    function.defvjp(lambda x: (x, None), backward)
    assert np.isfinite(wg.grad(function)(1.0))
    with pytest.raises(UnsupportedError, match=r"custom_vjp rule of <lambda>: forward mode.*must be linear"):
        wg.jvp(function, (1.0,), (1.0,))


def with_rule(backward: Any, forward: Any = lambda x: (x["k"] * 2.0, None)) -> Any:
    function = wg.custom_vjp(lambda x: x["k"] * 2.0)
    function.defvjp(forward, backward)
    return lambda x: np.sum(function({"k": x}))


@pytest.mark.parametrize(
    "run", [lambda f: wg.grad(f), lambda f: staged(wg.grad(f)), lambda f: wg.grad(staged(f))]
)
@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (with_rule(lambda _, ct: (ct,), lambda x: x["k"]), ArgumentError, r"pair \(output, residuals\)"),
        (with_rule(lambda _, ct: ct), ArgumentError, "tuple with a cotangent.*for 1 arguments"),
        (with_rule(lambda _, ct: (ct, ct)), ArgumentError, "2 for 1 arguments"),
        (with_rule(lambda _, ct: (ct,)), ArgumentError, r"containers of its argument, \{'k': \*\}"),
        (with_rule(lambda _, ct: ({"n": ct},)), ArgumentError, r"\{'k': \*\}; got \{'n': \*\}"),
        (with_rule(lambda _, ct: ({"k": np.sum(ct)},)), ShapeError, r"f64\[2\]; got f64\[\]"),
        (with_rule(lambda _, ct: ({"k": ct.astype(np.float32)},)), DtypeError, r"f64\[2\]; got f32\[2\]"),
        (with_rule(lambda _, ct: ({"k": "text"},)), DtypeError, "cotangent.*str"),
    ],
)
def test_rules_are_checked(run: Any, function: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        run(function)(np.ones(2))


@pytest.mark.parametrize(
    "inner",
    [
        lambda p: wg.cond(np.sum(p) > 0.76, lambda a, v: a + v, lambda a, v: 0.6 * a + v, p, np.sum(p) / 3),
        lambda p: wg.scan(lambda c, r: (c * r, c), np.sum(p) / 3, p)[1],
        lambda p: wg.checkpoint(lambda a: np.sin(a) * p)(p / 3),
    ],
)
def test_forward_mode_transposes_a_rule_that_goes_back_through_programs(inner: Any) -> None:
    rule = wg.custom_vjp(lambda p: inner(p))
    rule.defvjp(lambda p: (inner(p), p), lambda p, c: wg.vjp(inner, p)[1](c))
    x, d = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.5])
    expected = wg.jvp(inner, (x,), (d,))[1]
    for run in (wg.jvp, wg.jit(lambda x, d: wg.jvp(rule, (x,), (d,)))):
        actual = run(rule, (x,), (d,))[1] if run is wg.jvp else run(x, d)[1]
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_none_stands_for_zero_at_any_depth() -> None:
    function = wg.custom_vjp(lambda tree, x: tree["a"][0] * tree["b"] * x)
    function.defvjp(
        lambda tree, x: (tree["a"][0] * tree["b"] * x, tree["b"]),
        lambda b, ct: ({"a": [ct * b, None], "b": None}, None),
    )
    actual = wg.grad(function, argnums=(0, 1))({"a": [2.0, 3.0], "b": 4.0}, 5.0)
    assert_close(actual, ({"a": [4.0, 0.0], "b": 0.0}, 0.0))


def test_misuse() -> None:
    with pytest.raises(ArgumentError, match=r"no rule yet.*defvjp"):
        wg.custom_vjp(np.sin)(1.0)
