"""The memory of arrays inside transforms: the strides of NumPy's arrays, which decide what is a view and what a copy.

A box does not say how its numbers lie in memory. It says how NumPy's array would lie: `Box.memory` is an array
with these strides whose numbers are never read. NumPy itself answers each question about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import BOOL, COMPLEX64, NDARRAY, Dtype, is_complex
from wengert.engine.core.shapes import Shape

#: ``(memories of the operands, shape, dtype, **params) -> memory of the result``
Rule = Callable[..., Any]
_READ, _MADE = ["readonly"], ["readwrite", "allocate"]


def _dtype_for(dtype: Dtype) -> Dtype:
    """Return a small dtype that has a real and an imaginary part if another one has."""
    return COMPLEX64 if is_complex(dtype) else BOOL


def rows(shape: Shape, dtype: Dtype = BOOL, order: Any = "C") -> Any:
    """Return memory in row-major order, or in another order of `np.empty`."""
    return np.empty(shape, _dtype_for(dtype), order)


def memory_of(x: Any) -> Any:
    """Return the memory of a value: a plain array itself, an array with NumPy's strides for a box."""
    if not isinstance(x, Box):
        return x if isinstance(x, NDARRAY) else np.asarray(x)
    views: list[Box] = []
    while x.memory is None and x.lens is not None:
        views.append(x)
        x = x.lens.base
    memory = rows(x.shape, x.dtype) if x.memory is None else x.memory
    for view in reversed(views):  # no recursion: a chain of views may be longer than Python's stack is deep
        assert view.lens is not None
        memory = view.memory = view.lens.view.layout(memory)
    return memory


def is_in_rows(x: Any) -> bool:
    """Return whether the axes of a value lie in rows, perhaps with gaps; a permuted view may answer False."""
    if isinstance(x, Box):
        return x.memory is None if x.lens is None else x.lens.is_in_rows or memory_of(x).flags.c_contiguous
    return not isinstance(x, NDARRAY) or x.ndim < 2 or x.flags.c_contiguous


def lies_in(x: Box, order: Any) -> bool:
    """Return whether the memory of a box meets an order, as `np.asarray` takes it."""
    if order in ("K", None) or (order in ("C", "A") and x.memory is None and x.lens is None):
        return True
    flags = memory_of(x).flags
    return flags.forc if order == "A" else flags.f_contiguous if order == "F" else flags.c_contiguous


def lay(box: Any, memory: Any) -> Any:
    """Give a new box a memory, None for rows, and return it."""
    box.memory = None if memory is None or memory.flags.c_contiguous else memory
    return box


def lay_as(box: Any, value: Any) -> Any:
    """Give a new box, or a plain value, the memory of a value, and return it."""
    if isinstance(box, Box):
        if isinstance(value, Box):
            if value.memory is not None or value.lens is not None:
                lay(box, memory_of(value))
        elif is_strided(value):
            box.memory = stand_in(value)
    return box


def lay_like(new: Any, value: Any, order: Any = "K") -> Any:
    """Return a new array with the memory that `np.empty_like` of a value has in an order."""
    if not isinstance(new, (Box, NDARRAY)) or not new.shape:
        return new
    if order == "C" or (order != "F" and is_in_rows(value)):
        memory = None
    else:
        kind, shape = _dtype_for(new.dtype), new.shape
        memory = np.empty_like(memory_of(value), kind, order or "K", subok=False, shape=shape)
    return lay_new(new, memory)


def lay_new(new: Any, memory: Any) -> Any:
    """Return a new array, a box or a plain one, with a memory, None for rows; what was a view is a copy."""
    if isinstance(new, Box):
        if new.lens is not None:
            new = new.owner.box(new.state)
        return lay(new, memory)
    return _moved(new, rows(new.shape) if memory is None else memory)


def _moved(array: Any, memory: Any) -> Any:
    """Return a plain array in another memory."""
    if array.strides == tuple([step // memory.itemsize * array.itemsize for step in memory.strides]):
        return array
    made = np.empty_like(memory, array.dtype, subok=False)
    made[...] = array
    return made


# -- the memory of plain arrays --------------------------------------------------------------------------


def is_strided(value: Any) -> bool:
    """Return whether a value is a plain array that does not lie in rows without gaps."""
    return isinstance(value, NDARRAY) and not value.flags.c_contiguous


def strides_of(array: Any) -> tuple[int, ...]:
    """Return the strides of an array in elements, the same for all arrays with the same copies and views.

    What matters is the order of the axes, and which of them lie in one row with the next one.
    """
    steps = [stride // array.itemsize for stride in array.strides]
    strides = [0] * array.ndim
    span = within = 1  # of the axes before, in the found strides and in the given ones
    for axis in sorted(range(array.ndim), key=lambda axis: (abs(steps[axis]), -axis)):
        stride, extent = abs(steps[axis]), array.shape[axis]
        if extent < 2 or not stride:
            continue
        if stride < within:  # the axes overlap
            return tuple(steps)
        strides[axis] = span + (stride > within)
        span, within = strides[axis] * extent, stride * extent
    return tuple([unit if stride >= 0 else -unit for unit, stride in zip(strides, steps, strict=True)])


def with_strides(shape: Shape, dtype: Dtype, strides: Sequence[int], *, holds_numbers: bool = False) -> Any:
    """Return memory with strides in elements; memory that holds numbers has the dtype itself."""
    spans = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    before = -sum(span for span in spans if span < 0) if all(shape) else 0
    after = sum(span for span in spans if span > 0) if all(shape) else 0
    count = before + after + 1
    buffer = np.empty(count, dtype) if holds_numbers else rows((count,), dtype)
    unit = buffer.itemsize
    return np.ndarray(shape, buffer.dtype, buffer, before * unit, [stride * unit for stride in strides])


def stand_in(array: Any) -> Any:
    """Return memory of the strides of an array, which does not keep the array."""
    return with_strides(array.shape, array.dtype, strides_of(array))


# -- the memory of results -------------------------------------------------------------------------------


def placed(rule: Rule, result: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Give the result of an operation the memory that it has in NumPy, and return it."""
    if isinstance(result, tuple):
        return tuple([placed(rule, each, operands, params) for each in cast("tuple[Any, ...]", result)])
    if isinstance(result, Box):
        if len(result.state.shape) > 1 and result.lens is None and not all(map(is_in_rows, operands)):
            memories = list(map(memory_of, operands))
            lay(result, rule(memories, result.state.shape, _dtype_for(result.state.dtype), **params))
    elif isinstance(result, NDARRAY) and result.ndim > 1 and not all(map(is_in_rows, operands)):
        return _moved(result, rule(list(map(memory_of, operands)), result.shape, BOOL, **params))
    return result


def jointly(memories: Sequence[Any], shape: Shape, dtype: Dtype, /, **params: Any) -> Any:
    """Return the memory of the result of a ufunc: the axes are in the order that they have in the operands."""
    arrays = [memory for memory in memories if memory.ndim]
    return iterated(arrays, None, "K", dtype)


def iterated(
    arrays: Sequence[Any], axes: Any, order: Any, dtype: Dtype = BOOL, shape: Shape | None = None
) -> Any:
    """Return the result that NumPy's iterator makes for operands, each with its axes in the order of the iteration."""
    flags: Any = ["zerosize_ok", "refs_ok", "reduce_ok"]
    access: Any
    access, dtypes = [*[_READ] * len(arrays), _MADE], [*[None] * len(arrays), dtype]
    return np.nditer([*arrays, None], flags, access, dtypes, order, "unsafe", axes, shape).operands[-1]


def alike(memories: Sequence[Any], shape: Shape, dtype: Dtype, /, **params: Any) -> Any:
    """Return the memory of a copy of the first operand."""
    return np.empty_like(memories[0], dtype, subok=False)


def joined(memories: Sequence[Any], shape: Shape, dtype: Dtype, /, *, axis: int) -> Any:
    """Return the memory of a concatenation."""
    with np.errstate(all="ignore"):  # what lies in a memory, which a cast may warn of
        return np.concatenate(memories, axis, dtype=dtype, casting="unsafe")


def outside(lead: Any, core: Any, dtype: Dtype = BOOL) -> Any:
    """Return memory with the axes of one memory of truth values around those of another one."""
    strides = [*(stride * core.size for stride in lead.strides), *core.strides]
    return with_strides((*lead.shape, *core.shape), dtype, strides)


def in_order_of(model: Any, shape: Shape, dtype: Dtype = BOOL) -> Any:
    """Return memory without gaps of a shape, whose axes are in the order of the axes of another memory."""
    axes = sorted(range(len(shape)), key=lambda axis: -abs(model.strides[axis]))
    return rows(tuple([shape[axis] for axis in axes]), dtype).transpose(np.argsort(axes))


def reduced(memories: Sequence[Any], shape: Shape, dtype: Dtype, /, *, axes: Shape) -> Any:
    """Return the memory of a reduction over axes."""
    (memory,) = memories
    remaining = [axis for axis in range(memory.ndim) if axis not in axes]
    places = [remaining.index(axis) if axis in remaining else -1 for axis in range(memory.ndim)]
    return iterated([memory], [list(range(memory.ndim)), places], "K", dtype)


def stacked(
    memories: Sequence[Any], shape: Shape, dtype: Dtype, /, cores: Sequence[int] = (2, 2), **params: Any
) -> Any:
    """Return the memory of a stack of operands: each part, of as many axes as in ``cores``, lies in rows."""
    stacks = [(x, x.ndim - core) for x, core in zip(memories, cores, strict=False) if x.ndim > core]
    parts = [
        with_strides(x.shape[:lead], BOOL, [stride // x.itemsize for stride in x.strides[:lead]])
        for x, lead in stacks
    ]
    lead = iterated(parts, None, "K") if parts else rows(())
    return outside(lead, rows(shape[lead.ndim :]), dtype)


def lay_reduced(new: Any, value: Any, axes: Shape, keepdims: Any) -> Any:
    """Return a new array with the memory of a reduction of a value over axes."""
    if is_in_rows(value):
        return new
    memory = reduced([memory_of(value)], (), BOOL, axes=axes)
    return lay_like(new, np.expand_dims(memory, axes) if keepdims else memory)
