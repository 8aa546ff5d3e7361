"""The dtypes for which onnxruntime's CPU provider has kernels, where it lacks some."""

from __future__ import annotations

import numpy as np

from wengert.engine.core.dtypes import Dtype

_FLOATS = "float16 float32 float64"
_WIDE = f"{_FLOATS} int32 int64"
_MOST = f"{_FLOATS} int8 uint8 int32 int64"

#: The dtypes of operators that have no kernel for some; others take every dtype that their lowering gives them.
_KERNELS = {
    **dict.fromkeys(["ReduceSum", "ReduceProd", "CumSum", "Einsum"], _WIDE),
    **dict.fromkeys(["ReduceMax", "ReduceMin"], f"{_MOST} bool"),
    **dict.fromkeys(["ArgMax", "ArgMin"], _MOST),
    **dict.fromkeys(["Max", "Min", "Where"], f"{_MOST} uint32"),
    "Pad": f"{_MOST} bool uint32",
    "Pow": _WIDE,
    "Neg": f"{_FLOATS} int8 int16 int32 int64",
    "Relu": f"{_FLOATS} int8 int32",
    "MatMul": f"{_FLOATS} int32 uint32 int64 uint64",
    "BitShift": "uint8 uint32 uint64",
    "TopK": _WIDE,
}
_SUPPORTED = {operator: frozenset(map(np.dtype, names.split())) for operator, names in _KERNELS.items()}
_WIDER = [np.dtype(name) for name in ("uint8", "int32", "uint32", "int64")]
#: The operators whose results depend on the order of integers, which a conversion that wraps around changes.
_ORDERED = {"ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Max", "Min", "TopK"}


def carrier(operator: str, dtype: Dtype) -> Dtype | None:
    """Return the dtype in which an operator works on values of a dtype; None where no kernel gives the same results.

    Example:
        >>> (
        ...     carrier("Where", np.dtype(bool)),
        ...     carrier("Where", np.dtype("int16")),
        ...     carrier("Add", np.dtype("int16")),
        ... )
        (dtype('uint8'), dtype('int32'), dtype('int16'))
    """
    supported = _SUPPORTED.get(operator)
    if supported is None or dtype in supported:
        return dtype
    wider = [wide for wide in _WIDER if wide in supported and np.can_cast(dtype, wide)]
    if wider:
        return wider[0]
    return None if operator in _ORDERED or dtype.kind not in "iu" else np.dtype(np.int64)
