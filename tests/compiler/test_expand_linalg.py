"""Equations with small matrices, which a compiled program solves itself: as LAPACK does, errors included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check, eager
from tests.compiler.graphs import compile_graph
from tests.draws import examples
from wengert.compiler.pipeline import advance
from wengert.engine.core.errors import MatrixError
from wengert.engine.ir.types import type_of
from wengert.engine.kernels import lapack
from wengert.engine.machine import costs
from wengert.engine.nest.nest import Host, Step, inner_blocks
from wengert.engine.ops.linalg import unrolled as unrolled
from wengert.engine.ops.linalg.triangular import solve_triangular

Case = tuple[Callable[..., Any], tuple[Any, ...]]

OPERATIONS: dict[str, Callable[..., Any]] = {
    "solve": np.linalg.solve,
    "inverse": lambda a, b: np.linalg.inv(a),
    "determinant": lambda a, b: np.linalg.det(a),
    "sign and logarithm": lambda a, b: tuple(np.linalg.slogdet(a)),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.mT),
    "unit triangle": lambda a, b: solve_triangular(a, b, lower=True, unit=True),
    "cholesky solve": lambda a, b: np.linalg.solve(np.linalg.cholesky(a @ a.mT), b),
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw an operation on stacks of matrices whose rows want to be exchanged, and right-hand sides."""
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    lead, other = draw(st.sampled_from([((), ()), ((7,), (7,)), ((3, 1), (2,)), ((0,), (0,)), ((33,), ())]))
    dtype = draw(st.sampled_from(["f4", "f8"]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    a = rng.uniform(-0.4, 0.4, (*lead, rows, rows)) / rows + np.eye(rows)
    a = a[..., rng.permutation(rows), :]
    b = rng.normal(size=(*other, columns, rows)).swapaxes(-1, -2)
    return OPERATIONS[draw(st.sampled_from(list(OPERATIONS)))], (a.astype(dtype), b.astype(dtype))


def total(results: Any) -> Any:
    return sum(np.sum(np.sin(one)) for one in (results if isinstance(results, tuple) else (results,)))


@examples(40)
@given(cases(), st.booleans())
def test_drawn_equations(case: Case, differentiated: bool) -> None:
    function, arguments = case
    if differentiated:
        chosen = function
        function = wg.value_and_grad(lambda a, b: total(chosen(a, b)), argnums=(0, 1))
    check(function, *arguments, ulp=1000, scale=10.0)


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_left_to_numpy(name: str) -> None:
    a, b = np.eye(3) + np.zeros((4, 1, 1)), np.ones((4, 3, 2))
    function = wg.grad(lambda a, b: total(OPERATIONS[name](a, b)), argnums=(0, 1))
    assert wg.jit(function).report(a, b).hosts == ()


@pytest.mark.parametrize("name", ["inverse", "cholesky"])
def test_second_derivatives(name: str, rng: Any) -> None:
    a = rng.uniform(-0.2, 0.2, (3, 3)) + np.eye(3)
    check(wg.hessian(lambda a: total(OPERATIONS[name](a, a))), a, ulp=1000, scale=10.0)


# -- numerics --------------------------------------------------------------------------------------------

PIVOTS = {
    "zero first": [[0.0, 1.0], [1.0, 0.0]],
    "tiny first": [[1e-20, 1.0], [1.0, 1.0]],
    "zero after a step": [[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [1.0, 0.0, 1.0]],
    "all exchanged": np.eye(4)[[3, 2, 0, 1]],
    "far apart": [[1e-200, 1e-200], [1e200, -1e200]],
    "product of some too large": np.diag([1e200, -1e200, 1e-300, 1.0]),
    "product of some too small": np.diag([1e-200, 1e-120, 1e300, -1.0]),
    "too large": np.diag([1e200, 1e200]),
    "subnormal": [[1e-310, 0.0], [1e-310, 3e-310]],
}


@pytest.mark.parametrize("name", PIVOTS)
def test_pivots(name: str) -> None:
    a = np.array(PIVOTS[name])
    for operation in (np.linalg.inv, np.linalg.det, np.linalg.slogdet):
        expected, found = eager(operation, a), wg.jit(operation)(a)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_larger_triangle_of_a_factor_is_not_read(rng: Any) -> None:
    a = rng.uniform(-0.2, 0.2, (3, 3))
    a = a @ a.T + np.eye(3)
    check(np.linalg.cholesky, a + np.triu(np.full((3, 3), np.nan), 1), ulp=20, scale=1.0)


@pytest.mark.parametrize("name", ["solve", "inverse", "determinant", "sign and logarithm", "cholesky"])
def test_float32_is_computed_in_float64_as_in_numpy(name: str) -> None:
    hilbert = np.array([[1 / (i + j + 1) for j in range(4)] for i in range(4)], "f4")
    check(OPERATIONS[name], hilbert, np.ones((4, 1), "f4"), ulp=4)
    largest = np.finfo("f4").max
    a = np.array([[largest / 2, largest / 3], [largest / 5, -largest]], "f4")
    check(lambda a: tuple(np.linalg.slogdet(a)), a)


def test_determinants_of_singular_matrices() -> None:
    a = np.array([[[1.0, 2.0], [2.0, 4.0]], np.zeros((2, 2)), np.eye(2)])
    check(np.linalg.det, a)
    check(lambda a: tuple(np.linalg.slogdet(a)), a)
    check(wg.grad(lambda a: np.sum(np.linalg.det(a))), a, scale=1.0)
    assert np.isnan(wg.jit(np.linalg.det)(np.full((2, 2), np.nan)))


def test_where_a_nan_comes_from_is_told_of_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", "nan")
    with pytest.raises(ArithmeticError, match=r"^inverse: the result must not be NaN"):
        wg.jit(np.linalg.inv)(np.full((2, 2), np.inf))


# -- errors ----------------------------------------------------------------------------------------------

FAILING: dict[str, tuple[Callable[..., Any], str]] = {
    "solve": (lambda a: np.linalg.solve(a, a), r"solve: Singular matrix; got (f64\[[^ ]*\](, )?){2}\."),
    "inverse": (np.linalg.inv, r"inverse: Singular matrix; got f64\[[^ ]*\]\."),
    "cholesky": (np.linalg.cholesky, r"cholesky: Matrix is not positive definite; got f64\[[^ ]*\]\."),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("count", [1, 9, 1003])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_of_many_fails(name: str, count: int, threads: int) -> None:
    function, text = FAILING[name]
    compiled = wg.jit(lambda a: function(a) + 1)
    good = np.broadcast_to(np.eye(2), (count, 2, 2))
    bad = good.copy()
    bad[-1] = 0.0
    before = wg.get_threads()
    wg.set_threads(threads)
    try:
        for _ in range(2):
            np.testing.assert_array_equal(compiled(good), good + 1)
            with pytest.raises(MatrixError, match=rf"^{text} \[test_expand_linalg.py:\d+\]$") as caught:
                compiled(bad)
            assert isinstance(caught.value, np.linalg.LinAlgError)
    finally:
        wg.set_threads(before)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("count", [63, 1003])
def test_examples_that_do_not_exist_are_no_failure(count: int, rng: Any) -> None:
    """Of the last block of a batch, a part may not exist; what is read there is zero."""
    a = rng.uniform(-0.3, 0.3, (count, 3, 3)) + np.eye(3)
    function = wg.grad(lambda a: np.sum(np.tanh(np.linalg.cholesky(np.tanh(a @ a.mT)) @ a) ** 2))
    check(function, a, ulp=1000, scale=10.0)


@pytest.mark.parametrize("count", range(1, 10))
@pytest.mark.parametrize("rows", [3, 5])
@pytest.mark.parametrize("last", [lambda x: np.sum(np.exp(0.1 * x)), lambda x: np.sum(np.tanh(x), axis=0)])
@pytest.mark.parametrize("name", ["inverse", "cholesky"])
def test_what_is_made_of_a_few_good_ones(
    name: str, last: Callable[[Any], Any], rows: int, count: int
) -> None:
    """LLVM once tested another register than that of the condition, where there were four lanes and a function."""
    a = np.eye(rows) * np.ones((count, 1, 1)) + 0.1
    check(lambda a: last(OPERATIONS[name](a, a)), a, ulp=200, scale=1.0)


# -- how much is written out -----------------------------------------------------------------------------


def test_what_is_long_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, native_matrix_rows=0))
    monkeypatch.setattr(lapack, "is_available", lambda: False)

    def hosts(function: Callable[..., Any], *shape: int) -> int:
        def among(steps: Sequence[Step]) -> int:
            inside = sum(among(block) for step in steps for block in inner_blocks(step))
            return inside + sum(isinstance(step, Host) for step in steps)

        graph = wg.jit(function).graph(np.eye(shape[-1]) + np.zeros(shape))
        return among(advance(compile_graph(graph).unit, "lower").program.steps)

    assert [hosts(np.linalg.inv, 5, rows, rows) for rows in (5, 6)] == [0, 1]
    assert [hosts(np.linalg.cholesky, rows, rows) for rows in (6, 7)] == [0, 1]
    assert hosts(lambda a: np.linalg.solve(a, np.ones((3, 100))), 3, 3) == 1

    def many(a: Any, count: int) -> Any:
        for _ in range(count):
            a = np.linalg.inv(a) + 1.0
        return a

    assert [hosts(lambda a, count=count: many(a, count), 3, 3) for count in (18, 25)] == [0, 7]
    assert hosts(lambda a: wg.fori_loop(0, 1000, lambda i, c: np.linalg.inv(c) + 1.0, a), 3, 3) == 0


def test_a_filter(rng: Any) -> None:
    """A Kalman filter's log-likelihood, and its derivative, are one program without calls."""
    moves = np.array([[1.0, 0.1], [0.0, 1.0]])
    seen, y = np.array([[1.0, 0.0]]), rng.normal(size=(50, 1))

    def likelihood(noise: Any) -> Any:
        def turn(carry: Any, y: Any) -> Any:
            mean, spread = carry
            mean, spread = moves @ mean, moves @ spread @ moves.T + noise[0] ** 2 * np.eye(2)
            error, each = y - seen @ mean, seen @ spread @ seen.T + noise[1] ** 2 * np.eye(1)
            gain = np.linalg.solve(each, seen @ spread).T
            score = error @ np.linalg.solve(each, error) + np.linalg.slogdet(each)[1]
            return (mean + gain @ error, spread - gain @ seen @ spread), score

        return 0.5 * np.sum(wg.scan(turn, (np.zeros(2), np.eye(2)), y)[1])

    function, noise = wg.value_and_grad(likelihood), np.array([0.3, 0.7])
    check(function, noise, ulp=1000, scale=10.0)
    assert wg.jit(function).report(noise).hosts == ()


def test_the_length_of_a_program() -> None:
    a, b = type_of(np.ones((2, 3, 3))), type_of(np.ones((3, 4)))
    assert [unrolled.length(a), unrolled.length(a, b), unrolled.length(type_of(np.eye(3, dtype=int)))] == [
        27,
        63,
        0,
    ]
    assert unrolled.length(type_of(np.ones((0, 0)))) == unrolled.length(a, type_of(np.ones((3, 0)))) == 0
