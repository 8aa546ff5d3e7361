"""Conversion between dtypes, and the end of differentiation."""

from __future__ import annotations

from typing import Any

from wengert.engine.core.dtypes import FLOAT64, NUMPY_VALUE, Dtype, dtype_of, is_complex
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.primitive import Draw, Linear, NonDifferentiable, primitive


def _cast(x: Any, dtype: Dtype) -> Any:
    if is_complex(dtype_of(x)) and dtype.kind in "iuf":
        x = x.real  # without NumPy's warning: the rules of derivatives take the real part
    return x.astype(dtype) if isinstance(x, NUMPY_VALUE) else dtype.type(x)


def _cast_type(x: TensorType, dtype: Dtype) -> TensorType:
    return TensorType(dtype, x.shape)


def _cast_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (draw.array(draw.shape()),), {"dtype": FLOAT64}


cast = primitive(
    name="cast",
    doc="x converted to another dtype, of a complex x its real part; a derivative passes between floating dtypes only",
    type_rule=_cast_type,
    evaluate=_cast,
    derivative=Linear(lambda cotangent, x, dtype: cotangent),  # the engine converts it to the operand's dtype
    batch=batch_elementwise,
    lowering=Elementwise("cast", inputs=lambda types, result: [types[0].dtype]),
    source=lambda x, dtype: f"np.asarray({x}).astype(np.{dtype.name})",
    samples=_cast_samples,
    elementwise=True,
)


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
