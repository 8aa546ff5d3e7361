"""Indices outside raise compiled as they do in eager mode, whatever they index; so do wrong rows of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.draws import CASES
from wengert.engine.ops.linalg.sparse_products import sparse_product

FEW, MANY = 6, 400
#: Arrays; of many of them an index, or a part of it, does not say which element is read.
BASES: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "equal": lambda x, shape: np.full(shape, 2.5),
    "grid": lambda x, shape: np.arange(float(np.prod(shape))).reshape(shape),
    "rows": lambda x, shape: np.broadcast_to(np.arange(float(shape[-1])), shape),
    "diagonal": lambda x, shape: np.broadcast_to(np.eye(shape[-2], shape[-1]), shape),
    "plain": lambda x, shape: np.cos(np.arange(np.prod(shape))).reshape(shape),
    "zero": lambda x, shape: x[0] * np.zeros(shape),
    "number": lambda x, shape: np.broadcast_to(x[0], shape),
    "vector": lambda x, shape: np.broadcast_to(np.sum(x) * np.arange(float(shape[-1])), shape),
    "column": lambda x, shape: np.broadcast_to(x[: shape[-2], None], shape),
    "values": lambda x, shape: np.resize(x, shape),
}
#: What a program makes of an array.
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "transposed": lambda a, x: np.swapaxes(a, 0, -1),
    "flipped": lambda a, x: a[::-1],
    "joined": lambda a, x: np.concatenate([a, np.ones_like(a)]),
    "added": lambda a, x: a + 1.0,
    "scaled": lambda a, x: x[1] * a,
    "flat": lambda a, x: np.reshape(a, (-1,)),
    "one row": lambda a, x: a[:1],
    "one more axis": lambda a, x: a[None],
    "exponential": lambda a, x: np.exp(-a),
}
#: Reads of an array at indices of an axis.
READS: dict[str, Callable[[Any, Any, int], Any]] = {
    "take": lambda a, i, axis: wnp.take(a, i, axis=axis),
    "index": lambda a, i, axis: wnp.array(a)[(*(slice(None),) * axis, i)],
    "one": lambda a, i, axis: wnp.array(a)[(*(slice(None),) * axis, i[-1])],
    "indices": lambda a, i, axis: wnp.array(a)[tuple(i if n == axis else 0 * i for n in range(a.ndim))],
}
#: Results, values and derivatives, that depend on every element that is read.
MODES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "value": lambda f, x, i: f(x, i),
    "gradient": lambda f, x, i: wg.value_and_grad(lambda x: np.sum(f(x, i)))(x),
    "tangent": lambda f, x, i: wg.jvp(lambda x: f(x, i), (x,), (x,)),
    "batch": lambda f, x, i: wg.vmap(f)(np.stack([x, 2 * x]), np.stack([0 * i, i])),
}


class Drawn:
    """A program that reads an array at indices, with indices of which one may lie outside."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.x = rng.uniform(0.5, 1.5, 4)
        self.shape = tuple(rng.integers(1, 5, rng.integers(2, 4)))
        self.base = str(rng.choice(list(BASES)))
        self.changes = [str(name) for name in rng.choice(list(CHANGES), rng.integers(0, 3))]
        array = self.array(self.x)
        self.axis = int(rng.integers(array.ndim))
        self.read = str(rng.choice(list(READS)))
        self.mode = str(rng.choice(list(MODES)))
        extent = array.shape[self.axis]
        self.i = rng.integers(-extent, extent, 3)
        if rng.random() < 0.6:
            self.i[-1] = rng.choice([-extent - 1, extent, extent + 7, 2**40, -(2**62)])

    def array(self, x: Any) -> Any:
        array = BASES[self.base](x, self.shape)
        for name in self.changes:
            array = CHANGES[name](array, x)
        return array

    def __call__(self, x: Any, i: Any) -> Any:
        return READS[self.read](self.array(x), i, self.axis) * x[-1]

    def __str__(self) -> str:
        return f"{self.base} {self.shape} {self.changes} {self.read} {self.axis} {self.i} {self.mode}"


def result(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result, or the kind of error with the words that name the index."""
    try:
        return function(*arguments)
    except IndexError as error:
        return str(error).partition("got")[0][-20:] if "sparse" in str(error) else "IndexError"


def same(found: Any, expected: Any, text: str) -> None:
    assert isinstance(found, str) == isinstance(expected, str), (text, found, expected)
    if isinstance(expected, str):
        assert found == expected, text
        return
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-12, err_msg=text)


def check_read(seed: int) -> None:
    program = Drawn(seed)
    mode = lambda x, i: MODES[program.mode](program, x, i)  # noqa: E731
    expected = result(mode, program.x, program.i)
    same(result(wg.jit(mode), program.x, program.i), expected, f"{seed}: {program}")


def check_rows(seed: int) -> None:
    """Draw a sparse matrix, mostly with a wrong column or end of a row, and its product."""
    rng = np.random.default_rng(seed)
    height, width, stored = rng.integers(1, 5, 3)
    columns = rng.integers(0, width, stored)
    pointers = np.concatenate([[0], np.sort(rng.integers(0, stored + 1, height - 1)), [stored]])
    if rng.random() < 0.3:
        columns[rng.integers(stored)] = rng.choice([-1, width, 2**31 + 1])
    if rng.random() < 0.6:
        pointers[rng.integers(height + 1)] = rng.choice([-1, 0, stored, stored + 1, 2**31])
    dtype = rng.choice([np.int64, np.int32]) if max(columns.max(), pointers.max()) < 2**31 else np.int64
    transposed, mode = bool(rng.random() < 0.5), str(rng.choice(list(MODES)))
    x = rng.standard_normal((stored, height if transposed else width))

    def product(data: Any, where: Any) -> Any:
        columns, pointers = where[:stored], where[stored:]
        y = sparse_product(x[0], data, columns, pointers, width=int(width), transposed=transposed)
        return np.sum(y * y) + np.sum(y)

    def program(data: Any, where: Any) -> Any:
        if mode == "batch":
            right = np.concatenate([np.zeros(stored), [0], np.full(height, stored)]).astype(where.dtype)
            return wg.vmap(product)(np.stack([data, data]), np.stack([where, right]))
        return MODES[mode](product, data, where)

    data, where = rng.standard_normal(stored), np.concatenate([columns, pointers]).astype(dtype)
    expected = result(program, data, where)
    is_right = 0 <= columns.min() <= columns.max() < width and not (
        pointers[0] or pointers[-1] != stored or (np.diff(pointers) < 0).any()
    )
    assert isinstance(expected, str) != is_right, (seed, mode, columns, pointers, expected)
    same(result(wg.jit(program), data, where), expected, f"{seed}: {mode} {columns} {pointers} {transposed}")


@pytest.mark.parametrize("check", [check_read, check_rows])
@pytest.mark.exhaustive
def test_indices_outside_raise_compiled(check: Callable[[int], None]) -> None:
    for seed in range(FEW * (CASES - 1), FEW * CASES):
        check(seed)


@pytest.mark.parametrize("check", [check_read, check_rows])
@pytest.mark.slow
def test_many_indices_outside_raise_compiled(check: Callable[[int], None]) -> None:
    count = MANY if check is check_read else MANY // 4  # which takes longer
    for seed in range(10_000, 10_000 + count):
        check(seed)
