"""Vector spaces: what autograd's programs ask of the values that they differentiate, `vspace(x)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from wengert.engine.boxes import Box, class_of
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import shape_of, size


class VSpace:
    """The vectors that have the shape and dtype of a value."""

    mappings: ClassVar[dict[type, Callable[[Any], Any]]] = {}
    """What makes the space of the values of a class that a program has registered."""
    iscomplex = False

    def __init__(self, value: Any) -> None:
        self.shape: Any = shape_of(value)
        self.dtype: Any = dtype_of(value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{vars(self)}"

    __hash__ = object.__hash__

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], Any] | None = None) -> None:
        """Let `vspace` return this space, or that which a function makes, for values of a class."""
        VSpace.mappings[value_type] = vspace_maker or cls

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return size(self.shape) * (2 if self.iscomplex else 1)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def zeros(self) -> Any:
        """Return the zero."""
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        """Return ones; of complex numbers 1 + i."""
        return np.full(self.shape, 1 + 1j if self.iscomplex else 1, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the vectors with a one, and of complex numbers those with an i, in one place."""
        for index in np.ndindex(*self.shape):
            for unit in (1, 1j) if self.iscomplex else (1,):
                vector = self.zeros()
                vector[index] = unit
                yield vector

    def randn(self) -> Any:
        """Draw a vector of independent normal numbers."""
        draw = np.asarray(np.random.randn(*self.shape))
        return np.asarray(draw + 1j * np.random.randn(*self.shape) if self.iscomplex else draw, self.dtype)

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum."""
        return x + y

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a multiple."""
        return x * a

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the inner product over the real numbers."""
        return np.real(np.vdot(x, y)) if self.iscomplex else np.dot(np.ravel(x), np.ravel(y))

    def covector(self, x: Any) -> Any:
        """Return the covector of a vector, or that vector again: its conjugate."""
        return np.conj(x) if self.iscomplex else x


class ArrayVSpace(VSpace):
    """The space of real arrays or numbers."""


class ComplexArrayVSpace(ArrayVSpace):
    """The space of complex arrays or numbers."""

    iscomplex = True


class ContainerVSpace(VSpace):
    """The space of lists, tuples and dicts; ``shape`` is a container of the spaces of the parts."""

    def __init__(self, value: Any) -> None:
        self.shape = tree.map_tree(vspace, value)

    @property
    def size(self) -> int:
        """The dimension over the real numbers."""
        return sum(part.size for part in tree.leaves(self.shape))

    def _of_parts(self, name: str, *values: Any) -> Any:
        return tree.map_tree(lambda part, *parts: getattr(part, name)(*parts), self.shape, *values)

    def zeros(self) -> Any:
        """Return the zero."""
        return self._of_parts("zeros")

    def ones(self) -> Any:
        """Return ones."""
        return self._of_parts("ones")

    def randn(self) -> Any:
        """Draw a vector of independent normal numbers."""
        return self._of_parts("randn")

    def standard_basis(self) -> Iterator[Any]:
        """Yield the vectors with a one in one place."""
        zeros, structure = tree.flatten(self.zeros())
        for position, part in enumerate(tree.leaves(self.shape)):
            for vector in part.standard_basis():
                yield tree.unflatten(structure, [*zeros[:position], vector, *zeros[position + 1 :]])

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum."""
        return self._of_parts("add", x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a multiple."""
        return tree.map_tree(lambda part: part * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the inner product over the real numbers."""
        return sum(tree.leaves(self._of_parts("inner_prod", x, y)))

    def covector(self, x: Any) -> Any:
        """Return the covector of a vector."""
        return self._of_parts("covector", x)


class SparseObject:
    """A vector that a rule returns as the function that adds it to another one in place, as autograd's rules may."""

    def __init__(self, vs: VSpace, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self) -> Any:
        """Return the vector itself."""
        return self.mut_add(self.vs.zeros())


def vspace(value: Any) -> Any:
    """Return the space of the vectors that have the shape and dtype of a value.

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
    kind: type[Any] = class_of(value) if isinstance(value, Box) else type(value)
    if kind in VSpace.mappings:
        return VSpace.mappings[kind](value)
    if isinstance(value, SparseObject):
        return value.vs
    if tree.children(value) is not None:
        return ContainerVSpace(value)
    if not (isinstance(value, (Box, np.ndarray, np.inexact)) or kind in (float, complex)):
        requirement = "a vector is an array, a floating-point number or a container of them"
        raise DtypeError(message("vspace", requirement, kind.__name__))
    return (ComplexArrayVSpace if is_complex(dtype_of(value)) else ArrayVSpace)(value)
