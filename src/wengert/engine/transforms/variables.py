"""`Variable`, `Constant` and `Dual`: objects that carry derivatives outside of any transform.

They belong to two traces that never close. These are older than every transform, so that transforms nest inside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Any, cast

import numpy as np

from wengert.engine.array.array import Array, operand
from wengert.engine.boxes import CONSTANT, Box, concrete
from wengert.engine.core.dtypes import NDARRAY, SEQUENCE, as_float, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.primitive import Primitive
from wengert.engine.transforms.arguments import as_results, conform, differentiable
from wengert.engine.transforms.forward_mode import DualNumber, DualTrace
from wengert.engine.transforms.reverse_mode import reachable, walk_back
from wengert.engine.transforms.tape import Node, TapeTrace, state_of_input


class _Recording(threading.local):
    on = True


_recording = _Recording()


class VariableTrace(TapeTrace):
    """The trace that records operations on variables, unless `no_grad` holds."""

    name = "Variable"
    ends = False

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record, or compute only."""
        if _recording.on:
            return super().process(primitive, operands, params)
        values = [x.state.value if isinstance(x, Box) and x.owner is self else x for x in operands]
        return primitive(*values, **params)


class Result(Array):
    """The result of an operation on variables: `backward` walks back from it."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The number or array itself, without its history; an array is read-only."""
        self.refresh()
        self.owner.check_open("value")
        return _read_only(self._concrete("value", "read the value outside of the transform"))

    def backward(self, cotangent: Any = None) -> None:
        """Walk back along the recorded operations and add the derivatives to the variables' ``grad``.

        ``v.grad += (d self / d v)^T cotangent`` for every variable v that leads to this value. The record stays, so
        that `backward` may be called on several results.

        Args:
            cotangent: a plain array of the shape of this value; 1 by default, for a scalar.

        Raises:
            ArgumentError: no variable leads to this value, or it is not a scalar and no cotangent was given.
            ShapeError: the cotangent has another shape.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.grad
            6.0
        """
        self.refresh()
        if self.owner is not VARIABLES:
            requirement = "no variable leads to this value: it was computed under no_grad, or in a transform"
            raise ArgumentError(message("backward", requirement, show(self)))
        if cotangent is None:
            if self.shape != ():
                hint = "reduce it (y.sum()), or give a cotangent of its shape"
                raise ArgumentError(message("backward", "a scalar is needed", show(self), hint))
            cotangent = dtype_of(self).type(1)
        requirement = "the cotangent must have the shape of the value"
        seed = conform("backward", requirement, _plain("backward", cotangent), self.state.value)
        leaves = [node for node in reachable([self.state.node]) if isinstance(node, Leaf)]
        cotangents = walk_back([(self.state.node, seed)], leaves)
        derivatives = as_results(cotangents, [leaf.value for leaf in leaves])
        for leaf, derivative in zip(leaves, derivatives, strict=True):
            leaf.gradient = derivative if leaf.gradient is None else leaf.gradient + derivative


class Leaf(Node):
    """The node of a variable; it accumulates the variable's derivative."""

    __slots__ = ("gradient",)

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.gradient: Any = None


class Variable(Result):
    """A value to differentiate by: operations on it are recorded.

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
        self.leaf = Leaf(_copy(differentiable("Variable", _plain("Variable", value))))
        super().__init__(VARIABLES, state_of_input(self.leaf))

    def __repr__(self) -> str:
        return f"Variable({concrete(self)})"

    def __copy__(self, memo: Any = None) -> Variable:
        return Variable(self.value)

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        return Variable, (self.value,)

    @property
    def grad(self) -> Any:
        """The derivative that `backward` has accumulated; None before."""
        return self.leaf.gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        self.leaf.gradient = value

    def zero_grad(self) -> None:
        """Clear the accumulated derivative."""
        self.leaf.gradient = None

    def update(self, value: Any) -> None:
        """Give the variable a new value, as an optimiser does; earlier results keep the old one.

        An in-place operation under `no_grad` does the same: ``with no_grad(): x -= 0.1 * x.grad``.

        Args:
            value: a number or array of the same shape.

        Raises:
            ShapeError: the new value has another shape.
            DtypeError: the new value does not fit the dtype.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.update(x.value - 0.1 * x.grad)
            >>> x.value
            2.4
        """
        is_plain = isinstance(value, Box) and (value.owner is VARIABLES or value.owner.plain)
        value = concrete(value) if is_plain else _plain("Variable.update", value)
        dtype = dtype_of(self.leaf.value)
        if shape_of(value) != shape_of(self.leaf.value):
            raise ShapeError(message("Variable.update", "the shape must stay the same", show(value, self)))
        if not np.can_cast(dtype_of(value), dtype, "same_kind"):
            raise DtypeError(message("Variable.update", "the dtype must stay the same", show(value)))
        kind = cast("Callable[[Any], Any]", type(self.leaf.value))
        leaf = Leaf(kind(value) if kind in (float, complex) else np.array(value, dtype=dtype)[()])
        leaf.gradient = self.leaf.gradient
        self.leaf = leaf
        self.owner, self.state, self.lens = VARIABLES, state_of_input(leaf), None

    def assign(self, value: Any) -> Any:
        """Assign the result of an in-place operation; under `no_grad` this updates the variable."""
        if _recording.on:
            return super().assign(value)
        self.update(value)
        return self

    def hold(self, value: Box) -> None:
        """Hold a value that is written into the variable; under `no_grad` this updates the variable."""
        if _recording.on:
            super().hold(value)
        else:
            self.update(value)


def constant(value: Any) -> Any:
    """Return a value as a constant of the recorded graph, which gets no derivative.

    Args:
        value: a number, which is returned unchanged, or an array, which is copied. A program may write variables into
            the copy.

    Returns:
        The constant.

    Example:
        >>> x = Variable(3.0)
        >>> (constant(2.0) * x).backward()
        >>> x.grad
        2.0
    """
    return CONSTANT.constant(_copy(operand(value)))


@contextlib.contextmanager
def no_grad() -> Generator[None, None, None]:
    """Stop recording operations on variables: their results are plain values.

    Returns:
        A context manager.

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
    """Forward mode for the dual numbers of the user."""

    name = "Dual"
    ends = False


class Dual(Array):
    """A dual number ``a + b ε`` with ``ε² = 0``: a value and its derivative in one.

    ``f(a + b ε) = f(a) + f'(a) b ε`` for every function of NumPy. There is only one ε: for higher
    derivatives, which need several, use the transforms, such as `derivative`.

    Args:
        real: the value ``a``, a number or an array.
        epsilon: the derivative ``b``, of the same shape or one number for all elements.

    Raises:
        DtypeError: the value is not floating-point (a Python integer is taken as a float).
        ShapeError: the shapes differ.

    Example:
        >>> import numpy as np
        >>> f = lambda x, y: 2 * x + x * y**3 + np.sin(x)
        >>> print(f(Dual(3.0, 1.0), Dual(5.0, 0.0)))
        381.14 + 126.01ε
    """

    __slots__ = ()

    def __init__(self, real: Any, epsilon: Any = 0.0) -> None:
        if is_complex(dtype_of(real)):
            requirement = "a real number is needed: the real part of a dual number is its value"
            raise DtypeError(message("Dual", requirement, show(real), "use wg.jvp"))
        real = _copy(
            differentiable("Dual", as_float("Dual", real) if type(real) is int else _plain("Dual", real))
        )
        tangent = np.array(_plain("Dual", epsilon))
        if not tangent.shape:
            tangent = np.full(shape_of(real), tangent)
        tangent = conform("Dual", "both parts must have the same shape", tangent[()], real)
        super().__init__(
            DUALS, DualNumber(real, type(real)(tangent) if type(real) in (float, complex) else tangent)
        )

    @property
    def real(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] (it is read-only)
        """The value; an array is read-only."""
        return _read_only(self._number().value)

    @property
    def epsilon(self) -> Any:
        """The derivative; an array is read-only."""
        return _read_only(self._number().tangent)

    def _number(self) -> DualNumber:
        self.refresh()
        if self.owner is DUALS:
            return self.state
        self.owner.check_open("Dual")
        value = self._concrete("Dual", "read it outside of the transform")
        return DualNumber(value, np.zeros(self.shape, self.dtype)[()])  # a constant was assigned to it

    def __str__(self) -> str:
        real, epsilon = concrete(self.real), concrete(self.epsilon)
        if self.shape or real is None or epsilon is None:
            return f"{self.real} + {self.epsilon}ε"
        return _sum(real, epsilon, _rounded)

    def __repr__(self) -> str:
        return f"Dual({self.real}, {self.epsilon})"

    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        return _sum(self.real, self.epsilon, lambda number: format(number, specification))

    def __reduce__(self) -> Any:
        return Dual, (self.real, self.epsilon)


def _sum(real: Any, epsilon: Any, write: Callable[[Any], str]) -> str:
    return f"{write(real)} {'-' if np.signbit(epsilon) else '+'} {write(abs(epsilon))}ε"


def _rounded(number: Any) -> str:
    """Write a number with one or two decimals; very small and large numbers with three digits."""
    if number != 0 and not 0.01 <= abs(number) < 1e7:
        return f"{number:.3g}"
    text = f"{number:.2f}"
    return text[:-1] if text.endswith("0") else text


def _plain(operation: str, value: Any) -> Any:
    if isinstance(value, Box):
        hint = "take its value (x.value), or transforms for higher derivatives"
        raise DtypeError(message(operation, "a plain number or array is needed", repr(value), hint))
    return np.asarray(value) if isinstance(value, SEQUENCE) else value


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, NDARRAY) else value


def _read_only(value: Any) -> Any:
    """Return a read-only view of an array: recorded values must not change."""
    if isinstance(value, NDARRAY):
        value = value.view()
        value.flags.writeable = False
    return value


VariableTrace.box_class = Result
PublicDualTrace.box_class = Dual
VARIABLES = VariableTrace()
DUALS = PublicDualTrace()
