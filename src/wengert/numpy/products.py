"""Products of linear algebra, all on `contract`: `matmul`, `dot`, `tensordot`, `einsum`, `kron`, `convolve`."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from wengert.engine.array.array import FUNCTIONS, operand
from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, located, message, user_location
from wengert.engine.core.shapes import Shape, axis_index, broadcast, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.memory import in_order_of, iterated, lay, memory_of, placed, stacked
from wengert.engine.ops.arithmetic import multiply
from wengert.engine.ops.complex import conjugate
from wengert.engine.ops.contraction import along, contract, product_params
from wengert.engine.ops.shape import reshape, slice_
from wengert.engine.primitive import MOST_AXES
from wengert.numpy.joining import stack
from wengert.numpy.reducing import sum_
from wengert.numpy.registry import implements, integers, is_sequence, rank_of, refuse, since, strong
from wengert.numpy.shaping import diagonal, diagonal_view, moveaxis, part, permuted, ravel

#: Names of axes, as many as two arrays can have; X, Y and Z are those of matrices.
_AXES = "".join(map(chr, range(ord("a"), ord("a") + 2 * MOST_AXES)))
_params = lru_cache(maxsize=4096)(product_params)


def product(subscripts: str, *operands: Any) -> Any:
    """Return the sum of products that explicit subscripts describe; equal shapes share their parameters."""
    return contract(*operands, **_params(subscripts, *map(shape_of, operands)))


def _shape_error(operation: str, requirement: str, *operands: Any) -> ShapeError:
    return ShapeError(message(operation, requirement, show(*operands)))


# -- matrices --------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _matmul_params(lhs: Shape, rhs: Shape) -> dict[str, Any] | None:
    """Return the contraction of `matmul`; None where the inner dimensions disagree."""
    if lhs[-1] != rhs[-2 if len(rhs) > 1 else -1]:
        return None
    lead = _AXES[: max(len(lhs), len(rhs), 2) - 2]
    left = lead[len(lead) - max(len(lhs) - 2, 0) :] + ("Y" if len(lhs) > 1 else "") + "X"
    right = lead[len(lead) - max(len(rhs) - 2, 0) :] + "X" + ("Z" if len(rhs) > 1 else "")
    broadcast("matmul", lhs[:-2], rhs[:-2])
    result = lead + ("Y" if len(lhs) > 1 else "") + ("Z" if len(rhs) > 1 else "")
    return product_params(f"{left},{right}->{result}", lhs, rhs)


@implements(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any, /, *, axes: Any = None, **options: Any) -> Any:
    if options:
        refuse("np.matmul", **options)
    if axes is not None:
        return _matmul_over(x1, x2, axes)
    x1, x2 = operand(x1), operand(x2)
    lhs, rhs = shape_of(x1), shape_of(x2)
    if not lhs or not rhs:
        raise _shape_error("matmul", "operands must have at least one axis", x1, x2)
    params = _matmul_params(lhs, rhs)
    if params is None:
        raise _shape_error("matmul", "inner dimensions must agree", x1, x2)
    result = contract(x1, x2, **params)
    return placed(stacked, result, (x1, x2), {}) if max(len(lhs), len(rhs)) > 3 else result


def _matmul_over(x1: Any, x2: Any, axes: Any) -> Any:
    """Multiply the matrices, or vectors, in the given axes; put those of the result where the last entry says."""
    entries = [tuple(integers(pair)) for pair in axes]
    if len(entries) != 3:
        requirement = "axes= must have an entry for each operand and for the result"
        raise ArgumentError(message("matmul", requirement, str(axes)))
    first, second, last = entries
    ends = {1: (-1,), 2: (-2, -1)}
    result = matmul(
        moveaxis(operand(x1), first, ends[len(first)]), moveaxis(operand(x2), second, ends[len(second)])
    )
    return moveaxis(result, ends[len(last)], last) if rank_of(result) else result


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = operand(a), operand(b)
    rank_a, rank_b = rank_of(a), rank_of(b)
    if rank_a == 0 or rank_b == 0:
        return multiply(strong(a), strong(b))
    if rank_a <= 2 and rank_b <= 2:
        return matmul(a, b)
    return _over_axes("dot", a, b, [rank_a - 1], [max(rank_b - 2, 0)])


implements(np.vdot)(lambda a, b, /: dot(conjugate(ravel(a)), ravel(b)))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = strong(operand(a)), strong(operand(b))
    if not rank_of(a) or not rank_of(b):
        return multiply(a, b)
    return _over_axes("inner", a, b, [rank_of(a) - 1], [rank_of(b) - 1])


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if rank_of(x1) != 1 or rank_of(x2) != 1:
        raise _shape_error("outer", "two vectors are required", x1, x2)
    return outer(x1, x2)


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = operand(a), operand(b)
    return multiply(reshape(a, shape=(size(shape_of(a)), 1)), reshape(b, shape=(size(shape_of(b)),)))


def _over_axes(operation: str, a: Any, b: Any, a_axes: Sequence[int], b_axes: Sequence[int]) -> Any:
    """Sum products over pairs of axes; the other axes of ``a`` come first, then those of ``b``."""
    shape_a, shape_b = shape_of(a), shape_of(b)
    if len(a_axes) != len(b_axes) or any(
        shape_a[i] != shape_b[j] for i, j in zip(a_axes, b_axes, strict=True)
    ):
        requirement = f"axes {list(a_axes)} and {list(b_axes)} must have the same extents"
        raise _shape_error(operation, requirement, a, b)
    return product(_tensordot_subscripts(len(shape_a), len(shape_b), tuple(a_axes), tuple(b_axes)), a, b)


@lru_cache(maxsize=1024)
def _tensordot_subscripts(rank: int, rank_b: int, a_axes: tuple[int, ...], b_axes: tuple[int, ...]) -> str:
    first, second = list(_AXES[:rank]), list(_AXES[rank : rank + rank_b])
    for i, j in zip(a_axes, b_axes, strict=True):
        second[j] = first[i]
    free = [letter for axis, letter in enumerate(first) if axis not in a_axes]
    free += [letter for axis, letter in enumerate(second) if axis not in b_axes]
    return f"{''.join(first)},{''.join(second)}->{''.join(free)}"


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = operand(a), operand(b)
    rank, rank_b = rank_of(a), rank_of(b)
    if is_sequence(axes) or np.ndim(axes):
        left, right = _pairs_of_axes(axes, rank, rank_b)
    else:
        count = int(axes)
        if count > min(rank, rank_b):
            raise _shape_error("tensordot", f"operands must have at least {count} axes", a, b)
        left, right = list(range(rank - count, rank)), list(range(count))
    return _over_axes("tensordot", a, b, left, right)


def _pairs_of_axes(axes: Any, rank: int, rank_b: int) -> tuple[list[int], list[int]]:
    """Return the axes of each array that a pair names, of integers or of sequences."""
    if len(axes) != 2:
        requirement = "axes must be a number of axes, or those of one array and those of the other"
        raise ArgumentError(message("tensordot", requirement, repr(axes)))
    left = [axis_index("tensordot", axis, rank) for axis in integers(axes[0])]
    right = [axis_index("tensordot", axis, rank_b) for axis in integers(axes[1])]
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ArgumentError(message("tensordot", "an axis may be named once only", repr(axes)))
    return left, right


def _over_last_axes(operation: str, terms: str, x1: Any, x2: Any) -> Any:
    """Return a product over the last axes; the leading ones broadcast."""
    x1, x2 = operand(x1), operand(x2)
    first, second, result = terms.replace("->", ",").split(",")
    left, right = len(first), len(second)
    if rank_of(x1) < left or rank_of(x2) < right:
        raise _shape_error(operation, f"operands must have at least {left} and {right} axes", x1, x2)
    if shape_of(x1)[first.index("X") - left] != shape_of(x2)[second.index("X") - right]:
        raise _shape_error(operation, "inner dimensions must agree", x1, x2)
    lead = _AXES[: max(rank_of(x1) - left, rank_of(x2) - right)]
    mine, theirs = lead[len(lead) - rank_of(x1) + left :], lead[len(lead) - rank_of(x2) + right :]
    sums = product(f"{mine}{first},{theirs}{second}->{lead}{result}", x1, x2)
    return placed(stacked, sums, (x1, x2), {"cores": (left, right)}) if len(lead) > 1 else sums


@implements(*since("vecdot"))
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if axis != -1:
        axes = [axis_index("vecdot", axis, rank_of(x)) for x in (x1, x2)]
        x1, x2 = moveaxis(x1, axes[0], -1), moveaxis(x2, axes[1], -1)
    return _over_last_axes("vecdot", "X,X->", conjugate(operand(x1)), x2)


implements(*since("matvec"))(lambda x1, x2, /: _over_last_axes("matvec", "YX,X->Y", x1, x2))
implements(*since("vecmat"))(
    lambda x1, x2, /: _over_last_axes("vecmat", "X,XZ->Z", conjugate(operand(x1)), x2)
)


FUNCTIONS[np.linalg.vecdot] = vecdot


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    a, b = operand(a), operand(b)
    rank = max(rank_of(a), rank_of(b))
    mine, theirs = ((1,) * (rank - rank_of(x)) + shape_of(x) for x in (a, b))
    left = reshape(a, shape=tuple(extent for m in mine for extent in (m, 1)))
    right = reshape(b, shape=tuple(extent for t in theirs for extent in (1, t)))
    return reshape(multiply(left, right), shape=tuple(m * t for m, t in zip(mine, theirs, strict=True)))


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype)


implements(np.linalg.trace)(lambda x, /, *, offset=0, dtype=None: trace(x, offset, -2, -1, dtype))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operand(a), operand(b)
    axisa, axisb = axis_index("cross", axisa, rank_of(a)), axis_index("cross", axisb, rank_of(b))
    a, b = moveaxis(a, axisa, 0), moveaxis(b, axisb, 0)
    counts = shape_of(a)[0], shape_of(b)[0]
    if not {2, 3}.issuperset(counts):
        raise _shape_error("cross", "vectors must have three components, or two", a, b)
    if 2 in counts:
        text = "cross: NumPy will not take vectors of two components; give them a third one, which is 0."
        warnings.warn(located(text, user_location()), DeprecationWarning, stacklevel=2)
    (a0, a1, *a2), (b0, b1, *b2) = (
        [part(v, 0, component) for component in range(count)] for v, count in zip((a, b), counts, strict=True)
    )
    last = a0 * b1 - a1 * b0
    if counts == (2, 2):
        return last
    first, second = _across((a0, a1, *a2), (b0, b1, *b2))
    result = stack([first, second, last])
    return moveaxis(moveaxis(result, 0, -1).copy(), -1, axisc)  # NumPy makes it with this axis last


def _across(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any]:
    """Return the first two components of a product of vectors, of which one may lack the third."""
    if len(a) == 2:
        return a[1] * b[2], -(a[0] * b[2])
    if len(b) == 2:
        return -(a[2] * b[1]), a[2] * b[0]
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]


@implements(np.linalg.cross)
def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if any(shape_of(x)[axis_index("cross", axis, rank_of(x))] != 3 for x in (x1, x2)):
        raise _shape_error("linalg.cross", "vectors must have three components", x1, x2)
    return cross(x1, x2, axis=axis)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    chain = [operand(array) for array in arrays]
    if len(chain) < 2:
        raise ArgumentError(message("multi_dot", "at least two arrays are required", str(len(chain))))
    if any(rank_of(array) != 2 for array in chain[1:-1]):
        raise _shape_error("multi_dot", "those between the first and the last must be matrices", *chain)
    for left, right in itertools.pairwise(chain):
        if shape_of(left)[-1] != shape_of(right)[0]:
            raise _shape_error("multi_dot", "inner dimensions must agree", left, right)
    rows = 1 if rank_of(chain[0]) == 1 else shape_of(chain[0])[0]
    columns = 1 if rank_of(chain[-1]) == 1 else shape_of(chain[-1])[1]
    return _chain_product(chain, [rows, *(shape_of(array)[0] for array in chain[1:]), columns])


def _chain_product(chain: list[Any], extents: list[int]) -> Any:
    """Multiply a chain of matrices in the order of fewest multiplications, found by dynamic programming."""
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(chain))}
    for length in range(2, len(chain) + 1):
        for start in range(len(chain) - length + 1):
            stop = start + length - 1
            border = extents[start] * extents[stop + 1]
            best[start, stop] = min(
                (best[start, cut][0] + best[cut + 1, stop][0] + border * extents[cut + 1], cut)
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
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise _shape_error("matrix_power", "matrices must be square", a)
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
    a, v = (reshape(operand(x), shape=shape_of(x) or (1,)) for x in (a, v))
    if rank_of(a) != 1 or rank_of(v) != 1 or not (shape_of(a)[0] and shape_of(v)[0]):
        raise _shape_error("convolve", "sequences with at least one element are required", a, v)
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
    a, v = operand(a), operand(v)
    if mode == "same" and shape_of(v)[0] > shape_of(a)[0]:
        return conjugate(correlate(v, a, mode)[::-1])
    return convolve(a, conjugate(v[::-1]), mode)


# -- einsum ----------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Names of the axes of an ellipsis, after the letters.
_MORE_LETTERS = "".join(map(chr, range(ord("À"), ord("À") + MOST_AXES)))


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Operands are multiplied in pairs in NumPy's greedy order, whatever ``optimize`` is."""
    dtype = kwargs.pop("dtype", None)
    refuse("np.einsum", **{name: kwargs[name] for name in kwargs if name not in ("order", "casting")})
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], [operand(array) for array in operands[1:]]
    else:
        subscripts, arrays = _from_lists(operands)
    terms, result = explicit(subscripts, tuple(map(rank_of, arrays)))
    if len(arrays) == 1 and result and set(terms[0]) == set(result):
        return _view(terms[0], result, arrays[0])  # in the operand's own dtype, as NumPy's
    originals = arrays
    arrays = [strong(array, dtype) for array in arrays]  # NumPy makes arrays of Python's numbers
    steps = _steps(terms, result, tuple(map(shape_of, arrays)))
    for positions, step in steps:
        chosen = [arrays[position] for position in positions]
        arrays = [array for position, array in enumerate(arrays) if position not in positions]
        arrays.append(product(step, *chosen))
    (value,) = arrays
    if len(result) > 1 and isinstance(value, Box):
        memories, order = list(map(memory_of, originals)), kwargs.get("order", "K")
        lay(value, (_memory_of_path if optimize else _memory)(terms, result, memories, order, optimize))
    return value


def _memory_of_path(terms: Sequence[str], result: str, memories: list[Any], order: str, optimize: Any) -> Any:
    """Return the memory of a result that NumPy computes along a path, which it does here for a few elements."""
    numbers = {letter: number for number, letter in enumerate(dict.fromkeys("".join(terms)))}
    subscripts = [[numbers[letter] for letter in term] for term in (*terms, result)]

    def along_path(function: Any, arrays: Sequence[Any], **options: Any) -> Any:
        pairs = itertools.chain.from_iterable(zip(arrays, subscripts, strict=False))
        return function(*pairs, subscripts[-1], **options)

    shaped = [np.broadcast_to(0.0, memory.shape) for memory in memories]
    path = along_path(np.einsum_path, shaped, optimize=optimize)[0]
    few = [np.ones_like(memory[(slice(2),) * memory.ndim], float, subok=False) for memory in memories]
    extents = {
        letter: n
        for term, x in zip(terms, memories, strict=True)
        for letter, n in zip(term, x.shape, strict=True)
    }
    result_memory = along_path(np.einsum, few, optimize=path, order=order)
    return in_order_of(result_memory, tuple([extents[letter] for letter in result]))


def _memory(terms: Sequence[str], result: str, memories: list[Any], order: str, _: Any) -> Any:
    """Return the memory of the result: NumPy's iterator takes all operands at once."""
    read = ["".join(dict.fromkeys(term)) for term in terms]
    arrays = [np.einsum(f"{term}->{each}", x) for term, each, x in zip(terms, read, memories, strict=True)]
    letters = result + "".join(sorted(set("".join(terms)) - set(result)))
    axes = [[term.find(letter) for letter in letters] for term in (*read, result)]
    return iterated(arrays, axes, order)


def _view(term: str, result: str, x: Any) -> Any:
    """Return the view of one operand that indices select where none is summed: a write to it reaches the operand."""
    while len(set(term)) < len(term):
        letter = next(letter for letter in term if term.count(letter) > 1)
        first = term.index(letter)
        second = term.index(letter, first + 1)
        if shape_of(x)[first] != shape_of(x)[second]:
            raise _shape_error("einsum", f"the axes that {letter!r} indexes must have one extent", x)
        x = diagonal_view(x, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return permuted(x, tuple(map(term.index, result)))


def _from_lists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts of ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` as a string, and the operands."""
    arrays = [operand(array) for array in operands[: len(operands) // 2 * 2 : 2]]

    def term(numbers: Sequence[Any]) -> str:
        return "".join("..." if number is Ellipsis else _LETTERS[number] for number in numbers)

    text = ",".join(map(term, operands[1::2][: len(arrays)]))
    return (f"{text}->{term(operands[-1])}" if len(operands) % 2 else text), arrays


@lru_cache(maxsize=1024)
def explicit(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return the indices of the operands and of the result, with letters in place of ellipses."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    bad = set(text.replace("->", "").replace("...", "")) - set(_LETTERS + ",")
    if bad or len(terms) != len(ranks) or "," in output:
        requirement = "subscripts must be letters, '...', one term an operand, and '->'"
        raise ArgumentError(message("einsum", requirement, f"{subscripts!r} for {len(ranks)} operands"))
    unused = [letter for letter in reversed(_MORE_LETTERS + _LETTERS) if letter not in text]
    spare = "".join(reversed(unused[: max(ranks, default=0)]))
    longest = 0
    spelt: list[str] = []
    for term, rank in zip(terms, ranks, strict=True):
        missing = rank - len(term.replace("...", ""))
        if missing < 0 or (missing and "..." not in term):
            got = f"{term!r} for an operand of {rank} axes"
            raise ShapeError(message("einsum", "every axis needs an index", got))
        longest = max(longest, missing)
        spelt.append(term.replace("...", spare[len(spare) - missing :]))
    lead = spare[len(spare) - longest :]
    if not arrow:
        letters = sorted(set(inputs) - set(".,"))
        output = lead + "".join(letter for letter in letters if inputs.count(letter) == 1)
    else:
        output = output.replace("...", lead)
    if not set(output) <= set("".join(spelt)) or len(set(output)) != len(output):
        requirement = "the result's indices must differ and occur in an operand"
        raise ArgumentError(message("einsum", requirement, repr(subscripts)))
    return tuple(spelt), output


@lru_cache(maxsize=1024)
def _steps(
    terms: tuple[str, ...], result: str, shapes: tuple[Shape, ...]
) -> list[tuple[tuple[int, ...], str]]:
    """Return the products in order: the positions of the operands, and the subscripts."""
    left = list(terms)
    steps: list[tuple[tuple[int, ...], str]] = []
    for positions in _order(terms, result, shapes):
        chosen = [left[position] for position in positions]
        left = [term for position, term in enumerate(left) if position not in positions]
        wanted = set("".join(left) + result)
        read = dict.fromkeys("".join(chosen))
        remaining = "".join(letter for letter in read if letter in wanted) if left else result
        steps.append((tuple(positions), f"{','.join(chosen)}->{remaining}"))
        left.append(remaining)
    return steps


def _order(terms: tuple[str, ...], result: str, shapes: tuple[Shape, ...]) -> list[tuple[int, ...]]:
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    shaped = [np.broadcast_to(0.0, shape) for shape in shapes]
    return np.einsum_path(f"{','.join(terms)}->{result}", *shaped, optimize="greedy")[0][1:]  # pyright: ignore[reportReturnType]
