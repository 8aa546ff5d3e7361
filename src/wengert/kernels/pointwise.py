"""What the special functions share: they work on runs of float64, and serve whatever a ufunc would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import FLOAT64, check_known, is_float

Array: TypeAlias = np.ndarray[Any, Any]

_RUN = 1 << 14  # elements at a time, so that what lies between two operations stays in the cache


def pointwise(function: Callable[..., Array]) -> Callable[..., Any]:
    """Let a function of a one-dimensional float64 array take what a ufunc takes.

    Floats keep their dtype, rounded once from the result in float64; integers and booleans give float64. A
    scalar or 0-d array gives a NumPy scalar. Nothing warns: the value itself says infinite, NaN or 0.

    Raises:
        DtypeError: The operand is complex or no number.

    Example:
        >>> pointwise(lambda x: 1 / x)([[1, 2], [4, 0]])
        array([[1.  , 0.5 ],
               [0.25,  inf]])
    """

    @wraps(function)
    def evaluate(x: Any, *parameters: Any) -> Any:
        operand = np.asarray(x)
        known = check_known(function.__name__.strip("_"), operand.dtype)
        flat = operand.reshape(-1)
        result = np.empty(flat.size, known if is_float(known) else FLOAT64)
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, _RUN):
                run = slice(start, start + _RUN)
                result[run] = function(flat[run].astype(FLOAT64), *parameters)
        return result.reshape(operand.shape)[()]

    return evaluate


def by_range(x: Array, edges: Sequence[float], functions: Sequence[Callable[[Array], Array]]) -> Array:
    """Evaluate each of ``functions`` on its own range: ``functions[i]`` on ``edges[i - 1] <= x < edges[i]``.

    The last function also gets what is NaN.
    """
    places = np.searchsorted(edges, x, side="right")
    first = int(places[0])
    if np.all(places == first):
        return functions[first](x)
    result = np.empty(x.size)
    for place, function in enumerate(functions):
        here = places == place
        if here.any():
            result[here] = function(x[here])
    return result


def polynomial(coefficients: Sequence[float], x: Array) -> Any:
    """Sum ``coefficients[k] * x**k`` by Horner's rule."""
    variable = x if x.size > 1 else x.item()  # Python's own float is far quicker than an array of one
    *rest, total = coefficients
    for coefficient in reversed(rest):
        total = total * variable + coefficient
    return total


def ratio(x: Array, centre: float) -> Array:
    """Return (x - centre) / (x + centre), the variable of polynomials over a wide range of positive x."""
    return (x - centre) / (x + centre)
