"""Products of matrices: four orders of the operands, batches, vectors, sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from areas.families import Case, Draw, family

ORDERS = ("a b", "aT b", "a bT", "aT bT")
FLOATS = ("f4", "f8")


def _product(draw: Draw, orders: str, shape: tuple[int, int, int], dtype: str, *batch: int) -> Case:
    (left, right), (rows, inner, columns) = orders.split(), shape
    a = draw(*batch, *((inner, rows) if left == "aT" else (rows, inner)), dtype=dtype)
    b = draw(*batch, *((columns, inner) if right == "bT" else (inner, columns)), dtype=dtype)

    def program(xp: Any, a: Any, b: Any) -> Any:
        a = xp.swapaxes(a, -1, -2) if left == "aT" else a
        return a @ (xp.swapaxes(b, -1, -2) if right == "bT" else b)

    return Case(program, (a, b))


@family(size=(16, 64, 256, 1024), orders=ORDERS, dtype=FLOATS)
def product(draw: Draw, size: int, orders: str, dtype: str) -> Case:
    return _product(draw, orders, (size, size, size), dtype)


@family(
    shape=(
        (5, 7, 9),
        (333, 777, 555),
        (1, 1000, 1000),
        (2000, 64, 64),
        (64, 4096, 64),
        (128, 784, 256),
        (1000, 10, 300),
    ),
    orders=ORDERS,
)
def rectangular_product(draw: Draw, shape: tuple[int, int, int], orders: str) -> Case:
    return _product(draw, orders, shape, "f4")


@family(batch=(100, 1000), size=(4, 32), orders=ORDERS)
def batched_product(draw: Draw, batch: int, size: int, orders: str) -> Case:
    return _product(draw, orders, (size, size, size), "f4", batch)


@family(size=(30, 300, 1000, 4000), form=("A x", "AT y", "both"), dtype=FLOATS)
def matrix_vector(draw: Draw, size: int, form: str, dtype: str) -> Case:
    a, x, y = draw(size, size, dtype=dtype), draw(size, dtype=dtype), draw(size, dtype=dtype)

    def program(xp: Any, a: Any, x: Any, y: Any) -> Any:
        return {"A x": lambda: a @ x, "AT y": lambda: a.T @ y, "both": lambda: (a @ x, a.T @ y)}[form]()

    return Case(program, (a, x, y))


@family(size=(20, 500, 2000), derivative=("gradient", "hessian"))
def quadratic_form(draw: Draw, size: int, derivative: str) -> Case:
    a, x = draw(min(size, 500), size, scale=0.1), draw(size)
    return Case(lambda xp, x, a: xp.sum(xp.tanh(a @ x) ** 2), (x, a), derivative, tolerance=1e-3)


EINSUMS = {
    "ij,jk,kl->il": ((20, 30), (30, 40), (40, 20)),
    "bij,bjk,bk->bi": ((32, 64, 64), (32, 64, 64), (32, 64)),
    "bhid,bhjd->bhij": ((8, 4, 64, 32), (8, 4, 64, 32)),
    "ijk,ljk->il": ((60, 20, 50), (70, 20, 50)),
    "bi,bij,bj->b": ((200, 40), (200, 40, 40), (200, 40)),
    "ijkl,kl->ij": ((30, 30, 30, 30), (30, 30)),
    "ia,jb,kc,abc->ijk": ((20, 12), (20, 12), (20, 12), (12, 12, 12)),
    "ij,ij->i": ((1000, 300), (1000, 300)),
}


@family(subscripts=tuple(EINSUMS), derivative=("", "pullback"))
def einsum(draw: Draw, subscripts: str, derivative: str) -> Case:
    operands = tuple(draw(*shape, scale=0.3) for shape in EINSUMS[subscripts])
    cotangent = draw(*np.einsum(subscripts, *operands, optimize=True).shape)
    return Case(
        lambda xp, *operands: xp.einsum(subscripts, *operands),
        (*operands, cotangent) if derivative else operands,
        derivative,
        tuple(range(len(operands))),
        tolerance=1e-3,
    )
