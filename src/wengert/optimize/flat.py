"""A container of arrays as one vector, which optimisers move."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT64, NDARRAY, check_known, check_plain, dtype_of, is_float
from wengert.engine.core.errors import ArgumentError, DtypeError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.conversion import cast
from wengert.engine.transforms.vectors import joined, split

_NUMBER = (int, float, np.integer, np.floating)


def as_tree(value: Any) -> Any:
    """Return a container; a list or tuple of numbers alone is one array, as it is for SciPy.

    Example:
        >>> as_tree([1, 2.5])
        array([1. , 2.5])
    """
    return np.asarray(value, np.float64) if _is_sequence_of_numbers(value) else value


def _is_sequence_of_numbers(value: Any) -> bool:
    if type(value) not in (list, tuple) or not value:
        return False
    if all(isinstance(item, _NUMBER) for item in value):
        return True
    rows = [_is_sequence_of_numbers(item) for item in value]
    return all(rows) and len({len(item) for item in value}) == 1


class Flat:
    """The containers, shapes and dtypes of some variables, which a vector holds one after the other.

    Args:
        operation: the name for messages.
        variables: a container of real numbers and arrays.
        name: what the variables are, for messages.
    """

    def __init__(self, operation: str, variables: Any, name: str = "x0") -> None:
        self.operation = operation
        self.name = name
        self.leaves, self.structure = tree.flatten(as_tree(variables))
        paths = tree.paths(self.structure, name)
        for leaf, path in zip(self.leaves, paths, strict=True):
            _check_leaf(operation, leaf, name, path)
        self.paths = paths
        self.shapes = [shape_of(leaf) for leaf in self.leaves]
        self._dtypes = [dtype_of(leaf) for leaf in self.leaves]
        self._kinds: list[Any] = list(map(type, self.leaves))
        self.ends = list(itertools.accumulate(map(size, self.shapes)))
        self.size = self.ends[-1] if self.ends else 0
        if not self.size:
            raise ArgumentError(message(operation, f"{name} must have at least one element"))

    @property
    def is_vector(self) -> bool:
        """Whether the container is the vector itself."""
        return self.structure == tree.LEAF and len(self.shapes[0]) == 1

    @property
    def written_order(self) -> Any:
        """The positions of the vector in the order in which the user wrote the variables."""
        starts = [0, *self.ends]
        leaves = tree.written_order(self.structure)
        return np.concatenate([np.arange(starts[leaf], starts[leaf + 1]) for leaf in leaves])

    @property
    def start(self) -> Any:
        """The variables as a vector."""
        return joined(self.leaves, FLOAT64)

    @property
    def known_start(self) -> Any:
        """The variables as a vector, where their numbers are known.

        Raises:
            ArgumentError: a number is NaN or infinite.
        """
        start = self.start
        for position in np.flatnonzero(~np.isfinite(start))[:1]:
            got = f"{start[position]} in {self.path_of(int(position))}"
            raise ArgumentError(message(self.operation, f"{self.name} must be finite", got))
        return start

    def vector(self, values: Any, name: str) -> Any:
        """Return a container of these shapes, which is called ``name`` in messages, as a vector.

        Raises:
            ArgumentError: the containers or the shapes differ.
        """
        leaves, structure = tree.flatten(as_tree(values))
        tree.check_same(self.operation, self.structure, structure)
        for leaf, shape, path in zip(leaves, self.shapes, tree.paths(structure, name), strict=True):
            if shape_of(leaf) != shape:
                requirement = f"{path} must have the shape {shape}"
                raise ArgumentError(message(self.operation, requirement, show(leaf)))
        return joined(leaves, FLOAT64)

    def parts(self, vector: Any) -> list[Any]:
        """Return the parts of a vector, in the shapes of the leaves; a vector may be a box."""
        return [vector] if self.is_vector else split(vector, self.shapes)

    def container(self, vector: Any) -> Any:
        """Return the container that a vector holds, in the dtype of the vector."""
        return tree.unflatten(self.structure, self.parts(vector))

    def users(self, vector: Any) -> Any:
        """Return the container that a vector holds, with leaves of the user's kinds and floating-point dtypes."""
        rows = zip(self.parts(vector), self._dtypes, self._kinds, strict=True)
        return tree.unflatten(self.structure, [_as_users(*row) for row in rows])

    def path_of(self, position: int) -> str:
        """Return where an element of the vector stands in the container, as ``x0['w'][2]``."""
        leaf = next(n for n, end in enumerate(self.ends) if position < end)
        shape = self.shapes[leaf]
        index = np.unravel_index(position - (self.ends[leaf] - size(shape)), shape) if shape else ()
        return self.paths[leaf] + "".join(f"[{i}]" for i in index)


def _as_users(part: Any, dtype: Any, kind: type) -> Any:
    if not is_float(dtype):
        dtype = FLOAT64
    if isinstance(part, Box):
        return cast(part, dtype=dtype)
    if kind in (float, int):
        return float(part)
    array = np.array(part, dtype)
    return array[()] if issubclass(kind, np.generic) else array


def _check_leaf(operation: str, leaf: Any, name: str, path: str) -> None:
    """Raise `DtypeError` unless a leaf is a real number or an array of real numbers."""
    requirement = f"{name} must be real numbers, arrays of them, or a container of these"
    if not isinstance(leaf, (Box, NDARRAY, complex, *_NUMBER)):
        raise DtypeError(message(operation, requirement, f"{type(leaf).__name__} in {path}"))
    if isinstance(leaf, NDARRAY):
        check_plain(operation, leaf)
    dtype = check_known(operation, dtype_of(leaf))
    if dtype.kind not in "fiu":
        hint = "optimise over the real and the imaginary part" if dtype.kind == "c" else ""
        raise DtypeError(message(operation, requirement, f"{show(leaf)} in {path}", hint))
