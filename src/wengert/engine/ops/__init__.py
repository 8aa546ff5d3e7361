"""The primitives, one family a file: each states all that Wengert knows about its operations."""

# Importing a family registers its primitives.
from wengert.engine.ops import (
    arithmetic,
    comparison,
    complex,
    contraction,
    conversion,
    elementwise,
    exponential,
    indexing,
    integers,
    random,
    reduction,
    shape,
    trigonometric,
)
from wengert.engine.ops.fourier import (
    transforms,
)
from wengert.engine.ops.linalg import (
    banded,
    banded_nests,
    determinants,
    ldl,
    lu,
    matrix_functions,
    pivoting,
    routines,
    sparse_solution,
    triangular,
)
from wengert.engine.ops.special import (
    bessel,
    complex_variable,
    compositions,
    discrete_quantiles,
    elliptic,
    error_and_gamma,
    gammas,
    incomplete,
    inverse_error,
    orders,
    quantiles,
    scipy_functions,
    table,
)

__all__ = [
    "arithmetic", "banded", "banded_nests", "bessel", "comparison", "complex", "complex_variable",
    "compositions", "contraction", "conversion", "determinants", "discrete_quantiles", "elementwise", "elliptic",
    "error_and_gamma",
    "exponential", "gammas", "incomplete", "indexing", "integers", "inverse_error", "ldl", "lu", "matrix_functions",
    "orders", "pivoting", "quantiles", "random", "reduction", "routines", "scipy_functions", "shape",
    "sparse_solution", "table", "transforms", "triangular", "trigonometric",
]  # fmt: skip
