"""Narrowing: values that are zero for certain are not computed, and values that no step reads are not stored.

A guard whose alternative is zero comes from padding, from the transpose of a slice, or from the border of a
convolution. It moves outwards through operations that a zero passes through, and from the body of a sum into the bounds
of its loops. Where the zero is *absent*, because no result depends on anything there, a sum of products has no term,
also if the other factor is infinite or NaN: such a guard moves out of these products, too, and from a store into the
extents of the buffer. The zeros of padding are numbers like others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Guard,
    Load,
    Reduce,
    Rewriter,
    is_positive_zero,
    is_zero,
    loads,
    zero,
)
from wengert.engine.nest.index import Dim, Index, condition_range, without_unit
from wengert.engine.nest.nest import Nest, Program, Step, all_nests, reads_whole
from wengert.engine.nest.rewrite import replace_loads, rewrite_step
from wengert.engine.nest.split import split_digits

Range = tuple[int, int]

_REPEATED = {"add", "maximum", "minimum", "logical_and", "logical_or"}
"""Combiners for which the result of combining equal values has a closed form."""


def narrow(program: Program, fast: bool = False) -> Program:
    """Return the program with smaller loops and buffers that computes the same; itself if there is nothing to do.

    ``fast`` takes all zeros for absent ones: no number is infinite or NaN, and zeros have no sign.
    """
    steps = list(program.steps)
    if fast:
        steps = [rewrite_step(step, _with_absent_zeros) for step in steps]
    fixed = program.outside()
    count = Counter(buffer for nest in all_nests(steps) for buffer in nest.writes())
    fixed |= {buffer for step in steps for buffer in reads_whole(step)}
    fixed |= {buffer for buffer, times in count.items() if times > 1}
    for position, step in enumerate(steps):
        step = steps[position] = hoist_guards(step)
        if isinstance(step, Nest):
            for store in step.stores:
                step = _narrow_store(steps, position, step, store.buffer, fixed)
    _narrow_reads(steps, fixed)
    narrowed = tuple(split_digits(step) if isinstance(step, Nest) else step for step in steps)
    return program if narrowed == program.steps else replace(program, steps=narrowed)


# -- guards ----------------------------------------------------------------------------------------------


def hoist_guards(step: Step) -> Step:
    """Move guards with the alternative zero outwards, and into the bounds of sums."""
    return rewrite_step(step, _hoisted)


def _hoisted(node: Expression) -> Expression:
    if isinstance(node, Apply):
        return _hoisted_from_operands(_chosen(node))
    if isinstance(node, Guard) and isinstance(node.body, Guard):
        if _is_same_zero(node, node.body):
            conditions = _merged(node.conditions, node.body.conditions)
            return replace(node.body, conditions=conditions, absent=node.absent and node.body.absent)
        return node
    if isinstance(node, Reduce) and any(dim not in node.body.facts.dims for dim in node.dims):
        return _without_repeats(node)
    if isinstance(node, Reduce) and node.combiner == "add":
        if (body := _term(node.body)) is not node.body:
            node = replace(node, body=body)
        return _bounded_sum(node, body) if isinstance(body, Guard) else node
    return node


def _without_repeats(node: Reduce) -> Expression:
    """Return a multiple of a term in place of a sum that adds it up again and again; an extremum takes it once."""
    dims = tuple(dim for dim in node.dims if dim in node.body.facts.dims)
    count = math.prod(dim.extent for dim in node.dims if dim not in dims)
    if node.combiner == "add" and is_zero(node.body):
        return zero(node.dtype)
    if node.combiner not in _REPEATED or node.body.dtype != node.dtype or not count:
        return node
    term = _hoisted(replace(node, dims=dims)) if dims else node.body
    if node.combiner != "add":
        return term
    factor = Const(np.array(count).astype(node.dtype)[()], node.dtype)  # integers wrap, as their sum does
    multiple = term if count == 1 else Apply("multiply", (factor, term), node.dtype)
    if dims or node.dtype.kind != "f":
        return multiple
    # A sum begins at zero, which negative zeros leave as it is.
    return Apply("add", (zero(node.dtype), multiple), node.dtype)


def _chosen(node: Apply) -> Apply:
    """Move a factor into a choice with zero: ``multiply_no_nan(v if c else 0, f)`` is ``v f if c else 0``."""
    if node.operation != "multiply_no_nan":
        return node
    chosen, factor = node.operands
    if not isinstance(chosen, Apply) or chosen.operation != "where":
        chosen, factor = factor, chosen
    if not isinstance(chosen, Apply) or chosen.operation != "where":
        return node
    condition, value, otherwise = chosen.operands
    if not (is_zero(otherwise) and _is_never_zero(value)):
        return node
    is_one = isinstance(value, Const) and value.value == 1
    product = factor if is_one else Apply("multiply", (value, factor), node.dtype)
    return Apply("where", (condition, product, otherwise), node.dtype, location=node.location)


def _is_never_zero(value: Expression) -> bool:
    """Return whether a value is a number that is neither 0 nor infinite, or one of several such."""
    if isinstance(value, Apply) and value.operation == "where":
        return all(map(_is_never_zero, value.operands[1:]))
    return isinstance(value, Const) and bool(value.value) and bool(np.isfinite(value.value))


def _hoisted_from_operands(node: Apply) -> Expression:
    for position, operand in enumerate(node.operands):
        if isinstance(operand, Guard) and _zero_passes(node, position, operand):
            operands = (*node.operands[:position], operand.body, *node.operands[position + 1 :])
            inner = _hoisted(replace(node, operands=operands))
            return _hoisted(replace(operand, body=inner, otherwise=zero(node.dtype)))
    return node


def _term(node: Expression) -> Expression:
    """Move guards with absent zeros out of a product that a sum adds up, under conditions or not."""
    if isinstance(node, Guard) and is_zero(node.otherwise):
        inner = _term(node.body)
        return node if inner is node.body else _hoisted(replace(node, body=inner))
    if not (isinstance(node, Apply) and node.operation in ("multiply", "multiply_no_nan", "negative")):
        return node
    operands = [_term(operand) for operand in node.operands]
    for position, operand in enumerate(operands):
        if isinstance(operand, Guard) and operand.absent:
            operands[position] = operand.body
            inner = _term(replace(node, operands=tuple(operands)))
            return _hoisted(replace(operand, body=inner, otherwise=zero(node.dtype)))
    return node


def _zero_passes(node: Apply, position: int, operand: Guard) -> bool:
    """Return whether the result is zero, with no minus sign, where the operand is its alternative."""
    if not is_positive_zero(operand.otherwise):
        return False
    if node.operation in ("multiply", "negative"):
        return node.dtype.kind in "iub"
    if node.operation == "multiply_no_nan":
        return True
    if node.operation == "where" and position > 0:
        return is_positive_zero(node.operands[3 - position])
    return node.operation in ("positive", "cast")


def _is_same_zero(outer: Guard, inner: Guard) -> bool:
    first, second = outer.otherwise, inner.otherwise
    return is_zero(first) and is_zero(second) and is_positive_zero(first) == is_positive_zero(second)


def _with_absent_zeros(node: Expression) -> Expression:
    """Take the zeros of a guard for absent ones."""
    return replace(node, absent=True) if isinstance(node, Guard) and is_zero(node.otherwise) else node


def _merged(
    first: Sequence[tuple[Index, int]], second: Sequence[tuple[Index, int]]
) -> tuple[tuple[Index, int], ...]:
    """Return all conditions; of two on the same index the stricter."""
    strictest: dict[tuple[int, object], tuple[Index, int]] = {}
    for index, extent in (*first, *second):
        key = (index.offset, index.terms)
        if key not in strictest or strictest[key][1] > extent:
            strictest[key] = (index, extent)
    return tuple(strictest.values())


def _bounded_sum(node: Reduce, body: Guard) -> Expression:
    """Sum only where the conditions hold, as far as they are on one dimension of the sum alone."""
    if not is_zero(body.otherwise):
        return node
    rewritten: dict[Dim, Index] = {}
    dims = list(node.dims)
    remaining: list[tuple[Index, int]] = []
    for index, extent in body.conditions:
        bounds = _range(index, extent)
        if bounds is None or bounds[0] not in dims or bounds[0] in rewritten:
            remaining.append((index, extent))
            continue
        dim, low, high = bounds
        smaller = Dim(high - low, dim.name)
        dims[dims.index(dim)] = smaller
        rewritten[dim] = Index.of(smaller) + low
    if not rewritten:
        return node
    if not all(dim.extent for dim in dims):
        return zero(node.dtype)
    inner: Expression = replace(body, conditions=tuple(remaining)) if remaining else body.body
    moved = Rewriter(replace_term=lambda term: rewritten.get(term))(inner)  # pyright: ignore[reportArgumentType]
    loops = without_unit(dims)
    return _hoisted(Reduce(node.combiner, loops, moved, node.dtype)) if loops else moved


def _only_dim(index: Index) -> Dim | None:
    bounds = condition_range(index, 0)
    return bounds[0] if bounds else None


def _range(index: Index, extent: int) -> tuple[Dim, int, int] | None:
    """Return the dimension that a condition depends on alone, and the part of its extent for which it holds."""
    bounds = condition_range(index, extent)
    if bounds is None:
        return None
    dim, low, high = bounds
    low = max(low, 0)
    return dim, low, max(min(high, dim.extent), low)


# -- buffers ---------------------------------------------------------------------------------------------


def _narrow_store(steps: list[Step], position: int, nest: Nest, buffer: Buffer, fixed: set[Buffer]) -> Nest:
    """Store only the elements that may differ from zero; a guard gives readers the zeros."""
    store = next(store for store in nest.stores if store.buffer is buffer)
    value = store.value
    if buffer in fixed or nest.sequential or store.combiner or len(nest.stores) > 1:
        return nest
    if not (isinstance(value, Guard) and value.absent):
        return nest
    ranges = [(0, extent) for extent in buffer.shape]
    remaining: list[tuple[Index, int]] = []
    for index, extent in value.conditions:
        bounds = _range(index, extent)
        terms = ((bounds[0], 1),) if bounds else None
        axis = next((n for n, target in enumerate(store.indices) if target.terms == terms), None)
        if bounds is None or axis is None or store.indices[axis].offset:
            remaining.append((index, extent))
        else:
            _, low, high = bounds
            ranges[axis] = (max(low, ranges[axis][0]), min(high, ranges[axis][1]))
    if all(span == (0, extent) for span, extent in zip(ranges, buffer.shape, strict=True)):
        return nest
    if any(low >= high for low, high in ranges):
        return nest
    inner: Expression = replace(value, conditions=tuple(remaining)) if remaining else value.body
    smaller = _shrink(nest, buffer, ranges, inner)
    steps[position] = smaller
    new = smaller.stores[0].buffer
    for later in range(position + 1, len(steps)):
        reads_new = replace_loads(steps[later], {buffer: lambda load: _read_from(new, ranges, load)})
        steps[later] = hoist_guards(reads_new)
    return smaller


def _read_from(new: Buffer, ranges: Sequence[Range], load: Load) -> Expression:
    """Return the value of a load whose buffer a new one replaces, which holds ranges of it: zero beyond them."""
    indices = tuple(index - low for index, (low, _) in zip(load.indices, ranges, strict=True))
    tests = tuple(
        (index, high - low)
        for index, (low, high) in zip(indices, ranges, strict=True)
        if index.bounds[0] < 0 or index.bounds[1] >= high - low
    )
    part = Load(new, indices)
    return Guard(tests, part, zero(new.dtype), absent=True) if tests else part


def _shrink(nest: Nest, buffer: Buffer, ranges: Sequence[Range], value: Expression) -> Nest:
    """Return a nest that stores a part of its buffer, in a buffer of that size."""
    new = Buffer(buffer.dtype, tuple(high - low for low, high in ranges), buffer.name)
    store = next(store for store in nest.stores if store.buffer is buffer)
    moved: dict[object, Index] = {}
    dims = list(nest.dims)
    for index, (low, high) in zip(store.indices, ranges, strict=True):
        dim = _only_dim(index)
        if dim is not None and high - low < dim.extent:
            smaller = Dim(high - low, dim.name)
            dims[dims.index(dim)] = smaller
            moved[dim] = Index.of(smaller) + low
    rewrite = Rewriter(replace_term=moved.get)
    indices = tuple(rewrite.index(index) - low for index, (low, _) in zip(store.indices, ranges, strict=True))
    stored = replace(store, buffer=new, indices=indices, value=rewrite(value))
    return replace(nest, dims=without_unit(dims), stores=(stored,))


def _narrow_reads(steps: list[Step], fixed: set[Buffer]) -> None:
    """Compute only the part of a buffer that is read."""
    readers = _readers(steps)
    for position in reversed(range(len(steps))):
        nest = steps[position]
        if not isinstance(nest, Nest) or nest.sequential or len(nest.stores) != 1:
            continue
        (store,) = nest.stores
        if store.buffer in fixed or store.combiner:
            continue
        if not all(_only_dim(index) is not None or not index.terms for index in store.indices):
            continue
        after = [reader for reader in readers.get(store.buffer, ()) if reader > position]
        ranges = _read_ranges([steps[reader] for reader in after], store.buffer)
        if ranges is None or any(low >= high for low, high in ranges):
            continue
        if all(span == (0, extent) for span, extent in zip(ranges, store.buffer.shape, strict=True)):
            continue
        smaller = _shrink(nest, store.buffer, ranges, store.value)
        steps[position] = smaller
        new, lows = smaller.stores[0].buffer, [low for low, _ in ranges]

        def moved(load: Load, new: Buffer = new, lows: Sequence[int] = lows) -> Expression:
            return Load(new, tuple(index - low for index, low in zip(load.indices, lows, strict=True)))

        for reader in after:
            steps[reader] = replace_loads(steps[reader], {store.buffer: moved})


def _readers(steps: Sequence[Step]) -> dict[Buffer, list[int]]:
    """Return the positions of the steps whose nests read each buffer."""
    readers: dict[Buffer, list[int]] = {}
    for position, step in enumerate(steps):
        for buffer in {buffer for nest in all_nests((step,)) for buffer in nest.reads()}:
            readers.setdefault(buffer, []).append(position)
    return readers


def _read_ranges(later: Sequence[Step], buffer: Buffer) -> list[Range] | None:
    """Return the range of each axis that is read; None if no step reads the buffer."""
    ranges: list[Range] | None = None
    for nest in all_nests(later):
        for store in nest.stores if buffer in nest.reads() else ():
            for load in (*loads(store.value), *loads(Load(store.buffer, store.indices))[1:]):
                if load.buffer is not buffer:
                    continue
                read = [
                    (max(low, 0), min(high + 1, extent))
                    for (low, high), extent in zip(
                        (i.bounds for i in load.indices), buffer.shape, strict=True
                    )
                ]
                ranges = (
                    read
                    if ranges is None
                    else [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(ranges, read, strict=True)]
                )
    return ranges
