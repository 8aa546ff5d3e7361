"""The exchanges of columns in a rank-revealing factorisation ``A P = Q R``."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import INT64
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.kernels.schur import scipy_linalg
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg.square import check_matrices, floating_dtype
from wengert.engine.primitive import Draw, NonDifferentiable, primitive


def _type(a: TensorType) -> TensorType:
    check_matrices("qr_pivots", a)
    return TensorType(INT64, (*a.shape[:-2], a.shape[-1]))


def _evaluate(a: Any) -> Any:
    a = np.asarray(a)
    dtype = floating_dtype(type_of(a))
    result = np.zeros(_type(type_of(a)).shape, INT64)
    result[...] = np.arange(a.shape[-1])
    for position in np.ndindex(a.shape[:-2] if a.size else (0,)):
        program = scipy_linalg("qr").get_lapack_funcs("geqp3", dtype=dtype)
        result[position] = program(a[position].astype(dtype))[1] - 1
    return result


def _samples(draw: Draw) -> Any:
    shape = (*draw.choice([(), (2,)]), draw.integer(1, 4), draw.integer(1, 4))
    return (draw.array(shape),), {}


pivots = primitive(
    name="qr_pivots",
    doc="the order of the columns of matrices in which QR factors are computed: next comes the one that is farthest "
    "from the space of those before",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=NonDifferentiable("its result is an integer"),
    batch=batch_elementwise,
    lowering=OnHost("LAPACK finds it"),
    source="column_order({0})".format,
    samples=_samples,
)
