"""Random programs, compiled: the values and gradients of eager mode, whatever is fused, tiled and laid out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same, eager
from tests.compiler.programs import Program
from tests.draws import CASES, many
from wengert import nn
from wengert.engine.core import tree

GRAPHS = 100
MANY = 2000

#: Sums are added up in another order, and a hundred operations follow one another.
ULP = {"float64": 1e5, "float32": 2e3}


def length(seed: int) -> int:
    return 5 + seed * 7 % 36


def gradient(program: Program) -> Callable[..., Any]:
    def run(integers: Any, floats: Any) -> Any:
        return wg.value_and_grad(lambda floats: sum(np.sum(np.cos(y)) for y in program(integers, floats)))(
            floats
        )

    return run


def assert_close(found: Any, expected: Any) -> None:
    """Compare arrays in units of their largest elements."""
    leaves, structure = tree.flatten(found)
    others, other_structure = tree.flatten(expected)
    assert structure == other_structure
    for one, other in zip(leaves, others, strict=True):
        size = float(np.max(np.abs(other), initial=0.05))
        assert_same(one, other, ULP[np.asarray(other).dtype.name], size)


def check(function: Callable[..., Any], integers: Any, floats: Any) -> Any:
    expected = eager(function, integers, floats)
    compiled = wg.jit(function)
    found = compiled(integers, floats)
    assert_close(found, expected)
    return compiled, found


def check_seed(seed: int) -> None:
    dtype = np.float32 if seed % 5 == 4 else np.float64
    program = Program(seed, length(seed), differentiable=False)
    check(program, *program.arguments(dtype))
    program = Program(seed, length(seed))
    check(gradient(program), *program.arguments(dtype))


@pytest.fixture
def threads() -> Iterator[None]:
    before = wg.get_threads()
    yield
    wg.set_threads(before)


@pytest.mark.parametrize("seed", [*range(GRAPHS * (CASES - 1), GRAPHS * (CASES - 1) + many(GRAPHS)), 10_952])
def test_values_and_gradients(seed: int) -> None:
    check_seed(seed)


@pytest.mark.parametrize("seed", range(3000, 3005))
def test_threads_share_the_work_the_same_way_in_every_run(threads: None, seed: int) -> None:
    program = Program(seed, length(seed))
    integers, floats = program.arguments(np.float64)
    floats = [np.resize(x, (60, *x.shape[1:])) if x.ndim else x for x in floats]
    wide = np.linspace(-1, 1, 120_000).reshape(400, 300)

    def function(integers: Any, floats: Any) -> Any:
        value, slopes = gradient(program)(integers, floats)
        shared = np.tanh(wide * value).sum(1) @ np.cos(wide)
        return value, slopes, shared, np.sum(np.sin(wide) * shared)

    expected = eager(function, integers, floats)
    compiled = wg.jit(function)
    for count in (1, 2):
        wg.set_threads(count)
        first = compiled(integers, floats)
        assert_close(first, expected)
        for _ in range(3):
            again = compiled(integers, floats)
            assert [np.asarray(x).tobytes() for x in tree.leaves(again)] == [
                np.asarray(x).tobytes() for x in tree.leaves(first)
            ]


@pytest.mark.parametrize("seed", range(4000, 4005))
def test_results_in_the_place_of_arguments(seed: int) -> None:
    program = Program(seed, length(seed))
    integers, floats = program.arguments(np.float64)

    def step(floats: Any, integers: Any) -> Any:
        gradients = gradient(program)(integers, floats)[1]
        return [x - 0.1 * slope for x, slope in zip(floats, gradients, strict=True)]

    expected = eager(step, floats, integers)
    given = [np.array(x) for x in floats]
    found = wg.jit(step, donate=0)(given, integers)
    assert_close(found, expected)
    assert all(np.shares_memory(one, two) for one, two in zip(found, given, strict=True) if one.ndim)


# -- what random programs have found ---------------------------------------------------------------------


def test_sums_of_arrays_written_into() -> None:
    def function(x: Any) -> Any:
        y = wg.numpy.array(x)
        y[1:] = 0.5 * np.sin(y[1:])
        z = wg.numpy.array(np.mean(wg.numpy.array(x).reshape(3, -1), axis=0))
        z[4::-1] += np.sum(y)
        return np.sum(y), np.mean(z), z

    check(
        lambda _, x: (function(x), wg.grad(lambda x: np.sum(function(x)[2] ** 2))(x)),
        [],
        np.linspace(-1, 2, 27),
    )


def test_reversed_parts_of_reshaped_joins() -> None:
    def function(_: Any, x: Any) -> Any:
        joined = np.concatenate([x, np.full_like(x, 0.25), np.tanh(x)], axis=3)
        return joined.reshape(10, 9)[3::-1], joined.reshape(5, 18)[::-2, ::-1].sum(0)

    check(function, [], np.linspace(-1, 1, 30).reshape(1, 5, 3, 2))


def test_rows_of_a_reshaped_product_in_a_loop() -> None:
    def function(_: Any, x: Any) -> Any:
        rows = np.reshape(np.tanh(x @ x[:6].T), (40, 3, 1))
        return wg.scan(lambda c, row: (0.5 * c + row, c * row), np.zeros((3, 1)), rows)

    check(function, [], np.linspace(-1, 1, 80).reshape(20, 4))


def test_positions_that_are_taken_apart_and_cut_off() -> None:
    def function(places: Any, x: Any) -> Any:
        first = np.reshape(np.sin(x), (-1,))[places]
        padded = np.pad(first[4:], (4, 0))
        return wg.grad(lambda x: np.sum(x[places] * np.concatenate([places[:4] * 0.0, padded[4:]])))(
            x[:, 0]
        ), first

    check(function, np.array([2, -1, 0, 3, 1, -2]), np.linspace(-1, 1, 20).reshape(5, 4))


def test_two_sums_of_which_one_has_bounds() -> None:
    def function(_: Any, x: Any) -> Any:
        pooled = nn.average_pool(x[None, None], (2, 1), 1)[0, 0]
        return np.sum(np.tanh(x @ pooled.T)) + np.sum(pooled**2)

    check(lambda _, x: wg.value_and_grad(function, 1)(_, x), 0.0, np.linspace(-1, 1, 45).reshape(5, 9))


@pytest.mark.exhaustive
def test_a_few_elements_added_to_many() -> None:
    def function(_: Any, x: Any) -> Any:
        few = np.tanh(np.outer(x[:5], x[:7]).sum(1)) * 0.2
        many = wg.numpy.zeros(24)
        many[:5] += few
        other = wg.numpy.zeros(24)
        other[np.arange(2)] += few[:2]
        return many + other, np.sum(np.cos(many) * other)

    check(lambda _, x: (function(_, x), wg.grad(lambda x: function(_, x)[1])(x)), [], np.linspace(0.1, 1, 24))


def _scanned(body: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, given: wg.scan(body, *given)


@pytest.mark.parametrize("kind", ["cond", "while_loop"])
def test_results_that_a_loop_keeps_in_some_turns_only(kind: str) -> None:
    def body(c: Any, x: Any) -> Any:
        e = np.exp(np.sin(x))
        if kind == "cond":
            return wg.cond(x[0] > 0, lambda a, b: a, lambda a, b: b, e, c), e
        return wg.while_loop(lambda s: s[0] < x[0], lambda s: (s[0] + 100.0, e), (0.0, c))[1], e

    rows = np.linspace(-3, 3, 200).reshape(5, 40)
    rows[-1, 0] = -1.0
    check(_scanned(body), 0, (np.zeros(40), rows))


def test_sums_over_fewer_rows_than_a_loop_made() -> None:
    def function(_: Any, given: Any) -> Any:
        x, rows, weights = given
        c, ys = wg.scan(lambda c, w: (np.tanh(c * w),) * 2, x, rows)
        return np.einsum("tnk,tn->k", ys[:5], weights), c

    draw = np.random.default_rng(0).standard_normal
    check(function, 0, (draw((300, 200)), 1 + np.abs(draw((20, 1, 1))), draw((5, 300))))


@pytest.mark.parametrize("widths", [((3, 3), (0, 0)), ((0, 40), (5, 0))])
def test_padded_transposes(widths: Any) -> None:
    check(lambda _, x: np.pad(x.T, widths) * 2, 0, np.linspace(-1, 1, 64 * 31, dtype="f").reshape(64, 31))


def test_hundreds_of_statements_in_a_row() -> None:
    def function(_: Any, x: Any) -> Any:
        for k in range(400):
            x = np.sin(x) * 0.5 + k * 0.001
        return x

    check(function, 0, np.linspace(0, 1, 50))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_more(block: int) -> None:
    for seed in range(10_000 + block * MANY // 40, 10_000 + (block + 1) * MANY // 40):
        check_seed(seed)
