"""Dtypes: the ones Wengert knows, their short names, and NumPy's promotion with weak Python scalars."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.core.errors import DtypeError, RangeError, message

Dtype: TypeAlias = np.dtype[Any]

FLOAT64: Dtype = np.dtype(np.float64)
FLOAT32: Dtype = np.dtype(np.float32)
INT64: Dtype = np.dtype(np.int64)
UINT64: Dtype = np.dtype(np.uint64)
BOOL: Dtype = np.dtype(np.bool_)

SHORT_NAMES: dict[Dtype, str] = {
    BOOL: "bool",
    **{np.dtype(f"float{bits}"): f"f{bits}" for bits in (16, 32, 64)},
    **{np.dtype(f"int{bits}"): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): f"u{bits}" for bits in (8, 16, 32, 64)},
}
FROM_SHORT_NAME: dict[str, Dtype] = {name: dtype for dtype, name in SHORT_NAMES.items()}

#: The dtype of each Python scalar where nothing else decides.
DEFAULT_DTYPE: dict[type, Dtype] = {bool: BOOL, int: INT64, float: FLOAT64}
#: Classes to test for that leave the value untyped: what an array holds, and NumPy's stubs, no checker can know.
NDARRAY: Any = np.ndarray
NUMPY_SCALAR: Any = np.generic
NUMPY_VALUE: Any = (np.ndarray, np.generic)
SEQUENCE: Any = (tuple, list)
_PLAIN = (np.ndarray, np.memmap)
#: Python's scalar type of each kind of dtype.
PYTHON_TYPE: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float}


def dtype_of(value: Any) -> Dtype:
    """Return the dtype of an array, a NumPy or Python scalar, or a box."""
    try:
        return value.dtype
    except AttributeError:
        pass
    try:
        return DEFAULT_DTYPE[type(value)]
    except KeyError:
        return np.asarray(value).dtype


def is_plain(value: Any) -> bool:
    """Tell whether a value is no array of a class of its own, such as `numpy.matrix`, whose ``*`` is another."""
    return not isinstance(value, NDARRAY) or type(value) in _PLAIN


def not_plain(operation: str, got: str) -> DtypeError:
    """Return the error for an array of a class of its own."""
    if got.startswith(np.ma.MaskedArray.__name__):
        hint = "np.where(np.ma.getmaskarray(x), 0, np.ma.getdata(x)), say, for sums in which what is masked has no part"
    else:
        hint = "what its operators mean is unknown: give np.asarray(x)"
    return DtypeError(message(operation, "arrays must be plain NumPy arrays", got, hint))


def check_plain(operation: str, value: Any) -> None:
    """Raise `DtypeError` for an array of a class of its own."""
    if not is_plain(value):
        raise not_plain(operation, type(value).__name__)


def is_int64(number: int) -> bool:
    """Tell whether a Python integer is one of 64 bits."""
    return -(2**63) <= number < 2**63


def show_integer(number: int) -> str:
    """Write a Python integer for an error message: in full only if that is short."""
    return str(number) if number.bit_length() < 1024 else f"one of {number.bit_length()} bits"


def as_float(operation: str, number: int) -> float:
    """Return a Python integer as a float, or raise `RangeError`."""
    try:
        return float(number)
    except OverflowError:
        requirement = "a Python integer must be within the range of floats"
        raise RangeError(message(operation, requirement, show_integer(number))) from None


def is_float(dtype: Dtype) -> bool:
    """Tell whether values of this dtype carry derivatives."""
    return dtype.kind == "f"


def check_known(operation: str, dtype: Dtype) -> Dtype:
    """Return ``dtype`` in native byte order, or raise `DtypeError` where Wengert has no such type."""
    native = dtype.newbyteorder("=")
    if native in SHORT_NAMES:
        return native
    hint = "differentiate the real and the imaginary part" if dtype.kind == "c" else "convert it first"
    raise DtypeError(message(operation, "real numbers or booleans are required", str(dtype), hint))
