"""Methods of ufuncs: ``reduce``, ``accumulate`` and ``outer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array import UFUNC_METHODS, operand
from wengert.errors import ShapeError, message
from wengert.ir.types import show
from wengert.numpy.reducing import all_, any_, cumprod, cumsum, max_, min_, prod, sum_
from wengert.numpy.registry import rank_of, refuse
from wengert.numpy.shaping import part
from wengert.ops.arithmetic import maximum, minimum
from wengert.ops.comparison import equal, logical_not, not_equal
from wengert.ops.elementwise import UFUNCS
from wengert.ops.shape import concatenate, reshape
from wengert.shapes import axis_index, shape_of

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": sum_,
    "multiply": prod,
    "maximum": max_,
    "minimum": min_,
    "logical_and": all_,
    "logical_or": any_,
}


def _reduce(name: str, reduction: Callable[..., Any]) -> Callable[..., Any]:
    summing = name in ("add", "multiply")

    def reduce(
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        refuse(f"np.{name}.reduce", out, where)
        options = {} if initial is None else {"initial": initial}
        if summing and dtype is not None:
            options["dtype"] = dtype
        return reduction(operand(array), axis if rank_of(array) else None, keepdims=keepdims, **options)

    return reduce


def _accumulate(name: str, running: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse(f"np.{name}.accumulate", out)
        if not rank_of(array):
            raise ShapeError(
                message(f"np.{name}.accumulate", "an array of at least one axis is required", show(array))
            )
        return running(array, axis, dtype)

    return accumulate


def _running_extremum(pair: Callable[..., Any]) -> Callable[..., Any]:
    """Combine with ever farther neighbours (Hillis and Steele, 1986), in log2(n) steps."""

    def running(x: Any, axis: int, dtype: Any) -> Any:
        axis = axis_index("accumulate", axis, rank_of(x))
        distance = 1
        while distance < shape_of(x)[axis]:
            farther = pair(part(x, axis, slice(distance, None)), part(x, axis, slice(None, -distance)))
            x = concatenate(part(x, axis, slice(None, distance)), farther, axis=axis)
            distance *= 2
        return x

    return running


def _running_truth(x: Any, axis: int, dtype: Any) -> Any:
    return cumsum(not_equal(x, 0), axis) > 0


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def outer(a: Any, b: Any, /, **options: Any) -> Any:
        a, b = operand(a), operand(b)
        return ufunc(reshape(a, shape=(*shape_of(a), *(1,) * rank_of(b))), b, **options)

    return outer


for _name, _reduction in _REDUCTIONS.items():
    UFUNC_METHODS[_name, "reduce"] = _reduce(_name, _reduction)
_RUNNING: dict[str, Callable[..., Any]] = {
    "add": cumsum,
    "multiply": cumprod,
    "maximum": _running_extremum(maximum),
    "minimum": _running_extremum(minimum),
    "logical_or": _running_truth,
    "logical_and": lambda x, axis, dtype: logical_not(_running_truth(equal(x, 0), axis, dtype)),
}
for _name, _running in _RUNNING.items():
    UFUNC_METHODS[_name, "accumulate"] = _accumulate(_name, _running)
for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        UFUNC_METHODS[_ufunc.__name__, "outer"] = _outer(_ufunc)
