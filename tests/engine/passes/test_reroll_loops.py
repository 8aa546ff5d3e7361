"""Loop rerolling: loops that are found, and graphs that compute what the straight list computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.unrolled import STATEMENTS, drawn, inputs, program
from wengert.engine.ir import Graph, verify
from wengert.engine.machine import costs
from wengert.engine.passes.reroll.indices import index_arrays
from wengert.engine.passes.reroll.repeats import find_repeats
from wengert.engine.passes.reroll.reroll_loops import reroll_loops
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms import substitution
from wengert.engine.transforms.staging import evaluate


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    model = replace(costs.COSTS, rerolled_equations=8, rerolled_turns=3)
    monkeypatch.setattr(costs, "COSTS", model)


def all_graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for equation in graph.equations:
        for inner in equation.graphs():
            yield from all_graphs(inner)


def scans(graph: Graph) -> list[Any]:
    return [line.params for one in all_graphs(graph) for line in one.equations if line.primitive == "scan"]


def length(graph: Graph) -> int:
    return sum(len(one.equations) for one in all_graphs(graph))


def assert_same_values(before: Graph, after: Graph, arguments: Any) -> None:
    verify(after)
    assert after.input_types == before.input_types
    assert after.output_types == before.output_types
    for expected, found in zip(evaluate(before, *arguments), evaluate(after, *arguments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs_with_gradients_compute_the_same(seed: int) -> None:
    function, arguments = drawn(seed)
    graph = wg.trace(wg.value_and_grad(function, argnums=(0, 1, 2, 3)))(*arguments)
    assert_same_values(graph, reroll_loops(graph), arguments)
    simple = simplify(graph)
    assert_same_values(simple, simplify(reroll_loops(simple)), arguments)


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_statement_becomes_a_loop_forward_and_backward(name: str) -> None:
    turns = 18
    function, arguments = program(["scalar", name, "vector"], turns), inputs(0, turns)
    graph = wg.trace(wg.value_and_grad(function, argnums=(0, 1, 2, 3)))(*arguments)
    rolled = reroll_loops(graph)
    assert_same_values(graph, rolled, arguments)
    assert len(scans(rolled)) >= 2
    assert length(rolled) < length(graph) / 2


@pytest.mark.parametrize("turns", range(5, 16))
def test_turns_that_remain_at_the_ends_stay_straight(turns: int) -> None:
    function, arguments = program(["branch", "scalar", "first turn", "last turn"], turns), inputs(1, turns)
    graph = wg.trace(wg.grad(function))(*arguments)
    assert_same_values(graph, reroll_loops(graph), arguments)


def test_the_length_of_a_rerolled_list_does_not_depend_on_the_number_of_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(substitution, "STAGED", False)  # the trace of many turns is a list, too
    lengths = set[int]()
    for turns in (20, 40, 80):
        function = program(["scalar", "row", "write"], turns)
        lengths.add(length(reroll_loops(wg.trace(wg.grad(function))(*inputs(2, turns)))))
    assert len(lengths) == 1


def test_a_loop_inside_a_loop() -> None:
    def function(x: Any) -> Any:
        for t in range(6):
            for _ in range(12):
                x = x - 0.1 * np.sin(x)
            x = np.cos(x) * (t + 1.0)
        return x

    graph = wg.trace(function)(np.float64(0.3))
    rolled = reroll_loops(graph)
    assert_same_values(graph, rolled, [0.3])
    assert sorted(scan["length"] for scan in scans(rolled)) == [6, 12]


def test_equations_that_are_the_same_in_each_turn_come_before_the_loop() -> None:
    def function(x: Any, w: Any) -> Any:
        for _ in range(12):
            x = np.tanh(np.exp(w).T @ x)
        return x

    graph = wg.trace(function)(np.ones(3), np.ones((3, 3)))
    (scan,) = scans(reroll_loops(graph))
    assert [line.primitive for line in scan["body"].equations] == ["contract", "tanh"]


def test_python_numbers_stay_python_numbers() -> None:
    def function(x: Any, y: Any) -> Any:
        for t in range(10):
            x = x * 0.5 + 1.5
            y = y * x + (t + 0.5)
        return x, y, x > 2

    graph = wg.trace(function)(2.0, np.ones(3, np.float32))
    rolled = reroll_loops(graph)
    assert_same_values(graph, rolled, (2.0, np.ones(3, np.float32)))
    assert scans(rolled)
    assert rolled.output_types[1].dtype == np.float32


def test_numbers_that_differ_are_compared_in_the_dtype_of_the_array() -> None:
    def function(x: Any) -> Any:
        for t in range(12):
            x = np.where(x < 0.1 * t, x + 0.1 * t, x * (1 + 0.3 * t))
        return x

    x = (0.1 * np.arange(12)).astype(np.float32)
    graph = wg.trace(function)(x)
    rolled = reroll_loops(graph)
    assert scans(rolled)
    (expected,), (found,) = evaluate(graph, x), evaluate(rolled, x)
    assert found.tobytes() == expected.tobytes()


def test_separate_arguments_are_copied_only_while_they_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Any, weights: list[Any]) -> Any:
        for w in weights:
            x = np.tanh(w * x) + 0.1 * w
        return x

    weights = [np.full(4, 0.1 * n) for n in range(12)]
    graph = wg.trace(function)(np.ones(4), weights)
    rolled = reroll_loops(graph)
    assert [scan["length"] for scan in scans(rolled)] == [12]
    assert_same_values(graph, rolled, [np.ones(4), *weights])
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_copied_bytes=100))
    assert not scans(reroll_loops(graph))


def test_a_turn_that_reads_the_values_of_all_turns_before_stays_straight() -> None:
    def function(x: Any) -> Any:
        seen = [x]
        for _ in range(8):
            seen.append(np.sin(sum(seen)))
        return seen[-1]

    graph = wg.trace(function)(np.float64(0.2))
    assert_same_values(graph, reroll_loops(graph), [0.2])


def test_short_lists_are_kept() -> None:
    graph = wg.trace(lambda x: np.sin(np.sin(x)))(1.0)
    assert reroll_loops(graph) is graph


# -- repeats in sequences --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_repeats_are_found_and_are_repeats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    period, turns = int(rng.integers(1, 12)), int(rng.integers(3, 9))
    start, end = rng.integers(0, 4, 7).tolist(), rng.integers(0, 4, 5).tolist()
    sequence = start + rng.integers(0, 4, period).tolist() * turns + end
    found = find_repeats(sequence, max(1, period * (turns - 1)))
    assert any(one.start <= 7 and one.stop >= 7 + period * turns for one in found)
    for one in find_repeats(sequence, 2):
        part = sequence[one.start : one.stop]
        assert part[one.period :] == part[: -one.period]
        assert one.start == 0 or sequence[one.start - 1] != sequence[one.start - 1 + one.period]


def test_index_arrays_select_what_basic_indices_select() -> None:
    x = np.arange(60).reshape(3, 4, 5)
    indices = [(1, (t, 2, 1), (3, 2, -2)) for t in range(3)]
    arrays = index_arrays(indices, x.shape)
    for turn in range(3):
        found = x[tuple(array[turn] if follows else array for array, follows in arrays)]
        np.testing.assert_array_equal(found, x[1, turn : turn + 2, 3::-2])
