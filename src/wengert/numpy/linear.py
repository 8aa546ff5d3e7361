"""Products of linear algebra: `matmul`, `dot`, `tensordot`, `kron`, `convolve` and their kind, all on `contract`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from wengert.array.array import FUNCTIONS, operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import Shape, axis_index, broadcast, shape_of, size
from wengert.ir.types import show
from wengert.numpy.diagonals import diagonal
from wengert.numpy.reducing import sum_
from wengert.numpy.registry import implements, integers, is_sequence, rank_of, refuse, since, strong
from wengert.numpy.shaping import moveaxis, part, ravel
from wengert.ops.arithmetic import multiply
from wengert.ops.contraction import along, contract, product_params
from wengert.ops.shape import reshape, slice_
from wengert.primitive import MOST_AXES

#: Names of axes, as many as two arrays can have; X, Y and Z are those of matrices.
_LETTERS = "".join(map(chr, range(ord("a"), ord("a") + 2 * MOST_AXES)))
_params = lru_cache(maxsize=4096)(product_params)


def product(subscripts: str, *operands: Any) -> Any:
    """Return the sum of products that explicit subscripts describe; equal shapes share their parameters."""
    return contract(*operands, **_params(subscripts, *map(shape_of, operands)))


def _disagree(operation: str, requirement: str, *operands: Any) -> ShapeError:
    return ShapeError(message(operation, requirement, show(*operands)))


# -- matrices --------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _matmul_params(lhs: Shape, rhs: Shape) -> dict[str, Any] | None:
    """Return the contraction of `matmul`; None where the inner dimensions disagree."""
    if lhs[-1] != rhs[-2 if len(rhs) > 1 else -1]:
        return None
    lead = _LETTERS[: max(len(lhs), len(rhs), 2) - 2]
    left = lead[len(lead) - max(len(lhs) - 2, 0) :] + ("Y" if len(lhs) > 1 else "") + "X"
    right = lead[len(lead) - max(len(rhs) - 2, 0) :] + "X" + ("Z" if len(rhs) > 1 else "")
    broadcast("matmul", lhs[:-2], rhs[:-2])
    result = lead + ("Y" if len(lhs) > 1 else "") + ("Z" if len(rhs) > 1 else "")
    return product_params(f"{left},{right}->{result}", lhs, rhs)


@implements(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any, /, **options: Any) -> Any:
    """Return the matrix product over the last two axes, as `np.matmul`."""
    if options:
        refuse("np.matmul", **options)
    x1, x2 = operand(x1), operand(x2)
    lhs, rhs = shape_of(x1), shape_of(x2)
    if not lhs or not rhs:
        raise _disagree("matmul", "operands must have at least one axis", x1, x2)
    params = _matmul_params(lhs, rhs)
    if params is None:
        raise _disagree("matmul", "inner dimensions must agree", x1, x2)
    return contract(x1, x2, **params)


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Sum products over the last axis of ``a`` and the last but one of ``b``, as `np.dot`."""
    refuse("np.dot", out)
    a, b = strong(operand(a)), strong(operand(b))
    rank, other = rank_of(a), rank_of(b)
    if rank == 0 or other == 0:
        return multiply(a, b)
    if rank <= 2 and other <= 2:
        return matmul(a, b)
    return _over_axes("dot", a, b, [rank - 1], [max(other - 2, 0)])


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """Sum the products of all elements, as `np.vdot`."""
    return dot(ravel(a), ravel(b))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """Sum products over the last axes, as `np.inner`."""
    a, b = strong(operand(a)), strong(operand(b))
    if not rank_of(a) or not rank_of(b):
        return multiply(a, b)
    return _over_axes("inner", a, b, [rank_of(a) - 1], [rank_of(b) - 1])


@implements(np.outer, np.linalg.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return all products of an element of ``a`` and one of ``b``, as `np.outer`."""
    refuse("np.outer", out)
    a, b = operand(a), operand(b)
    return multiply(reshape(a, shape=(size(shape_of(a)), 1)), reshape(b, shape=(size(shape_of(b)),)))


def _over_axes(operation: str, a: Any, b: Any, a_axes: Sequence[int], b_axes: Sequence[int]) -> Any:
    """Sum products over pairs of axes; the rest of ``a``'s axes come first, then ``b``'s."""
    shape, other = shape_of(a), shape_of(b)
    if len(a_axes) != len(b_axes) or any(shape[i] != other[j] for i, j in zip(a_axes, b_axes, strict=True)):
        raise _disagree(operation, f"axes {list(a_axes)} and {list(b_axes)} must have the same extents", a, b)
    return product(_tensordot_subscripts(len(shape), len(other), tuple(a_axes), tuple(b_axes)), a, b)


@lru_cache(maxsize=1024)
def _tensordot_subscripts(rank: int, other: int, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> str:
    first, second = list(_LETTERS[:rank]), list(_LETTERS[rank : rank + other])
    for i, j in zip(a_axes, b_axes, strict=True):
        second[j] = first[i]
    free = [one for axis, one in enumerate(first) if axis not in a_axes]
    free += [one for axis, one in enumerate(second) if axis not in b_axes]
    return f"{''.join(first)},{''.join(second)}->{''.join(free)}"


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products over axes of two arrays, as `np.tensordot`."""
    a, b = operand(a), operand(b)
    rank, other = rank_of(a), rank_of(b)
    if is_sequence(axes) or np.ndim(axes):
        left, right = _named_axes(axes, rank, other)
    else:
        count = int(axes)
        if count > min(rank, other):
            raise _disagree("tensordot", f"operands must have at least {count} axes", a, b)
        left, right = list(range(rank - count, rank)), list(range(count))
    return _over_axes("tensordot", a, b, left, right)


def _named_axes(axes: Any, rank: int, other: int) -> tuple[list[int], list[int]]:
    """Return the axes of both arrays that a pair of axes, or of sequences of them, names."""
    if len(axes) != 2:
        requirement = "axes must be a number of axes, or those of one array and those of the other"
        raise ArgumentError(message("tensordot", requirement, repr(axes)))
    left = [axis_index("tensordot", axis, rank) for axis in integers(axes[0])]
    right = [axis_index("tensordot", axis, other) for axis in integers(axes[1])]
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ArgumentError(message("tensordot", "an axis may be named once only", repr(axes)))
    return left, right


def _of_vectors(operation: str, terms: str, x1: Any, x2: Any) -> Any:
    """Carry out a product of trailing axes; the leading ones broadcast."""
    x1, x2 = operand(x1), operand(x2)
    left, right = (len(term) for term in terms.split("->")[0].split(","))
    if rank_of(x1) < left or rank_of(x2) < right:
        raise _disagree(operation, f"operands must have at least {left} and {right} axes", x1, x2)
    one, other, result = terms.replace("->", ",").split(",")
    inner_extents = shape_of(x1)[one.index("X") - left], shape_of(x2)[other.index("X") - right]
    if inner_extents[0] != inner_extents[1]:
        raise _disagree(operation, "inner dimensions must agree", x1, x2)
    lead = _LETTERS[: max(rank_of(x1) - left, rank_of(x2) - right)]
    mine, theirs = lead[len(lead) - rank_of(x1) + left :], lead[len(lead) - rank_of(x2) + right :]
    return product(f"{mine}{one},{theirs}{other}->{lead}{result}", x1, x2)


@implements(*since("vecdot"))
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sum products along an axis, as `np.vecdot`."""
    if axis != -1:
        one, other = axis_index("vecdot", axis, rank_of(x1)), axis_index("vecdot", axis, rank_of(x2))
        x1, x2 = moveaxis(x1, one, -1), moveaxis(x2, other, -1)
    return _of_vectors("vecdot", "X,X->", x1, x2)


@implements(*since("matvec"))
def matvec(x1: Any, x2: Any, /) -> Any:
    """Multiply matrices with vectors, as `np.matvec`."""
    return _of_vectors("matvec", "YX,X->Y", x1, x2)


@implements(*since("vecmat"))
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Multiply vectors with matrices, as `np.vecmat`."""
    return _of_vectors("vecmat", "X,XZ->Z", x1, x2)


FUNCTIONS[np.linalg.vecdot] = vecdot

# -- others ----------------------------------------------------------------------------------------------


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product, as `np.kron`."""
    a, b = operand(a), operand(b)
    rank = max(rank_of(a), rank_of(b))
    mine, theirs = ((1,) * (rank - rank_of(x)) + shape_of(x) for x in (a, b))
    left = reshape(a, shape=tuple(extent for one in mine for extent in (one, 1)))
    right = reshape(b, shape=tuple(extent for one in theirs for extent in (1, one)))
    return reshape(multiply(left, right), shape=tuple(m * t for m, t in zip(mine, theirs, strict=True)))


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """Sum a diagonal, as `np.trace`."""
    refuse("np.trace", out)
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(np.linalg.trace)
def trace_of_matrices(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sum a diagonal of the last two axes, as `np.linalg.trace`."""
    return trace(x, offset, -2, -1, dtype)


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return the vector product in three dimensions, as `np.cross`."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operand(a), operand(b)
    axisa, axisb = axis_index("cross", axisa, rank_of(a)), axis_index("cross", axisb, rank_of(b))
    a, b = moveaxis(a, axisa, 0), moveaxis(b, axisb, 0)
    if shape_of(a)[0] != 3 or shape_of(b)[0] != 3:
        raise _disagree("cross", "vectors must have three components", a, b)
    (a0, a1, a2), (b0, b1, b2) = ([part(v, 0, component) for component in range(3)] for v in (a, b))
    components = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    stacked = FUNCTIONS[np.stack](components)
    return moveaxis(stacked, 0, axisc)


@implements(np.linalg.cross)
def cross_(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the vector product, as `np.linalg.cross`."""
    return cross(x1, x2, axis=axis)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """Multiply several matrices in the cheapest order, as `np.linalg.multi_dot`."""
    refuse("np.linalg.multi_dot", out)
    chain = [operand(one) for one in arrays]
    if len(chain) < 2:
        raise ArgumentError(message("multi_dot", "at least two arrays are required", str(len(chain))))
    if any(rank_of(one) != 2 for one in chain[1:-1]):
        raise _disagree("multi_dot", "those between the first and the last must be matrices", *chain)
    for one, other in itertools.pairwise(chain):
        if shape_of(one)[-1] != shape_of(other)[0]:
            raise _disagree("multi_dot", "inner dimensions must agree", one, other)
    extents = [
        1 if rank_of(chain[0]) == 1 else shape_of(chain[0])[0],
        *(shape_of(one)[0] for one in chain[1:]),
    ]
    extents.append(1 if rank_of(chain[-1]) == 1 else shape_of(chain[-1])[1])
    return _chain_product(chain, extents)


def _chain_product(chain: list[Any], extents: list[int]) -> Any:
    """Multiply a chain of matrices, its pieces paired by dynamic programming over the number of multiplications."""
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(chain))}
    for length in range(2, len(chain) + 1):
        for start in range(len(chain) - length + 1):
            stop = start + length - 1
            best[start, stop] = min(
                (
                    best[start, cut][0]
                    + best[cut + 1, stop][0]
                    + extents[start] * extents[cut + 1] * extents[stop + 1],
                    cut,
                )
                for cut in range(start, stop)
            )

    def multiplied(start: int, stop: int) -> Any:
        if start == stop:
            return chain[start]
        cut = best[start, stop][1]
        return dot(multiplied(start, cut), multiplied(cut + 1, stop))

    return multiplied(0, len(chain) - 1)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """Multiply a square matrix with itself by repeated squaring, as `np.linalg.matrix_power` for n >= 0."""
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise _disagree("matrix_power", "matrices must be square", a)
    if n < 0:
        return matrix_power(FUNCTIONS[np.linalg.inv](a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(shape[-1], dtype=dtype_of(a)), shape)
    powers: list[Any] = []
    while n:
        if n & 1:
            powers.append(a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return reduce(matmul, powers)


# -- convolution of sequences ----------------------------------------------------------------------------


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolve two sequences, ``y[n] = sum_k a[k] v[n - k]``, as `np.convolve`."""
    a, v = (reshape(operand(x), shape=shape_of(x) or (1,)) for x in (a, v))
    if rank_of(a) != 1 or rank_of(v) != 1 or not (shape_of(a)[0] and shape_of(v)[0]):
        raise _disagree("convolve", "sequences with at least one element are required", a, v)
    if shape_of(v)[0] > shape_of(a)[0]:
        a, v = v, a
    (n,), (taps,) = shape_of(a), shape_of(v)
    if mode == "valid":
        window = (taps - 1, ((0, 1), (1, -1)))
        count = n - taps + 1
        return contract(
            a, v, extents=(count, taps), accesses=((window,), (along(1),)), out=(along(0),), shape=(count,)
        )
    window = (0, ((0, 1), (1, 1)))
    full = n + taps - 1
    result = contract(
        a, v, extents=(n, taps), accesses=((along(0),), (along(1),)), out=(window,), shape=(full,)
    )
    if mode == "full":
        return result
    if mode != "same":
        raise ArgumentError(message("convolve", 'mode must be "full", "same" or "valid"', repr(mode)))
    return slice_(result, index=(((taps - 1) // 2, n, 1),))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Correlate two sequences, ``y[k] = sum_n a[n + k] v[n]``, as `np.correlate`."""
    a, v = operand(a), operand(v)
    if mode == "same" and shape_of(v)[0] > shape_of(a)[0]:
        return correlate(v, a, mode)[::-1]
    return convolve(a, v[::-1], mode)
