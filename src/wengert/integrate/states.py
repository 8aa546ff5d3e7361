"""States as a user writes them, vectors, arrays and containers, and as the solvers take them: vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import COMPLEX128, FLOAT64, dtype_of
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.transforms.vectors import joined, split
from wengert.integrate.arguments import array_of, real_of, required
from wengert.numpy.creation import asarray


class Form(NamedTuple):
    """How a user writes the vector of a state."""

    operation: str
    structure: tree.Structure | None = None
    """The containers; None for an array."""
    shapes: tuple[Shape, ...] = ()
    """The shapes of the leaves; none for a vector, which stays as it is."""

    def container(self, vector: Any) -> Any:
        """Return the state that a vector holds."""
        return self._put(split(vector, self.shapes)) if self.shapes else vector

    def slope(self, slope: Any, y: Any) -> Any:
        """Return the result of the right-hand side as a vector like the state."""
        if not self.shapes:
            return _slope_of_vector(self.operation, slope, y)
        leaves = self._leaves("the result of fun", slope)
        for leaf, shape in zip(leaves, self.shapes, strict=True):
            if shape_of(leaf) != shape:
                got = f"{show(leaf)} for {shape}"
                raise ShapeError(message(self.operation, "fun must return the shapes of y", got))
        return joined([_of_kind(self.operation, leaf, y) for leaf in leaves], dtype_of(y))

    def setting(self, name: str, value: Any) -> Any:
        """Return a setting of each component as a vector, where it is written as the state is; else as it is."""
        if self.structure is None:
            is_like = len(self.shapes) == 1 and getattr(value, "shape", None) == self.shapes[0]
            return np.reshape(value, (-1,)) if is_like else value
        if tree.children(value) is None:
            return value
        leaves = zip(self._leaves(name, value), self.shapes, strict=True)
        return joined([np.broadcast_to(real_of(self.operation, name, leaf), shape) for leaf, shape in leaves])

    def results(self, states: Any) -> Any:
        """Return states, the columns of a matrix, with the times as the last axis of each leaf."""
        return self._put(self._parts(states, (*shape_of(states)[1:],)))

    def of_events(self, states: Any) -> Any:
        """Return states, the rows of a matrix, with the first axis of each leaf for the rows."""
        if not self.shapes:
            return states
        count = shape_of(states)[0]
        parts = self._parts(states.T, (count,))
        return self._put([np.moveaxis(part, -1, 0) for part in parts])

    def function(self, sol: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a solution as a function of time that returns states."""
        return (lambda t: self.results(sol(t))) if self.shapes else sol

    def _parts(self, states: Any, last: Shape) -> list[Any]:
        if not self.shapes:
            return [states]
        ends = np.cumsum([0, *map(size, self.shapes)])
        return [
            np.reshape(states[start:stop], (*shape, *last))
            for start, stop, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]

    def _put(self, leaves: list[Any]) -> Any:
        return leaves[0] if self.structure is None else tree.unflatten(self.structure, leaves)

    def _leaves(self, name: str, value: Any) -> list[Any]:
        leaves = [value]
        if self.structure is not None:
            leaves, structure = tree.flatten(value)
            tree.check_same(self.operation, self.structure, structure)
        return [array_of(self.operation, name, leaf) for leaf in leaves]


def state_of(operation: str, y0: Any) -> tuple[Any, Form]:
    """Return the state at the start as a vector in double precision, and its form.

    A list of numbers is a vector, and one of lists an array; a dict, a dataclass, and a tuple or list that holds arrays
    or other containers are containers.
    """
    if _is_array(y0):
        leaves, structure = [array_of(operation, "y0", y0)], None
    else:
        leaves, structure = tree.flatten(y0)
        leaves = [array_of(operation, "y0", leaf) for leaf in leaves]
    kinds = {dtype_of(leaf).kind == "c" for leaf in leaves}
    if len(kinds) > 1:
        hint = "write y + 0j for the real ones"
        raise DtypeError(
            message(operation, "y0 must be complex in all leaves or in none", show(*leaves), hint)
        )
    shapes = tuple(map(shape_of, leaves))
    dtype = COMPLEX128 if kinds == {True} else FLOAT64
    if structure is None and len(shapes[0]) == 1:
        form, y = Form(operation), _as(leaves[0], dtype)
    else:
        form, y = Form(operation, structure, shapes), joined(leaves, dtype)
    return required(operation, y, np.isfinite(y), "y0 must be finite"), form


def is_scipys(y0: Any) -> bool:
    """Return whether a state is one that SciPy takes, too: a vector or a number."""
    return _is_array(y0) and len(shape_of(asarray(y0))) <= 1


def _is_array(value: Any) -> bool:
    """Return whether a value is an array, or a list (or tuple) of numbers, or a list of such lists."""
    parts = tree.children(value)
    if parts is None:
        return True
    if not isinstance(value, (list, tuple)) or hasattr(value, "_fields"):
        return False
    is_list = isinstance(value, list)
    return all(
        _is_number(part) or (is_list and isinstance(part, list) and _is_array(part))
        for part in parts.values()
    )


def _is_number(value: Any) -> bool:
    return tree.children(value) is None and getattr(value, "shape", ()) == ()


def _slope_of_vector(operation: str, slope: Any, y: Any) -> Any:
    slope = array_of(operation, "the result of fun", slope)
    shape = shape_of(y)
    if shape_of(slope) != shape:
        if shape_of(slope) != () or shape != (1,):
            got = f"{show(slope)} for y of {show(y)}"
            hint = "its arguments are fun(t, y), in this order"
            raise ShapeError(message(operation, "fun must return the shape of y", got, hint))
        slope = np.reshape(slope, (1,))
    return _as(_of_kind(operation, slope, y), dtype_of(y))


def _of_kind(operation: str, slope: Any, y: Any) -> Any:
    if dtype_of(slope).kind == "c" and dtype_of(y).kind != "c":
        hint = "write y0 + 0j, or np.real in fun"
        raise DtypeError(message(operation, "y0 must be complex where fun is", show(y), hint))
    return slope


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype_of(x) == dtype else x.astype(dtype)
