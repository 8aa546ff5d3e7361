"""The passes of a function of a vector: compiled at their first call, or run as NumPy programs where they must."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.jit import Jitted, jit
from wengert.engine.boxes import Box, inside_transform
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT64, NDARRAY
from wengert.engine.core.errors import (
    ArgumentError,
    ConcreteError,
    DtypeError,
    StagingError,
    UncompiledWarning,
    UnsupportedError,
    message,
)
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.types import show
from wengert.engine.ops.conversion import cast
from wengert.engine.transforms.arguments import flatten_output, objective_value
from wengert.engine.transforms.callbacks import followed
from wengert.engine.transforms.jacobians import jacobian
from wengert.optimize.flat import Flat
from wengert.sparse.derivatives import SparseDerivative, sparse_jacobian

_NOT_TRACED = (ConcreteError, UnsupportedError)
"""The errors of a function that runs on numbers, and not on types alone: of Python's ``if`` on values, for example."""


class Pass:
    """A function that is compiled at its first call, unless it can only run on known numbers.

    Args:
        function: of vectors and containers of them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled = jit(function)
        self._call: Callable[..., Any] = self._first

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function; inside a transform, the function itself is a part of the user's."""
        return self._function(*arguments) if inside_transform() else self._call(*arguments)

    def _first(self, *arguments: Any) -> Any:
        call: Callable[..., Any] = self._compiled
        try:
            result = call(*arguments)
        except _NOT_TRACED as problem:
            _warn(problem)
            call = self._function
            result = call(*arguments)
        self._call = call
        return result


def _warn(problem: Exception) -> None:
    """Warn of an array indexed by an unknown integer, and its like; Python's ``if`` needs numbers by intention."""
    text = str(problem)
    is_by_intention = isinstance(problem, StagingError) or text.startswith("bool:")
    if isinstance(problem, ConcreteError) and not is_by_intention:
        warnings.warn(
            f"the function runs uncompiled, as a NumPy program. {text}", UncompiledWarning, stacklevel=2
        )


class Arguments(NamedTuple):
    """The further arguments of a function, of which a pass takes the arrays and holds the others as constants."""

    structure: tree.Structure
    fixed: tuple[Any, ...]
    """The other leaves; None in the place of an array."""
    arrays: tuple[Any, ...]

    @classmethod
    def of(cls, fun: Callable[..., Any], args: tuple[Any, ...]) -> Arguments:
        """Divide arguments; a function that the user compiled takes floats as it takes arrays."""
        taken: Any = (Box, NDARRAY, float, np.floating) if isinstance(fun, Jitted) else (Box, NDARRAY)
        leaves, structure = tree.flatten(args)
        are_taken = [isinstance(leaf, taken) and _is_numeric(leaf) for leaf in leaves]
        rows = list(zip(leaves, are_taken, strict=True))
        fixed = tuple(None if is_taken else leaf for leaf, is_taken in rows)
        return cls(structure, fixed, tuple(leaf for leaf, is_taken in rows if is_taken))

    def filled(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with other arrays."""
        unfilled = iter(arrays)
        leaves = [next(unfilled) if leaf is None else leaf for leaf in self.fixed]
        return tree.unflatten(self.structure, leaves)


def _is_numeric(leaf: Any) -> bool:
    return not isinstance(leaf, NDARRAY) or leaf.dtype.kind in "fiubc"


class Passes:
    """The compiled passes of a function of a vector, made when they are first asked for.

    Args:
        operation: the name for messages.
        fun: takes the container of the variables and the further arguments.
        flat: of the variables.
        arguments: the further arguments.
    """

    def __init__(self, operation: str, fun: Callable[..., Any], flat: Flat, arguments: Arguments) -> None:
        self.operation = operation
        self.fun = fun
        self.flat = flat
        self._arguments = arguments
        self._made: dict[str, Pass] = {}
        self._sparse: dict[str, SparseDerivative] = {}

    def scalar(self, vector: Any, arrays: tuple[Any, ...]) -> Any:
        """Return the one number that the function returns, as float64."""
        return cast(objective_value(self.operation, self._called(vector, arrays)), dtype=FLOAT64)

    def values(self, vector: Any, arrays: tuple[Any, ...]) -> Any:
        """Return the elements of the container that the function returns as one vector of float64."""
        outputs, _, _ = flatten_output(self.operation, self._called(vector, arrays))
        if not outputs:
            raise ArgumentError(message(self.operation, "the function must return at least one number"))
        for value in outputs:
            if getattr(value, "dtype", FLOAT64).kind == "c":
                requirement, hint = "the function must return real numbers", "return z.real and z.imag"
                raise DtypeError(message(self.operation, requirement, show(value), hint))
        return Flat(self.operation, outputs, "output").start

    def _called(self, vector: Any, arrays: tuple[Any, ...]) -> Any:
        return followed(self.fun)(self.flat.container(vector), *self._arguments.filled(arrays))

    def get(self, name: str, make: Callable[[], Callable[..., Any]]) -> Pass:
        """Return a pass by its name; ``make`` returns its function at first."""
        if name not in self._made:
            self._made[name] = Pass(make())
        return self._made[name]

    def jacobian(self) -> Pass:
        """Return the pass that computes the Jacobian of the values."""
        return self.get("jacobian", lambda: jacobian(self.values))

    def sparse(self, name: str, make: Callable[[], SparseDerivative]) -> SparseDerivative:
        """Return a sparse derivative by its name, with its structures; ``make`` returns it at first."""
        if name not in self._sparse:
            self._sparse[name] = make()
        return self._sparse[name]

    def sparse_jacobian(self) -> SparseDerivative:
        """Return the sparse Jacobian of the values."""
        return self.sparse("jacobian", lambda: sparse_jacobian(self.values))


def passes_of(
    operation: str, fun: Callable[..., Any], flat: Flat, args: tuple[Any, ...], owner: Any = None
) -> tuple[Passes, Any]:
    """Return the passes of a function, and the arrays among its further arguments.

    The passes of a function that the user compiled with `wengert.jit` are kept for the next solver. If ``fun`` is only
    made of the user's function, this is the ``owner``.
    """
    owner = fun if owner is None else owner
    if not callable(owner):
        raise DtypeError(message(operation, "a function is needed", type(owner).__name__))
    arguments = Arguments.of(owner, args)
    if not isinstance(owner, Jitted):
        return Passes(operation, fun, flat, arguments), arguments.arrays
    cache: dict[Any, Passes] = vars(owner).setdefault("passes_for_solvers", {})
    kinds: Any = tuple(map(type, arguments.fixed))
    key: Any = operation, flat.structure, tuple(flat.shapes), arguments[:2], kinds
    try:
        passes = cache.get(key)
    except TypeError:  # an argument has no hash
        return Passes(operation, fun, flat, arguments), arguments.arrays
    if passes is None:
        passes = cache[key] = Passes(operation, fun, flat, arguments._replace(arrays=()))
    return passes, arguments.arrays
