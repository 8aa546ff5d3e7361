"""Branches on counters, and loops whose turns a counter bounds, are staged, and computed as Python does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir.graph import Graph
from wengert.engine.staged import loop_staging, numbers
from wengert.engine.staged.counted import Turn, interval, is_counted
from wengert.engine.transforms import turns
from wengert.engine.transforms.staging import equations_written

_X = np.array([0.3, 1.2, 0.7, 2.5, 0.4, 0.9, 1.1, 0.2, 0.6, 0.8, 1.3, 0.5])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take some turns for many."""
    monkeypatch.setattr(turns, "MOST_TURNS", 10)
    monkeypatch.setattr(turns, "LEAST_EQUATIONS", 20)
    monkeypatch.setattr(numbers, "LEAST_BRANCHING", 20)


def _primitives(graph: Graph) -> set[str]:
    found = {line.primitive for line in graph.equations}
    return found.union(*(_primitives(inner) for line in graph.equations for inner in line.graphs()))


def _check(program: Callable[..., Any], *arguments: Any) -> None:
    found, expected = wg.jit(program)(*arguments), program(*arguments)
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-12)
    slope = wg.grad(lambda *arguments: np.sum(wg.tree.leaves(program(*arguments))[0]))
    for one, other in zip(
        wg.tree.leaves(wg.jit(slope)(*arguments)), wg.tree.leaves(slope(*arguments)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


# -- loops that a counter bounds -------------------------------------------------------------------------


def below(x: Any) -> Any:
    s = 0.0
    for i in range(12):
        for j in range(i):
            s = s + np.sin(x[i] * x[j])
    return s


def above(x: Any) -> Any:
    s = 0.0
    for i in range(12):
        for j in range(i + 1, 12):
            s = s * 0.9 + x[i] * x[j]
    return s


def downwards(x: Any) -> Any:
    s = 0.0
    for i in range(11, -1, -1):
        for j in range(i, -1, -2):
            s = s * 0.9 + x[i] * x[j]
        for j in range(12 - i):
            s = s * 0.9 + x[j]
    return s


def factor(x: Any) -> Any:
    n = 5
    a = np.outer(x[:n], x[:n]) + np.eye(n) * 5
    r = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - r[i, k] * r[j, k]
            if i == j:
                r[i, i] = np.sqrt(s)
            else:
                r[i, j] = s / r[j, j]
    return np.sum(r)


def window(x: Any) -> Any:
    s = 0.0
    for i in range(12):
        t = x[i]
        for j in range(max(0, i - 3), min(i + 1, 11)):
            t = t * 0.5 + x[j]
        s = s + np.sin(t)
    return s


def strided(x: Any) -> Any:
    s = 0.0
    for i in range(12):
        for j in range(i // 2, i, 3):
            s = s * 0.9 + x[i] * x[j]
        for j in range(i % 4 + 1):
            s = s + x[j] * 0.1
    return s


def last_counter(x: Any) -> Any:
    s, k = x[0], 0
    for i in range(12):
        for k in range(i):
            s = s + 0.1 * np.sin(x[k] * s)
        s = s + x[k] * 0.01
    return s


def rows(x: Any) -> Any:
    s = np.zeros(12)
    for i in range(1, 12):
        for j in range(i):
            s[i] += x[j] * s[j] + 0.1
    return s


_BOUNDED = [below, above, downwards, factor, window, strided, last_counter, rows]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", _BOUNDED)
def test_loops_that_a_counter_bounds_equal_python(program: Callable[..., Any]) -> None:
    primitives = _primitives(wg.trace(program)(_X))
    assert "bounded_scan" in primitives
    assert "while" not in primitives
    _check(program, _X)


def test_loops_that_are_staged_for_their_values_have_bounds_too() -> None:
    def program(x: Any) -> Any:
        s = 0.0
        for i in range(12):
            for j in range(i):
                s = s + x[j] if s < 2 else s - x[i]
        return s

    primitives = _primitives(wg.trace(program)(_X))
    assert "bounded_scan" in primitives
    assert "while" not in primitives
    _check(program, _X)


def test_states_that_are_too_large_are_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_staging, "MOST_KEPT_BYTES", 1000)

    def program(x: Any) -> Any:
        if x[0] > 0:
            x = x * 2
        for i in range(12):
            for _ in range(i):
                x = x + 0.01 * np.sin(x)
        return np.sum(x)

    assert "while" in _primitives(wg.trace(program)(_X))


# -- branches on counters --------------------------------------------------------------------------------


def parity(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        s = s * 0.5 + x[i] if i % 2 else np.sin(s) + x[i] * 2
    return s


def pulse(x: Any) -> Any:
    s, t = x[0], 0.0
    for i in range(12):
        current = 1.0 if 3 < i <= 7 and i != 5 else 0.0
        s = s + 0.1 * (current - np.sin(s)) * x[i]
        if i in (2, 9):
            t = t + s
    return s + t


def skipped(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        if i % 3 == 1:
            continue
        s = s * 0.5 + x[i] * np.sin(s)
    return s


def first_turn(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        if i == 0:
            s = x[1] * 2
        elif i < 4 or not i < 10:
            s = s + np.cos(x[i])
        else:
            s = s * x[i] - x[i - 1]
    return s


def chosen_numbers(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        k = i + 1 if i < 6 else i - 6
        s = s * 0.5 + x[k] * (i // 3) + np.sin(s) * (i % 5)
    return s


_BRANCHING = [parity, pulse, skipped, first_turn, chosen_numbers]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", _BRANCHING)
def test_branches_on_counters_equal_python(program: Callable[..., Any]) -> None:
    primitives = _primitives(wg.trace(program)(_X))
    assert "scan" in primitives
    _check(program, _X)


# -- what stays unrolled ---------------------------------------------------------------------------------


def other_types(x: Any) -> Any:
    s = x.astype("f4")[0]
    for i in range(12):
        s = s * 0.5 + (1 if i < 5 else 2.0) * x[i] + np.sin(s)
    return s


def narrow(x: Any) -> Any:
    s, t = x.astype("f4")[0], 0.0
    for i in range(12):
        s = s * 0.5 + t * np.sin(s) + x.astype("f4")[i]
        if i > 20:
            t = t + x[i]
    return s


def rounded_times(x: Any) -> Any:
    s, t = x[0], 0.0
    for i in range(12):
        s = s * 0.5 + x[i] + np.sin(s) if t < 0.3 else s * 0.9
        t = t + 0.1
    return s


def raised(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        assert i < 20
        if i > 15:
            raise ValueError
        s = s * 0.5 + x[i] + np.sin(s)
    return s


def divided_behind(x: Any) -> Any:
    s, n = x[0], 1
    for i in range(12):
        s = s * 0.5 + x[i] + np.sin(s)
        n = n + 2
    return s / n + 1 / n + s * (n * 10**17)


def grown(x: Any) -> Any:
    s, n = x[0], 1
    for i in range(12):
        n = n * 7 + i % 2
        s = s * 0.5 + x[i] + np.sin(s) / n
    return s


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", [other_types, narrow, rounded_times, raised, divided_behind, grown])
def test_what_a_program_computes_otherwise_stays_unrolled(program: Callable[..., Any]) -> None:
    assert "scan" not in _primitives(wg.trace(program)(_X))
    _check(program, _X)


def test_a_division_by_zero_behind_a_loop_is_python_s(few: None) -> None:
    def program(x: Any) -> Any:
        s, n = x[0], -24
        for i in range(12):
            s = s * 0.5 + x[i] + np.sin(s)
            n = n + 2
        return s * (1 / n)

    with pytest.raises(ZeroDivisionError):
        wg.jit(program)(_X)


def test_a_value_behind_many_turns_stages_all(few: None) -> None:
    def program(x: Any) -> Any:
        s = x[0]
        for i in range(12):
            s = s * 0.5 + x[i] + np.sin(s)
        if s > 1:
            s = s * 2
        return s

    before = equations_written()
    assert {"scan", "cond"} <= _primitives(wg.trace(program)(_X))
    assert equations_written() - before < 150
    _check(program, _X)


def test_a_loop_with_branches_that_makes_few_operations_stays_unrolled() -> None:
    def program(x: Any) -> Any:
        for i in range(200):
            x = x + 0.01 * (np.sin(x) * np.cos(x) * np.exp(x) * np.tanh(x) if i % 2 else np.cos(x) * x)
        return x

    assert "scan" not in _primitives(wg.trace(program)(_X))


# -- intervals -------------------------------------------------------------------------------------------


def test_the_interval_of_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    def note(value: Any) -> Any:
        print(interval(value))
        return value

    def program(x: Any) -> Any:
        s = x[0]
        if s > 0:
            s = s * 2
        for i in range(10):
            k = note(3 * i - 2)
            m = note(k // 4)
            s = s + x[note(m % 5)] + note(7 - i) + note(i * k)
            s = s + note(max(i, 3)) + note(i - k) + note(i if i > 5 else -i)
        return s

    wg.trace(program)(_X)
    found = set(capsys.readouterr().out.splitlines())
    expected = {(-2, 25), (-1, 6), (0, 4), (-2, 7), (-18, 225), (0, 9), (-25, 11), (-9, 9)}
    assert found >= set(map(str, expected))
    assert interval(5) == (5, 5)
    assert interval(2.5) is None
    assert is_counted(3)
    assert Turn(3).most == 3


# -- how long it takes -----------------------------------------------------------------------------------


def _written(program: Callable[..., Any], *arguments: Any) -> int:
    before = equations_written()
    graph = wg.trace(wg.grad(program))(*arguments)
    assert len(graph.equations) < 100  # nothing of the run that ended is left
    return equations_written() - before


def test_a_chain_of_hidden_states_takes_few_visits() -> None:
    rng = np.random.default_rng(0)

    def likelihood(logb: Any, a: Any) -> Any:
        alpha = logb[0]
        for t in range(1, 2400):
            m = np.max(alpha)
            alpha = np.log(np.exp(alpha - m) @ a) + m + logb[t]
        return np.max(alpha)

    assert _written(likelihood, rng.normal(size=(2400, 3)), rng.uniform(size=(3, 3))) < 2000


def test_a_nest_of_projections_takes_few_visits() -> None:
    rng = np.random.default_rng(0)

    def program(x: Any, a: Any, b: Any) -> Any:
        for _ in range(1000):
            x = x * 0.99 + 0.01
            for _ in range(5):
                for k in range(8):
                    x = x + a[k] * ((b[k] - a[k] @ x) / (a[k] @ a[k])) * 0.5
        return np.sum(x * x)

    assert _written(program, rng.normal(size=6), rng.normal(size=(8, 6)), rng.normal(size=8)) < 2500


def test_a_neuron_with_a_pulse_takes_few_visits() -> None:
    def program(p: Any) -> Any:
        v, m, trace = -65.0, 0.05, np.zeros(10_000)
        for t in range(10_000):
            current = 10.0 if 1000 < t < 6000 else 0.0
            v = v + 0.01 * (current - p[0] * m**3 * (v - 50.0) - p[1] * (v + 54.4))
            m = m + 0.01 * (1 / (1 + np.exp(-(v + 40) / 10)) - m)
            trace[t] = v
        return np.mean(trace)

    assert _written(program, np.array([12.0, 0.3])) < 2000


@pytest.mark.parametrize("count", [1_000, 1_000_000])
def test_the_number_of_turns_does_not_count(count: int) -> None:
    def program(x: Any) -> Any:
        for i in range(count):
            x = x + 0.01 * (np.sin(x) if i % 2 else np.cos(x) * x)
        return np.sum(x)

    assert _written(program, np.ones(3)) < 2000
