"""`scipy.sparse` with followed elements: programs mean what they mean with SciPy, in each mode, to second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.scipy.checks import close
from wengert.engine.core.errors import ConcreteError, WengertError

sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

CLASSES = [f"{kind}_{end}" for kind in ("coo", "csc", "csr") for end in ("array", "matrix")]
#: Programs of a square matrix and a vector; each gives an array or a number.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "products": lambda A, x: A @ x + x @ A + A.T @ x + A.dot(x) + (x @ A.T) * 2.0,
    "of several vectors": lambda A, x: A @ np.stack([x, 2 * x], axis=1) + A.transpose() @ np.stack([x, x], axis=1),
    "of matrices": lambda A, x: (A @ A.T @ A).toarray() @ x,
    "sums": lambda A, x: (A + A.T - 0.5 * A - (-A) / 3.0 + A.multiply(2.0)) @ x,
    "sums with constants": lambda A, x: (A + sparse.eye(5) + 0 - sparse.csr_array(np.eye(5)) * 2.0) @ x,
    "products of elements": lambda A, x: A.multiply(A.T) @ x + A.multiply(x) @ x + A.multiply(x[:, None]) @ x,
    "with constants": lambda A, x: A.multiply(sparse.csr_array(np.tri(5))) @ x + (A @ sparse.eye_array(5)) @ x,
    "formats": lambda A, x: A.tocsc().tocoo().tocsr().asformat("coo").todia() @ x + A.copy() @ x,
    "elements": lambda A, x: A.tocsr().data.sum() + A.tocsc().data[-1] + abs(A).sum() + A.sum() * x[0],
    "of each element": lambda A, x: A.sin() @ x + A.tocsr().expm1() @ x + np.sum(A.astype(float).arctan().toarray()),
    "parts": lambda A, x: (A.tocsr()[1:4, ::2] @ x[:3]).sum() + A.tocsr()[2, 1] + A.diagonal(1) @ x[1:],
    "triangles": lambda A, x: (sparse.tril(A) + sparse.triu(A, k=1)) @ x,
    "joined": lambda A, x: (sparse.vstack([A, A.T]) @ x)[5:] + sparse.hstack([A, A]) @ np.append(x, x),
    "blocks": lambda A, x: (
        sparse.bmat([[A, None], [sparse.eye(5), A.T]], format="csr") @ np.append(x, x)
        + sparse.block_diag([A, A], format="csr") @ np.append(x, x)
    ),
    "diagonals": lambda A, x: sparse.diags([x, x[:-1]], [0, 1]) @ x + sparse.diags(x, format="csr") @ (A @ x),
    "diagonal of one number": lambda A, x: sparse.diags_array([x[0], -2.0, x[1]], offsets=[-1, 0, 1], shape=(5, 5)) @ x,
    "spdiags": lambda A, x: sparse.spdiags(np.stack([x, 2 * x]), [0, -1], 5, 5) @ x,
    "of an array": lambda A, x: sparse.csr_array(np.outer(x, x)) @ x + A @ x,
    "of another": lambda A, x: sparse.csc_array(A, shape=(5, 5)) @ x + sparse.coo_matrix(A.tocsr()) @ x,
    "solutions": lambda A, x: linalg.spsolve((A + 9.0 * sparse.eye(5)).tocsc(), x),
    "solutions of several": lambda A, x: linalg.spsolve((A + 9.0 * sparse.eye(5)).tocsr(), np.stack([x, 2 * x], 1)),
    "kept factor": lambda A, x: linalg.factorized((A + 9.0 * sparse.eye(5)).tocsc())(x) + x,
    "questions": lambda A, x: (
        A @ x * (sparse.issparse(A) and isinstance(A.tocsr(), (sparse.csr_array, sparse.csr_matrix))) * A.shape[0]
    ),
    "kron": lambda A, x: (sparse.kron(A, sparse.eye(5)) @ sparse.kron(sparse.eye(5), A)).sum() * x + sparse.kron(
        np.ones((1, 5)), A, format="csc"
    ) @ np.tile(x, 5),
    "kronsum": lambda A, x: sparse.kronsum(A, A.T, format="csc") @ np.tile(x, 5),
    "permuted": lambda A, x: sparse.swapaxes(A, 0, 1) @ x + sparse.permute_dims(A, (1, 0)) @ x,
    "a new axis": lambda A, x: sparse.expand_dims(sparse.coo_array(A), axis=1).toarray()[:, 0] @ x,
    "formats for writes": lambda A, x: (sparse.lil_array(A) @ x + sparse.dok_matrix(np.outer(x, x)) @ x).ravel(),
    "writes": lambda A, x: _written(A.tocsr(), x) @ x,
    "rows without an axis": lambda A, x: sparse.csr_array(A)[1].toarray() * sparse.csr_array(A)[[2, 0, 2], 1:4].sum(),
    "sums of diagonals": lambda A, x: sparse.dia_array((np.stack([x, x]), [1, -2]), shape=(5, 5)).sum() * x,
    "sums along axes": lambda A, x: sparse.csr_array(A).sum(axis=-1) + sparse.coo_array(A).sum(0, dtype=complex).real,
    "star": lambda A, x: A * (x if sparse.isspmatrix(A) else 2.0) @ (np.eye(5) if sparse.isspmatrix(A) else x),
}  # fmt: skip


def _written(A: Any, x: Any) -> Any:
    A = A.tolil()
    A[1, 2] = x[0]
    A[1, 2] += A[0, 0] * A[1, 2]
    A[3, :] = x
    A[:2, 4] = 0.5
    A[[2, 4], [0, 1]] = x[1:3]
    A[0, 3:] = A[3, 3:]
    return A.tocsc()


def _places(seed: int) -> tuple[Any, Any]:
    """Return places of 9 elements, of which two may have one place."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, 5, 9), rng.integers(0, 5, 9)
    if seed % 2:
        rows[-1], columns[-1] = rows[0], columns[0]
    return rows, columns


@pytest.mark.parametrize("seed", range(many(4)))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, seed: int) -> None:
    kind = CLASSES[(seed + list(PROGRAMS).index(name)) % len(CLASSES)]
    if name == "star":
        kind = kind.replace("array", "matrix") if seed % 2 else kind.replace("matrix", "array")
    rng, places = np.random.default_rng(seed + 99), _places(seed)
    data, x = rng.normal(size=9), rng.normal(size=5)
    matrix = getattr(sparse, kind)

    def program(data: Any, x: Any) -> Any:
        return np.asarray(PROGRAMS[name](matrix((data, places), shape=(5, 5)), x), like=x)

    expected = program(data, x)
    close(wg.vjp(program, data, x)[0], expected, 1e-12)
    wg.check_grads(program, (data, x), order=1)
    if not seed:
        close(wg.jit(program)(data, x), expected, 1e-12)
        close(wg.vmap(program)(np.stack([data, 2 * data]), np.stack([x, x]))[0], expected, 1e-12)
        slope = wg.grad(lambda data: np.sum(np.sin(program(data, x))))
        close(wg.jit(slope)(data), slope(data), 1e-11)


@pytest.mark.parametrize("name", ["products", "of matrices", "solutions", "products of elements"])
def test_second_derivatives(name: str) -> None:
    places, rng = _places(3), np.random.default_rng(5)

    def program(data: Any, x: Any) -> Any:
        return PROGRAMS[name](sparse.csr_array((data, places), shape=(5, 5)), x)

    wg.check_grads(program, (rng.normal(size=9), rng.normal(size=5)), order=2)


def test_other_forms_of_the_classes() -> None:
    data = np.arange(1.0, 7.0)
    blocks = np.arange(1.0, 9.0).reshape(2, 2, 2)
    forms: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda d: sparse.csr_array((d, [2, 0, 1, 0, 2, 1], [0, 2, 2, 6]), shape=(3, 3)), data),
        (lambda d: sparse.csc_matrix((d, [2, 0, 1, 0, 2, 1], [0, 2, 2, 6])), data),
        (lambda d: sparse.dia_array((d, [0, -1]), shape=(3, 3)), data.reshape(2, 3)),
        (lambda d: sparse.bsr_array((d, [0, 1], [0, 1, 2])), blocks),
        (lambda d: sparse.csr_matrix(d, dtype=complex), data.reshape(3, 2)),
        (lambda d: sparse.coo_array(sparse.csr_array(d).T, dtype=np.float32), data.reshape(3, 2)),
    ]
    for make, elements in forms:
        made = make(elements)
        width = made.shape[1]

        def program(d: Any, make: Any = make, width: int = width) -> Any:
            A = make(d)
            return A @ np.arange(1.0, width + 1), A.toarray(), A.data

        close(wg.vjp(program, elements)[0], program(elements), 1e-12)


def test_elements_may_be_written() -> None:
    places = _places(0)

    def program(data: Any) -> Any:
        A = sparse.csr_array((data, places), shape=(5, 5))
        A.data *= 2.0
        A.data = A.data**2
        return A @ np.ones(5)

    data = np.random.default_rng(2).normal(size=9)
    close(wg.vjp(program, data)[0], program(data), 1e-13)
    wg.check_grads(program, (data,), order=1)


_PAIRS = ([0, 1, 1], [0, 0, 1])
_ROWS = ([0, 0, 1], [0, 1, 3])
#: Matrices of three elements: which of them show a later write into the elements, SciPy decides.
SHARING: dict[str, Callable[[Any], Any]] = {
    "pairs, by rows": lambda d: sparse.csr_array((d, _PAIRS)),
    "pairs": lambda d: sparse.coo_array((d, _PAIRS)),
    "rows": lambda d: sparse.csr_array((d, *map(np.array, _ROWS))),
    "a copy of rows": lambda d: sparse.csr_array((d, *map(np.array, _ROWS)), copy=True),
    "by rows, converted": lambda d: sparse.coo_array((d, _PAIRS)).tocsr(),
    "of another": lambda d: sparse.csr_array(sparse.coo_array((d, _PAIRS))),
    "transposed": lambda d: sparse.csr_array((d, *map(np.array, _ROWS))).T,
    "to pairs": lambda d: sparse.csr_array((d, *map(np.array, _ROWS))).tocoo(),
    "a part": lambda d: sparse.csr_array((d, *map(np.array, _ROWS)))[:],
    "plus zero": lambda d: sparse.csr_array((d, *map(np.array, _ROWS))) + 0,
    "magnitudes": lambda d: abs(sparse.csr_array((d, *map(np.array, _ROWS)))),
    "diagonals": lambda d: sparse.dia_array((d[None], [0]), shape=(3, 3)),
    "dense": lambda d: sparse.csr_array(d[None]),
}


@pytest.mark.parametrize("way", ["elements", "data", "set"])
@pytest.mark.parametrize("name", SHARING)
def test_writes_show_where_scipy_shares_memory(name: str, way: str) -> None:
    def program(x: Any) -> Any:
        d, fresh = x * 1.0, x * 3.0
        A = SHARING[name](d)
        if way == "elements":
            d[1] = 7.0 * x[0]
        elif way == "data":
            A.data[..., 1] = 7.0 * x[0]
        else:
            A.data = fresh if A.format != "dia" else fresh[None]
            fresh[0] = x[1] ** 2
        return A.toarray(), d, A.data

    x = np.array([1.5, -0.5, 2.0])
    close(wg.vjp(program, x)[0], program(x), 1e-14)
    close(wg.jit(program)(x), program(x), 1e-14)
    wg.check_grads(program, (x,), order=1)


def test_plain_matrices_stay_scipys() -> None:
    plain = sparse.random_array((5, 5), density=0.5, rng=np.random.default_rng(0), format="csr")

    def program(t: Any) -> Any:
        y = np.zeros(5)
        y[0] = t
        A = sparse.csr_array(([1.0, 2.0], ([0, 1], [0, 1])), shape=(5, 5))
        assert type(A).__module__.startswith("scipy")
        assert isinstance(A, sparse.csr_array)
        assert (sparse.issparse(plain), sparse.issparse(y)) == (True, False)
        return np.sum((t * plain) @ y + plain @ (A @ y) + (sparse.diags([1.0, 2.0]) @ np.ones(2)).sum() * y)

    value, slope = wg.value_and_grad(program)(1.5)
    assert value == pytest.approx(program(1.5), rel=1e-14)
    step = 1e-6
    assert slope == pytest.approx((program(1.5 + step) - program(1.5 - step)) / (2 * step), rel=1e-7)


DATA = np.arange(1.0, 4.0)
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "eq": (lambda A: (A == A).sum(), "csr_matrix.__eq__: this is not followed"),
    "max": (lambda A: A.max(), r"csr_matrix.max: .*write A.toarray\(\)"),
    "matrix": (lambda A: A.sum(axis=0), r"csr_matrix.sum\(axis\)"),
    "todense": (lambda A: A.todense(), "todense"),
    "power": (lambda A: A**2, "__pow__"),
    "sparse right side": (lambda A: linalg.spsolve(A, A), "the right side must be an array"),
    "shapes": (lambda A: A + sparse.eye(3), r"the shapes must agree; got \(3, 4\) and \(3, 3\)"),
    "inner": (lambda A: A @ A, "inner dimensions must agree"),
    "axis": (lambda A: sparse.csr_array(A).sum(axis=0, out=np.zeros(4)), r"sum\(out\)"),
    "kronsum": (lambda A: sparse.kronsum(A, A), "scipy.sparse.kronsum: square matrices are required"),
    "find": (lambda A: sparse.find(A)[2], "scipy.sparse.find"),
    "one axis": (
        lambda A: sparse.csr_array(A)[0].multiply(np.ones(4)).toarray(),
        "a matrix must have two axes",
    ),
    "square": (lambda A: linalg.spsolve(A, np.ones(3)), "a square matrix"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(WengertError, match=text):
        wg.vjp(lambda d: call(sparse.csr_matrix((d, ([0, 1, 2], [1, 2, 3])), shape=(3, 4))), DATA)


def test_places_must_be_known() -> None:
    with pytest.raises(ConcreteError, match=r"scipy\.sparse\.csr_array: places must be known"):
        wg.jit(lambda d, i: sparse.csr_array((d, (i, i))) @ d)(DATA, np.arange(3))
    value = wg.grad(lambda d: sparse.csr_array((d, (np.argsort(d), np.arange(3)))).sum())(DATA)
    close(value, np.ones(3), 0)
