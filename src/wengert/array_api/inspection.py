"""Inspection of dtypes and of the library: `finfo`, `isdtype`, `result_type`, and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array_api.standard import DEVICE, check_device
from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.numpy.introspection import result_type as _of_boxes

_KINDS = {
    "bool": "bool",
    "signed integer": "int8 int16 int32 int64",
    "unsigned integer": "uint8 uint16 uint32 uint64",
    "real floating": "float32 float64",
    "complex floating": "complex64 complex128",
}
_KINDS["integral"] = f"{_KINDS['signed integer']} {_KINDS['unsigned integer']}"
_KINDS["numeric"] = f"{_KINDS['integral']} {_KINDS['real floating']} {_KINDS['complex floating']}"


def _dtype(value: Any) -> Any:
    return dtype_of(value) if isinstance(value, (Box, np.ndarray, np.generic)) else value


def finfo(type: Any, /) -> Any:
    """Return the limits of a floating dtype, or of an array's, as `np.finfo`.

    Args:
        type: a dtype or an array.

    Returns:
        An object with the attributes ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and ``dtype``.

    Example:
        >>> finfo(np.float32).bits
        32
    """
    return np.finfo(_dtype(type))


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype, or of an array's, as `np.iinfo`.

    Args:
        type: a dtype or an array.

    Returns:
        An object with the attributes ``bits``, ``max``, ``min`` and ``dtype``.

    Example:
        >>> iinfo(np.int8).max
        127
    """
    return np.iinfo(_dtype(type))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Report whether a conversion between two dtypes loses nothing, as `np.can_cast`.

    Args:
        from_: a dtype or an array.
        to: a dtype.

    Example:
        >>> can_cast(np.int32, np.float64)
        True
    """
    return np.can_cast(_dtype(from_), to)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Report whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: a dtype, the name of a kind such as ``"real floating"``, or a tuple of them.

    Raises:
        ArgumentError: no kind has this name.

    Example:
        >>> isdtype(np.float32, ("integral", "real floating"))
        True
    """
    if isinstance(kind, tuple):
        kinds: Any = kind  # pyright: ignore[reportUnknownVariableType]
        return any(isdtype(dtype, kind) for kind in kinds)
    if not isinstance(kind, str):
        return np.dtype(dtype) == np.dtype(kind)
    if kind not in _KINDS:
        raise ArgumentError(message("isdtype", f"the kinds are {', '.join(_KINDS)}", repr(kind)))
    return np.dtype(dtype).name in _KINDS[kind].split()


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype of an operation on arrays, dtypes and Python numbers, as `np.result_type`.

    Args:
        *arrays_and_dtypes: the operands.

    Example:
        >>> result_type(np.float32, 1.0)
        dtype('float32')
    """
    return _of_boxes(*arrays_and_dtypes)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast, as `np.broadcast_shapes`.

    Args:
        *shapes: the shapes.

    Example:
        >>> broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    return np.broadcast_shapes(*shapes)


class Info:
    """The abilities of the library: the object of `__array_namespace_info__`.

    Example:
        >>> Info().default_device()
        'cpu'
    """

    def capabilities(self) -> dict[str, Any]:
        """Return whether shapes may depend on data; inside `jit` they may not."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the device of new arrays."""
        return DEVICE

    def devices(self) -> list[str]:
        """Return all devices."""
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of numbers."""
        check_device("default_dtypes", device)
        names = {
            "real floating": "float64",
            "complex floating": "complex128",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes of a kind, of several, or of all kinds."""
        check_device("dtypes", device)
        names = [*_KINDS["bool"].split(), *_KINDS["numeric"].split()]
        wanted = [name for name in names if kind is None or isdtype(np.dtype(name), kind)]
        return {name: np.dtype(name) for name in wanted}


def __array_namespace_info__() -> Info:  # noqa: N807 (the standard's name)
    """Return an object that tells what the library can do.

    Returns:
        An object with the methods ``capabilities``, ``default_device``, ``devices``, ``default_dtypes`` and ``dtypes``.

    Example:
        >>> sorted(__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
    """
    return Info()


#: Every function of the module that the standard has.
TABLE: dict[str, Any] = {
    function.__name__: function
    for function in (finfo, iinfo, can_cast, isdtype, result_type, broadcast_shapes, __array_namespace_info__)
}
