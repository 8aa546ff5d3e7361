"""The dtypes that Wengert supports, their short names, and checks of dtypes and Python integers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.errors import DtypeError, RangeError, message

Dtype: TypeAlias = np.dtype[Any]

FLOAT64: Dtype = np.dtype(np.float64)
FLOAT32: Dtype = np.dtype(np.float32)
FLOAT16: Dtype = np.dtype(np.float16)
INT64: Dtype = np.dtype(np.int64)
COMPLEX128: Dtype = np.dtype(np.complex128)
COMPLEX64: Dtype = np.dtype(np.complex64)
UINT64: Dtype = np.dtype(np.uint64)
BOOL: Dtype = np.dtype(np.bool_)

SHORT_NAMES: dict[Dtype, str] = {
    BOOL: "bool",
    **{np.dtype(f"float{bits}"): f"f{bits}" for bits in (16, 32, 64)},
    **{np.dtype(f"int{bits}"): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{np.dtype(f"complex{bits}"): f"c{bits}" for bits in (64, 128)},
}
FROM_SHORT_NAME: dict[str, Dtype] = {name: dtype for dtype, name in SHORT_NAMES.items()}

#: The dtype of each Python scalar without other operands.
DEFAULT_DTYPE: dict[type, Dtype] = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}
#: Classes for ``isinstance`` that leave the value untyped: a checker cannot know the contents of an array.
NDARRAY: Any = np.ndarray
NUMPY_SCALAR: Any = np.generic
NUMPY_VALUE: Any = (np.ndarray, np.generic)
SEQUENCE: Any = (tuple, list)
_PLAIN = (np.ndarray, np.memmap)
#: The hint for masked arrays.
WITHOUT_MASK = (
    "write np.where(np.ma.getmaskarray(x), 0, np.ma.getdata(x)) for sums without the masked elements"
)
#: The Python scalar type of each kind of dtype.
PYTHON_TYPE: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
#: The dtype of the real and of the imaginary part of each complex dtype.
PART_DTYPE: dict[Dtype, Dtype] = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
#: The complex dtype whose parts have each dtype.
COMPLEX_DTYPE: dict[Dtype, Dtype] = {part: dtype for dtype, part in PART_DTYPE.items()}


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
    """Return whether a value is not of a subclass of arrays, such as `numpy.matrix`, with other operators."""
    return not isinstance(value, NDARRAY) or type(value) in _PLAIN


def not_plain(operation: str, got: str) -> DtypeError:
    """Return the error for a subclass of arrays."""
    otherwise = "its operators may differ from NumPy's: pass np.asarray(x)"
    hint = WITHOUT_MASK if got.startswith("Masked") else otherwise
    return DtypeError(message(operation, "arrays must be plain NumPy arrays", got, hint))


def check_plain(operation: str, value: Any) -> None:
    """Raise `DtypeError` for a subclass of arrays."""
    if not is_plain(value):
        raise not_plain(operation, type(value).__name__)


def is_int64(number: int) -> bool:
    """Return whether a Python integer fits in 64 bits."""
    return -(2**63) <= number < 2**63


def show_integer(number: int) -> str:
    """Write a Python integer for an error message, by its size if it is long."""
    return str(number) if number.bit_length() < 1024 else f"one of {number.bit_length()} bits"


def as_float(operation: str, number: int) -> float:
    """Return a Python integer as a float, or raise `RangeError`."""
    try:
        return float(number)
    except OverflowError:
        requirement = "a Python integer must be within the range of floats"
        raise RangeError(message(operation, requirement, show_integer(number))) from None


def is_float(dtype: Dtype) -> bool:
    """Return whether values of this dtype are real floating-point numbers."""
    return dtype.kind == "f"


def is_complex(dtype: Dtype) -> bool:
    """Return whether values of this dtype are complex numbers."""
    return dtype.kind == "c"


def is_inexact(dtype: Dtype) -> bool:
    """Return whether values of this dtype carry derivatives: real or complex floating-point numbers."""
    return dtype.kind in "fc"


def real_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype of the parts of a complex dtype; other dtypes as they are."""
    return PART_DTYPE.get(dtype, dtype)


def complex_dtype(dtype: Dtype) -> Dtype:
    """Return the complex dtype of the precision of a dtype: complex64 for float16 and float32."""
    return (
        COMPLEX64 if dtype.kind == "f" and dtype.itemsize <= 4 else dtype if is_complex(dtype) else COMPLEX128
    )


def check_known(operation: str, dtype: Dtype, *, real: bool = False) -> Dtype:
    """Return ``dtype`` in native byte order, or raise `DtypeError` if it is not supported, or not ``real``."""
    native = dtype if dtype in SHORT_NAMES else dtype.newbyteorder("=")
    if native in SHORT_NAMES and not (real and is_complex(dtype)):
        return native
    requirement = f"{'real numbers' if real else 'numbers'} or booleans are required"
    hint = "convert it first"
    if is_inexact(dtype) and native not in SHORT_NAMES:
        hint = f"write x.astype(np.{'float64' if dtype.kind == 'f' else 'complex128'})"
    raise DtypeError(message(operation, requirement, str(dtype), hint))
