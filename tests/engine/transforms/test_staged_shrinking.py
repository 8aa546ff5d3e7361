"""Arrays that become shorter from turn to turn: compiled, programs compute what Python does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import program_of
from tests.engine.transforms.random_shrinking import Shrinking

_X = np.array([0.3, -0.8, 0.5, 0.9, -0.4, 0.7])
_COUNT = many(120)


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as problem:
        return problem


def _assert_same(found: Any, expected: Any, source: str) -> None:
    if isinstance(expected, Exception):
        # An exception of a line that is reached in any case may come before one of a turn.
        assert isinstance(found, (ValueError, IndexError)), source
        assert isinstance(expected, (ValueError, IndexError)), source
    elif not (isinstance(found, wg.errors.StagingError) and "another variable may show" in str(found)):
        assert not isinstance(found, Exception), f"{found!r}\n{source}"
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=source)


@pytest.mark.parametrize("seed", range(_COUNT))
def test_random_programs_are_pythons(seed: int) -> None:
    source = Shrinking(seed).source()
    program = program_of(source, f"shrinking {seed}")
    compiled = wg.jit(program)
    for count in (0, 2, 3):
        _assert_same(_outcome(compiled, _X, 0.6, count), _outcome(program, _X, 0.6, count), source)


@pytest.mark.parametrize("seed", range(_COUNT // 4))
def test_gradients_of_random_programs_are_the_eager_ones(seed: int) -> None:
    source = Shrinking(seed + 10_000).source()
    program = program_of(source, f"slopes of shrinking {seed}")

    def total(x: Any) -> Any:
        return np.sin(program(x, 0.6 * x[0], 3))

    _assert_same(_outcome(wg.jit(wg.grad(total)), _X), _outcome(wg.grad(total), _X), source)


def lattice(spot: Any, steps: int) -> Any:
    """Return the value of an option: each turn has one node less."""
    values = np.maximum(spot * 1.01 ** (2.0 * np.arange(steps + 1) - steps) - 1.0, 0.0)
    for _ in range(steps):
        values = 0.999 * (0.52 * values[1:] + 0.48 * values[:-1])
    return values[0]


def test_a_loop_of_many_turns_is_one_of_the_program() -> None:
    counts = [len(wg.trace(lambda spot, n=n: lattice(spot, n))(1.1).equations) for n in (300, 400)]
    assert counts[0] == counts[1] < 60
    compiled = wg.jit(wg.value_and_grad(lambda spot: lattice(spot, 300)))
    np.testing.assert_allclose(
        compiled(1.1), wg.value_and_grad(lambda spot: lattice(spot, 300))(1.1), rtol=1e-11
    )


def test_examples_that_end_apart() -> None:
    def smoothed(x: Any, limit: Any) -> Any:
        while len(x) > 1 and np.max(x) > limit:
            x = 0.5 * (x[1:] + x[:-1])
        return x[0] + np.sum(x)

    xs, limits = np.array([_X, _X[::-1], _X * 0.5]), np.array([0.2, 0.6, 0.1])
    expected = [smoothed(x, limit) for x, limit in zip(xs, limits, strict=True)]
    np.testing.assert_allclose(wg.vmap(smoothed)(xs, limits), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.vmap(smoothed))(xs, limits), expected, rtol=1e-12)
    slopes = [wg.grad(smoothed)(x, limit) for x, limit in zip(xs, limits, strict=True)]
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(smoothed)))(xs, limits), slopes, rtol=1e-12)


def test_second_derivatives() -> None:
    def differences(x: Any, n: int) -> Any:
        c = np.sin(x)
        for _ in range(n):
            c = (c[1:] - c[:-1]) * c[1:]
        return np.sum(c)

    hessian = wg.hessian(differences)
    np.testing.assert_allclose(wg.jit(hessian)(_X, 3), hessian(_X, 3), rtol=1e-10, atol=1e-12)


def written_behind(x: Any, n: Any) -> Any:
    base = x.copy()
    part = base
    for _ in range(n):
        part = part[1:]
    base[5] = 100.0
    return part.sum()


def written_by_branches(x: Any, n: Any) -> Any:
    base = x.copy()
    part = base[1:] if n > 1 else base[2:]
    base[5] = 100.0
    return part.sum()


def written_in_turns(x: Any, n: Any) -> Any:
    base = x * 1.0
    part = base
    while len(part) > n:
        part = part[:-1]
        base[0] -= 1.0
    return part.sum()


@pytest.mark.parametrize("program", [written_behind, written_by_branches, written_in_turns])
def test_a_part_never_misses_a_write_into_its_array(program: Callable[..., Any]) -> None:
    with pytest.raises(wg.errors.StagingError, match="another variable may show"):
        wg.jit(program)(_X, 2)


def test_a_longer_array_may_stand_left() -> None:
    def program(x: Any, n: Any) -> Any:
        a, b = x, x[1:]
        for _ in range(n):
            a = a[1:]
            b = (a - b)[1:]
        return b.sum()

    for n in range(3):
        np.testing.assert_allclose(wg.jit(program)(_X, n), program(_X, n))


def test_what_leaves_the_program_needs_a_size() -> None:
    def shortened(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x[1:]
        return x

    with pytest.raises(wg.errors.ConcreteError, match="size"):
        wg.jit(shortened)(_X, 2)
    np.testing.assert_array_equal(wg.jit(lambda x: shortened(x, 2))(_X), _X[2:])
