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
from wengert.ops.elementwise import UFUNCS
from wengert.ops.shape import reshape
from wengert.shapes import shape_of

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


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def outer(a: Any, b: Any, /, **options: Any) -> Any:
        a, b = operand(a), operand(b)
        return ufunc(reshape(a, shape=(*shape_of(a), *(1,) * rank_of(b))), b, **options)

    return outer


for _name, _reduction in _REDUCTIONS.items():
    UFUNC_METHODS[_name, "reduce"] = _reduce(_name, _reduction)
UFUNC_METHODS["add", "accumulate"] = _accumulate("add", cumsum)
UFUNC_METHODS["multiply", "accumulate"] = _accumulate("multiply", cumprod)
for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        UFUNC_METHODS[_ufunc.__name__, "outer"] = _outer(_ufunc)
