"""Arguments that the functions of this room share: modes at the edges, one for each axis, outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.ufunc_calls import write_out
from wengert.engine.core.dtypes import BOOL, FLOAT64, Dtype, complex_dtype, dtype_of, is_complex, is_float
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import axes_tuple, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import cast
from wengert.numpy.joining import along_axis
from wengert.numpy.registry import integers, is_array, is_box, rank_of
from wengert.scipy.registry import array

#: The extension that each mode of a filter names.
OF_FILTERS = {
    **dict.fromkeys(("reflect", "grid-mirror"), "reflect"),
    **dict.fromkeys(("constant", "grid-constant"), "constant"),
    **dict.fromkeys(("wrap", "grid-wrap"), "grid-wrap"),
    "nearest": "nearest",
    "mirror": "mirror",
}
#: The extension that each mode of an interpolation names.
OF_INTERPOLATION = {
    **{name: name for name in ("reflect", "constant", "grid-constant", "wrap", "grid-wrap")},
    "grid-mirror": "reflect",
    "nearest": "nearest",
    "mirror": "mirror",
}
DOUBLE_COMPLEX = complex_dtype(FLOAT64)


def mode_of(operation: str, mode: Any, modes: dict[str, str]) -> str:
    """Return the extension that a mode names."""
    extension = modes.get(mode) if isinstance(mode, str) else None
    if extension is None:
        requirement = f"mode must be one of {', '.join(modes)}"
        raise ArgumentError(message(operation, requirement, repr(mode)))
    return extension


def per_axis(operation: str, name: str, value: Any, count: int) -> list[Any]:
    """Return a value for each axis, from one for all or a sequence."""
    if isinstance(value, str) or (not shape_of(value) if is_array(value) else not np.iterable(value)):
        return [value] * count
    values = list(value)
    if len(values) != count:
        requirement = f"{name} must be one value, or one for each of the {count} axes"
        raise ShapeError(message(operation, requirement, f"{len(values)} values"))
    return values


def axes_of(operation: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that an argument names, in its order; None names all."""
    if axes is None:
        return tuple(range(rank))
    named = [axis_index % rank if rank else axis_index for axis_index in integers(axes)]
    axes_tuple(operation, tuple(integers(axes)), rank)
    return tuple(named)


def working(x: Any) -> Any:
    """Return an array in the precision of the computation: double, as in SciPy's code."""
    dtype = DOUBLE_COMPLEX if is_complex(dtype_of(x)) else FLOAT64
    return x if dtype_of(x) == dtype else cast(x, dtype=dtype)


# -- results ---------------------------------------------------------------------------------------------


def dtype_named(output: Any) -> Any:
    """Return the dtype that an ``output`` argument names, or None."""
    if output is None:
        return None
    return output.dtype if is_array(output) else np.dtype(output)


def dtype_for(operation: str, output: Any, x: Any, values: Any) -> Dtype:
    """Return the dtype of a result: that of ``output``, a dtype or an array, else that of the input."""
    complex_result = is_complex(dtype_of(values))
    if output is None:
        own = dtype_of(x)
        return np.promote_types(own, np.complex64) if complex_result else own
    dtype = dtype_named(output)
    if complex_result and not is_complex(dtype) and not isinstance(output, str) and not is_array(output):
        return np.promote_types(dtype, np.complex64)
    if complex_result and not is_complex(dtype):
        requirement = "the result is complex, and output must be so"
        raise DtypeError(message(operation, requirement, str(dtype)))
    return dtype


def stored(operation: str, output: Any, x: Any, values: Any, rounds: bool = False) -> Any:
    """Return a result in the dtype of the output, or write it there; integers are rounded, or cut off."""
    dtype = dtype_for(operation, output, x, values)
    if rounds and dtype != BOOL and not is_float(dtype) and not is_complex(dtype):
        limits = np.iinfo(dtype)
        values = where(values > 0, np.floor(values + 0.5), np.ceil(values - 0.5))
        values = np.clip(values, float(limits.min), float(limits.max))
    values = values if dtype_of(values) == dtype else cast(values, dtype=dtype)
    if not is_array(output):
        return values
    if shape_of(output) != shape_of(values):
        requirement = f"output must have the shape {shape_of(values)} of the result"
        raise ShapeError(message(operation, requirement, show(output)))
    if is_box(output):
        return write_out(operation, output, values)
    output[...] = values
    return output


# -- extensions ------------------------------------------------------------------------------------------


def inside(positions: Any, count: int, mode: str) -> Any:
    """Return the positions in ``0 .. count - 1`` that an extension takes elements at other positions from.

    "reflect" is d c b a | a b c d | d c b a, "mirror" d c b | a b c d | c b a, "grid-wrap" a b c d | a b c d | a b c d,
    and "nearest" a a a a | a b c d | d d d d.
    """
    if mode == "nearest" or count == 1:
        return np.clip(positions, 0, count - 1)
    period = {"reflect": 2 * count, "mirror": 2 * count - 2, "grid-wrap": count}[mode]
    first = positions - period * np.floor(positions / period)
    if mode == "grid-wrap":
        return first
    return where(first > count - 1, (period - (mode == "reflect")) - first, first)


def extended(x: Any, axis: int, before: int, after: int, mode: str, cval: Any = 0.0) -> Any:
    """Add elements before and after an axis, by a mode of `inside`, or "constant" for elements ``cval``."""
    if not before and not after:
        return x
    count = shape_of(x)[axis]
    if mode == "constant":
        widths = [(before, after) if k == axis else (0, 0) for k in range(rank_of(x))]
        return np.pad(x, widths) if _is_zero(cval) else _with(x, axis, before, after, cval)
    positions = inside(np.arange(-before, count + after), count, mode).astype(np.int64)
    return along_axis(x, positions, axis)


def _is_zero(cval: Any) -> bool:
    return not is_box(cval) and bool(np.all(np.equal(cval, 0)))


def _with(x: Any, axis: int, before: int, after: int, cval: Any) -> Any:
    """Extend by a constant."""
    shape = shape_of(x)
    parts: list[Any] = [
        np.broadcast_to(array(cval), (*shape[:axis], width, *shape[axis + 1 :])) for width in (before, after)
    ]
    return np.concatenate([parts[0], x, parts[1]], axis)
