"""Discrete Fourier transforms along the last axis: complex, of real sequences, and back to real ones.

They do not divide by the length. The matrix of `dft` is symmetric and tangents pair with cotangents without a
conjugate, so the transform is its own transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import COMPLEX_DTYPE, PART_DTYPE, Dtype, dtype_of
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.complex import conjugate, draw_complex
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.primitive import Draw, Linear, primitive

_FORWARD = "forward"  # NumPy's norm in which the inverse transform divides by nothing


def _check(operation: str, x: TensorType, dtypes: Any, what: str) -> None:
    if x.dtype not in dtypes:
        raise DtypeError(message(operation, f"{what} of single or double precision are required", show(x)))
    if not x.shape or not x.shape[-1]:
        raise ShapeError(message(operation, "a last axis that is not empty is required", show(x)))


def _dft_type(x: TensorType, sign: int) -> TensorType:
    _check("dft", x, PART_DTYPE, "complex numbers")
    return TensorType(x.dtype, x.shape)


def _dft(x: Any, sign: int) -> Any:
    _dft_type(TensorType(dtype_of(x), shape_of(x)), sign)
    return np.fft.fft(x) if sign < 0 else np.fft.ifft(x, norm=_FORWARD)


def _dft_samples(draw: Draw) -> Any:
    return (draw_complex(draw, _sequences(draw)),), {"sign": draw.choice([-1, 1])}


def _sequences(draw: Draw) -> tuple[int, ...]:
    return (*draw.shape(0, 2), draw.integer(1, 7))


dft = primitive(
    name="dft",
    doc="the sums over j of x_j e^(sign 2 pi i j k / n), for each k along the last axis",
    type_rule=_dft_type,
    evaluate=_dft,
    derivative=Linear(lambda cotangent, x, sign: dft(cotangent, sign=sign)),
    batch=batch_elementwise,
    lowering=OnHost("NumPy transforms it"),
    source=lambda x, sign: f"np.fft.fft({x})" if sign < 0 else f"np.fft.ifft({x}, norm='forward')",
    samples=_dft_samples,
)


def _rdft_type(x: TensorType) -> TensorType:
    _check("rdft", x, COMPLEX_DTYPE, "real numbers")
    return TensorType(COMPLEX_DTYPE[x.dtype], (*x.shape[:-1], x.shape[-1] // 2 + 1))


def _rdft(x: Any) -> Any:
    _rdft_type(TensorType(dtype_of(x), shape_of(x)))
    return np.fft.rfft(x)


def _rdft_transpose(cotangent: Any, x: Any) -> Any:
    """Return ``Re sum_k c_k e^(-2 pi i j k / n)``: half of it comes from the partners of most coefficients."""
    count = shape_of(x)[-1]
    return irdft(conjugate(cotangent) / _multiplicity(count, dtype_of(x)), count=count)


rdft = primitive(
    name="rdft",
    doc="the first n // 2 + 1 coefficients of the transform of n real numbers, along the last axis; the others are "
    "their conjugates",
    type_rule=_rdft_type,
    evaluate=_rdft,
    derivative=Linear(_rdft_transpose),
    batch=batch_elementwise,
    lowering=OnHost("NumPy transforms it"),
    source="np.fft.rfft({0})".format,
    samples=lambda draw: ((draw.array(_sequences(draw)),), {}),
)


def _irdft_type(x: TensorType, count: int) -> TensorType:
    _check("irdft", x, PART_DTYPE, "complex numbers")
    if x.shape[-1] != count // 2 + 1:
        requirement = f"{count // 2 + 1} coefficients are required for {count} numbers"
        raise ShapeError(message("irdft", requirement, show(x)))
    return TensorType(PART_DTYPE[x.dtype], (*x.shape[:-1], count))


def _irdft(x: Any, count: int) -> Any:
    _irdft_type(TensorType(dtype_of(x), shape_of(x)), count)
    return np.fft.irfft(x, count, norm=_FORWARD)


def _multiplicity(count: int, dtype: Dtype) -> Any:
    """Return how often each coefficient stands in the whole transform: twice, but once without a conjugate partner."""
    weights = np.full(count // 2 + 1, 2.0, dtype)
    weights[0] = 1
    if count % 2 == 0:
        weights[-1] = 1
    return weights


def _irdft_samples(draw: Draw) -> Any:
    *lead, count = _sequences(draw)
    return (draw_complex(draw, (*lead, count // 2 + 1)),), {"count": count}


irdft = primitive(
    name="irdft",
    doc="the n real numbers whose transform, divided by n, has the given first n // 2 + 1 coefficients; the imaginary "
    "parts of those without a partner are not read",
    type_rule=_irdft_type,
    evaluate=_irdft,
    derivative=Linear(
        lambda cotangent, x, count: conjugate(rdft(cotangent)) * _multiplicity(count, dtype_of(cotangent))
    ),
    batch=batch_elementwise,
    lowering=OnHost("NumPy transforms it"),
    source="np.fft.irfft({0}, {count}, norm='forward')".format,
    samples=_irdft_samples,
)
