"""The primitives, one family a file: each states all that Wengert knows about its operations."""

from wengert.ops import (
    arithmetic,
    bessel,
    comparison,
    contraction,
    conversion,
    elementwise,
    exponential,
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
    "contraction",
    "conversion",
    "elementwise",
    "exponential",
    "indexing",
    "integers",
    "random",
    "reduction",
    "shape",
    "special",
    "trigonometric",
]
