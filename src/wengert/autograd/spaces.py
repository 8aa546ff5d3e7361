"""Vector spaces: what autograd's programs ask of the values that they differentiate, `vspace(x)`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from wengert.engine.boxes import Box, class_of
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import shape_of, size


def _unit(dtype: Any) -> complex:
    return 1 + 1j if is_complex(dtype) else 1


def _draw(shape: Any, dtype: Any) -> Any:
    draw = np.random.randn(*shape)
    return np.asarray(draw + 1j * np.random.randn(*shape) if is_complex(dtype) else draw, dtype)


def _inner(x: Any, y: Any) -> Any:
    return np.real(np.vdot(x, y))  # pyright: ignore[reportUnknownVariableType]


class VSpace:
    """The vectors that have the containers, shapes and dtypes of a value."""

    mappings: ClassVar[dict[type, Callable[[Any], Any]]] = {}
    """What makes the space of the values of a class that a program has registered."""
    iscomplex = False

    def __init__(self, value: Any) -> None:
        leaves, self._structure = tree.flatten(value)
        self._types = [(shape_of(leaf), dtype_of(leaf)) for leaf in leaves]
        self.shape: Any = self._types[0][0] if self._structure.kind is None else tree.map_tree(vspace, value)
        self.dtype: Any = self._types[0][1] if self._structure.kind is None else None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"

    __hash__ = object.__hash__

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], Any] | None = None) -> None:
        """Let `vspace` return this space, or that which a function makes, for values of a class."""
        VSpace.mappings[value_type] = vspace_maker or cls

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return sum(size(shape) * (2 if is_complex(dtype) else 1) for shape, dtype in self._types)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def _made(self, make: Callable[[Any, Any], Any]) -> Any:
        return tree.unflatten(self._structure, [make(shape, dtype) for shape, dtype in self._types])

    def zeros(self) -> Any:
        """Return the zero."""
        return self._made(np.zeros)

    def ones(self) -> Any:
        """Return ones; of complex numbers 1 + i."""
        return self._made(lambda shape, dtype: np.full(shape, _unit(dtype), dtype))

    def randn(self) -> Any:
        """Draw a vector of independent normal numbers."""
        return self._made(_draw)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the vectors with a one, and of complex numbers those with an i, in one place."""
        for position, (shape, dtype) in enumerate(self._types):
            for index in np.ndindex(*shape):
                for unit in (1, 1j) if is_complex(dtype) else (1,):
                    leaves = tree.leaves(self.zeros())
                    leaves[position][index] = unit
                    yield tree.unflatten(self._structure, leaves)

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum."""
        return tree.map_tree(operator.add, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a multiple."""
        return tree.map_tree(lambda part: part * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the inner product over the real numbers."""
        return sum(map(_inner, tree.leaves(x), tree.leaves(y)))

    def covector(self, x: Any) -> Any:
        """Return the covector of a vector, or that vector again: its conjugate."""
        return tree.map_tree(lambda part: np.conj(part) if np.iscomplexobj(part) else part, x)


class ArrayVSpace(VSpace):
    """The space of real arrays or numbers."""


class ComplexArrayVSpace(ArrayVSpace):
    """The space of complex arrays or numbers."""

    iscomplex = True


class SparseObject:
    """A vector that a rule returns as the function that adds it to another one in place, as autograd's rules may."""

    def __init__(self, vs: VSpace, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self) -> Any:
        """Return the vector itself."""
        return self.mut_add(self.vs.zeros())


def vspace(value: Any) -> Any:
    """Return the space of the vectors that have the containers, shapes and dtypes of a value.

    Args:
        value: an array, a floating-point number, or a list, tuple or dict of such.

    Returns:
        A `VSpace`, with ``shape``, ``size``, ``zeros()``, ``ones()``, ``standard_basis()`` and ``inner_prod(x, y)``.

    Raises:
        DtypeError: the value is none of these; an integer of Python's, for example.

    Example:
        >>> vspace({"w": np.ones(2), "b": 1.0}).size
        3
    """
    kind: Any = class_of(value) if isinstance(value, Box) else type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind in VSpace.mappings:
        return VSpace.mappings[kind](value)
    if isinstance(value, SparseObject):
        return value.vs
    if tree.children(value) is not None:
        return VSpace(value)
    if not (isinstance(value, (Box, np.ndarray, np.inexact)) or kind in (float, complex)):
        requirement = "a vector is an array, a floating-point number or a container of them"
        raise DtypeError(message("vspace", requirement, kind.__name__))
    return (ComplexArrayVSpace if is_complex(dtype_of(value)) else ArrayVSpace)(value)
