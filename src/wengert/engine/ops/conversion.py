"""Conversion between dtypes, and the end of differentiation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.engine.core.dtypes import (
    DEFAULT_DTYPE,
    FLOAT64,
    NUMPY_VALUE,
    PYTHON_TYPE,
    Dtype,
    dtype_of,
    is_complex,
)
from wengert.engine.ir.types import TensorType, is_weak
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.primitive import Draw, Linear, NonDifferentiable, Primitive, primitive


def _cast(x: Any, dtype: Dtype, weak: bool = False) -> Any:
    if is_complex(dtype_of(x)) and dtype.kind in "iuf":
        x = x.real  # without NumPy's warning: the rules of derivatives take the real part
    made = x.astype(dtype) if isinstance(x, NUMPY_VALUE) else dtype.type(x)
    return made.item() if weak else made


def _cast_type(x: TensorType, dtype: Dtype, weak: bool = False) -> TensorType:
    return TensorType(dtype, x.shape, weak)


def _batch_cast(
    operation: Primitive,
    size: int,
    operands: Sequence[Any],
    batched: Sequence[bool],
    params: Mapping[str, Any],
) -> Any:
    """Convert all examples; the trace knows that each is a number of Python's."""
    return operation(*operands, dtype=params["dtype"])


def _cast_source(x: str, dtype: Dtype, weak: bool = False) -> str:
    return f"{PYTHON_TYPE[dtype.kind].__name__}({x})" if weak else f"np.asarray({x}).astype(np.{dtype.name})"


def _cast_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (draw.array(draw.shape()),), {"dtype": FLOAT64}


cast = primitive(
    name="cast",
    doc="x converted to another dtype, of a complex x its real part; a derivative passes between floating dtypes only; "
    "with weak=True one number becomes one of Python's",
    type_rule=_cast_type,
    evaluate=_cast,
    # The engine converts the cotangent to the operand's dtype.
    derivative=Linear(lambda cotangent, x, dtype, weak=False: cotangent),
    batch=_batch_cast,
    lowering=Elementwise("cast", inputs=lambda types, result: [types[0].dtype]),
    source=_cast_source,
    samples=_cast_samples,
    elementwise=True,
)


def python_number(x: Any, kind: type) -> Any:
    """Return a number as one of Python's, which takes the dtype of the other operand.

    Args:
        x: a box without axes, or a number.
        kind: `bool`, `int`, `float` or `complex`.

    Example:
        >>> python_number(FLOAT64.type(2.5), int)
        2
    """
    dtype = DEFAULT_DTYPE[kind]
    return x if is_weak(x) and dtype_of(x) == dtype else cast(x, dtype=dtype, weak=True)


def _same_type(x: TensorType) -> TensorType:
    return x


stop_gradient_primitive = primitive(
    name="stop_gradient",
    doc="x, through which no derivative passes",
    type_rule=_same_type,
    evaluate=lambda x: x,
    derivative=NonDifferentiable("the user stops the derivative"),
    batch=batch_elementwise,
    lowering=Elementwise("positive"),
    source=lambda x: f"+{x}",
    samples=lambda draw: ((draw.array(draw.shape()),), {}),
    elementwise=True,
)
