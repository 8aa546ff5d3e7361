"""Under `vmap`, examples whose branch is not taken, or whose loop has ended, raise no errors of their operands."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import WengertError
from wengert.scipy import linalg

X = np.arange(1.0, 5.0)
transforms = pytest.mark.parametrize("transform", [lambda f: f, wg.jit], ids=["eager", "jit"])


def element(x: Any, i: Any) -> Any:
    return wg.cond(i < 4, lambda x, i: x[i] ** 2, lambda x, i: -x[0], x, i)


def written(x: Any, i: Any) -> Any:
    def write(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] = 10.0 * x[0]
        return np.sum(y)

    return wg.cond(i < 4, write, lambda x, i: x[1], x, i)


def every_nth(x: Any, n: Any) -> Any:
    def body(state: Any) -> Any:
        place, total = state
        return place + n, total + wg.numpy.take(x, place) ** 2

    return wg.while_loop(lambda state: state[0] < 4, body, (0, 0.0 * x[0]), most=5)[1]


def scanned(x: Any, i: Any) -> Any:
    """Add up the squares from i on, by a scan in a branch."""

    def sum_of_squares() -> Any:
        return wg.scan(lambda total, n: (total + wg.numpy.take(x, i + n) ** 2, n), 0.0 * x[0], np.arange(2))[
            0
        ]

    return wg.cond(i < 3, sum_of_squares, lambda: -x[0])


def in_two_branches(x: Any, i: Any) -> Any:
    return wg.cond(
        i < 4,
        lambda: wg.cond(i < 2, lambda: 2.0 * wg.numpy.take(x, i), lambda: wg.numpy.take(x, i) ** 2),
        lambda: -x[0],
    )


def looped(x: Any, i: Any, **limits: Any) -> Any:
    """Multiply by the elements from i on, by a loop in a branch, which does not end where i is larger than 4."""

    def product() -> Any:
        step = lambda state: (state[0] + 1, state[1] * wg.numpy.take(x, state[0]))  # noqa: E731
        return wg.while_loop(lambda state: state[0] != 4, step, (i, 1.0 + 0.0 * x[0]), **limits)[1]

    return wg.cond(i < 4, product, lambda: -x[0])


def counted(x: Any, i: Any, **limits: Any) -> Any:
    """Multiply by the last i elements, by a loop in a branch: its last index is out of bounds where i is larger."""

    def product() -> Any:
        step = lambda n, y: y * wg.numpy.take(x, 3 - n)  # noqa: E731
        return wg.fori_loop(0, i, step, 1.0 + 0.0 * x[0], **limits)

    return wg.cond(i < 4, product, lambda: -x[0])


def slope_of_a_loop(x: Any, i: Any) -> Any:
    """Return the derivative of x**i by a loop in a branch."""

    def slope(y: Any) -> Any:
        step = lambda state: (state[0] + 1, state[1] * y)  # noqa: E731
        return wg.while_loop(lambda state: state[0] < i, step, (0, 1.0 + 0.0 * y), most=4)[1]

    return wg.cond(i < 4, lambda: wg.grad(slope)(x[1]), lambda: -x[0])


def recomputed(x: Any, i: Any) -> Any:
    square = wg.checkpoint(lambda x: wg.numpy.take(x, i) ** 2)
    return wg.cond(i < 4, lambda: square(x), lambda: -x[0])


def in_a_loop(x: Any, n: Any) -> Any:
    """Add up x[1], x[n - 1] twice and so on, in branches of a loop that ends at 0 after at most three turns."""

    def step(state: Any) -> Any:
        n, total = state
        branch = wg.cond(n > 1, lambda: 2.0 * wg.numpy.take(x, n - 1), lambda: wg.numpy.take(x, n))
        return n - 1, total + branch

    return wg.while_loop(lambda state: (state[0] > 0) & (state[0] < 5), step, (n, 0.0 * x[0]), most=4)[1]


PROGRAMS: dict[str, Any] = {
    **{program.__name__: program for program in (element, written, every_nth, scanned, in_two_branches)},
    "a tape": functools.partial(looped, most=5),
    "checkpoints": functools.partial(looped, max_bytes=10_000),
    "a counted tape": functools.partial(counted, most=5),
    "counted checkpoints": functools.partial(counted, max_bytes=10_000),
    **{program.__name__: program for program in (slope_of_a_loop, recomputed, in_a_loop)},
}


@transforms
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_examples_are_those_of_single_calls(program: Any, transform: Any) -> None:
    numbers = np.array([1, 3, 7, 2**40])
    together = transform(wg.vmap(program, (None, 0)))(X, numbers)
    np.testing.assert_allclose(together, [program(X, number) for number in numbers], rtol=1e-14)
    slopes = transform(wg.vmap(wg.grad(program), (None, 0)))(X, numbers)
    np.testing.assert_allclose(slopes, [wg.grad(program)(X, number) for number in numbers], rtol=1e-14)
    total = transform(wg.grad(lambda x: np.sum(wg.vmap(program, (None, 0))(x, numbers))))(X)
    np.testing.assert_allclose(total, np.sum(slopes, axis=0), rtol=1e-14)


@transforms
def test_an_index_of_a_loop_in_a_branch_that_is_taken_raises(transform: Any) -> None:
    def beyond(x: Any, i: Any) -> Any:
        add = lambda total, n: (total + wg.numpy.take(x, i + n), n)  # noqa: E731
        return wg.cond(i < 4, lambda: wg.scan(add, 0.0 * x[0], np.arange(2))[0], lambda: -x[0])

    with pytest.raises(WengertError, match="index 4 is out of bounds"):
        transform(wg.vmap(beyond, (None, 0)))(X, np.array([1, 3, 12]))


@transforms
@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab"])
def test_a_solver_in_a_branch_that_is_not_taken_may_not_converge(solver: str, transform: Any) -> None:
    table = wg.numpy.array([1.0, 2.0])

    def solution(b: Any, i: Any) -> Any:
        product = lambda x: b[0] * x + 0.0 * wg.numpy.take(table, i)  # noqa: E731
        solve = lambda b: wg.linear_solve(product, b, solver=solver)  # noqa: E731
        return wg.cond(i < 2, lambda: np.sum(solve(b)), lambda: b[1])

    rows, places = np.array([[1.0, 2.0], [0.0, 1.0], [np.nan, 3.0]]), np.array([1, 7, 8])
    np.testing.assert_allclose(transform(wg.vmap(solution))(rows, places), [3.0, 1.0, 3.0])
    slopes = transform(wg.vmap(wg.grad(solution)))(rows, places)
    np.testing.assert_allclose(slopes, [[-2.0, 1.0], [0.0, 1.0], [0.0, 1.0]], atol=1e-14)


@transforms
def test_an_exponent_of_a_branch_that_is_not_taken_may_be_negative(transform: Any) -> None:
    def opposite_or_power(i: Any) -> Any:
        return wg.cond(i < 0, lambda i: -i, lambda i: 3**i, i)

    for numbers in (np.array([-2, 0, 3]), np.array([-2, 0, 3], np.int8)):
        together = transform(wg.vmap(opposite_or_power))(numbers)
        alone = np.array([opposite_or_power(number) for number in numbers])
        assert together.dtype == alone.dtype
        np.testing.assert_array_equal(together, alone)
    with pytest.raises(
        WengertError, match=r"(?i)integers to negative integer powers are not allowed[.;] ?(got|\[)"
    ):
        transform(wg.vmap(lambda i: wg.cond(i > 0, lambda i: -i, lambda i: 3**i, i)))(np.array([-2, 3]))


EQUATIONS: dict[str, Any] = {
    "solve": np.linalg.solve,
    "inv": lambda a, b: np.linalg.inv(a) @ b,
    "cholesky": lambda a, b: np.linalg.cholesky(a) @ b,
    "solve_triangular": lambda a, b: linalg.solve_triangular(a, b, lower=True),
    "solve_banded": lambda a, b: linalg.solve_banded((1, 1), np.stack([0.0 * b, np.diagonal(a), 0.1 * b]), b),
}


@transforms
@pytest.mark.parametrize("name", EQUATIONS)
def test_a_matrix_of_an_example_that_does_not_count_may_be_singular(name: str, transform: Any) -> None:
    solve = EQUATIONS[name]

    def solution(x: Any, number: Any) -> Any:
        return np.sum(solve(number * np.eye(3), x[:3]))

    def chosen(x: Any, n: Any) -> Any:
        return wg.cond(n > 0, lambda: solution(x, n), lambda: -x[0])

    def repeated(x: Any, n: Any) -> Any:
        """Solve with n, n - 1, ..., 1; the next one would be singular."""
        step = lambda state: (state[0] - 1.0, state[1] + solution(x, state[0]))  # noqa: E731
        return wg.while_loop(lambda state: state[0] > 0.5, step, (n, 0.0 * x[0]), most=3)[1]

    for program, numbers in ((chosen, [2.0, 0.0, -1.0]), (repeated, [1.0, 3.0])):
        together = transform(wg.vmap(wg.value_and_grad(program), (None, 0)))(X, np.array(numbers))
        alone = [wg.value_and_grad(program)(X, np.float64(number)) for number in numbers]
        for actual, expected in zip(together, zip(*alone, strict=True), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-12)


SQUARE = "eigh", "eigvalsh", "eig", "eigvals"
ANY_SHAPE = "svd", "svdvals", "pinv", "lstsq"


@transforms
@pytest.mark.parametrize(
    ("name", "rows"),
    [*((name, 3) for name in SQUARE), *((name, rows) for name in ANY_SHAPE for rows in (3, 4))],
)
def test_a_matrix_of_an_example_that_does_not_count_may_hold_nan(
    name: str, rows: int, transform: Any
) -> None:
    matrix = np.diag(X)[:rows, :3] + 0.1

    def size(scale: Any) -> Any:
        operands = (scale * matrix, *([np.ones(rows)] if name == "lstsq" else []))
        results = getattr(wg.numpy.linalg, name)(*operands)
        first = results[0] if isinstance(results, tuple) else results
        return np.sum(np.abs(first) ** 2)

    def program(n: Any) -> Any:
        return wg.cond(n > 0, lambda: size(np.sqrt(n)), lambda: -n)

    with np.errstate(invalid="ignore"):
        values, slopes = transform(wg.vmap(wg.value_and_grad(program)))(np.array([1.0, -1.0]))
    value, slope = wg.value_and_grad(program)(1.0)
    np.testing.assert_allclose(values, [value, 1.0], rtol=1e-12)
    np.testing.assert_allclose(slopes, [slope, -1.0], rtol=1e-9, atol=1e-12)


def test_a_matrix_that_all_examples_share_is_factorised_once() -> None:
    a = np.eye(3) + 0.1
    function = wg.vmap(lambda n: wg.cond(n > 0, lambda: np.linalg.solve(a, n * X[:3]), lambda: X[:3]))
    text = str(wg.jit(function).graph(np.ones(4)))
    assert "solve" in text
    assert "[4,3,3]" not in text
