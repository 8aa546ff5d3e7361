"""`sparse_jacobian` and `sparse_hessian` against the dense derivatives, and what they refuse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

import wengert as wg
from wengert.errors import ArgumentError, DtypeError, UnsupportedError

X = np.random.default_rng(0).normal(size=12)


def stencil(x: Any) -> Any:
    y = 2 * x
    y[1:] += x[:-1] ** 2
    y[:-1] += np.sin(x[1:])
    return y


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def arrow(x: Any) -> Any:
    return np.concatenate([[x @ x], x[1:] * x[0]])


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "both"])
@pytest.mark.parametrize("function", [stencil, arrow, lambda x: x[:0], lambda x: np.outer(x, x)])
def test_jacobian_is_the_dense_jacobian(mode: str, function: Any) -> None:
    found = wg.sparse_jacobian(function, mode=mode)(X)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.has_canonical_format
    np.testing.assert_allclose(found.toarray(), wg.jacobian(function)(X).reshape(-1, X.size), rtol=1e-13)


@pytest.mark.parametrize("mode", ["auto", "forward", "both"])
@pytest.mark.parametrize(
    "function", [rosenbrock, lambda x: np.sum(x) ** 2, lambda x: x[0] * np.sum(x**2), np.sum]
)
def test_hessian_is_the_dense_hessian(mode: str, function: Any) -> None:
    found = wg.sparse_hessian(function, mode=mode)(X)
    np.testing.assert_allclose(found.toarray(), wg.hessian(function)(X), rtol=1e-12, atol=1e-12)
    assert mode == "forward" or np.array_equal(found.toarray(), found.toarray().T)


class Point(NamedTuple):
    place: Any
    speed: Any


def test_containers_are_taken_one_leaf_after_the_other() -> None:
    def motion(point: Point, scale: Any) -> Any:
        return {"a": scale * point.speed, "b": [point.place**2, np.sum(point.speed)]}

    point = Point(np.arange(3.0), np.ones((3, 1)))
    found = wg.sparse_jacobian(motion)(point, 2.0).toarray()
    a, (b, c) = wg.jacobian(motion)(point, 2.0).values()
    rows = [[one.place.reshape(-1, 3), one.speed.reshape(-1, 3)] for one in (a, b, c)]
    np.testing.assert_array_equal(found, np.block(rows))
    both = wg.sparse_jacobian(motion, argnums=(0, 1))(point, 2.0)
    assert both.shape == (7, 7)


def test_aux_comes_with_the_matrix() -> None:
    matrix, aux = wg.sparse_jacobian(lambda x: (x**2, {"sum": np.sum(x), "name": "f"}), has_aux=True)(X)
    np.testing.assert_allclose(matrix.diagonal(), 2 * X)
    assert aux["name"] == "f"
    assert aux["sum"] == pytest.approx(X.sum())
    hessian, aux = wg.sparse_hessian(lambda x: (rosenbrock(x), x[0]), has_aux=True)(X)
    assert aux == X[0]
    np.testing.assert_allclose(hessian.toarray(), wg.hessian(rosenbrock)(X))


def test_integers_belong_to_the_structure() -> None:
    jacobian = wg.sparse_jacobian(lambda x, places, power: x[places] ** power)
    for places, power in (([2, 0], 2), ([1, 1], 2), ([1, 1], 3)):
        found = jacobian(X, np.array(places), power).toarray()
        assert np.array_equal(found != 0, np.eye(12, dtype=bool)[places])
        np.testing.assert_allclose(found.sum(1), power * X[places] ** (power - 1))


def test_floats_do_not() -> None:
    jacobian = wg.sparse_jacobian(lambda x, scale: scale * x)
    jacobian(X, 2.0), jacobian(X, 3.0)
    assert "1 structure" in repr(jacobian)


def test_results_share_their_indices_and_have_their_own_elements() -> None:
    jacobian = wg.sparse_jacobian(stencil)
    first, second = jacobian(X), jacobian(2 * X)
    assert first.indices is second.indices
    assert first.data is not second.data
    with pytest.raises(ValueError, match="read-only"):
        first.eliminate_zeros()
    first.copy().eliminate_zeros()


def test_dtype_follows_the_function() -> None:
    assert wg.sparse_jacobian(stencil)(X.astype(np.float32)).dtype == np.float32


def test_data_works_inside_transforms() -> None:
    jacobian = wg.sparse_jacobian(stencil)
    pattern = jacobian.pattern(X)
    np.testing.assert_allclose(wg.jit(jacobian.data)(X), jacobian(X).data)
    several = wg.vmap(jacobian.data)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(several[1], jacobian(2 * X).data)
    slope = wg.grad(lambda x: np.sum(jacobian.data(x)))(X)
    np.testing.assert_allclose(slope, wg.grad(lambda x: np.sum(wg.jacfwd(stencil)(x)))(X), rtol=1e-13)
    assert pattern.nnz == jacobian(X).nnz
    with pytest.raises(UnsupportedError, match="data"):
        wg.jit(jacobian)(X)


def test_closures_over_traced_values_are_followed() -> None:
    def slope(weight: Any) -> Any:
        return np.sum(wg.sparse_jacobian(lambda x: weight * x**2).data(X))

    assert wg.grad(slope)(2.0) == pytest.approx(2 * X.sum())


def test_a_rule_without_forward_mode_is_taken_in_reverse() -> None:
    @wg.custom_vjp
    def clipped(x: Any) -> Any:
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, cotangent: (np.clip(cotangent, -0.5, 0.5),))
    jacobian = wg.sparse_jacobian(lambda x: clipped(x)[1:] * 3)
    assert jacobian.colours(X).direction == "reverse"
    np.testing.assert_allclose(jacobian(X).toarray(), 0.5 * np.eye(12)[1:])
    with pytest.raises(UnsupportedError):
        wg.sparse_jacobian(clipped, mode="forward")(X)


def test_a_loop_without_reverse_mode_is_taken_forward() -> None:
    def first(x: Any) -> Any:
        return wg.while_loop(lambda y: y[0] < 100, lambda y: 2 * y, x)[:1] * np.sum(x)

    jacobian = wg.sparse_jacobian(first)
    point = np.arange(1.0, 5.0)
    assert jacobian.colours(point).direction == "forward"
    np.testing.assert_allclose(jacobian(point).toarray(), wg.jacfwd(first)(point))


def test_old_structures_make_room() -> None:
    jacobian = wg.sparse_jacobian(lambda x, place: x[place : place + 1])
    for place in range(70):
        assert jacobian.pattern(np.ones(80), place).indices == [place]
    assert "6 structures" in repr(jacobian)


def test_what_is_not_real_and_floating_is_refused() -> None:
    with pytest.raises(DtypeError, match="sparse_jacobian"):
        wg.sparse_jacobian(stencil)(X + 1j)
    with pytest.raises(DtypeError, match="sparse_jacobian"):
        wg.sparse_jacobian(lambda x: x + 1j)(X)
    with pytest.raises(DtypeError, match="sparse_jacobian"):
        wg.sparse_jacobian(lambda x: x > 0)(X)
    with pytest.raises(DtypeError, match="floating-point"):
        wg.sparse_jacobian(stencil)(np.arange(3))
    with pytest.raises(DtypeError, match="function"):
        wg.sparse_jacobian(stencil(X))
    with pytest.raises(ArgumentError, match="mode"):
        wg.sparse_jacobian(stencil, mode="sideways")
    with pytest.raises(ArgumentError, match="mode"):
        wg.sparse_hessian(rosenbrock, mode="reverse")
    with pytest.raises(ArgumentError, match="scalar"):
        wg.sparse_hessian(stencil)(X)


def test_a_large_full_matrix_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"10,000,000,000 of 10,000,000,000.*wg\.jvp"):
        wg.sparse_jacobian(lambda x: x - x.mean()).pattern(np.ones(100_000))


def test_report_names_sizes_and_colours() -> None:
    text = wg.sparse_jacobian(stencil).report(X)
    assert "12 rows, 12 columns" in text
    assert "34" in text
    assert "3 (colours of columns" in text
    assert "star" in wg.sparse_hessian(rosenbrock).report(X)
