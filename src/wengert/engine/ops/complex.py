"""Complex numbers and their parts: `real`, `imag`, `from_parts` and the complex conjugate.

A complex tangent t and a cotangent c of the same value pair as Re(c t), without a conjugate. So every rule of a
holomorphic operation is the one of real numbers, and the gradient of a real f of z = x + iy is df/dx - i df/dy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import COMPLEX_DTYPE, complex_dtype, dtype_of, is_complex, real_dtype
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.nest.lowering import InParts
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.shape import zeros_along
from wengert.engine.primitive import Draw, Linear, Primitive, primitive


def draw_complex(draw: Draw, shape: tuple[int, ...]) -> Any:
    """Draw a complex128 array whose parts lie between -2 and 2."""
    return draw.array(shape, -2.0, 2.0) + 1j * draw.array(shape, -2.0, 2.0)


def _check_complex(name: str, z: Any) -> None:
    if not is_complex(dtype_of(z)):
        raise DtypeError(message(name, "a complex number is required", show(z)))


def _from_parts_type(x: TensorType, y: TensorType) -> TensorType:
    dtype, weak = promote(x, y)
    if dtype not in COMPLEX_DTYPE:
        raise DtypeError(message("from_parts", "parts of float32 or float64 are required", show(x, y)))
    return TensorType(complex_dtype(dtype), broadcast("from_parts", x.shape, y.shape), weak)


def _from_parts(x: Any, y: Any) -> Any:
    if type(x) is float and type(y) is float:
        return complex(x, y)
    type_ = _from_parts_type(type_of(x), type_of(y))
    result = np.empty(type_.shape, type_.dtype)
    result.real = x
    result.imag = y
    return result[()]


def _linear(name: str, doc: str, samples: Any, **fields: Any) -> Primitive:
    """State an operation that is linear over the reals."""
    return primitive(
        name=name,
        doc=doc,
        batch=batch_elementwise,
        lowering=InParts(),
        samples=samples,
        elementwise=True,
        **fields,
    )


def _complex_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (draw_complex(draw, draw.shape()),), {}


def _parts_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(map(draw.array, draw.broadcastable(2))), {}


def _of_complex(name: str, doc: str, evaluate: Any, dtype: Any, derivative: Linear) -> Primitive:
    """State an operation on one complex number."""

    def rule(z: TensorType) -> TensorType:
        _check_complex(name, z)
        return TensorType(dtype(z.dtype), z.shape, z.weak)

    def checked(z: Any) -> Any:
        _check_complex(name, z)
        return evaluate(z)

    return _linear(
        name,
        doc,
        _complex_samples,
        type_rule=rule,
        evaluate=checked,
        derivative=derivative,
        source=f"np.{name}({{0}})".format,
    )


_real = _of_complex(
    "real",
    "the real part of z",
    lambda z: z.real,
    real_dtype,
    Linear(lambda cotangent, z: cotangent),  # the engine converts it to a complex number
)
_imag = _of_complex(
    "imag",
    "the imaginary part of z",
    lambda z: z.imag,
    real_dtype,
    Linear(lambda cotangent, z: from_parts(0.0, -cotangent)),
)
_conjugate = _of_complex(
    "conjugate",
    "the complex conjugate x - i y of x + i y",
    lambda z: z.conjugate(),
    lambda dtype: dtype,
    Linear(lambda cotangent, z: conjugate(cotangent)),
)
from_parts = _linear(
    "from_parts",
    "x + i y of real x and y",
    _parts_samples,
    type_rule=_from_parts_type,
    evaluate=_from_parts,
    derivative=Linear(lambda cotangent, x, y: real(cotangent), lambda cotangent, x, y: -imag(cotangent)),
    source="({0} + 1j * {1})".format,
)


def real(z: Any) -> Any:
    """Return the real part of a value; a real one as it is."""
    return _real(z) if is_complex(dtype_of(z)) else z


def imag(z: Any) -> Any:
    """Return the imaginary part of a value; zeros of the same dtype for a real one."""
    return _imag(z) if is_complex(dtype_of(z)) else zeros_along(z, shape_of(z), dtype_of(z))


def conjugate(z: Any) -> Any:
    """Return the complex conjugate; a real value as it is."""
    return _conjugate(z) if is_complex(dtype_of(z)) else z


def as_complex(x: Any) -> Any:
    """Return a value as a complex number of the same precision."""
    return x if is_complex(dtype_of(x)) else cast(x, dtype=complex_dtype(dtype_of(x)))
