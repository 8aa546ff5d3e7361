"""Reverse mode through loops that end when they are done, with a largest number of turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.growing import EXAMPLES, growth, growth_python
from tests.engine.control.running import (
    TRANSFORMS,
    assert_equal_in_norm,
    check_everywhere,
    names,
    printed_and_parsed,
    staged,
    write_down,
)
from wengert.engine.core.errors import ArgumentError, LimitError
from wengert.engine.transforms.staging import evaluate

Function = Callable[..., Any]


MOST = 12


def limited_growth(x: Any) -> Any:
    return growth(x, most=MOST)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_with_closed_over_values_and_examples_that_disagree(transform: str) -> None:
    check_everywhere(limited_growth, growth_python, EXAMPLES, only=[transform])


@pytest.mark.parametrize("transform", ["value", "grad", "forward over reverse"])
def test_loops_in_loops(transform: str) -> None:
    """The number of turns of the inner loop differs from turn to turn of the outer one."""

    def halvings(x: Any) -> Any:
        return wg.while_loop(lambda v: v > 1, lambda v: 0.5 * v + 0.01 * x, x, most=MOST)

    def nested(x: Any) -> Any:
        grow = lambda v: (v[0] + 1, np.exp(halvings(v[1])) + x)  # noqa: E731
        return wg.while_loop(lambda v: v[0] < 3, grow, (0, x), most=5)[1]

    def python(x: Any) -> Any:
        value = x
        for _ in range(3):
            start = value
            while value > 1:
                value = 0.5 * value + 0.01 * start
            value = np.exp(value) + x
        return value

    check_everywhere(nested, python, [(0.3,), (2.5,)], only=[transform])


def test_a_loop_in_a_scan_and_a_loop_of_scans() -> None:
    def below(x: Any, _: Any) -> Any:
        return wg.while_loop(lambda v: v > 1, lambda v: 0.4 * v, x + 1.7, most=MOST), x

    def python_below(x: Any) -> Any:
        x = x + 1.7
        while x > 1:
            x = 0.4 * x
        return x

    def outside(x: Any) -> Any:
        return wg.scan(below, x, length=3)[0] * x

    def inside(x: Any) -> Any:
        twice = lambda v: wg.scan(lambda c, _: (c * 1.1 + 0.1 * x, None), v, length=2)[0]  # noqa: E731
        return wg.while_loop(lambda v: v < 5, twice, x, most=MOST)

    def python_outside(x: Any) -> Any:
        return python_below(python_below(python_below(x))) * x

    def python_inside(x: Any) -> Any:
        value = x
        while value < 5:
            for _ in range(2):
                value = value * 1.1 + 0.1 * x
        return value

    modes = ["value", "grad", "reverse over reverse"]
    check_everywhere(outside, python_outside, [(0.4,), (6.0,)], only=modes)
    check_everywhere(inside, python_inside, [(1.5,), (4.0,)], only=modes)


def test_ranges_that_only_a_call_knows() -> None:
    def powers(x: Any, count: Any) -> Any:
        return wg.fori_loop(1, count, lambda i, v: v * x + i, 1.0, most=6)

    def python(x: Any, count: int) -> Any:
        value = 1.0
        for i in range(1, count):
            value = value * x + i
        return value

    xs, counts = np.array([2.0, 0.5, 3.0]), np.array([7, 0, 3])
    slopes = [wg.grad(python)(x, int(n)) for x, n in zip(xs, counts, strict=True)]
    np.testing.assert_allclose(
        [wg.jit(wg.grad(powers))(x, n) for x, n in zip(xs, counts, strict=True)], slopes
    )
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(powers)))(xs, counts), slopes)
    for run in (powers, wg.jit(powers), wg.jit(wg.grad(powers))):
        with pytest.raises(LimitError, match="loop"):
            run(2.0, 8)


@pytest.mark.parametrize("run", [lambda f: f, wg.jit])
def test_examples_that_are_done_have_no_singular_matrices(run: Any) -> None:
    def repeated(x: Any, count: Any) -> Any:
        def body(_: Any, v: Any) -> Any:
            return np.linalg.solve(np.stack([v, np.array([-1.0, 2.0])]), np.array([1.0, 3.0]) * x)

        return np.sum(wg.fori_loop(0, count, body, np.ones(2), most=6))

    xs, counts = np.array([2.0, 0.5, 3.0]), np.array([5, 0, 2])
    slopes = [wg.grad(repeated)(x, n) for x, n in zip(xs, counts, strict=True)]
    np.testing.assert_allclose(run(wg.vmap(wg.grad(repeated)))(xs, counts), slopes, rtol=1e-10)


# -- the limit -------------------------------------------------------------------------------------------


def tripled(x: Any, most: int) -> Any:
    return wg.while_loop(lambda v: v < 100, lambda v: 3 * v + v * v / 1e3, x, most=most)


def tripled_python(x: Any) -> Any:
    while x < 100:
        x = 3 * x + x * x / 1e3
    return x


MODES: dict[str, Callable[[Function], Function]] = {
    "value": lambda f: f,
    "grad": wg.grad,
    "second derivative": lambda f: wg.grad(wg.grad(f)),
    "tangent": lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("run", [lambda f: f, staged, wg.jit], ids=["eager", "graph", "compiled"])
def test_a_loop_that_would_take_more_turns_raises(run: Function, mode: str) -> None:
    """It takes exactly as many turns as it may, or none; no mode returns the value or the slope of a shorter loop."""
    for x, turns in ((1.0, 5), (20.0, 2), (120.0, 0)):
        exact = run(MODES[mode](lambda x, turns=turns: tripled(x, turns)))(x)
        np.testing.assert_allclose(exact, MODES[mode](tripled_python)(x), rtol=1e-14)
        if turns:
            with pytest.raises(
                LimitError, match=f"while_loop: the loop must end after most={turns - 1} turns"
            ):
                run(MODES[mode](lambda x, turns=turns: tripled(x, turns - 1)))(x)


@pytest.mark.parametrize("mode", MODES)
def test_one_example_that_would_take_more_turns_raises(mode: str) -> None:
    for run in (lambda f: f, staged, wg.jit):
        function = run(wg.vmap(MODES[mode](lambda x: tripled(x, 3))))
        function(np.array([10.0, 40.0, 500.0]))
        with pytest.raises(LimitError, match="most=3"):
            function(np.array([10.0, 2.0, 500.0]))


@pytest.mark.parametrize("part", [0, 1])
def test_the_limit_holds_whichever_result_is_used(part: int) -> None:
    def halves(x: Any) -> Any:
        return wg.while_loop(lambda v: v[0] < 9, lambda v: (v[0] + 1, v[1] * x), (0, x), most=8)[part] * x

    for function in (halves, wg.grad(halves)):
        with pytest.raises(LimitError):
            wg.jit(function)(2.0)


def test_the_memory_of_a_limit_is_that_of_its_turns_and_not_of_the_arrays_a_turn_only_reads() -> None:
    table = np.linspace(0, 1, 4096)

    def function(x: Any, table: Any, most: int) -> Any:
        step = lambda v: (v[0] + 1, np.sin(v[1]) + table[v[0]])  # noqa: E731
        return wg.while_loop(lambda v: v[0] < 4, step, (0, x), most=most)[1]

    small, large = (
        wg.jit(wg.grad(lambda x, table, most=most: function(x, table, most))).report(0.5, table).arena
        for most in (1_000, 10_000)
    )
    assert 9_000 * 8 <= large - small <= 9_000 * 8 * 3


def test_what_a_limit_must_be() -> None:
    with pytest.raises(ArgumentError, match="while_loop: most must not be negative; got -1"):
        tripled(1.0, -1)


def test_text_of_a_graph() -> None:
    for function in (limited_growth, wg.grad(limited_growth), wg.grad(wg.grad(limited_growth))):
        graph, _, _ = write_down(function, np.float64(3.0))
        assert {"while", "bounded_scan"} & set(names(graph))
        actual = evaluate(printed_and_parsed(graph), np.float64(3.0))
        np.testing.assert_allclose(actual, evaluate(graph, np.float64(3.0)), rtol=1e-14)


# -- compiled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_compiled_is_eager(seed: int) -> None:
    """A drawn linear map, with carries of several shapes, until a drawn limit is reached."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    matrix = 0.9 * rng.normal(size=(size, size)) / np.sqrt(size)
    limit = float(rng.integers(0, 9))

    def function(matrix: Any, x: Any) -> Any:
        def step(state: Any) -> Any:
            number, x, total = state
            x = np.tanh(matrix @ x) + 0.1 * number
            return number + 1, x, total + np.sum(x**2)

        _, x, total = wg.while_loop(lambda s: s[0] + 0 * s[2] < limit, step, (0, x, np.sum(x)), most=9)
        return np.sum(np.cos(x)) + total

    x, v = rng.normal(size=size), rng.normal(size=size)
    xs = rng.normal(size=(3, size))

    def everything(matrix: Any, x: Any, xs: Any) -> Any:
        slope = lambda x: wg.grad(function, argnums=(0, 1))(matrix, x)  # noqa: E731
        return (
            function(matrix, x),
            slope(x),
            wg.jvp(slope, (x,), (v,)),
            wg.grad(lambda x: slope(x)[1] @ v)(x),
            wg.vmap(slope)(xs),
        )

    expected, actual = everything(matrix, x, xs), wg.jit(everything)(matrix, x, xs)
    for one, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
        assert_equal_in_norm(one, other)


@pytest.mark.parametrize("limits", [{"most": 1.5}, {"max_bytes": "1 MB"}, {"most": -1}])
def test_limits_that_are_no_counts(limits: Any) -> None:
    with pytest.raises(
        ArgumentError, match=rf"^while_loop: {next(iter(limits))} must (be an integer|not be negative)"
    ):
        wg.while_loop(lambda x: x < 9.0, lambda x: 2 * x, 1.0, **limits)


@pytest.mark.parametrize(
    "transform",
    [lambda f: wg.jit(wg.grad(f)), lambda f: wg.jit(wg.vmap(wg.hessian(f)))],
    ids=["grad", "hessian"],
)
def test_a_loop_without_a_limit_is_refused_at_its_line(transform: Any) -> None:
    def root(a: Any) -> Any:
        return wg.while_loop(lambda s: np.abs(s * s - a) > 1e-12, lambda s: (s + a / s) / 2, a)

    x = np.array([2.0, 9.0]) if "vmap" in transform(root).__name__ else 2.0
    line = root.__code__.co_firstlineno + 1
    with pytest.raises(
        TypeError, match=rf"the largest number of turns; .* \[test_limited_loops\.py:{line}\]$"
    ):
        transform(root)(x)
