"""What the pass backward of a loop reads that all turns share is wrong only where the loop takes a turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.staged import loops, numbers
from wengert.engine.transforms.staging import evaluate

N = 5


@pytest.fixture(autouse=True)
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short loops stay loops."""
    monkeypatch.setattr(numbers, "LEAST_BRANCHING", 0)
    monkeypatch.setattr(loops, "MOST_UNROLLED", 0)


def _for(m: Any, b: Any, beyond: int = 1) -> Any:
    """The last turn of the outer loop has no turn of the inner one; an index is then outside of the matrix."""
    if b[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(b)):
        for j in range(i + 1, len(b)):
            total += np.sin(m[i + beyond, i + beyond]) * b[j]
    return total


def _while(m: Any, b: Any, beyond: int = 1) -> Any:
    if b[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(b)):
        j, s = i + 1, 1.0
        while j < len(b) and s < 1e9:
            s += np.sin(m[i + beyond, i + beyond]) * b[j] * s
            j += 1
        total += s
    return total


def _windows(m: Any, b: Any, beyond: int = 1) -> Any:
    if b[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(b)):
        for j in range(i + 1, len(b)):
            total += np.sum(np.sin(m[i + 1 :, i + beyond])) * b[j]
    return total


def _roots(m: Any, b: Any) -> Any:
    """The root of the last row would be that of a negative number."""
    if b[0] < -1e300:
        raise ValueError("so small")
    total = 0.0
    for i in range(len(b)):
        for j in range(i + 1, len(b)):
            total += math.sqrt(m[i, 0]) * b[j]
    return total


def _arguments() -> tuple[Any, Any]:
    m, b = np.random.default_rng(0).uniform(0.1, 1.0, size=(N, N)), np.linspace(0.5, 1.0, N)
    m[-1] = -1.0
    return m, b


def _agree(found: Any, expected: Any) -> None:
    for value, item in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, item, rtol=1e-12, atol=1e-14)


def _is_refused(program: Any, run: Any) -> None:
    def beyond(m: Any, b: Any) -> Any:
        return program(m, b, 2)

    slope: Any = wg.grad(beyond, (0, 1))
    with pytest.raises(IndexError, match="out of bounds"):
        run(slope)(*_arguments())


def _evaluated(slope: Any) -> Any:
    def run(*arguments: Any) -> Any:
        return evaluate(wg.trace(slope)(*arguments), *arguments)

    return run


def _itself(slope: Any) -> Any:
    return slope


def test_a_graph_raises_no_error_of_turns_that_do_not_happen() -> None:
    slope = wg.grad(_for, (0, 1))
    _agree(_evaluated(slope)(*_arguments()), slope(*_arguments()))


def test_an_index_that_a_turn_of_a_graph_reads_is_checked() -> None:
    """No result of the pass forward is asked for: the pass backward alone reads the element."""
    _is_refused(_for, _evaluated)


@pytest.mark.slow
@pytest.mark.parametrize("program", [_for, _while, _windows, _roots])
def test_gradients_are_those_of_python(program: Any) -> None:
    slope = wg.grad(program, (0, 1))
    expected = slope(*_arguments())
    _agree(_evaluated(slope)(*_arguments()), expected)
    _agree(wg.jit(slope)(*_arguments()), expected)
    batch = (x[None] for x in _arguments())
    _agree([x[0] for x in wg.jit(wg.vmap(slope))(*batch)], expected)


@pytest.mark.slow
@pytest.mark.parametrize("program", [_for, _while, _windows])
def test_an_index_that_a_turn_reads_is_checked(program: Any) -> None:
    modes: list[Any] = [_itself, wg.jit, _evaluated]
    for run in modes:
        _is_refused(program, run)


@pytest.mark.slow
def test_a_root_that_a_turn_takes_is_checked() -> None:
    m, b = _arguments()
    m[2, 0] = -1.0
    slope = wg.grad(_roots, (0, 1))
    for run in (slope, wg.jit(slope)):
        with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
            run(m, b)
