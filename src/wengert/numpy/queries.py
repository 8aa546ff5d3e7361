"""Questions about arrays that no derivative passes through: shapes, types, memory, printing."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.boxes import Box, concrete
from wengert.core.dtypes import dtype_of
from wengert.core.shapes import shape_of, size
from wengert.ir.types import is_weak
from wengert.numpy.registry import axes_of, implements


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """Return the shape, as `np.shape`."""
    return shape_of(a)


@implements(np.ndim)
def ndim(a: Any) -> int:
    """Return the number of axes, as `np.ndim`."""
    return len(shape_of(a))


@implements(np.size)
def size_(a: Any, axis: Any = None) -> int:
    """Return the number of elements, or of those along axes, as `np.size`."""
    extents = shape_of(a)
    if axis is None:
        return size(extents)
    return size(tuple(extents[one] for one in axes_of("size", axis, len(extents))))


def _placeholder(value: Any) -> Any:
    """Return an array without elements of its own that has a value's shape and dtype."""
    return (
        np.broadcast_to(np.zeros((), dtype_of(value)), shape_of(value)) if isinstance(value, Box) else value
    )


def _of_shapes(function: Any) -> None:
    """Let a function that looks at shapes alone have boxes, too."""

    def answer(*operands: Any, **options: Any) -> Any:
        return function(*map(_placeholder, operands), **options)

    implements(function)(answer)


for _function in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.einsum_path):
    _of_shapes(_function)


def _standing(value: Any) -> Any:
    """Return what stands for a box where NumPy looks at types."""
    if isinstance(value, Box):
        return dtype_of(value).type(0).item() if is_weak(value) else dtype_of(value)
    return value


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype of a combination, as `np.result_type`."""
    return np.result_type(*map(_standing, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Tell whether a conversion is allowed, as `np.can_cast`."""
    return np.can_cast(dtype_of(from_) if isinstance(from_, Box) else from_, to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """Return the dtype of an array, as `np.min_scalar_type`."""
    return dtype_of(a)


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    """Return the floating type that holds all arrays, as `np.common_type`."""
    stand_ins: list[Any] = [np.empty(0, dtype_of(one)) for one in arrays]
    return np.common_type(*stand_ins)  # pyright: ignore[reportUnknownVariableType]


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Tell whether an array is of a complex type: no."""
    return False


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Tell whether an array is of a real type: yes."""
    return True


@implements(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Tell whether a write to one is seen in the other, as `np.shares_memory`."""
    return isinstance(a, Box) and isinstance(b, Box) and _root(a) is _root(b)


def _root(box: Box) -> Box:
    return box if box.lens is None else box.lens.root


def _shown(function: Any) -> Any:
    """Return NumPy's printing function made to print the concrete values of a box, or its type."""

    def shown(a: Any, *arguments: Any, **options: Any) -> str:
        value = concrete(a)
        return repr(a) if value is None else function(np.asarray(value), *arguments, **options)

    return shown


for _function in (np.array_repr, np.array_str, np.array2string):
    implements(_function)(_shown(_function))
