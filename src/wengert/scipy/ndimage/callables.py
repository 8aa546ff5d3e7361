"""Filters and transformations by a function of the user's, which `vmap` calls at once for all elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import holds_box, in_place_of
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ops.shape import reshape
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.substitution import of_library
from wengert.scipy.ndimage.arguments import stored
from wengert.scipy.ndimage.interpolation import map_coordinates
from wengert.scipy.registry import array, doubles


@in_place_of("scipy.ndimage.geometric_transform")
def geometric_transform(given: Any) -> Any:
    """Return an array at the coordinates that a function of the place has."""

    def coordinates(*place: Any) -> Any:
        found = given.mapping(place, *given.extra_arguments, **(given.extra_keywords or {}))
        return np.stack([array(coordinate) for coordinate in found])

    x = array(given.input)
    shape = tuple(given.output_shape or shape_of(x))
    if not holds_box(x) and not holds_box(coordinates(*(0,) * len(shape))):
        return NotImplemented
    places = np.indices(shape).reshape(len(shape), -1)
    points = np.moveaxis(vmap(coordinates)(*places), 1, 0)
    points = reshape(points, shape=(shape_of(points)[0], *shape))
    options = {name: getattr(given, name) for name in ("output", "order", "mode", "cval", "prefilter")}
    return map_coordinates(x, points, **options)


@in_place_of("scipy.ndimage.generic_filter")
def generic_filter(given: Any) -> Any:
    """Return a function of the neighbours of each element."""
    from scipy import ndimage

    def function(window: Any) -> Any:
        return given.function(window, *given.extra_arguments, **(given.extra_keywords or {}))

    x = array(given.input)
    if not holds_box(x) or not hasattr(ndimage, "vectorized_filter"):
        return NotImplemented

    def of_all(windows: Any, axis: Any) -> Any:
        kept = shape_of(windows)[: -len(np.atleast_1d(axis))]
        count = math.prod(kept)
        values = vmap(function)(reshape(windows, shape=(count, size(shape_of(windows)) // count)))
        return reshape(values, shape=kept)

    names = ("size", "footprint", "mode", "axes", *(["cval"] if given.mode == "constant" else []))
    options = {name: getattr(given, name) for name in names}
    values = of_library(ndimage.vectorized_filter)(doubles(x), of_all, origin=given.origin, **options)
    return stored("generic_filter", given.output, x, values)
