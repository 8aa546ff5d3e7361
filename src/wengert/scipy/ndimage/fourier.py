"""Filters of Fourier transforms, under SciPy's names: products with factors that SciPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import map_tree
from wengert.scipy.registry import floats, number, signatures

_filters = signatures(
    "scipy.ndimage",
    """
        fourier_gaussian(input, sigma, n=-1, axis=-1, output=None)
        fourier_uniform fourier_ellipsoid(input, size, n=-1, axis=-1, output=None)
        fourier_shift(input, shift, n=-1, axis=-1, output=None)
    """,
)


def _filter(name: str) -> Callable[..., Any]:
    def function(input: Any, n: int, axis: int, output: Any, **parameter: Any) -> Any:
        from scipy import ndimage

        if output is not None:
            raise ArgumentError(message(name, "output must be None: the result is returned"))
        ((_, amount),) = parameter.items()
        known = map_tree(lambda part: number(name, "the filter's parameter", part), amount)
        x = floats(input)
        return x * getattr(ndimage, name)(np.ones(shape_of(x)), known, n, axis)

    function.__name__ = name
    function.__doc__ = f"""Return the filtered transform, which is linear; the filter's parameter must be known.

    Example:
        >>> {name}(np.array([2.0, 0.0]), 1.0).real + 0.0
        array([2., 0.])
    """
    return _filters(function)


fourier_gaussian = _filter("fourier_gaussian")
fourier_uniform = _filter("fourier_uniform")
fourier_ellipsoid = _filter("fourier_ellipsoid")
fourier_shift = _filter("fourier_shift")
