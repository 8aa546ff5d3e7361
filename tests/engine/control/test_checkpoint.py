from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable
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
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.engine.core.errors import ConcreteError, DtypeError, LostDerivativeError
from wengert.engine.transforms.staging import evaluate
from wengert.engine.transforms.tape import Node

Wrap = Callable[[Any], Any]


def plain(function: Any) -> Any:
    return function


def network(wrap: Wrap) -> Any:
    def run(w: Any, x: Any) -> Any:
        block = wrap(lambda x: np.sin(w @ x) * x)
        for _ in range(3):
            x = block(x)
        return np.sum(x)

    return run


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_everywhere_as_without(rng: np.random.Generator, transform: str) -> None:
    """The block closes over the weights, which are differentiated, too."""
    examples = [(rng.normal(size=(2, 2)), rng.normal(size=2)) for _ in range(2)]
    check_everywhere(network(wg.checkpoint), network(plain), examples, only=[transform])


def test_results_are_the_same_to_the_last_bit(rng: np.random.Generator) -> None:
    w, x = rng.normal(size=(5, 5)), rng.normal(size=5)
    actual, expected = (wg.value_and_grad(network(wrap), argnums=1)(w, x) for wrap in (wg.checkpoint, plain))
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])


def chain(wrap: Wrap) -> Any:
    """Return a chain of ten blocks, each of thirty operations."""

    def block(x: Any) -> Any:
        for _ in range(10):
            x = np.sin(x) * np.cos(x) + x
        return x

    def run(x: Any) -> Any:
        for _ in range(10):
            x = wrap(block)(x)
        return np.sum(x)

    return run


def closing(wrap: Wrap) -> Any:
    """Return a chain whose blocks have no arguments: they close over their inputs."""

    def run(x: Any) -> Any:
        def make(value: Any) -> Any:
            def block() -> Any:
                y = value
                for _ in range(10):
                    y = np.sin(y) * np.cos(y) + y
                return y

            return wrap(block)

        for _ in range(10):
            x = make(x)()
        return np.sum(x)

    return run


def peak(function: Any, x: Any) -> float:
    """Return the peak memory, in arrays of the size of x."""
    function(x)
    gc.collect()
    tracemalloc.start()
    function(x)
    result = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result / x.nbytes


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("program", [chain, closing])
def test_memory_of_a_chain(program: Any) -> None:
    x = np.ones(5_000)
    kept, saved = peak(wg.grad(program(plain)), x), peak(wg.grad(program(wg.checkpoint)), x)
    assert kept > 300
    assert saved < 80


@pytest.mark.usefixtures("young_heap")
def test_memory_of_second_derivatives() -> None:
    x = np.ones(2_000)

    def curvature(wrap: Wrap) -> Any:
        return wg.grad(lambda x: np.sum(wg.grad(chain(wrap))(x) ** 2))

    assert peak(curvature(wg.checkpoint), x) < peak(curvature(plain), x) / 4


def live_nodes() -> int:
    gc.collect()
    return sum(isinstance(item, Node) for item in gc.get_objects())


@pytest.mark.usefixtures("young_heap")
def test_lines_of_the_list_that_stay_until_the_way_back() -> None:
    before = live_nodes()
    counts: list[int] = []
    for wrap in (plain, wg.checkpoint):
        _, pullback = wg.vjp(chain(wrap), np.ones(3))
        counts.append(live_nodes() - before)
        del pullback
    assert counts[0] > 400
    assert counts[1] < 40


def test_the_operations_are_repeated_once_on_the_way_back() -> None:
    calls = {"function": 0, "sin": 0}

    def counted(x: Any) -> Any:
        calls["function"] += 1
        return np.sin(x)

    rule = wg.custom_vjp(counted)
    rule.defvjp(lambda x: (counted(x), np.cos(x)), lambda cos, ct: (cos * ct,))

    @wg.checkpoint
    def block(x: Any) -> Any:
        calls["sin"] += 1
        return rule(x) * 2.0

    _, pullback = wg.vjp(block, 0.5)
    assert calls == {"function": 1, "sin": 1}
    assert_close(pullback(1.0), (2.0 * np.cos(0.5),))
    assert calls == {"function": 2, "sin": 1}


def test_random_numbers_are_drawn_once(rng: np.random.Generator) -> None:
    """The backward pass uses the numbers that the forward pass drew."""
    drawn: list[Any] = []

    @wg.checkpoint
    def dropout(x: Any) -> Any:
        mask = rng.random(x.shape) > 0.5
        drawn.append(mask)
        return np.where(mask, np.sin(x), 0.0)

    x = rng.normal(size=20)
    gradient = wg.grad(lambda x: np.sum(dropout(x)))(x)
    (mask,) = drawn
    assert_close(gradient, np.where(mask, np.cos(x), 0.0))


def test_python_looks_at_known_values() -> None:
    table = np.array([1.0, 5.0, 7.0])

    def looking(x: Any) -> Any:
        mask, order = x > 0.5, np.argsort(x)
        y = x * table[np.argmax(x)] * table[order]
        if mask[0]:
            y = y + float(wg.stop_gradient(x)[0]) * x
        for _ in range(int(wg.stop_gradient(x).sum())):
            y = y * x
        return np.sum(y[mask]) + np.asarray(wg.stop_gradient(x)) @ np.where(mask, x, 0)

    x = np.array([0.9, 0.2, 0.6])
    assert_close(wg.grad(wg.checkpoint(looking))(x), wg.grad(looking)(x))
    assert_close(wg.jvp(wg.checkpoint(looking), (x,), (x,)), wg.jvp(looking, (x,), (x,)))
    assert_close(wg.hessian(wg.checkpoint(looking))(x), wg.hessian(looking)(x))


def test_settings_containers_and_keywords() -> None:
    @wg.checkpoint
    def layer(params: Any, x: Any, activation: str, *, scale: Any = 1.0) -> Any:
        y = params["w"] * x * scale
        return {"y": np.tanh(y) if activation == "tanh" else y, "n": 3}

    def loss(params: Any) -> Any:
        out = layer(params, np.array([1.0, 2.0]), "tanh", scale=2.0)
        assert out["n"] == 3
        return np.sum(out["y"])

    w = np.array([0.3, -0.2])
    expected = 2.0 * np.array([1.0, 2.0]) / np.cosh(2.0 * w * np.array([1.0, 2.0])) ** 2
    assert_close(wg.grad(loss)({"w": w}), {"w": expected})
    assert layer.__name__ == "layer"


def test_results_of_every_kind() -> None:
    def several(x: Any) -> Any:
        written = wg.numpy.zeros(3)
        written[0] = x
        written[1] = written[0] * x
        return x, 3.0, np.ones(2), np.argmax(written), written, None

    block = wg.checkpoint(several)
    for run in (plain, staged):
        assert_close(run(block)(2.0), several(2.0))
        assert_close(run(wg.grad(lambda x: np.sum(block(x)[4]) * block(x)[1]))(2.0), 15.0)
    assert wg.grad(lambda x: (wg.checkpoint(lambda x: None)(x), x)[1])(2.0) == 1.0


def test_nested_checkpoints() -> None:
    def deep(wrap: Wrap, depth: int) -> Any:
        if depth == 0:
            return np.sin
        inner = deep(wrap, depth - 1)
        return wrap(lambda x: inner(inner(x)))

    assert_close(wg.grad(deep(wg.checkpoint, 3))(0.5), wg.grad(deep(plain, 3))(0.5))
    assert_close(wg.grad(wg.grad(deep(wg.checkpoint, 3)))(0.5), wg.grad(wg.grad(deep(plain, 3)))(0.5))


def test_without_a_transform_it_is_the_function() -> None:
    assert wg.checkpoint(math.sin)(0.5) == math.sin(0.5)


def test_variables() -> None:
    x, w = wg.Variable(0.5), wg.Variable(2.0)
    wg.checkpoint(lambda x: np.sin(x * w))(x).backward()
    assert_close((x.grad, w.grad), (2.0 * np.cos(1.0), 0.5 * np.cos(1.0)))


def test_jacobians_pull_back_many_cotangents_at_once(rng: np.random.Generator) -> None:
    w, x = rng.normal(size=(3, 3)), rng.normal(size=3)
    layer = lambda w, x: np.tanh(w @ x)  # noqa: E731
    for jacobian in (wg.jacrev, wg.jacfwd):
        assert_close(jacobian(wg.checkpoint(layer), (0, 1))(w, x), jacobian(layer, (0, 1))(w, x))


def test_text_of_a_graph() -> None:
    graph, _, _ = write_down(wg.grad(wg.checkpoint(lambda x: np.sin(np.sin(x)))), 0.5)
    assert names(graph).count("checkpoint") == 2
    assert_close(evaluate(printed_and_parsed(graph), 0.5), evaluate(graph, 0.5))


@pytest.mark.parametrize(
    ("run", "convert", "problem"),
    [
        (wg.grad, int, LostDerivativeError),
        (lambda f: staged(wg.grad(f)), lambda x: range(2)[x.astype(int)], ConcreteError),
    ],
)
def test_errors(run: Any, convert: Any, problem: Any) -> None:
    with pytest.raises(DtypeError, match=r"checkpoint: the result of the function.*str"):
        run(wg.checkpoint(lambda x: "text"))(1.0)
    with pytest.raises(problem, match=r"int|index"):
        run(wg.checkpoint(lambda x: convert(x) * x))(1.0)


# -- stop_gradient ---------------------------------------------------------------------------------------


def test_stop_gradient_everywhere() -> None:
    def halved(x: Any, y: Any) -> Any:
        fixed = wg.stop_gradient({"x": x, "n": 3, "s": "text"})
        assert fixed["s"] == "text"
        return x * fixed["x"] * y + np.sin(wg.stop_gradient(y)) * fixed["n"]

    for run in (plain, staged, wg.checkpoint):
        assert_close(run(wg.grad(halved, argnums=(0, 1)))(3.0, 0.5), (1.5, 9.0))
        assert_close(wg.grad(run(halved), argnums=(0, 1))(3.0, 0.5), (1.5, 9.0))
        assert_close(wg.jvp(run(halved), (3.0, 0.5), (1.0, 1.0))[1], 10.5)
        assert_close(wg.hessian(run(halved), argnums=(0, 1))(3.0, 0.5), ((0.0, 3.0), (3.0, 0.0)))
    columns = np.array([3.0, 1.0]), np.array([0.5, 0.5])
    assert_close(
        wg.vmap(wg.grad(halved, argnums=(0, 1)))(*columns), (np.array([1.5, 0.5]), np.array([9.0, 1.0]))
    )


def test_stop_gradient_gives_plain_values_at_every_level() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(float(wg.stop_gradient(x)))
        return x * x

    wg.grad(look)(2.0)
    wg.jvp(look, (2.0,), (1.0,))
    wg.grad(wg.grad(look))(2.0)
    wg.hessian(look)(2.0)
    wg.grad(lambda x: wg.jvp(look, (x,), (1.0,))[1])(2.0)
    wg.grad(wg.checkpoint(look))(2.0)
    wg.grad(wg.checkpoint(lambda x: wg.grad(look)(x)))(2.0)
    assert seen == [2.0] * len(seen)
    assert len(seen) == 7
    assert wg.stop_gradient(None) is None
    assert wg.stop_gradient((1, 2.0)) == (1, 2.0)
