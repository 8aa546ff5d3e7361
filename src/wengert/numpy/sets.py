"""Sets: `unique` and its kin, unions, intersections, differences. The values must be concrete: they decide shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.shape import reshape
from wengert.numpy.joining import concatenate_
from wengert.numpy.registry import implements, known, since, strong
from wengert.numpy.selecting import take
from wengert.numpy.shaping import ravel
from wengert.numpy.sorting import unique


def _result(function: Any) -> type[Any]:
    """Return the class of the named tuple that a function of NumPy returns."""
    return function(np.zeros(1)).__class__


@implements(*since("unique_all"))
def unique_all(x: Any) -> Any:
    """The first of equal elements gets the derivative."""
    x = operand(x)
    values, indices, inverse, counts = unique(x, True, True, True, equal_nan=False)
    return _result(np.unique_all)(values, indices, reshape(inverse, shape=shape_of(x)), counts)


@implements(*since("unique_counts"))
def unique_counts(x: Any) -> Any:
    """The first of equal elements gets the derivative."""
    return _result(np.unique_counts)(*unique(x, return_counts=True, equal_nan=False))


@implements(*since("unique_inverse"))
def unique_inverse(x: Any) -> Any:
    """The first of equal elements gets the derivative."""
    x = operand(x)
    values, inverse = unique(x, return_inverse=True, equal_nan=False)
    return _result(np.unique_inverse)(values, reshape(inverse, shape=shape_of(x)))


implements(*since("unique_values"))(lambda x: unique(operand(x), equal_nan=False))


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(concatenate_([operand(ar1), operand(ar2)], None))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The element of the first set gets the derivative."""
    ar1, ar2 = operand(ar1), operand(ar2)
    sets = (known("intersect1d", ar1), known("intersect1d", ar2))
    _, first, second = np.intersect1d(*sets, assume_unique=assume_unique, return_indices=True)
    values = strong(take(ravel(ar1), first), np.result_type(dtype_of(ar1), dtype_of(ar2)))
    return (values, first, second) if return_indices else values


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = ravel(operand(ar1)) if assume_unique else unique(operand(ar1))
    others = known("setdiff1d", operand(ar2))
    stay = np.isin(known("setdiff1d", first), others, assume_unique=assume_unique, invert=True)
    return take(first, np.flatnonzero(stay))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    sets = [operand(ar1), operand(ar2)]
    joined = concatenate_(sets if assume_unique else list(map(unique, sets)), None)
    values: Any = known("setxor1d", joined)
    order = np.argsort(values)
    ordered = values[order]
    differs = ordered[1:] != ordered[:-1]
    alone = np.append(True, differs) & np.append(differs, True)
    return take(joined, order[alone[: len(order)]])
