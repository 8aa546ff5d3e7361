from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import ShapeError, WengertError
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad
from wengert.engine.transforms.staging import evaluate

RNG = np.random.default_rng(16)


def draw(*shape: int) -> Any:
    return RNG.uniform(-2, 2, shape)


A, B, S = draw(3, 4), draw(4, 2), draw(3, 3)
V, W = draw(4), draw(3)
STACK, OTHER = draw(2, 3, 4), draw(2, 4, 2)

PRODUCTS: dict[str, tuple[Any, ...]] = {
    "matmul": (np.matmul, A, B),
    "matmul operator": (lambda x, y: x @ y, A, B),
    "matmul from the right": (lambda x: A @ x, B),
    "matmul vector": (np.matmul, A, V),
    "matmul row": (np.matmul, V, B),
    "matmul vectors": (np.matmul, V, V * 2),
    "matmul stacks": (np.matmul, STACK, OTHER),
    "matmul broadcast": (np.matmul, STACK, B),
    "matmul broadcast one": (np.matmul, STACK[:1], OTHER),
    "matmul more axes": (np.matmul, draw(3, 1, 2, 4), OTHER),
    "matmul stack vector": (np.matmul, STACK, V),
    "matmul vector stack": (np.matmul, W, STACK),
    "linalg.matmul": (np.linalg.matmul, A, B),
    "dot": (np.dot, A, B),
    "dot method": (lambda x, y: x.dot(y), A, B),
    "dot vectors": (np.dot, V, V + 1),
    "dot scalar": (np.dot, A, np.array(2.0)),
    "dot matrix vector": (np.dot, A, V),
    "dot stacks": (np.dot, STACK, OTHER),
    "dot stack vector": (np.dot, STACK, V),
    "dot with a list": (lambda x: np.dot(x, [1.0, 2.0, 3.0, 4.0]), A),
    "vdot": (np.vdot, A, draw(4, 3)),
    "inner": (np.inner, A, STACK),
    "inner vectors": (np.inner, V, V),
    "inner scalar": (np.inner, A, np.array(3.0)),
    "outer": (np.outer, A, V),
    "linalg.outer": (np.linalg.outer, V, W),
    "add.outer": (np.add.outer, A, V),
    "multiply.outer": (lambda x: np.multiply.outer(x, V), A),
    "arctan2.outer": (lambda x: np.arctan2.outer(x, [1.0, 2.0]), V),
    "tensordot": (np.tensordot, STACK, draw(3, 4, 2)),
    "tensordot none": (lambda x, y: np.tensordot(x, y, 0), W, V),
    "tensordot one": (lambda x, y: np.tensordot(x, y, axes=1), A, B),
    "tensordot axes": (lambda x, y: np.tensordot(x, y, axes=([0, 2], [0, 1])), STACK, OTHER),
    "tensordot axis": (lambda x, y: np.tensordot(x, y, axes=(0, -1)), A, S),
    "linalg.tensordot": (lambda x, y: np.linalg.tensordot(x, y, axes=1), A, B),
    "vecdot": (np.vecdot, A, V),
    "vecdot axis": (lambda x, y: np.vecdot(x, y, axis=0), A, A * 2),
    "linalg.vecdot": (np.linalg.vecdot, STACK, A),
    "matvec": (lambda x, y: np.matvec(x, y), STACK, V),
    "matvec broadcast": (lambda x, y: np.matvec(x, y), A, draw(2, 4)),
    "vecmat": (lambda x, y: np.vecmat(x, y), W, STACK),
    "kron": (np.kron, A[:2, :2], B[:2]),
    "kron ranks": (np.kron, V, A[:2, :2]),
    "cross": (np.cross, A.T, W),
    "cross axis": (lambda x, y: np.cross(x, y, axis=0), A, A * A),
    "cross axes": (lambda x, y: np.cross(x, y, axisa=0, axisc=0), A, A.T + 1),
    "linalg.cross": (np.linalg.cross, A.T, A.T**2),
    "trace": (np.trace, S),
    "trace offset": (lambda x: np.trace(x, 1), A),
    "trace axes": (lambda x: np.trace(x, axis1=0, axis2=2), STACK),
    "linalg.trace": (np.linalg.trace, STACK),
    "multi_dot": (lambda x, y, z: np.linalg.multi_dot([x, y, z]), A, B, draw(2, 5)),
    "multi_dot vectors": (lambda x, y, z: np.linalg.multi_dot([x, y, z]), W, A, V),
    "multi_dot two": (lambda x, y: np.linalg.multi_dot([x, y]), A, B),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), S),
    "matrix_power 1": (lambda x: np.linalg.matrix_power(x, 1), S),
    "matrix_power stack": (lambda x: np.linalg.matrix_power(x, 5), draw(2, 2, 2)),
    **{
        f"convolve {mode}": (lambda x, y, mode=mode: np.convolve(x, y, mode), V, W)
        for mode in ("full", "same", "valid")
    },
    **{
        f"convolve even {m}": (lambda x, y, m=m: np.convolve(x, y, m), W, V)
        for m in ("full", "same", "valid")
    },
    **{
        f"correlate {mode}": (lambda x, y, mode=mode: np.correlate(x, y, mode), draw(6), W)
        for mode in ("full", "same", "valid")
    },
    **{
        f"correlate short {m}": (lambda x, y, m=m: np.correlate(x, y, m), W, draw(6))
        for m in ("full", "same", "valid")
    },
    "convolve with a list": (lambda x: np.convolve(x, [1.0, 2.0, 1.0], "same"), V),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(check: Any, name: str) -> None:
    function, *arguments = PRODUCTS[name]
    check(function, *arguments)


def test_matrix_power_zero(values: Any) -> None:
    values(lambda x: np.linalg.matrix_power(x, 0), S)


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["full", "same", "valid"]))
def test_convolution_of_any_lengths(n: int, m: int, mode: Any) -> None:
    a, v = np.arange(1.0, n + 1), np.arange(2.0, m + 2) ** 2
    actual = np.convolve(CONSTANT.constant(a), v, mode), np.correlate(CONSTANT.constant(a), v, mode)
    np.testing.assert_allclose(concrete(actual[0]), np.convolve(a, v, mode))
    np.testing.assert_allclose(concrete(actual[1]), np.correlate(a, v, mode))


# -- einsum ----------------------------------------------------------------------------------------------

EINSUMS: dict[str, tuple[Any, ...]] = {
    "ij,jk->ik": (A, B),
    "ij,jk": (A, B),
    "ij,jk->ki": (A, B),
    "ij->ji": (A,),
    "ij->": (A,),
    "ij": (A,),
    "ji": (A,),
    "ij->j": (A,),
    "ii": (S,),
    "ii->i": (S,),
    "i,i": (V, V + 1),
    "i,j": (V, W),
    "i,j->ji": (V, W),
    "ij,ij->i": (A, A * 2),
    "ij,ij,ij->": (A, A + 1, A + 2),
    "...ij,...jk": (STACK, OTHER),
    "...ij,...jk->...ik": (STACK, B),
    "...i->...": (STACK,),
    "i...->...": (STACK,),
    "...ii->...i": (draw(2, 3, 3),),
    "...,...": (STACK, V),
    "...a,...a": (STACK, A),
    "bij, jk , k->bi": (STACK, draw(4, 5), draw(5)),
    "ab,bc,cd,de->ae": (A, B, draw(2, 3), draw(3, 2)),
    "iij->j": (draw(3, 3, 2),),
    "iij,jk->ki": (draw(3, 3, 4), B),
    "a,a,a": (V, V, V),
    "ij,kj->ikj": (A, draw(2, 4)),
    ",ij->ij": (np.array(2.0), A),
    "i,->i": (V, np.array(2.0)),
    "ij,jj->i": (draw(2, 3), S),
    "Zij,Zjk->ik": (STACK, OTHER),
    "i,i->i": (np.ones(1), V),
}


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(check: Any, subscripts: str) -> None:
    check(lambda *operands: np.einsum(subscripts, *operands), *EINSUMS[subscripts], rtol=1e-11)


@pytest.mark.parametrize(
    "product", [lambda x, t: np.einsum("i,->i", x, t), np.multiply.outer, lambda x, t: np.add.outer(t, x)]
)
def test_products_make_arrays_of_pythons_numbers(product: Any) -> None:
    x = np.array([0.5, 2.0], np.float32)
    expected = product(x, 0.3)
    assert expected.dtype == np.float64
    for actual in (wg.jvp(lambda t: product(x, t), (0.3,), (1.0,))[0], wg.jit(product)(x, 0.3)):
        assert actual.dtype == np.float64
        np.testing.assert_allclose(actual, expected, rtol=1e-15)


def test_einsum_options(check: Any) -> None:
    check(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), A, B)
    check(lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), A, B)
    check(lambda x, y: np.einsum(x, [Ellipsis, 0], y, [Ellipsis, 0], [Ellipsis]), STACK, A)
    check(lambda x, y: np.einsum("ij,jk,kl->il", x, y, y.T, optimize=True), A, B)
    check(lambda x, y: np.einsum("ij,jk->ik", x, y, optimize="greedy"), A, B)


def test_einsum_dtypes(values: Any) -> None:
    values(lambda x, y: np.einsum("ij,jk->ik", x, y), A.astype(np.float32), B.astype(np.float32), rtol=1e-5)
    values(lambda x, y: np.einsum("ij,jk->ik", x, y), np.arange(6).reshape(2, 3), np.arange(3.0)[:, None])
    values(lambda x: np.einsum("ij->j", x), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "uint8"])
def test_products_keep_dtypes(values: Any, dtype: str) -> None:
    x = np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype)
    values(
        lambda x: (
            x @ x.T,
            np.dot(x, x.T),
            np.inner(x, x),
            np.outer(x, x),
            np.kron(x, x),
            np.tensordot(x, x.T, 1),
        ),
        x,
    )
    values(
        lambda x: (np.vdot(x, x), np.matmul(x, x[0]), np.convolve(x[0], x[1]), np.trace(x), np.vecdot(x, x)),
        x,
    )


def test_einsum_of_empty_arrays(values: Any) -> None:
    values(
        lambda x, y: (x @ y, np.einsum("ij,jk->ik", x, y), np.dot(x, y)), np.zeros((2, 0)), np.zeros((0, 3))
    )


# -- norms -----------------------------------------------------------------------------------------------

NORMS: dict[str, tuple[Any, ...]] = {
    "norm": (np.linalg.norm, A),
    "norm vector": (np.linalg.norm, V),
    "norm cube": (np.linalg.norm, STACK),
    "norm axis": (lambda x: np.linalg.norm(x, axis=1), A),
    "norm keepdims": (lambda x: np.linalg.norm(x, axis=0, keepdims=True), A),
    "norm all keepdims": (lambda x: np.linalg.norm(x, keepdims=True), A),
    **{
        f"norm {p}": (lambda x, p=p: np.linalg.norm(x, p), V)
        for p in (1, 2, 3, 0.5, 2.5, -1, np.inf, -np.inf)
    },
    **{f"norm {p} axis": (lambda x, p=p: np.linalg.norm(x, p, axis=-1), A) for p in (1, 2, 3, np.inf)},
    **{f"matrix norm {p}": (lambda x, p=p: np.linalg.norm(x, p), A) for p in ("fro", 1, -1, np.inf, -np.inf)},
    "matrix norm axes": (lambda x: np.linalg.norm(x, 1, axis=(0, 2)), STACK),
    "matrix norm axes exchanged": (lambda x: np.linalg.norm(x, 1, axis=(2, 0), keepdims=True), STACK),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, ord=3), A),
    "vector_norm axes": (lambda x: np.linalg.vector_norm(x, axis=(0, 2), keepdims=True), STACK),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x), STACK),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms(check: Any, name: str) -> None:
    function, *arguments = NORMS[name]
    check(function, *arguments)


def test_norm_zero_counts(values: Any) -> None:
    values(lambda x: np.linalg.norm(x, 0), np.array([0.0, 2.0, -1.0]))
    values(lambda x: np.linalg.norm(x), np.array([3, 4]))
    values(lambda x: np.linalg.norm(x), np.array([3, 4], np.float32))


@pytest.mark.parametrize("order", [None, 1, 2, 3, 1.5, np.inf])
def test_norm_of_zero_has_derivative_zero(order: Any) -> None:
    zero, direction = np.zeros(3), np.array([1.0, -2.0, 0.5])

    def norm(x: Any) -> Any:
        return np.linalg.norm(x, order)

    assert grad(norm)(zero).tolist() == [0.0] * 3
    assert jvp(norm, (zero,), (direction,))[1] == 0.0
    assert np.isfinite(jvp(grad(norm), (zero,), (direction,))[1]).all()


def test_errors_name_the_operation() -> None:
    a, b, v, stack = map(CONSTANT.constant, (A, B, V, STACK))
    for call, text in [
        (lambda: np.matmul(a, a), r"matmul: inner dimensions must agree; got f64\[3,4\], f64\[3,4\]"),
        (lambda: np.matmul(CONSTANT.constant(A[:, :1]), b), "matmul: inner dimensions must agree"),
        (lambda: a @ 2.0, "matmul: operands must have at least one axis"),
        (lambda: np.matmul(stack, draw(3, 4, 2)), "matmul: operands must broadcast"),
        (lambda: np.dot(stack, stack), "dot: axes"),
        (lambda: np.inner(a, b), "inner: axes"),
        (lambda: np.tensordot(a, b), "tensordot: axes"),
        (lambda: np.tensordot(v, v, 2), "tensordot: operands must have at least 2 axes"),
        (lambda: np.cross(a, a), "cross: vectors must have three components"),
        (lambda: np.linalg.multi_dot([a]), "multi_dot: at least two"),
        (lambda: np.linalg.multi_dot([a, a, b]), "multi_dot: inner dimensions must agree"),
        (lambda: np.linalg.matrix_power(a, 2), "matrix_power: matrices must be square"),
        (lambda: np.convolve(a, v), "convolve: sequences with at least one element"),
        (lambda: np.einsum("ij,jk", a, a), "einsum: index j must have one extent"),
        (lambda: np.einsum("ij", v), "einsum: subscripts|einsum: every axis"),
        (lambda: np.einsum("i", a), "einsum: every axis needs an index"),
        (lambda: np.einsum("ij->ijk", a), "einsum: the result's indices"),
        (lambda: np.einsum("ij->ii", a), "einsum: the result's indices"),
        (lambda: np.einsum("i1", a), "einsum: subscripts must be letters"),
        (lambda: np.vecdot(v, draw(3)), "vecdot: inner dimensions must agree"),
        (lambda: np.linalg.norm(stack, 1), "norm: an order needs an array of one or two axes"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()
    with pytest.raises(ShapeError):
        np.matmul(a, a)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8])
@pytest.mark.parametrize("function", [np.dot, np.inner])
def test_a_number_is_no_scalar_of_the_arrays_dtype_in_products(function: Any, dtype: Any) -> None:
    x = np.ones(3, dtype)
    for number in (2, 0.5):
        expected = function(x, number)
        actual = wg.jit(lambda x, number=number: function(x, number))(x)
        assert (actual.dtype, actual.tolist()) == (expected.dtype, expected.tolist())


CUBE = draw(2, 3, 4)
AXES: list[Any] = [
    *(np.array(axes) for axes in (1, [2, 2], [[2], [2]], [[1, 2], [1, 2]], [[-1, 0], [2, -3]])),
    *(0, np.int8(1), -1, [2, 2], ([1, 2], (1, 2)), (np.array([1]), range(1, 2))),
    *(([1, 1], [1, 1]), ([1, 2], [2, 1]), ([0, 1], [0]), [0, 1, 2], [3, 0]),
]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_axes_of_a_product_are_named_as_numpy_has_them_named(agrees: Any, axes: Any) -> None:
    agrees(lambda x, y: np.tensordot(x, y, axes), CUBE, CUBE)


@pytest.mark.parametrize(
    "shapes",
    [[(3,), (3, 4), (4, 2)], [(2, 3), (3, 4), (4,)], [(3,), (3, 4), (4,)], [(3,), (3, 3), (3, 3), (3,)]],
    ids=str,
)
def test_chains_begin_and_end_with_vectors(check: Any, shapes: Any) -> None:
    check(lambda *chain: np.linalg.multi_dot(chain), *(draw(*shape) for shape in shapes), order=1)


def test_vectors_stand_at_the_ends_of_a_chain() -> None:
    with pytest.raises(ShapeError, match="multi_dot: those between the first and the last must be matrices"):
        wg.jit(lambda a, v, b: np.linalg.multi_dot([a, v, b]))(draw(2, 3), draw(3), draw(3, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(40))
def test_cross_products_of_two_or_three_components_are_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, rest = rng.choice([2, 3], 2), tuple(rng.integers(1, 4, rng.integers(0, 3)))
    shapes, axes = [], []
    for count in counts:
        mine = rest[rng.integers(0, len(rest) + 1) :]
        axes.append(int(rng.integers(-len(mine) - 1, len(mine) + 1)))
        place = axes[-1] % (len(mine) + 1)
        shapes.append((*mine[:place], int(count), *mine[place:]))
    x, y = (rng.standard_normal(shape) for shape in shapes)
    options = {"axisa": axes[0], "axisb": axes[1], "axisc": int(rng.integers(-1, 1))}
    expected: Any = np.cross(x, y, **options)
    call = lambda x, y: np.cross(x, y, **options)  # noqa: E731
    (of_graph,) = evaluate(wg.jit(call).graph(x, y), x, y)
    for result in (wg.jvp(call, (x, y), (y, x) if x.shape == y.shape else (x, y))[0], of_graph):
        np.testing.assert_allclose(result, expected, 1e-13, 1e-13)
    step = 1e-6
    moved = (np.cross(x + step * x[::-1], y, **options) - np.cross(x - step * x[::-1], y, **options)) / (
        2 * step
    )
    np.testing.assert_allclose(wg.jvp(lambda x: call(x, y), (x,), (x[::-1],))[1], moved, 1e-6, 1e-8)


def test_cross_products_of_pairs_are_deprecated_as_numpys_are() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    with pytest.warns(DeprecationWarning, match=r"two components.*test_products.py"):
        wg.grad(lambda x: np.cross(x, y))(x)
    with pytest.raises(ShapeError, match=r"linalg.cross: vectors must have three components"):
        wg.jacobian(lambda x: np.linalg.cross(x, y))(x)
    with pytest.raises(ShapeError, match="three components, or two"):
        wg.jacobian(lambda x: np.cross(x, np.ones(4)))(np.ones(4))
