"""The options of ufuncs on boxes: `out`, `where`, `dtype`, `signature` and `casting`, as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.operators import Operators, operand
from wengert.engine.boxes import Box, boxed
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import DtypeError, LostDerivativeError, ShapeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import is_weak, show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import broadcast_to

_HOLDS_NO_BOX = (
    "write y = {0}(...) without out=, or make the array with wengert.numpy.zeros or np.zeros_like(x)"
)


def as_operand(value: Any) -> Any:
    """Return the operand of a NumPy function, which takes Python's True as a truth value and not as a number."""
    if not isinstance(value, Box):
        return operand(value)
    return cast(value, dtype=BOOL) if value.weak and value.dtype == BOOL else value


def strengthened(result: Any) -> Any:
    """Return the result of a NumPy function, which converts Python scalars to NumPy scalars."""
    if isinstance(result, Box):
        return cast(result, dtype=result.dtype) if result.weak else result
    if isinstance(result, tuple):
        return tuple(map(strengthened, result))  # pyright: ignore[reportUnknownArgumentType]
    return dtype_of(result).type(result) if isinstance(result, (bool, int, float, complex)) else result


def called(
    ufunc: np.ufunc, function: Callable[..., Any], inputs: Any, options: dict[str, Any], out: Any
) -> Any:
    """Return the result of a ufunc's call with options; with ``out`` write it there.

    Where ``where`` does not hold, the result is what stands in ``out``, and zero without it.
    """
    operands = list(map(as_operand, inputs))
    mask, casting = options.pop("where", True), options.pop("casting", "same_kind")
    dtype, signature = options.pop("dtype", None), options.pop("signature", options.pop("sig", None))
    for name in ("order", "subok"):
        options.pop(name, None)
    wanted: tuple[Any, ...] | None = None
    if dtype is not None or signature is not None or casting not in ("same_kind", "unsafe"):
        wanted = _loop(ufunc, operands, dtype, signature, casting)
        operands = [_converted(x, to) for x, to in zip(operands, wanted, strict=False)]
    if mask is not True:
        mask = truth_values(f"np.{ufunc.__name__}: where=", mask)
        operands = [_guarded(ufunc, mask, x, place) for place, x in enumerate(operands)]
    result = strengthened(function(*operands, **options))
    if wanted is not None:
        last = wanted[ufunc.nin :]
        result = tuple(map(_converted, result, last)) if ufunc.nout > 1 else _converted(result, last[0])
    if mask is not True:
        result = _chosen(ufunc, mask, result, out)
    return result if out is None else write_out(f"np.{ufunc.__name__}", out, result, casting)


def _converted(x: Any, dtype: Any) -> Any:
    return x if dtype_of(x) == dtype and not is_weak(x) else cast(x, dtype=dtype)


def _loop(ufunc: np.ufunc, operands: list[Any], dtype: Any, signature: Any, casting: Any) -> tuple[Any, ...]:
    """Return the dtypes of operands and results in which NumPy computes."""
    strong = [dtype_of(x) for x in operands if not is_weak(x)]
    # `resolve_dtypes` of NumPy 2.4 crashes where it refuses a Python number.
    kinds = [
        np.result_type(*strong, dtype_of(x).type(0).item()) if is_weak(x) else dtype_of(x) for x in operands
    ]
    if dtype is not None:
        signature = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    try:
        options = {} if signature is None else {"signature": signature}
        dtypes: Any = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), casting=casting, **options)
    except TypeError as problem:
        raise DtypeError(message(f"np.{ufunc.__name__}", str(problem).rstrip("."), show(*operands))) from None
    return dtypes


def truth_values(operation: str, condition: Any) -> Any:
    """Return the condition of ``where=``, or raise `DtypeError` unless it has truth values."""
    if dtype_of(condition := as_operand(condition)) != BOOL:
        raise DtypeError(message(operation, "truth values are required", show(condition)))
    return condition


def _guarded(ufunc: np.ufunc, mask: Any, x: Any, place: int) -> Any:
    """Return an operand with a harmless number where the function is not to be evaluated, which may warn there."""
    harmless = 0 if ufunc is np.arctanh else 1 + place  # two operands do not tie
    return where(mask, x, cast(harmless, dtype=dtype_of(x))) if dtype_of(x) != BOOL else x


def _chosen(ufunc: np.ufunc, mask: Any, result: Any, out: Any) -> Any:
    """Return the result where a mask holds, and what stands in the target elsewhere."""
    operation = f"np.{ufunc.__name__}"
    results, targets = (_all_of(value) for value in (result, out))
    targets = targets if out is not None else (None,) * len(results)
    chosen: list[Any] = []
    for value, target in zip(results, targets, strict=True):
        shape = broadcast(operation, shape_of(value), shape_of(mask))
        zero = dtype_of(value).type(0)
        fallback = zero if target is None else _target(operation, target)
        value = broadcast_to(value, shape=shape) if shape != shape_of(value) else value
        chosen.append(where(mask, value, cast(fallback, dtype=dtype_of(value))))
    return tuple(chosen) if isinstance(result, tuple) else chosen[0]


def _all_of(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


def _target(operation: str, target: Any) -> Any:
    """Return the box of ``out=``, or raise an error for a plain array."""
    if not isinstance(target, Operators):
        hint = _HOLDS_NO_BOX.format(operation)
        requirement = "out= would lose the derivative, as a plain array holds no value inside a transform"
        raise LostDerivativeError(message(operation, requirement, hint=hint))
    return target


def write_out(
    operation: str, out: Any, result: Any, casting: Any = "same_kind", *, broadcasts: bool = True
) -> Any:
    """Write results into the boxes of ``out=``, as NumPy writes into arrays, and return these."""
    if out is None:
        return result
    targets, results = _all_of(out), _all_of(result)
    written = [
        value if target is None else _write(operation, _target(operation, target), value, casting, broadcasts)
        for target, value in zip(targets, results, strict=True)
    ]
    return tuple(written) if isinstance(result, tuple) else written[0]


def _write(operation: str, target: Any, value: Any, casting: Any, broadcasts: bool) -> Any:
    if shape_of(value) != target.shape:
        if not broadcasts or broadcast(operation, shape_of(value), target.shape) != target.shape:
            requirement = f"the result must fit out=, of the shape {target.shape}"
            raise ShapeError(message(operation, requirement, show(value)))
        value = broadcast_to(value, shape=target.shape)
    target.write(boxed(fitting(operation, value, target, casting)))
    return target


def fitting(operation: str, value: Any, target: Any, casting: Any = "same_kind") -> Any:
    """Return a result in the dtype of the array that it is written to."""
    if not np.can_cast(dtype_of(value), target.dtype, casting):
        requirement = f"casting={casting!r} does not allow a result of {target.dtype}"
        raise DtypeError(message(operation, requirement, show(value)))
    return _converted(value, target.dtype)
