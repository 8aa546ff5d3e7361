"""Containers of arrays as vectors, and functions without the values that they close over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.engine.boxes import inside_transform
from wengert.engine.control.values import flatten_numbers
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT64, as_float, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ConcreteError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import show, type_of
from wengert.engine.transforms.staging import evaluate, stage
from wengert.engine.transforms.vectors import joined, split


class Form(NamedTuple):
    """The containers and shapes of the values that a vector holds."""

    structure: tree.Structure
    shapes: list[Shape]

    def container(self, vector: Any) -> Any:
        """Return the container that a vector holds."""
        return tree.unflatten(self.structure, split(vector, self.shapes))

    def vector(self, operation: str, name: str, requirement: str, value: Any) -> Any:
        """Return a container of this form, which is called ``name`` in messages, as a vector.

        Raises:
            ShapeError: the requirement does not hold: the shapes differ.
            ArgumentError: the containers differ.
        """
        vector, form = vector_of(operation, name, value)
        if form.shapes != self.shapes:
            raise ShapeError(message(operation, requirement, f"{form.shapes} for {self.shapes}"))
        tree.check_same(operation, self.structure, form.structure)
        return vector


def vector_of(operation: str, name: str, value: Any) -> tuple[Any, Form]:
    """Return the numbers of a container as a real floating-point vector, and its form."""
    leaves, structure = flatten_numbers(operation, name, value)
    for leaf in leaves:
        if is_complex(dtype_of(leaf)):
            hint = "solve for the real and the imaginary part"
            raise DtypeError(message(operation, f"{name} must be real", show(leaf), hint))
    form = Form(structure, list(map(shape_of, leaves)))
    return joined([_floating(operation, leaf) for leaf in leaves]), form


def _floating(operation: str, leaf: Any) -> Any:
    """Return a number or an array as floating-point; integers become float64."""
    if is_inexact(dtype_of(leaf)):
        return leaf
    return as_float(operation, leaf) if isinstance(leaf, int) else leaf.astype(FLOAT64)


def lifted(function: Callable[..., Any], *arguments: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function that takes the values that it closes over first, and these values.

    Outside of transforms, and where Python asks for values, the function stays as it is.
    """
    if not inside_transform():
        return function, []

    def run(*values: Any) -> list[Any]:
        return [function(*values)]

    try:
        graph, captured = stage(run, list(map(type_of, arguments)))
    except ConcreteError:
        return function, []
    return lambda *values: evaluate(graph, *values)[0], list(captured)


def differentiable(values: Sequence[Any]) -> list[bool]:
    """Return which values can have a derivative."""
    return [is_inexact(dtype_of(value)) for value in values]
