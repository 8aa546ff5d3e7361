from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.running import (
    TRANSFORMS,
    assert_close,
    check_everywhere,
    names,
    printed_and_parsed,
    staged,
    write_down,
)
from wengert.engine.core.errors import ArgumentError, DtypeError, LostDerivativeError, ShapeError
from wengert.engine.transforms.staging import evaluate


@wg.custom_jvp
def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y


@wave.defjvp
def wave_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return wave(x, y), np.cos(x) * y * dx + np.sin(x) * dy


def wave_python(x: Any, y: Any) -> Any:
    return np.sin(x) * y


@wg.custom_jvp
def tripled(x: Any) -> Any:
    """A deliberately wrong rule, to show that it is used."""
    return np.sin(x)


tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3.0 * np.cos(primals[0]) * tangents[0]))


def test_everywhere_as_without() -> None:
    check_everywhere(wave, wave_python, [(0.3, 2.0), (-1.0, 0.5)])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_inside_a_scan(transform: str) -> None:
    def chain(x: Any) -> Any:
        return wg.scan(lambda c, y: (wave(c, y), None), x, np.array([1.0, 2.0, 3.0]))[0]

    def python(x: Any) -> Any:
        for y in (1.0, 2.0, 3.0):
            x = np.sin(x) * y
        return x

    check_everywhere(chain, python, [(0.3,), (1.2,)], only=[transform])


def slope(x: Any, steps: int = 1) -> Any:
    """The derivative by the rule of ``tripled``, applied several times."""
    result = 1.0
    for _ in range(steps):
        result, x = result * 3.0 * np.cos(x), np.sin(x)
    return result


@pytest.mark.parametrize("run", [lambda f: f, staged], ids=["eager", "staged"])
def test_the_rule_is_used_everywhere(run: Any) -> None:
    xs = np.array([0.3, 0.8])
    assert_close(run(wg.grad(tripled))(0.3), slope(0.3))
    assert_close(wg.grad(run(tripled))(0.3), slope(0.3))
    assert_close(wg.jvp(run(tripled), (0.3,), (2.0,))[1], 2.0 * slope(0.3))
    assert_close(run(wg.vmap(wg.grad(tripled)))(xs), slope(xs))
    assert_close(wg.vmap(run(wg.grad(tripled)))(xs), slope(xs))
    assert_close(run(wg.grad(lambda xs: np.sum(wg.vmap(tripled)(xs))))(xs), slope(xs))
    assert_close(run(wg.grad(wg.checkpoint(tripled)))(0.3), slope(0.3))
    assert_close(run(wg.grad(wg.grad(tripled)))(0.3), -3.0 * np.sin(0.3))


@pytest.mark.parametrize("run", [lambda f: f, staged], ids=["eager", "staged"])
def test_the_rule_is_used_inside_loops_and_branches(run: Any) -> None:
    def chain(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: tripled(c), x)

    def branch(x: Any) -> Any:
        return wg.cond(x > 0.5, tripled, lambda x: x, x)

    xs = np.array([0.3, 0.8])
    assert_close(run(wg.grad(chain))(0.3), slope(0.3, 3))
    assert_close(wg.grad(run(chain))(0.3), slope(0.3, 3))
    assert_close(wg.jvp(run(chain), (0.3,), (1.0,))[1], slope(0.3, 3))
    assert_close(wg.vmap(wg.grad(run(chain)))(xs), slope(xs, 3))
    assert_close(run(wg.vmap(wg.grad(chain)))(xs), slope(xs, 3))
    assert_close(wg.grad(lambda xs: np.sum(run(wg.vmap(chain))(xs)))(xs), slope(xs, 3))
    assert_close(run(wg.vmap(wg.grad(branch)))(xs), np.array([1.0, slope(0.8)]))


def test_the_equation_holds_the_program_and_the_rule() -> None:
    for function, argument, name in (
        (tripled, 0.3, "tripled"),
        (wg.vmap(tripled), np.ones(2), "vmap(tripled)"),
    ):
        graph, _, _ = write_down(function, argument)
        (equation,) = graph.equations
        assert equation.primitive == "custom_jvp"
        assert "sin" in names(equation.params["graph"])
        assert repr(equation.params["call"]) == name
        assert "call=@" in str(graph)
        again = printed_and_parsed(graph)
        assert again.equations[0].params["call"] is equation.params["call"]
        assert_close(evaluate(again, argument), [np.sin(argument)])


def test_containers_settings_and_keywords() -> None:
    @wg.custom_jvp
    def affine(params: Any, x: Any, kind: str = "sum", count: int = 1) -> Any:
        assert kind == "sum"
        return {"y": params["w"] * x + params["b"], "n": count}

    @affine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        params, x, kind, count = primals
        d, dx, dkind, dcount = tangents
        assert (kind, dkind, count, dcount) == ("sum", "sum", 2, 0)
        tangent = params["w"] * dx + d["w"] * x + 10.0 * d["b"]
        return affine(params, x, kind, count), {"y": tangent, "n": 0}

    def loss(params: Any, x: Any) -> Any:
        out = affine(x=x, params=params, count=2)
        return out["y"] * out["n"]

    for run in (lambda f: f, staged):
        actual = run(wg.grad(loss, argnums=(0, 1)))({"w": 3.0, "b": 1.0}, 2.0)
        assert_close(actual, ({"b": 20.0, "w": 4.0}, 6.0))


def test_nondiff_argnums() -> None:
    @functools.partial(wg.custom_jvp, nondiff_argnums=(0, 2))
    def apply(function: Any, x: Any, power: int) -> Any:
        return function(x) ** power

    @apply.defjvp
    def rule(function: Any, power: int, primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        return apply(function, x, power), 5.0 * dx * power

    for run in (lambda f: f, staged):
        assert run(wg.grad(lambda x: apply(np.sin, x, 3)))(0.5) == 15.0
        assert run(wg.grad(lambda x: apply(function=np.sin, power=2, x=x)))(0.5) == 10.0
        assert_close(run(wg.vmap(wg.grad(lambda x: apply(np.sin, x, 3))))(np.ones(2)), np.full(2, 15.0))


def test_defjvps() -> None:
    @wg.custom_jvp
    def product(x: Any, y: Any, z: Any) -> Any:
        return x * y * z

    product.defjvps(lambda dx, out, x, y, z: dx * y * z, None, lambda dz, out, x, y, z: dz * out / z)
    for run in (lambda f: f, staged):
        assert_close(run(wg.grad(product, argnums=(0, 1, 2)))(2.0, 3.0, 4.0), (12.0, 0.0, 6.0))
        assert_close(run(wg.grad(wg.grad(product), argnums=2))(2.0, 3.0, 4.0), 3.0)
    with pytest.raises(ArgumentError, match=r"nondiff_argnums.*use defjvp"):
        wg.custom_jvp(lambda f, x: x, nondiff_argnums=(0,)).defjvps(None)


def test_a_rule_by_the_implicit_function_theorem() -> None:
    """The solver runs on plain values, and the rule computes the derivative of the solution."""

    @wg.custom_jvp
    def root(a: Any) -> Any:
        x = float(wg.stop_gradient(a))
        for _ in range(50):
            x = 0.5 * (x + float(wg.stop_gradient(a)) / x)
        return x

    root.defjvp(lambda primals, tangents: ((x := root(*primals)), tangents[0] / (2.0 * x)))
    assert_close(wg.grad(root)(2.0), 0.5 / np.sqrt(2.0))
    assert_close(wg.jvp(root, (2.0,), (1.0,)), (np.sqrt(2.0), 0.5 / np.sqrt(2.0)))
    assert_close(wg.hessian(root)(2.0), -0.25 / 2.0**1.5)
    assert_close(wg.grad(wg.checkpoint(lambda a: root(a) ** 3))(2.0), 1.5 * np.sqrt(2.0))


def test_values_closed_over() -> None:
    def outer(x: Any, w: Any) -> Any:
        scaled = wg.custom_jvp(lambda x: x * w)
        scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * w))
        return scaled(x)

    # The older transform still follows its values.
    assert_close(wg.grad(lambda w: wg.grad(outer)(2.0, w))(3.0), 1.0)
    for transform in (
        lambda x: wg.grad(outer, argnums=(0, 1))(x, x),
        lambda x: wg.jvp(outer, (x, x), (x, x)),
        lambda x: wg.grad(staged(outer), argnums=(0, 1))(x, x),
        lambda x: staged(wg.grad(outer, argnums=(0, 1)))(x, x),
        lambda x: wg.vmap(outer)(np.stack([x, x]), np.stack([x, x])),
        lambda x: wg.grad(lambda x: wg.grad(lambda w: outer(x, w))(3.0))(x),
    ):
        with pytest.raises(LostDerivativeError, match=r"closes over a value.*pass it as an argument"):
            transform(np.float64(2.0))
    # In a graph they are constants unless a derivative is taken.
    assert staged(outer)(2.0, 3.0) == 6.0


def with_rule(rule: Any) -> Any:
    function = wg.custom_jvp(lambda x: x * 2.0)
    function.defjvp(rule)
    return function


@pytest.mark.parametrize(
    "run", [lambda f: wg.grad(f), lambda f: staged(wg.grad(f)), lambda f: lambda x: wg.jvp(f, (x,), (x,))]
)
@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda p, t: p[0], ArgumentError, r"custom_jvp rule of <lambda>.*pair \(output, tangent\)"),
        (lambda p, t: (p[0], (t[0], t[0])), ArgumentError, "structure"),
        (lambda p, t: (p[0], np.stack([t[0], t[0]])), ShapeError, r"f64\[\]; got f64\[2\]"),
        (lambda p, t: (p[0], t[0].astype(np.float32)), DtypeError, r"f64\[\]; got f32\[\]"),
        (lambda p, t: (p[0], "text"), DtypeError, "tangent.*str"),
    ],
)
def test_rules_are_checked(run: Any, rule: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        run(with_rule(rule))(np.float64(1.0))


@pytest.mark.parametrize(
    "nonlinear",
    [
        lambda t: t * t,
        np.sin,
        np.abs,
        lambda t: t / t,
        lambda t: 1.0 / t,
        lambda t: np.exp(t) * t,
        lambda t: np.where(t > 0, t, 0.0),
        lambda t: np.maximum(t, 0.0),
        lambda t: t * (t @ t),
        lambda t: t**2,
        lambda t: t * np.max(t),
        lambda t: t[np.argsort(t)],
        lambda t: t * math.sin(t[0]),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, staged])
def test_reverse_mode_needs_a_rule_that_is_linear(nonlinear: Any, run: Any) -> None:
    function = wg.custom_jvp(lambda x: x)
    function.defjvp(lambda primals, tangents: (primals[0], nonlinear(tangents[0])))
    with pytest.raises(TypeError, match=r"linear|math"):
        run(wg.grad(lambda x: np.sum(function(x))))(np.array([1.0, 2.0]))


def test_reverse_mode_transposes_linear_rules() -> None:
    """Products, solutions of loops, selections, reshapes and other custom functions of the tangent."""
    w = np.array([[1.0, 2.0], [3.0, 4.0]])

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        moved = np.stack([w @ dx, dx[::-1] / x])[:, ::-1].T * np.where(x > 1, 2.0, x)
        moved = wg.fori_loop(0, 2, lambda i, t: t * 0.5 + np.cumsum(t), moved.sum(axis=0))
        return x, wg.checkpoint(lambda t: t * 3.0)(moved)

    function = wg.custom_jvp(lambda x: x)
    function.defjvp(rule)
    x = np.array([0.5, 2.0])
    forward = wg.jacfwd(function)(x)
    assert np.abs(forward).min() > 0
    for run in (lambda f: f, staged):
        assert_close(run(wg.jacrev(function))(x), forward)
        assert_close(wg.jacrev(run(function))(x), forward)


def test_misuse() -> None:
    with pytest.raises(ArgumentError, match=r"no rule yet.*defjvp"):
        wg.custom_jvp(np.sin)(1.0)
    function = wg.custom_jvp(lambda x, *, scale: x * scale)
    function.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(ArgumentError, match=r"\['scale'\].*as positional"):
        function(1.0, scale=2.0)
    function = wg.custom_jvp(lambda x: x, nondiff_argnums=(3,))
    function.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(ArgumentError, match="nondiff_argnums"):
        function(1.0)
    with pytest.raises(TypeError, match="missing a required argument"):
        tripled()
    lame = wg.custom_jvp(lambda x, y: x)
    lame.defjvps(lambda dx, out, x, y: dx)
    with pytest.raises(ArgumentError, match="1 for 2 arguments"):
        wg.grad(lame)(1.0, 2.0)
