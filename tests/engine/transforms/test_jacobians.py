"""`jacfwd`, `jacrev`, `jacobian` and `hessian`."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.transforms.containers import TREE, program
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError
from wengert.engine.core.shapes import shape_of
from wengert.engine.transforms.jacobians import _chunks

Transform = Callable[..., Any]
MODES: list[Transform] = [wg.jacfwd, wg.jacrev, wg.jacobian]
SECOND: dict[str, Transform] = {
    "hessian": wg.hessian,
    "fwd-rev": lambda f, *more: wg.jacfwd(wg.jacrev(f, *more), *more),
    "rev-fwd": lambda f, *more: wg.jacrev(wg.jacfwd(f, *more), *more),
    "rev-rev": lambda f, *more: wg.jacrev(wg.jacrev(f, *more), *more),
    "fwd-fwd": lambda f, *more: wg.jacfwd(wg.jacfwd(f, *more), *more),
    "grad-grad": lambda f, *more: wg.jacobian(wg.grad(f, *more), *more),
}


def assert_trees_close(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert tree.flatten(actual)[1] == tree.flatten(expected)[1]
    for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        assert shape_of(leaf) == shape_of(other)
        np.testing.assert_allclose(leaf, other, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("transform", MODES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,), (1, 3)])
def test_shapes_of_a_jacobian(transform: Transform, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5)
    actual = transform(lambda x: {"outer": np.multiply.outer(np.sin(x), np.ones(2)), "sum": np.sum(x)})(x)
    count = x.size
    expected = np.cos(0.5) * np.eye(count).reshape((*shape, 1, *shape)) * np.ones((2, *(1,) * len(shape)))
    np.testing.assert_allclose(actual["outer"], expected, rtol=1e-15)
    np.testing.assert_array_equal(actual["sum"], np.ones(shape))


@pytest.mark.parametrize("transform", MODES)
def test_containers_within_containers(transform: Transform) -> None:
    def function(a: Any, b: Any) -> Any:
        return [a["x"] * b, (np.sum(a["y"]) * b,)], None

    a, b = {"x": np.array([1.0, 2.0]), "y": np.array([[3.0]])}, np.array([4.0, 5.0])
    actual = transform(function, (0, 1))(a, b)
    expected = (
        [
            ({"x": np.diag(b), "y": np.zeros((2, 1, 1))}, np.diag(a["x"])),
            (({"x": np.zeros((2, 2)), "y": b.reshape(2, 1, 1)}, 3.0 * np.eye(2)),),
        ],
        None,
    )
    assert_trees_close(actual, expected)


@pytest.mark.parametrize("transform", MODES)
def test_a_row_of_a_jacobian_is_a_gradient(transform: Transform) -> None:
    assert_trees_close(transform(program)(TREE), wg.grad(program)(TREE))


@pytest.mark.parametrize("transform", [wg.jacfwd, wg.jacrev])
@pytest.mark.parametrize("chunk_size", [1, 2, 4, 5, 100])
def test_chunks_change_nothing(transform: Transform, chunk_size: int) -> None:
    def function(x: Any, y: Any) -> Any:
        return {"p": x[:, None] * y, "q": np.sum(y) * x}, x

    x, y = np.array([1.0, 2.0]), np.array([0.5, 1.5, 2.5])
    actual = transform(function, (0, 1), chunk_size=chunk_size, has_aux=True)(x, y)
    assert_trees_close(actual, transform(function, (0, 1), has_aux=True)(x, y))


def test_a_chunk_bounds_the_batch() -> None:
    sizes: list[int] = []

    def spy(x: Any) -> Any:
        def tangent_batch(box: Any) -> int:
            return box.state.tangent.owner.size

        sizes.append(tangent_batch(x))
        return x * x

    wg.jacfwd(spy, chunk_size=2)(np.ones(5))
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("transform", MODES)
def test_aux_keyword_arguments_and_argnums(transform: Transform) -> None:
    def function(a: Any, x: Any, *, power: int) -> Any:
        return a * x**power, {"power": power, "x": x}

    actual, aux = transform(function, argnums=-1, has_aux=True)(2.0, np.array([1.0, 3.0]), power=2)
    np.testing.assert_array_equal(actual, [[4.0, 0.0], [0.0, 12.0]])
    assert aux["power"] == 2
    assert type(aux["x"]) is np.ndarray
    (only,) = transform(lambda x: x * x, argnums=(0,))(3.0)
    assert only == 6.0


@pytest.mark.parametrize("transform", MODES)
def test_dtypes_are_kept(transform: Transform) -> None:
    for dtype in ("float32", "float16"):
        actual = transform(lambda x, y: x[:, None] * y * 2.0, (0, 1))(np.ones(2, dtype), np.ones(3, dtype))
        assert [part.dtype for part in actual] == [dtype, dtype]


@pytest.mark.parametrize("transform", MODES)
def test_what_does_not_depend_is_zero(transform: Transform) -> None:
    actual = transform(lambda x, y: (np.ones(2), y * 1.0, 5.0), 0)(np.ones(3), np.ones(2))
    assert_trees_close(actual, (np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(3)))


def test_jacobian_takes_the_cheaper_mode() -> None:
    tall = wg.jacobian(lambda x: np.ones((50, 2)) @ x)(np.ones(2))
    wide = wg.jacobian(lambda x: np.ones((2, 50)) @ x)(np.ones(50))
    assert (tall.shape, wide.shape) == ((50, 2), (2, 50))


@pytest.mark.parametrize("transform", MODES)
@pytest.mark.parametrize("output", [lambda x: np.argmax(x), lambda x: (x, x > 0), lambda x: 3])
def test_outputs_without_derivatives(transform: Transform, output: Callable[[Any], Any]) -> None:
    with pytest.raises(DtypeError, match="must return floating-point values"):
        transform(output)(np.ones(3))


@pytest.mark.parametrize("chunk_size", [0, -1, 1.5])
def test_wrong_chunk_sizes(chunk_size: Any) -> None:
    for transform in (wg.jacfwd, wg.jacrev):
        with pytest.raises(ArgumentError, match="chunk_size"):
            transform(lambda x: x, chunk_size=chunk_size)(np.ones(3))


# -- second derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", SECOND)
def test_hessians_agree_however_they_are_made(way: str) -> None:
    A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 1.5]])

    def function(x: Any) -> Any:
        return 0.5 * x @ A @ x + np.prod(x) + np.sum(np.exp(-x) * x**3) + np.log(np.sum(x**2))

    x = np.array([0.5, 1.25, 2.0])
    square = np.sum(x**2)
    expected = A + np.diag(np.exp(-x) * (x**3 - 6 * x**2 + 6 * x))
    expected += np.prod(x) / np.outer(x, x) * (1 - np.eye(3))
    expected += 2 * np.eye(3) / square - 4 * np.outer(x, x) / square**2
    np.testing.assert_allclose(SECOND[way](function)(x), expected, rtol=1e-12)


@pytest.mark.parametrize("way", SECOND)
def test_hessians_of_containers(way: str) -> None:
    def function(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x["a"]) * y) + x["b"] ** 2 * y[0]

    arguments = {"a": np.array([0.5, 1.5]), "b": 3.0}, np.array([2.0, 0.25])
    actual = SECOND[way](function, (0, 1))(*arguments)
    a, b, y = arguments[0]["a"], 3.0, arguments[1]
    row_a = {"a": np.diag(-np.sin(a) * y), "b": np.zeros(2)}, np.diag(np.cos(a))
    row_b = {"a": np.zeros(2), "b": 2 * y[0]}, np.array([2 * b, 0.0])
    row_y = {"a": np.diag(np.cos(a)), "b": np.array([2 * b, 0.0])}, np.zeros((2, 2))
    assert_trees_close(actual, ({"a": row_a, "b": row_b}, row_y))


def test_hessian_with_aux() -> None:
    hessian, aux = wg.hessian(lambda x: (np.sum(x**3), x * 2.0), has_aux=True)(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(hessian, np.diag([6.0, 12.0]))
    np.testing.assert_array_equal(aux, [2.0, 4.0])


@pytest.mark.parametrize("count", [1, 65, 128, 129, 150, 191, 192, 750])
@pytest.mark.parametrize("transform", [wg.jacfwd, wg.jacrev, wg.jacobian, wg.hessian])
def test_passes_are_bounded_by_default(transform: Transform, count: int) -> None:
    """The memory of a pass is a multiple of the function's, not of the number of inputs."""
    x = np.linspace(-1.0, 1.0, count)
    fun = (
        (lambda x: np.sum(np.sin(x)) + np.sum(x[:-1] * x[1:] ** 2))
        if transform is wg.hessian
        else (lambda x: np.sin(x) * np.roll(x, 1))
    )
    found = transform(fun)(x)
    whole = transform(fun, chunk_size=count)(x)
    assert_trees_close(found, whole)
    sizes = [stop - start for start, stop in _chunks([x], None)]
    assert sum(sizes) == count
    assert max(sizes) <= 128
    assert len({*sizes[:-1]}) <= 1


def test_a_pass_of_a_large_hessian_takes_little_memory() -> None:
    x = np.linspace(0.5, 1.5, 300)

    def fun(x: Any) -> Any:
        return np.sum(np.tanh(np.outer(x, x[:50])) ** 2)

    def peak(**options: Any) -> int:
        tracemalloc.start()
        wg.hessian(fun, **options)(x)
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    assert peak() < peak(chunk_size=300) / 3


def test_a_traced_hessian_has_one_pass() -> None:
    lengths = {
        n: str(wg.trace(wg.hessian(lambda x: np.sum(np.sin(x) * x)))(np.ones(n))).count("\n")
        for n in (4, 300)
    }
    assert lengths[300] <= lengths[4] + 5  # constants of the longer one stand apart
