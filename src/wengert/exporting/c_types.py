"""The types of arguments and results in C."""

from __future__ import annotations

import numpy as np

from wengert.compiler.freestanding.function import Leaf
from wengert.engine.core.dtypes import Dtype

_TYPES = {
    "bool": "uint8_t",
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
}
MEANINGS = {
    "bool": ", 0 or 1",
    "float16": ", bits of float16",
    "complex64": ", real and imaginary parts alternate",
    "complex128": ", real and imaginary parts alternate",
}


def c_type(dtype: Dtype) -> str:
    """Return the C type of an element, or of the parts of a complex one."""
    return _TYPES.get(str(dtype), f"{dtype}_t")


def elements(leaf: Leaf) -> int:
    """Return how many elements of its C type a leaf has."""
    return int(np.prod(leaf.type.shape, dtype=np.int64)) * (2 if leaf.type.dtype.kind == "c" else 1)
