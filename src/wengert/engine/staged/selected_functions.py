"""NumPy's functions of arrays whose size only a run knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import boxed, own
from wengert.engine.core.selecting import SELECTING, Selecting
from wengert.engine.core.shapes import axes_tuple, shape_of
from wengert.engine.ops.comparison import where
from wengert.engine.staged.raising import note
from wengert.engine.staged.selected import (
    FUNCTIONS,
    Axes,
    Selected,
    aligned,
    elementwise,
    parts_of,
    put,
    refused,
    selected,
    taken,
)
from wengert.engine.staged.spans import Mask, Selection, Span


def _implements(*functions: Any) -> Callable[[Any], Any]:
    def register(implementation: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


#: Functions that compute each element from the elements at its place.
_ELEMENTWISE = (
    *(np.clip, np.round, np.around, np.real, np.imag, np.nan_to_num, np.isclose, np.sinc, np.angle),
    *(np.fix, np.zeros_like, np.ones_like, np.full_like, np.iscomplex, np.isreal),
)
for _function in _ELEMENTWISE:
    FUNCTIONS[_function] = functools.partial(elementwise, _function)


@_implements(np.where)
def _chosen(condition: Any, *values: Any) -> Any:
    if len(values) != 2:
        raise refused("np.where", "positions in what another subscript selects")
    return elementwise(np.where, condition, *values)


@_implements(np.copy, np.array, np.asarray, np.ascontiguousarray)
def _copy(a: Any, *_: Any, **__: Any) -> Any:
    return a.copy()


@_implements(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> None:
    mask = mask if mask.dtype == bool else mask != 0
    arr[np.broadcast_to(mask, arr.shape) if mask.shape != arr.shape else mask] = vals


@_implements(np.shape)
def _shape(a: Any) -> Any:
    return a.shape


@_implements(np.size)
def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


@_implements(np.ndim)
def _ndim(a: Any) -> int:
    return a.ndim


@_implements(np.transpose)
def _transpose(a: Any, axes: Any = None) -> Any:
    if axes is not None:
        raise refused("np.transpose", "axes= is not supported where only a run knows a size")
    return a.T


# -- reductions ------------------------------------------------------------------------------------------


def _left(axes: Axes, axis: Any, keepdims: Any) -> Axes:
    """Return what is selected of the axes that a reduction leaves."""
    reduced = range(len(axes)) if axis is None else axes_tuple("axis", axis, len(axes))
    if keepdims:
        return tuple([None if place in reduced else one for place, one in enumerate(axes)])
    return tuple([one for place, one in enumerate(axes) if place not in reduced])


def _reduced_mask(a: Selected, axis: Any) -> Any:
    return a.mask(None if axis is None else axes_tuple("axis", axis, a.ndim))


def _where(a: Selected, axis: Any, options: dict[str, Any]) -> dict[str, Any]:
    if options.get("where", True) is not True or options.get("out") is not None:
        raise refused("reduction", "where= and out= are not supported where only a run knows a size")
    mask = _reduced_mask(a, axis)
    return options if mask is True else {**options, "where": mask}


def _reduction(function: Any) -> None:
    @_implements(function)
    def reduce(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any) -> Any:
        options = _where(a, axis, options)
        if dtype is not None:
            options["dtype"] = dtype
        result = function(a.array, axis=axis, keepdims=keepdims, **options)
        return selected(result, _left(a.axes, axis, keepdims))


for _function in (np.sum, np.prod, np.any, np.all, np.mean, np.var, np.std):
    _reduction(_function)


def _end_of(dtype: Any, sign: int) -> Any:
    """Return the largest or the smallest number of a dtype."""
    if dtype.kind in "fc":
        return sign * np.inf if dtype.kind == "f" else complex(sign * np.inf, sign * np.inf)
    if dtype.kind == "b":
        return sign > 0
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


def _check_not_empty(a: Selected, axis: Any, text: str) -> None:
    """Have a run raise NumPy's error where a reduction has no element."""
    reduced = range(a.ndim) if axis is None else axes_tuple("axis", axis, a.ndim)
    for place in reduced:
        one = a.axes[place]
        if one is not None and one.may_be_empty:
            note(ValueError(text), one.length == 0)


def _extremum(function: Any, sign: int, name: str) -> None:
    @_implements(function)
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if out is not None or options:
            raise refused(name, "options are not supported where only a run knows a size")
        _check_not_empty(a, axis, f"zero-size array to reduction operation {name} which has no identity")
        mask = _reduced_mask(a, axis)
        array = a.array if mask is True else where(mask, a.array, _typed(a, _end_of(a.dtype, -sign)))
        return selected(function(array, axis=axis, keepdims=keepdims), _left(a.axes, axis, keepdims))


def _typed(a: Selected, value: Any) -> Any:
    return a.dtype.type(value)


_extremum(np.max, 1, "maximum")
_extremum(np.min, -1, "minimum")


@_implements(np.ptp)
def _ptp(a: Any, axis: Any = None) -> Any:
    return FUNCTIONS[np.max](a, axis) - FUNCTIONS[np.min](a, axis)


def _argument(function: Any, sign: int) -> None:
    @_implements(function)
    def find(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        place = 0 if axis is None and a.ndim == 1 else axis
        if place is None or out is not None or keepdims:
            raise refused(function.__name__, "an axis is needed where only a run knows a size")
        place %= a.ndim
        one = a.axes[place]
        if isinstance(one, Mask):
            one.position(0)
        if not isinstance(one, Span):
            return selected(function(a.array, axis=place), (*a.axes[:place], *a.axes[place + 1 :]))
        _check_not_empty(a, place, f"attempt to get {function.__name__} of an empty sequence")
        array = where(_reduced_mask(a, place), a.array, _typed(a, _end_of(a.dtype, -sign)))
        found = function(array, axis=place)
        # Where all selected elements are as small as what stands elsewhere, the first one is selected.
        found = np.maximum(found, one.start.value) - one.start.value
        return selected(found, (*a.axes[:place], *a.axes[place + 1 :]))


_argument(np.argmax, 1)
_argument(np.argmin, -1)


@_implements(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return FUNCTIONS[np.sum](a != 0, axis, keepdims=keepdims)


@_implements(np.cumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if (axis is None and a.ndim > 1) or out is not None:
        raise refused("np.cumsum", "an axis is needed where only a run knows a size")
    return Selected(np.cumsum(a.filled(0), axis=0 if axis is None else axis, dtype=dtype), a.axes)


@_implements(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    is_vector = x.ndim == 1 or (axis is not None and not isinstance(axis, tuple))
    if not (ord is None or (is_vector and ord in (1, 2, np.inf))):
        raise refused("np.linalg.norm", f"ord={ord!r} is not supported where only a run knows a size")
    result = np.linalg.norm(x.filled(0), ord, axis, keepdims)
    return selected(result, _left(x.axes, axis, keepdims))


# -- products --------------------------------------------------------------------------------------------


def _filled(value: Any) -> Any:
    return value.filled(0) if isinstance(value, Selected) else value


def _product(function: Any, a: Any, b: Any, place: int) -> Any:
    """Return a product that sums over the last axis of one operand and one axis of the other."""
    name = function.__name__
    (_, axes), (_, others) = parts_of(a), parts_of(b)
    if not axes or not others or len(axes) > 2 or len(others) > 2:
        raise refused(name, "the operands must have one or two axes where only a run knows a size")
    # What is not selected must not count, even where it is infinite: it is zero in both operands.
    left, right = _filled(a), _filled(b)
    last = len(axes) - 1
    one, other = axes[last], others[place]
    if one is not None or other is not None:
        ends = [_one_axis(left, last, one), _one_axis(right, place, other)]
        moved, _ = aligned(name, [end for end, _ in ends])
        left, right = (back(x) for x, (_, back) in zip(moved, ends, strict=True))
    result = function(left, right)
    return selected(result, (*axes[:last], *others[:place], *others[place + 1 :]))


def _one_axis(array: Any, place: int, axis: Selection | None) -> tuple[Any, Callable[[Any], Any]]:
    """Return an array whose axis is the last one, and of which nothing else is selected, and the way back."""
    rank = len(shape_of(array))
    if place == rank - 1:
        return selected(array, (*(None,) * place, axis)), lambda moved: moved
    turned = np.swapaxes(array, place, rank - 1)
    back: Callable[[Any], Any] = lambda moved: np.swapaxes(moved, place, rank - 1)  # noqa: E731
    return selected(turned, (*(None,) * (rank - 1), axis)), back


@_implements(np.matmul)
def _matmul(a: Any, b: Any) -> Any:
    return _product(np.matmul, a, b, max(len(parts_of(b)[1]) - 2, 0))


@_implements(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise refused("np.dot", "out= is not supported where only a run knows a size")
    if not parts_of(a)[1] or not parts_of(b)[1]:
        return elementwise(np.multiply, a, b)
    return _product(np.dot, a, b, max(len(parts_of(b)[1]) - 2, 0))


@_implements(np.inner)
def _inner(a: Any, b: Any) -> Any:
    return _product(np.inner, a, b, len(parts_of(b)[1]) - 1)


@_implements(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    if len(parts_of(a)[1]) != 1 or len(parts_of(b)[1]) != 1:
        raise refused("np.vdot", "the operands must have one axis where only a run knows a size")
    return _product(np.vdot, a, b, 0)


@_implements(np.outer)
def _outer(a: Any, b: Any, out: Any = None) -> Any:
    (_, axes), (_, others) = parts_of(a), parts_of(b)
    if len(axes) != 1 or len(others) != 1 or out is not None:
        raise refused("np.outer", "the operands must have one axis where only a run knows a size")
    return selected(np.outer(_filled(a), _filled(b)), (*axes, *others))


# -- differences -----------------------------------------------------------------------------------------


def _neighbours(a: Any, axis: int) -> tuple[Any, Any]:
    """Return the elements behind the first one of an axis, and those before the last one."""
    array = a if isinstance(a, Selected) else boxed(a)
    (place,) = axes_tuple("axis", axis, array.ndim)
    before = (slice(None),) * place
    return taken(array, (*before, slice(1, None))), taken(array, (*before, slice(None, -1)))


@_implements(np.diff)
def _difference(a: Any, n: int = 1, axis: int = -1, **others: Any) -> Any:
    if others:
        raise refused("np.diff", "prepend= and append= are not supported where only a run knows a size")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        later, earlier = _neighbours(a, axis)
        a = later - earlier
    return a


@_implements(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if len(parts_of(y)[1]) != 1:
        raise refused("np.trapezoid", "y must have one axis where only a run knows its size")
    later, earlier = _neighbours(y, axis)
    width = dx if x is None else _difference(x)
    return np.sum(width * (later + earlier) / 2.0)


# -- positions of a mask ---------------------------------------------------------------------------------


def _positions(mask: Any) -> tuple[Any, ...]:
    """Return the positions at which a mask holds, as `np.nonzero` does, one array for each axis."""
    flat = own(np.ravel(mask))
    chosen = Mask(flat, flat.shape[0])
    grid = cast("Any", np.indices(mask.shape)).reshape(mask.ndim, -1)
    found = tuple([Selected(boxed(row), (chosen,)) for row in grid])
    if mask.ndim == 1:
        found[0].is_positions = True
    return found


SELECTING.append(Selecting(taken, put, _positions))
