"""Functions that look at shapes, types, memory and printing, through which no derivative passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import without_text
from wengert.engine.boxes import RUNNING, Box, class_of, concrete
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ConcreteError, message, user_frame
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.core.showing import is_shown
from wengert.engine.ir.types import is_weak, show
from wengert.numpy.registry import axes_of, implements

implements(np.shape)(lambda a: shape_of(a))
implements(np.ndim)(lambda a: len(shape_of(a)))


@implements(np.size)
def size_(a: Any, axis: Any = None) -> int:
    extents = shape_of(a)
    if axis is None:
        return size(extents)
    return size(tuple(extents[dim] for dim in axes_of("size", axis, len(extents))))


def isscalar(element: Any) -> bool:
    """Return whether an object, or what a box stands for, is a number, a text or bytes; as `np.isscalar`.

    Args:
        element: any object.

    Returns:
        False for arrays and lists. A box without axes counts as a number.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: x if isscalar(x) else 2.0 * x)(3.0)
        1.0
    """
    return np.isscalar(element) or (
        isinstance(element, Box) and not issubclass(class_of(element), np.ndarray)
    )


def _placeholder(value: Any) -> Any:
    """Return a broadcast zero of the shape and dtype of a box; other values stay."""
    return np.broadcast_to(np.zeros((), value.dtype), value.shape) if isinstance(value, Box) else value


def _of_shapes(function: Any) -> None:
    """Implement a function that looks at shapes alone."""

    @implements(function)
    def _(*operands: Any, **options: Any) -> Any:
        return function(*map(_placeholder, operands), **options)


for _function in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.einsum_path):
    _of_shapes(_function)


def _typed(value: Any) -> Any:
    """Return a value with the type of a box: a Python number for a weak one, else a dtype; other values stay."""
    if isinstance(value, Box):
        return dtype_of(value).type(0).item() if is_weak(value) else dtype_of(value)
    return value


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*map(_typed, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(dtype_of(from_) if isinstance(from_, Box) else from_, to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """The type of a number depends on its value, which must be known."""
    value = concrete(a)
    if shape_of(a):
        return dtype_of(a)
    if value is None:
        hint = "ask for x.dtype"
        raise ConcreteError(message("min_scalar_type", "the value of a number must be known", show(a), hint))
    return np.min_scalar_type(value)


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    placeholders: list[Any] = [np.empty(0, dtype_of(array)) for array in arrays]
    return np.common_type(*placeholders)  # pyright: ignore[reportUnknownVariableType]


implements(np.iscomplexobj)(lambda x: is_complex(dtype_of(x)))
implements(np.isrealobj)(lambda x: not is_complex(dtype_of(x)))


@implements(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    return isinstance(a, Box) and isinstance(b, Box) and _root(a) is _root(b)


def _root(box: Box) -> Box:
    return box if box.lens is None else box.lens.root


def _prints(function: Any) -> None:
    """Implement a function that prints: the concrete values of a box, or its type."""

    @implements(function)
    def _(a: Any, *arguments: Any, **options: Any) -> str:
        value = concrete(a)
        if value is None and RUNNING.hides_text:
            raise without_text(a)
        if value is None:
            frame = user_frame()
            RUNNING.texts += frame is not None and not is_shown(frame)
        return repr(a) if value is None else function(np.asarray(value), *arguments, **options)


for _function in (np.array_repr, np.array_str, np.array2string):
    _prints(_function)
