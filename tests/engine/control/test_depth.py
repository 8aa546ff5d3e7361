"""The cost of nesting: work grows polynomially with the number of levels, for every mixture."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.nests import (
    FORWARD,
    LEVELS,
    SEVERAL,
    SINGLE,
    Function,
    calls,
    distinct_equations,
    expected,
    mixture,
    nest,
)
from tests.engine.control.running import assert_close, names, write_down
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.compiler.passes.interference import _Pair
from wengert.engine.core.errors import LostDerivativeError, UnsupportedError
from wengert.engine.ir.graph import Graph
from wengert.engine.transforms.staging import GraphTrace, evaluate

X = 0.7
REVERSIBLE = [*SINGLE, *SEVERAL]


def hvp(function: Function) -> Function:
    return lambda x: wg.jvp(wg.grad(function), (x,), (1.0,))[1]


def of_many(function: Function) -> Function:
    return lambda x: wg.vmap(function)(np.stack([x, x]))


TRANSFORMS: dict[str, Function] = {
    "value": lambda function: function,
    "jvp": lambda function: lambda x: wg.jvp(function, (x,), (1.0,)),
    "vmap": of_many,
    "grad": wg.grad,
    "vmap of grad": lambda function: of_many(wg.grad(function)),
    "hvp": hvp,
    "grad of grad": lambda function: wg.grad(wg.grad(function)),
}
FORWARD_ONLY = ("value", "jvp", "vmap")
#: Each kind alone, and mixtures.
NESTS = [[kind] for kind in LEVELS] + [mixture(REVERSIBLE, 5, seed) for seed in range(3)]


def work_of(function: Function, kinds: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Return the work of staging a function: equations written, user functions called, equations kept."""
    written = 0
    append = GraphTrace.append

    def counted(self: GraphTrace, *arguments: Any) -> Any:
        nonlocal written
        written += 1
        if written > 50_000:
            pytest.fail("as many equations as no program of this size needs")
        return append(self, *arguments)

    calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(GraphTrace, "append", counted)
        graph, _, _ = write_down(function, np.float64(X))
    return written, len(calls), distinct_equations(graph)


@pytest.mark.parametrize("kinds", NESTS, ids=lambda kinds: kinds[0] if len(kinds) == 1 else "mixture")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_work_is_a_low_polynomial_of_the_depth(
    name: str, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if kinds[0] in FORWARD and name not in FORWARD_ONLY:
        pytest.skip("no reverse mode goes through it in a graph")
    short, long = ((kinds * 10)[:depth] for depth in (4, 8))
    before = work_of(TRANSFORMS[name](nest(short)), short, monkeypatch)
    after = work_of(TRANSFORMS[name](nest(long)), long, monkeypatch)
    # Twice the depth takes at most about four times the work; exponential growth would take 16 times.
    assert all(more <= 6 * less + 20 for less, more in zip(before, after, strict=True)), (before, after)


@pytest.mark.parametrize("kind", [kind for kind in REVERSIBLE if not kind.startswith("custom")])
@pytest.mark.parametrize("name", ["grad", "hvp", "grad of grad"])
def test_programs_of_a_derivative_are_as_many_as_levels(name: str, kind: str) -> None:
    sizes = [distinct_equations(write_down(TRANSFORMS[name](nest([kind] * n)), X)[0]) for n in (3, 6, 9)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("name", ["jvp", "vmap of grad", "grad of grad"])
@pytest.mark.usefixtures("young_heap")
def test_programs_that_are_dropped_are_freed(name: str) -> None:
    def kept() -> int:
        gc.collect()
        return sum(isinstance(item, Graph) for item in gc.get_objects())

    def written() -> int:
        for kind in [*SINGLE, *SEVERAL]:
            write_down(TRANSFORMS[name](nest([kind])), X)
        return kept()

    assert written() == written()


# -- many levels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [15, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["value", "grad", "jvp", "vmap of grad", "hvp", "hessian"])
def test_many_levels(name: str, seed: int, depth: int) -> None:
    kinds = mixture([kind for kind in SINGLE if kind != "custom_vjp"], depth, seed)
    function = nest(kinds)
    value, slope, bend = expected(depth, X)
    results = {
        "value": (function, value),
        "grad": (wg.grad(function), slope),
        "jvp": (lambda x: wg.jvp(function, (x,), (1.0,))[1], slope),
        "vmap of grad": (lambda x: wg.vmap(wg.grad(function))(np.stack([x, x]))[1], slope),
        "hvp": (hvp(function), bend),
        "hessian": (wg.hessian(function), bend),
    }
    run, known = results[name]
    assert_close(run(np.float64(X)), known)
    if name in ("value", "grad", "hvp"):
        graph, _, _ = write_down(run, np.float64(X))
        if name != "hvp":  # recomputation takes the cube of the depth there
            assert_close(evaluate(graph, np.float64(X)), [known])


@pytest.mark.parametrize("depth", [15, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SINGLE)
def test_many_levels_of_a_kind(kind: str, depth: int) -> None:
    depth = min(depth, 40) if kind.startswith("custom") else depth  # 18 of Python's 1,000 frames each
    function = nest([kind] * depth)
    value, slope, bend = expected(depth, X)
    assert_close(wg.value_and_grad(function)(X), (value, slope))
    assert_close(hvp(function)(X), bend)
    graph, _, _ = write_down(wg.value_and_grad(function), X)
    assert_close(evaluate(graph, X), [value, slope])


@pytest.mark.parametrize("depth", [15, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [*SEVERAL, *FORWARD])
def test_many_levels_of_loops_are_written_down(kind: str, depth: int) -> None:
    graph, _, _ = write_down(lambda x: wg.jvp(nest([kind] * depth), (x,), (1.0,)), X)
    if kind in FORWARD:
        assert_close(evaluate(graph, X), list(expected(depth, X)[:2]))


@pytest.mark.parametrize("seed", range(3))
def test_compiled_nests(seed: int) -> None:
    kinds = mixture(REVERSIBLE, 4, seed)
    function = nest(kinds)
    _, slope, bend = expected(4, X)
    both = wg.jit(lambda x: wg.jvp(wg.grad(function), (x,), (1.0,)))
    assert_close(both(X), (slope, bend), f"{kinds}")


@pytest.mark.parametrize("depth", [15, pytest.param(50, marks=pytest.mark.slow)])
def test_many_compiled_loops(depth: int) -> None:
    value, slope, _ = expected(depth, X)
    assert_close(wg.jit(nest(mixture(["scan", "fori_loop"], depth, 0)))(X), value)
    assert_close(wg.jit(wg.grad(nest(["custom_jvp"] * depth)))(X), slope)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*SINGLE, "mixture"])
def test_fifty_compiled_levels(kind: str) -> None:
    plain = [item for item in SINGLE if not item.startswith("custom")]
    kinds = mixture(plain, 50, 1) if kind == "mixture" else [kind] * 50
    value, slope, _ = expected(50, X)
    assert_close(wg.jit(wg.value_and_grad(nest(kinds)))(X), (value, slope))


def test_what_is_live_in_nested_loops_is_found_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    before_leaf = _Pair._before_leaf

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return before_leaf(self, *arguments)

    monkeypatch.setattr(_Pair, "_before_leaf", counted)
    counts: list[int] = []
    for depth in (5, 10):
        looked_at = 0
        wg.jit(nest(["scan"] * depth))(X + depth)
        counts.append(looked_at)
    assert 0 < counts[1] <= 6 * counts[0]


# -- drafts of the steps of loops ------------------------------------------------------------------------


def test_drafts_leave_nothing_in_the_list() -> None:
    def repeated(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: c + np.sin(np.cos(x)), 0.0)

    graph, _, _ = write_down(repeated, X)
    assert [names(graph).count(name) for name in ("cos", "sin", "scan")] == [1, 1, 1]
    assert_close(evaluate(graph, X), [3 * np.sin(np.cos(X))])


def test_loops_of_known_values_are_pythons_own_in_a_graph() -> None:
    def shortened(x: Any) -> Any:
        # The step closes over the array, but reads only its shape.
        count = wg.fori_loop(0, 5, lambda i, c: c + x.shape[0] if i < 1 else c - 1, 0)
        turns = wg.while_loop(lambda n: n < len(x), lambda n: n + len(x) // 2, 0)
        return np.sum(x[: count + turns])

    x = np.arange(6.0)
    assert_close(wg.jit(shortened)(x), shortened(x))


def test_a_while_loop_of_no_turns_stays_known_in_a_graph() -> None:
    def untaken(x: Any) -> Any:
        value = wg.while_loop(lambda v: v < 0, lambda v: v + x, 2.0)
        return x * value if value > 1 else x

    assert_close(wg.jit(wg.grad(untaken))(3.0), 2.0)


def test_steps_that_ask_for_known_values_at_first() -> None:
    def loop(x: Any) -> Any:
        def step(v: Any) -> Any:
            return v + 1 if v < 3 else v + int(v) * x  # known until the fourth step

        for _ in range(4):
            x, v = x, 0
        v = wg.while_loop(lambda v: v < 3, step, v)
        return v * x

    assert_close(wg.jit(loop)(2.0), 6.0)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_rule_that_closes_over_a_value_around_control_flow_is_told(mode: str) -> None:
    def program(x: Any, w: Any) -> Any:
        tripled = wg.custom_vjp(lambda x: 3 * x)
        tripled.defvjp(lambda x: (3 * x, None), lambda kept, cotangent: (cotangent * w,))
        return wg.cond(x > 0, lambda x: tripled(x) * 2.0, lambda x: x, x)

    run = (
        wg.grad(program) if mode == "reverse" else lambda x, w: wg.jvp(lambda x: program(x, w), (x,), (1.0,))
    )
    with pytest.raises(LostDerivativeError, match="pass it to the function as an argument"):
        wg.jit(run)(1.3, 5.0)


# -- rules around loops ----------------------------------------------------------------------------------


def _by_a_rule(function: Function) -> Function:
    """Return a function whose rule is its own derivative."""
    ruled = wg.custom_jvp(function)
    ruled.defjvp(lambda primals, tangents: wg.jvp(function, primals, tangents))
    return ruled


def test_a_rule_may_divide_by_what_a_loop_counts() -> None:
    def mean(x: Any) -> Any:
        total, count = wg.scan(lambda s, y: ((s[0] + np.sin(y), s[1] + 1), None), (0.0 * x[0], 0), x)[0]
        return total / count

    x = np.array([0.3, 1.2, -0.7])
    for run in (
        wg.grad(_by_a_rule(mean)),
        lambda x: evaluate(write_down(wg.grad(_by_a_rule(mean)), x)[0], x)[0],
    ):
        assert_close(run(x), np.cos(x) / 3)


def test_a_rule_around_a_branch_of_many_examples() -> None:
    def branch(x: Any) -> Any:
        return wg.cond(x > 0, lambda x: np.sin(x) * x, lambda x: x * x, x)

    x = np.array([0.3, -1.2, 0.7])
    known = wg.vmap(wg.grad(branch))(x)
    assert_close(wg.vmap(wg.grad(_by_a_rule(branch)))(x), known)
    ruled = _by_a_rule(lambda x: np.sum(wg.vmap(branch)(x)))
    assert_close(wg.grad(ruled)(x), known)
    assert_close(wg.jit(wg.grad(ruled))(x), known)


def test_what_a_rule_makes_of_tangents_of_a_loop_must_be_linear() -> None:
    squared = wg.custom_jvp(lambda x: x)

    @squared.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        along = wg.scan(lambda c, y: (c * 2.0, None), tangents[0], primals[0])[0]
        return primals[0], along * along

    x = np.ones(2)
    with pytest.raises(UnsupportedError, match="must be linear"):
        write_down(wg.grad(lambda x: np.sum(squared(x))), x)
