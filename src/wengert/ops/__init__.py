"""The primitives, one family a file: each states all that Wengert knows about its operations."""

from wengert.ops import (
    arithmetic,
    bessel,
    comparison,
    complex,
    contraction,
    conversion,
    elementwise,
    exponential,
    fft,
    indexing,
    integers,
    random,
    reduction,
    shape,
    special,
    trigonometric,
)

__all__ = [
    "arithmetic",
    "bessel",
    "comparison",
    "complex",
    "contraction",
    "conversion",
    "elementwise",
    "exponential",
    "fft",
    "indexing",
    "integers",
    "random",
    "reduction",
    "shape",
    "special",
    "trigonometric",
]
