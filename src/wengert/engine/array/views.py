"""Views of boxes, as NumPy has them: a write to a view or to its base changes both.

A view by integers, slices and new axes, or by a permutation of the axes, is a map of axes. A view of such a view is a
view of the first base, by one map; so are reshapes of reshapes. `Lens.shorten` joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from wengert.engine.boxes import WITHOUT_AXES, Box, Lens, View, boxed
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ops.shape import (
    Index,
    indexed_shape,
    inverse_permutation,
    place,
    reshape,
    slice_,
    transpose,
)


def view_of(base: Any, result: Any, view: View, index: Any = None) -> Any:
    """Make ``result`` a view of ``base`` through a `Lens`: a write to either changes both.

    A value without axes that is not a view, such as a sum, is a number for NumPy and has no views. An array without
    axes is a view: see `array_without_axes`.
    """
    if not isinstance(base, Box):
        return result
    if not isinstance(result, Box):
        result = boxed(result)
    if result is base or result.lens is not None or result.state is base.state:
        result = result.owner.box(result.state)
    if base.lens is not None or base.state.shape:
        result.lens, result.memory = Lens(base, view, index), None
    return result


class FunctionView(View):
    """A view that functions read and write.

    Args:
        read: takes the base and returns the view's value.
        write: takes the base and a value of the view, and returns the base's new value.
        layout: the same as ``read`` for plain arrays, as a view of them.
    """

    __slots__ = ("_layout", "_read", "_write")

    def __init__(
        self,
        read: Callable[[Any], Any],
        write: Callable[[Any, Any], Any],
        layout: Callable[[Any], Any] | None = None,
    ) -> None:
        self._read = read
        self._write = write
        self._layout = layout or read

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        return self._read(base)

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        return self._write(base, value)

    def layout(self, memory: Any) -> Any:
        """Return the same part of a plain array, as a view of it."""
        return self._layout(memory)


# -- maps of axes ----------------------------------------------------------------------------------------


class Axes(NamedTuple):
    """The map from the axes of a view to those of its base; an axis of extent one is new."""

    part: Index
    """The basic index of the array."""
    order: tuple[int | None, ...]
    """For each axis of the view the axis of the array, None for a new one."""


class AxesView(View):
    """A view that may be a map of axes."""

    __slots__ = ()

    def axes_of(self, shape: Shape) -> Axes | None:
        """Return what the view shows of an array of a shape; None if it is not a map of axes."""
        raise NotImplementedError

    def of_view(self, first: View, base: Shape, between: Shape) -> View | None:
        """Return the map of both views, if they are maps."""
        if not isinstance(first, AxesView):
            return None
        inner, outer = first.axes_of(base), self.axes_of(between)
        joined = None if inner is None or outer is None else _joined(inner, outer)
        return None if joined is None else MappedAxes(joined)


class MappedAxes(AxesView):
    """A view that is a map of axes."""

    __slots__ = ("axes",)

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    def axes_of(self, shape: Shape) -> Axes:
        """Return the map."""
        return self.axes

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        steps = _steps(self.axes, shape_of(base))
        if not steps.is_whole:
            base = slice_(base, index=self.axes.part)
        if steps.permutation is not None:
            base = transpose(base, permutation=steps.permutation)
        return base if steps.moved == steps.shape else reshape(base, shape=steps.shape)

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        steps = _steps(self.axes, shape_of(base))
        if steps.moved != steps.shape:
            value = reshape(value, shape=steps.moved)
        if steps.permutation is not None:
            value = transpose(value, permutation=inverse_permutation(steps.permutation))
        return value if steps.is_whole else place(base, value, index=self.axes.part)


class Permuted(AxesView):
    """A view of all axes in another order."""

    __slots__ = ("permutation",)

    def __init__(self, permutation: tuple[int, ...]) -> None:
        self.permutation = permutation

    def axes_of(self, shape: Shape) -> Axes:
        """Return the map."""
        index = tuple([0 if extent == 1 else (0, extent, 1) for extent in shape])
        return Axes(index, tuple([None if shape[axis] == 1 else axis for axis in self.permutation]))

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        return transpose(base, permutation=self.permutation)

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        return transpose(value, permutation=inverse_permutation(self.permutation))


class Reshaped(AxesView):
    """A view of the elements in row-major order, in another shape."""

    __slots__ = ("shape",)
    keeps_rows = True

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def axes_of(self, shape: Shape) -> Axes | None:
        """Return the map if the view only drops or adds axes of extent one."""
        return axes_between(tuple([(0, extent, 1) for extent in shape]), self.shape)

    def of_view(self, first: View, base: Shape, between: Shape) -> View | None:
        """Return the reshape of the first base, or the map of both views."""
        return self if isinstance(first, Reshaped) else super().of_view(first, base, between)

    def read(self, base: Any) -> Any:
        """Return the view's value."""
        return reshape(base, shape=self.shape)

    def write(self, base: Any, value: Any) -> Any:
        """Return the base with a value of the view written into it."""
        return reshape(value, shape=shape_of(base))


def array_without_axes(number: Any) -> Any:
    """Return a new array without axes, unlike a number one for all its names: a view of an array of one element."""
    number = boxed(number)
    return view_of(reshape(number, shape=(1,)), number, Reshaped(()))


WITHOUT_AXES.append(array_without_axes)


@lru_cache(maxsize=4096)
def axes_between(index: Index, shape: Shape) -> Axes | None:
    """Return the map to a shape that differs from the indexed part in axes of extent one; None for other shapes."""
    without_ones = tuple(
        [entry[0] if isinstance(entry, tuple) and entry[1] == 1 else entry for entry in index]
    )
    if indexed_shape(without_ones) != tuple([extent for extent in shape if extent != 1]):
        return None
    sliced = iter([axis for axis, entry in enumerate(without_ones) if isinstance(entry, tuple)])
    return Axes(without_ones, tuple([None if extent == 1 else next(sliced) for extent in shape]))


@lru_cache(maxsize=4096)
def _joined(first: Axes, second: Axes) -> Axes | None:
    """Return the map of a view of a view; None where a new axis of the first is empty in the second."""
    index = list(first.part)
    for axis, entry in zip(first.order, second.part, strict=True):
        if axis is None:
            if isinstance(entry, tuple):
                return None
            continue
        start, _, step = _slice(index[axis])
        if isinstance(entry, tuple):
            index[axis] = (start + entry[0] * step, entry[1], step * entry[2]) if entry[1] else (0, 0, 1)
        else:
            index[axis] = start + entry * step
    order = tuple([None if axis is None else first.order[axis] for axis in second.order])
    return Axes(tuple(index), order)


def _slice(entry: int | tuple[int, int, int]) -> tuple[int, int, int]:
    assert isinstance(entry, tuple)
    return entry


class _Steps(NamedTuple):
    """The operations that read a map of axes."""

    is_whole: bool
    """Whether the index selects the whole array."""
    permutation: tuple[int, ...] | None
    moved: Shape
    """The shape after the permutation."""
    shape: Shape
    """The shape of the view."""


@lru_cache(maxsize=4096)
def _steps(axes: Axes, shape: Shape) -> _Steps:
    index, order = axes
    sliced = [axis for axis, entry in enumerate(index) if isinstance(entry, tuple)]
    permutation = tuple([sliced.index(axis) for axis in order if axis is not None])
    extents = indexed_shape(index)
    moved = tuple([extents[axis] for axis in permutation])
    extent_of = dict(zip(sliced, extents, strict=True))
    viewed = tuple([1 if axis is None else extent_of[axis] for axis in order])
    is_whole = index == tuple([(0, extent, 1) for extent in shape])
    return _Steps(is_whole, None if list(permutation) == sorted(permutation) else permutation, moved, viewed)
