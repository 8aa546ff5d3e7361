"""`contract`: sums of products over an index space, with affine access to operands and result.

Matrix product, ``einsum``, trace and diagonal, correlation and convolution, and the derivatives of all of these are
this one operation: over every point i of an iteration space,

    Y[out(i)] += X_1[access_1(i)] X_2[access_2(i)] ...

It is linear in each operand, and its transpose in operand k is the same sum with ``out`` and ``access_k`` exchanged. So
convolution needs no derivative rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import TensorType, promote, show
from wengert.engine.kernels.contract import check_access
from wengert.engine.kernels.contract import contract as evaluate_contract
from wengert.engine.nest.expression import Apply, Expression, Guard, Reduce, zero
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Definition, Operand, Pointwise, converted
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.shape import reshape, transpose
from wengert.engine.primitive import Draw, Linear, Primitive, primitive

#: ``offset + sum coefficient * dimension``, as ``(offset, ((dimension, coefficient), ...))``.
Affine: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
#: One affine expression for each axis.
Access: TypeAlias = tuple[Affine, ...]


def along(dimension: int, coefficient: int = 1) -> Affine:
    """Return the affine expression that follows one dimension."""
    return (0, ((dimension, coefficient),))


def _type(
    *operands: TensorType, extents: tuple[int, ...], accesses: tuple[Access, ...], out: Access, shape: Shape
) -> TensorType:
    if len(accesses) != len(operands):
        raise ShapeError(message("contract", "every operand needs an access map", show(*operands)))
    shapes = (*(operand.shape for operand in operands), shape)
    for array_shape, access in zip(shapes, (*accesses, out), strict=True):
        check_access(array_shape, access, extents)
    return TensorType(promote(*operands)[0], shape)


def _evaluate(
    *operands: Any, extents: tuple[int, ...], accesses: tuple[Access, ...], out: Access, shape: Shape
) -> Any:
    dtype = dtype_of(operands[0])
    for operand in operands:
        if dtype_of(operand) is not dtype:
            dtype = np.result_type(*operands)
            break
    return evaluate_contract(operands, extents, accesses, out, shape, dtype)


def _transpose(
    position: int, cotangent: Any, *operands: Any, accesses: Any, out: Any, extents: Any, shape: Any
) -> Any:
    exchanged = list(operands)
    exchanged[position] = cotangent
    maps = (*accesses[:position], out, *accesses[position + 1 :])
    scaling = _scaling(exchanged, maps, accesses[position], extents, shape_of(operands[position]))
    if scaling is not None:
        return scaling
    return contract(
        *exchanged, extents=extents, accesses=maps, out=accesses[position], shape=shape_of(operands[position])
    )


def _scaling(factors: Sequence[Any], maps: Sequence[Access], out: Access, extents: Any, shape: Shape) -> Any:
    """Return the product of two factors where nothing is summed and one has all axes of the result; else None.

    In it zero times anything is zero, as in every product of a partial with a cotangent: for a vector of one element
    `sqrt(x @ x)` has the derivative of `sqrt(x * x)`.
    """
    if len(factors) != 2 or len(out) < len(extents) or dtype_of(factors[0]) != dtype_of(factors[1]):
        return None
    scaling = _scaling_terms(tuple(map(shape_of, factors)), tuple(maps), out, tuple(extents), shape)
    if scaling is None:
        return None
    terms, result = scaling
    return multiply_no_nan(*(_aligned(x, term, result) for term, x in zip(terms, factors, strict=True)))


@lru_cache(maxsize=4096)
def _scaling_terms(
    shapes: tuple[Shape, ...], maps: tuple[Access, ...], out: Access, extents: tuple[int, ...], shape: Shape
) -> tuple[list[str], str] | None:
    """Return the subscripts of the two factors and of the result, where `_scaling` applies."""
    subscripts = as_subscripts(extents, maps, out)
    if subscripts is None:
        return None
    *terms, result = subscripts.replace("->", ",").split(",")
    extent_of = dict(zip(result, shape, strict=True))
    is_whole = all(
        len(term) == len(set(term)) and mine == tuple(map(extent_of.get, term))
        for term, mine in zip(terms, shapes, strict=True)
    )
    if not is_whole or len(result) not in map(len, terms) or shape != tuple(extents[d] for d in _axes(out)):
        return None
    return terms, result


def _axes(access: Access) -> list[int]:
    return [dimension for _, ((dimension, _),) in access]


def _aligned(x: Any, term: str, result: str) -> Any:
    """Return an operand with the axes of the result, with extent 1 for the axes that it lacks."""
    order = sorted(range(len(term)), key=lambda axis: result.index(term[axis]))
    extent_of = dict(zip(term, shape_of(x), strict=True))
    moved = x if order == list(range(len(term))) else transpose(x, permutation=tuple(order))
    shape = tuple(extent_of.get(letter, 1) for letter in result)
    return moved if shape == shape_of(moved) else reshape(moved, shape=shape)


def _batch(
    op: Primitive, size: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    lead = along(len(params["extents"]))
    return op(
        *xs,
        extents=(*params["extents"], size),
        accesses=tuple((lead, *a) if flag else a for a, flag in zip(params["accesses"], flags, strict=True)),
        out=(lead, *params["out"]),
        shape=(size, *params["shape"]),
    )


def _lowering(
    i: Sequence[Index],
    result: Operand,
    *operands: Operand,
    extents: tuple[int, ...],
    accesses: tuple[Access, ...],
    out: Access,
    shape: Shape,
) -> Expression | Definition:
    """Sum over the dimensions that the result does not determine; add up in memory where the solution is not unique."""
    solved = _solve(i, shape, extents, out)
    if solved is None:
        dims = tuple(map(Dim, extents))
        product = _product([Index.of(dim) for dim in dims], result, operands, accesses)
        target = _positions(out, [Index.of(dim) for dim in dims])
        return Definition(dims, tuple(target), product, "add", lambda i: zero(result.dtype))
    positions, summed, conditions = solved
    product = _product(positions, result, operands, accesses)
    if conditions:
        product = Guard(tuple(conditions), product, zero(result.dtype))
    return Reduce("add", tuple(summed), product, result.dtype) if summed else product


def _solve(i: Sequence[Index], shape: Shape, extents: tuple[int, ...], out: Access) -> Any:
    """Express the iteration space by the indices of the result and the summed dimensions.

    Returns:
        The index of each dimension, the summed dimensions, and the conditions under which a point exists; or None if
        no dimension of step one is left to solve an axis of the result for.
    """
    positions: dict[int, Index] = {}
    chosen: list[tuple[int, int, Affine]] = []
    summed: list[Dim] = []
    conditions: list[tuple[Index, int]] = []
    for axis, (offset, terms) in enumerate(out):
        if (steps := _steps(offset, terms, extents)) and not positions.keys() & {d for d, _ in terms}:
            steps.solve(i[axis], shape[axis], positions, summed, conditions)
            continue
        free = [d for d, c in terms if abs(c) == 1 and d not in positions]
        if not free:
            if terms or shape[axis] != 1:
                return None
            continue
        dimension = max(free, key=lambda d: extents[d])
        positions[dimension] = Index(0)  # taken; its value follows below
        chosen.append((axis, dimension, (offset, terms)))
    for dimension, extent in enumerate(extents):
        if dimension not in positions:
            summed.append(Dim(extent))
            positions[dimension] = Index.of(summed[-1])
    taken = {dimension for _, dimension, _ in chosen}
    for axis, dimension, (offset, terms) in chosen:
        if any(d in taken and d != dimension for d, _ in terms):
            return None
        sign = next(c for d, c in terms if d == dimension)
        residual = i[axis] - offset
        for loop_dim, coefficient in terms:
            if loop_dim != dimension:
                residual = residual - positions[loop_dim] * coefficient
        positions[dimension] = solution = residual * sign
        low, high = solution.bounds
        if low < 0 or high >= extents[dimension]:
            conditions.append((solution, extents[dimension]))
    return positions, [dim for dim in summed if dim.extent != 1], conditions


class _Strided(NamedTuple):
    """An axis ``step window + tap``, such as an axis of the input of a strided convolution."""

    window: int
    tap: int
    step: int
    windows: int
    taps: int

    def solve(
        self,
        i: Index,
        extent: int,
        positions: dict[int, Index],
        summed: list[Dim],
        conditions: list[tuple[Index, int]],
    ) -> None:
        """Solve for the taps that reach an element: ``tap = step t + i mod step``, ``window = i div step - t``."""
        step = self.step
        count = -(-self.taps // step)
        turn = Dim(count)
        if count > 1:
            summed.append(turn)
        positions[self.window] = window = i.digit(step, -(-extent // step)) - Index.of(turn)
        positions[self.tap] = tap = Index.of(turn) * step + i.digit(1, step)
        for index, size in ((window, self.windows), (tap, self.taps)):
            low, high = index.bounds
            if low < 0 or high >= size:
                conditions.append((index, size))


def _steps(offset: int, terms: Sequence[tuple[int, int]], extents: tuple[int, ...]) -> _Strided | None:
    """Return an axis as windows and taps, if fewer taps than windows reach an element."""
    if offset or len(terms) != 2:
        return None
    (tap, tap_step), (window, step) = sorted(terms, key=lambda term: term[1])
    if tap_step != 1 or step < 2 or -(-extents[tap] // step) >= extents[window]:
        return None
    return _Strided(window, tap, step, extents[window], extents[tap])


def _positions(access: Access, dims: Sequence[Index]) -> list[Index]:
    return [sum((dims[d] * c for d, c in terms), Index(offset)) for offset, terms in access]


def _product(
    dims: Sequence[Index], result: Operand, operands: Sequence[Operand], accesses: Sequence[Access]
) -> Expression:
    factors = [
        converted(x.at(_positions(access, dims)), result.dtype)
        for x, access in zip(operands, accesses, strict=True)
    ]
    operation = "logical_and" if result.dtype == BOOL else "multiply"
    return reduce(lambda product, factor: Apply(operation, (product, factor), result.dtype), factors)


def _samples(draw: Draw) -> Any:
    n, m, k, taps = (draw.integer(0, 3), draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 2))
    if draw.choice([True, False]):
        return (draw.array((n, k)), draw.array((k, m))), product_params("ij,jk->ik", (n, k), (k, m))
    stride = draw.integer(1, 2)
    x, w = (n, (m - 1) * stride + taps, k), (taps, k)
    window: Affine = (0, ((1, stride), (2, 1)))
    params = {
        "extents": (n, m, taps, k),
        "accesses": ((along(0), window, along(3)), (along(2), along(3))),
        "out": (along(0), along(1)),
        "shape": (n, m),
    }
    return (draw.array(x), draw.array(w)), params


def _source(*operands: str, extents: Any, accesses: Any, out: Any, shape: Any) -> str:
    subscripts = as_subscripts(extents, accesses, out)
    if subscripts is not None:
        return f"np.einsum({subscripts!r}, {', '.join(operands)})"
    return f"contract([{', '.join(operands)}], {extents}, {accesses}, {out}, {shape})"


contract = primitive(
    name="contract",
    doc="sums of products over an index space, with affine access to the operands and to the result",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Linear(_transpose, jointly=False, variadic=True),
    batch=_batch,
    lowering=Pointwise(_lowering),
    source=_source,
    samples=_samples,
)


def product_params(subscripts: str, *shapes: Shape) -> dict[str, Any]:
    """Return the parameters of `contract` for subscripts such as ``ij,jk->ik``; extents of one broadcast."""
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")
    letters = list(dict.fromkeys(inputs.replace(",", "") + output))
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, extent in zip(term, shape, strict=True):
            if extents.setdefault(letter, extent) != extent and extent != 1:
                if extents[letter] != 1:
                    got = f"{subscripts} with shapes {', '.join(map(str, shapes))}"
                    raise ShapeError(message("einsum", f"index {letter} must have one extent", got))
                extents[letter] = extent
    where = {letter: position for position, letter in enumerate(letters)}

    def access(term: str, shape: Shape) -> Access:
        pairs = zip(term, shape, strict=True)
        return tuple(along(where[k]) if extent == extents[k] else (0, ()) for k, extent in pairs)

    shape = tuple(extents[letter] for letter in output)
    return {
        "extents": tuple(extents[letter] for letter in letters),
        "accesses": tuple(map(access, terms, shapes)),
        "out": access(output, shape),
        "shape": shape,
    }


def product(subscripts: str, *operands: Any) -> Any:
    """Return the sum of products of explicit subscripts, as ``np.einsum`` does."""
    return contract(*operands, **product_params(subscripts, *map(shape_of, operands)))


def as_subscripts(extents: Any, accesses: Sequence[Access], out: Access) -> str | None:
    """Return the subscripts of a contraction whose every access follows one dimension, else None."""
    letters = "ijklmnopqrstuvwxyzabcdefgh"
    if len(extents) > len(letters):
        return None
    terms: list[str] = []
    for access in (*accesses, out):
        if not all(offset == 0 and len(sums) == 1 and sums[0][1] == 1 for offset, sums in access):
            return None
        terms.append("".join(letters[sums[0][0]] for _, sums in access))
    read = set("".join(terms[:-1]))
    if len(set(terms[-1])) != len(terms[-1]) or not set(terms[-1]) <= read:
        return None
    return f"{','.join(terms[:-1])}->{terms[-1]}"
