"""The object style: `Variable`, `Constant` and `Dual`, which carry derivatives outside of any transform.

They belong to two traces that are never closed, older than every transform, so that transforms nest inside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import Any

import numpy as np

from wengert.array import Array
from wengert.boxes import CONSTANT, Box, Known, concrete
from wengert.dtypes import SEQUENCE, dtype_of, is_float
from wengert.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.ir.types import show, type_of
from wengert.primitive import Primitive
from wengert.shapes import shape_of
from wengert.transforms.arguments import differentiable, own
from wengert.transforms.forward import DualNumber, DualTrace
from wengert.transforms.reverse import Node, TapeTrace, match, reachable, walk_back


class _Recording(threading.local):
    on = True


_recording = _Recording()


class VariableTrace(TapeTrace):
    """The list that operations on variables are recorded in, unless `no_grad` holds."""

    name = "Variable"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record, or only compute."""
        if _recording.on:
            return super().process(primitive, operands, params)
        values = [x.state.value if isinstance(x, Box) and x.owner is self else x for x in operands]
        return primitive(*values, **params)

    def box(self, state: Any) -> Result:
        """Wrap a node into what the user meets."""
        return Result(self, state)


class Result(Array):
    """What an operation on variables gives: a value from which `backward` walks back."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The number or array itself, without its history."""
        self.refresh()
        return self.state.value

    def backward(self, cotangent: Any = None) -> None:
        """Walk back along the recorded operations and add the derivatives to the variables' ``grad``.

        ``v.grad += (d self / d v)^T cotangent`` for every variable v that led here. The record stays, so that several
        results may be walked back from.

        Args:
            cotangent: of the shape of this value; 1 by default, for a scalar.

        Raises:
            ArgumentError: this value is no scalar and no cotangent was given.
            ShapeError: the cotangent has another shape.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.grad
            6.0
        """
        self.refresh()
        if cotangent is None:
            if self.shape != ():
                hint = "reduce it (y.sum()), or give a cotangent of its shape"
                raise ArgumentError(message("backward", "a scalar is needed", show(self), hint))
            cotangent = dtype_of(self).type(1)
        if shape_of(cotangent) != self.shape:
            raise ShapeError(
                message("backward", "the cotangent must have the shape of the value", show(cotangent, self))
            )
        found = [node for node in reachable([self.state]) if isinstance(node, Leaf)]
        cotangents = walk_back([(self.state, match(cotangent, self.state.value))], found)
        for leaf, derivative in zip(found, own(cotangents, [leaf.value for leaf in found]), strict=True):
            leaf.gradient = derivative if leaf.gradient is None else leaf.gradient + derivative


class Leaf(Node):
    """The node of a variable; it gathers the variable's derivative."""

    __slots__ = ("gradient",)

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.gradient: Any = None


class Variable(Result):
    """A value whose derivatives are wanted: operations on it are recorded.

    Args:
        value: a floating-point number or array.

    Raises:
        DtypeError: the value is not floating-point.

    Example:
        >>> import numpy as np
        >>> x, y = Variable(2.0), Variable(5.0)
        >>> f = np.log(x) + x * y - np.sin(y)
        >>> f.backward()
        >>> print(x.grad, round(float(y.grad), 4))
        5.5 1.7163
    """

    __slots__ = ("leaf",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, SEQUENCE):
            value = np.asarray(value)
        if isinstance(value, Box):
            raise DtypeError(
                message(
                    "Variable",
                    "a plain number or array is needed",
                    show(value),
                    "use wg.grad inside transforms",
                )
            )
        given = differentiable("Variable", value)
        self.leaf = Leaf(given.copy() if isinstance(given, np.ndarray) else given)
        super().__init__(VARIABLES, self.leaf)

    @property
    def grad(self) -> Any:
        """The derivative gathered by `backward` so far; None before."""
        return self.leaf.gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        self.leaf.gradient = value

    def zero_grad(self) -> None:
        """Forget the derivative gathered so far."""
        self.leaf.gradient = None

    def update(self, value: Any) -> None:
        """Give the variable a new value, as an optimiser does; what was recorded before keeps the old one.

        An in-place operation while nothing is recorded does the same: ``with no_grad(): x -= 0.1 * x.grad``.

        Raises:
            ShapeError: the new value has another shape, or is not floating-point.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.update(x.value - 0.1 * x.grad)
            >>> x.value
            2.4
        """
        known = isinstance(value, Box) and value.owner in (VARIABLES, CONSTANT)
        given: Any = concrete(value) if known else value
        if shape_of(given) != self.shape or not is_float(dtype_of(given)):
            got = f"{type_of(given)} for {self.type}"
            raise ShapeError(message("Variable.update", "shape and kind must stay the same", got))
        dtype = dtype_of(self.leaf.value)
        fresh = Leaf(float(given) if type(self.leaf.value) is float else np.array(given, dtype=dtype)[()])
        fresh.gradient = self.leaf.gradient
        self.leaf = fresh
        self.owner, self.state, self.lens = VARIABLES, fresh, None

    def assign(self, value: Any) -> Any:
        """Carry out an in-place operation; while nothing is recorded the variable stays one, of a new value."""
        if _recording.on:
            return super().assign(value)
        self.update(value)
        return self

    def write(self, value: Box) -> None:
        """Write into the variable; while nothing is recorded it stays one, of a new value."""
        if _recording.on:
            super().write(value)
        else:
            self.update(value)


def constant(value: Any) -> Any:
    """Return a value as a constant of the recorded graph: no derivative is gathered for it.

    Example:
        >>> x = Variable(3.0)
        >>> (constant(2.0) * x).backward()
        >>> x.grad
        2.0
    """
    return value if isinstance(value, Box) else Array(CONSTANT, Known(np.asarray(value)))


@contextlib.contextmanager
def no_grad() -> Generator[None, None, None]:
    """Do not record operations on variables: they give plain values.

    Example:
        >>> x = Variable(3.0)
        >>> with no_grad():
        ...     y = x * x
        >>> y
        9.0
    """
    before = _recording.on
    _recording.on = False
    try:
        yield
    finally:
        _recording.on = before


class PublicDualTrace(DualTrace):
    """Forward mode for dual numbers that the user writes down."""

    name = "Dual"

    def box(self, state: Any) -> Any:
        """Wrap a dual number into what the user meets."""
        dual = object.__new__(Dual)
        Array.__init__(dual, self, state)
        return dual


class Dual(Array):
    """A dual number ``a + b ε`` with ``ε² = 0``: a value and its derivative in one.

    ``f(a + b ε) = f(a) + f'(a) b ε`` for every function of NumPy.

    Args:
        real: the value ``a``.
        epsilon: the derivative ``b``.

    Example:
        >>> import numpy as np
        >>> f = lambda x, y: 2 * x + x * y**3 + np.sin(x)
        >>> print(f(Dual(3.0, 1.0), Dual(5.0, 0.0)))
        381.14 + 126.01ε
    """

    __slots__ = ()

    def __init__(self, real: Any, epsilon: Any = 0.0) -> None:
        primal, tangent = (
            float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v
            for v in (real, epsilon)
        )
        for value in (primal, tangent):
            differentiable("Dual", value)
        if shape_of(primal) != shape_of(tangent):
            raise ShapeError(message("Dual", "both parts must have one shape", show(primal, tangent)))
        super().__init__(DUALS, DualNumber(primal, tangent))

    @property
    def real(self) -> Any:
        """The value."""
        self.refresh()
        return self.state.primal

    @property
    def epsilon(self) -> Any:
        """The derivative."""
        self.refresh()
        return self.state.tangent

    def __str__(self) -> str:
        if self.shape != ():
            return f"{self.real} + {self.epsilon}ε"
        sign = "-" if np.signbit(self.epsilon) else "+"
        return f"{_rounded(self.real)} {sign} {_rounded(abs(self.epsilon))}ε"

    def __repr__(self) -> str:
        return f"Dual({self.real}, {self.epsilon})"

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        return f"{self.real:{specification}} + {self.epsilon:{specification}}ε"


def _rounded(number: Any) -> str:
    """Write a number with two decimals, and without zeros that say nothing (at least one decimal)."""
    text = f"{float(number):.2f}"
    return text[:-1] if text.endswith("0") else text


VARIABLES = VariableTrace()
DUALS = PublicDualTrace()
