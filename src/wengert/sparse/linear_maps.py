"""The linear maps whose matrices are wanted: products with a Jacobian from both sides, and with a Hessian."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.conversion import cast
from wengert.engine.transforms.arguments import (
    Argnums,
    check_primals,
    check_results,
    or_zeros,
    select_inputs,
    zeros_like,
)
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import Pushed
from wengert.engine.transforms.reverse_mode import Recording, grad
from wengert.engine.transforms.vectors import count, joined, split

#: Arguments by position and by name.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Product(NamedTuple):
    """Products of the matrix with directions."""

    rows: Any
    """The elements of each product, in one row."""
    aux: Any


class LinearMap(ABC):
    """The matrix of derivatives of a function, as products with it at a point.

    Args:
        operation: the name for messages.
        fun: the user's function.
        argnums: the arguments to differentiate.
        has_aux: the function returns ``(output, aux)``.
    """

    modes: tuple[str, ...] = ("auto", "forward", "reverse", "both")
    symmetric = False

    def __init__(self, operation: str, fun: Callable[..., Any], argnums: Argnums, has_aux: bool) -> None:
        self.operation = operation
        self.fun = fun
        self.argnums = argnums
        self.has_aux = has_aux

    @abstractmethod
    def differentiated(self) -> Callable[..., Any]:
        """Return the function of which the matrix is the Jacobian."""

    def shape(self, arguments: Arguments) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        inputs = self._inputs(arguments)
        try:
            outputs = Recording(inputs, self.has_aux, self.operation).values
        except UnsupportedError:  # a rule has no reverse mode
            outputs = Pushed(inputs, list(map(zeros_like, inputs.leaves)), self.has_aux).values
        check_results(self.operation, outputs, holomorphic=None)
        return count(outputs), count(inputs.leaves)

    def forward(self, arguments: Arguments, directions: Any) -> Product:
        """Return the products with directions from the right, one for each row of ``directions``."""
        inputs = self._inputs(arguments)
        runs: list[Pushed] = []

        def push(direction: Any) -> Any:
            pushed = Pushed(inputs, _parts(direction, inputs.leaves), self.has_aux)
            runs.append(pushed)
            return joined(or_zeros(pushed.tangents, pushed.values))

        rows = vmap(push)(directions)
        return Product(rows, runs[0].aux)

    def reverse(self, arguments: Arguments, directions: Any) -> Product:
        """Return the products with directions from the left, one for each row of ``directions``."""
        inputs = self._inputs(arguments)
        recording = Recording(inputs, self.has_aux, self.operation)

        def pull(direction: Any) -> Any:
            cotangents = recording.pullback(_parts(direction, recording.values))
            return joined(or_zeros(cotangents, inputs.leaves))

        return Product(vmap(pull)(directions), recording.aux)

    def _inputs(self, arguments: Arguments) -> Any:
        positional, named = arguments
        inputs = select_inputs(self.operation, self.differentiated(), self.argnums, positional, named)
        check_primals(self.operation, inputs.leaves, holomorphic=None)
        return inputs


class OfFunction(LinearMap):
    """The Jacobian of a function."""

    def differentiated(self) -> Callable[..., Any]:
        """Return the function."""
        return self.fun


class OfGradient(LinearMap):
    """The Hessian of a function, the Jacobian of its gradient."""

    modes = ("auto", "forward", "both")
    symmetric = True

    def differentiated(self) -> Callable[..., Any]:
        """Return the gradient."""
        return grad(self.fun, self.argnums, self.has_aux)


def _parts(direction: Any, values: Sequence[Any]) -> list[Any]:
    """Return the parts of a vector that belong to each value, in its shape and dtype."""
    parts = split(direction, list(map(shape_of, values)))
    return [cast(part, dtype=dtype_of(value)) for part, value in zip(parts, values, strict=True)]
