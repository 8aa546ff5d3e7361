"""Types of values: dtype, shape, and whether a Python scalar stands behind them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, DEFAULT_DTYPE, PYTHON_TYPE, SHORT_NAMES, Dtype, dtype_of
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, shape_of


class TensorType(NamedTuple):
    """The type of a value, written ``f64[3,4]``; a weak one (a Python scalar) is written ``f64*[]``.

    Example:
        >>> import numpy as np
        >>> print(TensorType(np.dtype("float32"), (2, 3)))
        f32[2,3]
    """

    dtype: Dtype
    shape: Shape
    weak: bool = False

    def __str__(self) -> str:
        name = SHORT_NAMES.get(self.dtype) or str(self.dtype)
        return f"{name}{'*' if self.weak else ''}[{','.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def scalar(self) -> Any:
        """The operand of NumPy's promotion for this type: a dtype, or Python's own scalar type if weak."""
        return PYTHON_TYPE[self.dtype.kind] if self.weak and self.dtype != BOOL else self.dtype


def is_weak(value: Any) -> bool:
    """Return whether a value promotes as a Python scalar does (NEP 50)."""
    return type(value) in DEFAULT_DTYPE or getattr(value, "weak", False) is True


def type_of(value: Any) -> TensorType:
    """Return the type of an array, a scalar or a box.

    Example:
        >>> print(type_of(2.0))
        f64*[]
    """
    return TensorType(dtype_of(value), shape_of(value), is_weak(value))


def promote(*types: TensorType) -> tuple[Dtype, bool]:
    """Return the dtype of NumPy's promotion of ``types``, and whether the result is weak."""
    weak = all(type_.weak for type_ in types)
    standing = [PYTHON_TYPE[type_.dtype.kind](0) if type_.weak else type_.dtype for type_ in types]
    return np.result_type(*standing), weak


#: Python's numbers in words, by the kinds of their dtypes.
_NUMBERS = {
    "f": "a float",
    "i": "an integer",
    "u": "an integer",
    "b": "a truth value",
    "c": "a complex number",
}


def show(*values: Any) -> str:
    """Write the types of values, for an error message: Python's numbers in words, others as listings do.

    Example:
        >>> show(2, np.zeros(3))
        'an integer, f64[3]'
    """
    types = [value if isinstance(value, TensorType) else type_of(value) for value in values]
    return ", ".join(_NUMBERS.get(t.dtype.kind, str(t)) if t.weak and not t.shape else str(t) for t in types)
