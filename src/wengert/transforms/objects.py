"""The object style: `Variable`, `Constant` and `Dual`, which carry derivatives outside of any transform.

They belong to two traces that are never closed, older than every transform, so that transforms nest inside.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from wengert.array.array import Array, operand
from wengert.boxes import CONSTANT, Box, concrete
from wengert.core.dtypes import NDARRAY, SEQUENCE, as_float, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show
from wengert.primitive import Primitive
from wengert.transforms.argnums import differentiable, matching, own
from wengert.transforms.forward import DualNumber, DualTrace
from wengert.transforms.reverse import reachable, walk_back
from wengert.transforms.tape import Followed, Node, TapeTrace


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
        """The number or array itself, without its history; an array cannot be written to."""
        self.refresh()
        self.owner.check_open("value")
        return _read_only(self._concrete("value", "read the value outside of the transform"))

    def backward(self, cotangent: Any = None) -> None:
        """Walk back along the recorded operations and add the derivatives to the variables' ``grad``.

        ``v.grad += (d self / d v)^T cotangent`` for every variable v that led here. The record stays, so that several
        results may be walked back from.

        Args:
            cotangent: plain, of the shape of this value; 1 by default, for a scalar.

        Raises:
            ArgumentError: this value is no scalar and no cotangent was given, or no variable leads to it.
            ShapeError: the cotangent has another shape.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.grad
            6.0
        """
        self.refresh()
        if self.owner is not VARIABLES:
            what = "no variable leads to this value: it was written while nothing was recorded, or in a transform"
            raise ArgumentError(message("backward", what, show(self)))
        if cotangent is None:
            if self.shape != ():
                hint = "reduce it (y.sum()), or give a cotangent of its shape"
                raise ArgumentError(message("backward", "a scalar is needed", show(self), hint))
            cotangent = dtype_of(self).type(1)
        requirement = "the cotangent must have the shape of the value"
        seed = matching("backward", requirement, _plain("backward", cotangent), self.state.value)
        found = [node for node in reachable([self.state.node]) if isinstance(node, Leaf)]
        cotangents = walk_back([(self.state.node, seed)], found)
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
        given = differentiable("Variable", _plain("Variable", value))
        self.leaf = Leaf(_copy(given))
        super().__init__(VARIABLES, Followed(self.leaf.value, self.leaf))

    def __repr__(self) -> str:
        return f"Variable({concrete(self)})"

    def __copy__(self, memo: Any = None) -> Variable:
        return Variable(self.value)

    __deepcopy__ = __copy__

    def __reduce__(self) -> Any:
        return Variable, (self.value,)

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
            ShapeError: the new value has another shape.
            DtypeError: the new value is not a real number.

        Example:
            >>> x = Variable(3.0)
            >>> (x * x).backward()
            >>> x.update(x.value - 0.1 * x.grad)
            >>> x.value
            2.4
        """
        known = isinstance(value, Box) and value.owner in (VARIABLES, CONSTANT)
        given: Any = concrete(value) if known else _plain("Variable.update", value)
        dtype = dtype_of(self.leaf.value)
        if shape_of(given) != shape_of(self.leaf.value):
            raise ShapeError(message("Variable.update", "the shape must stay the same", show(given, self)))
        if not np.can_cast(dtype_of(given), dtype, "same_kind"):
            raise DtypeError(message("Variable.update", "real numbers are needed", show(given)))
        fresh = Leaf(float(given) if type(self.leaf.value) is float else np.array(given, dtype=dtype)[()])
        fresh.gradient = self.leaf.gradient
        self.leaf = fresh
        self.owner, self.state, self.lens = VARIABLES, Followed(fresh.value, fresh), None

    def assign(self, value: Any) -> Any:
        """Carry out an in-place operation; while nothing is recorded the variable stays one, of a new value."""
        if _recording.on:
            return super().assign(value)
        self.update(value)
        return self

    def hold(self, value: Box) -> None:
        """Hold what is written into the variable; while nothing is recorded it stays one, of a new value."""
        if _recording.on:
            super().hold(value)
        else:
            self.update(value)


def constant(value: Any) -> Any:
    """Return a value as a constant of the recorded graph: no derivative is gathered for it.

    An array is copied, and may be written into by operations on variables; a number stays what it is.

    Example:
        >>> x = Variable(3.0)
        >>> (constant(2.0) * x).backward()
        >>> x.grad
        2.0
    """
    return CONSTANT.constant(_copy(operand(value)))


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

    ``f(a + b ε) = f(a) + f'(a) b ε`` for every function of NumPy. There is only one ε: for derivatives of
    derivatives, which need several, take the transforms, such as `derivative`.

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
        real = _copy(
            differentiable("Dual", as_float("Dual", real) if type(real) is int else _plain("Dual", real))
        )
        tangent = np.array(_plain("Dual", epsilon))
        if not tangent.shape:
            tangent = np.full(shape_of(real), tangent)
        tangent = matching("Dual", "both parts must have the same shape", tangent[()], real)
        super().__init__(DUALS, DualNumber(real, float(tangent) if type(real) is float else tangent))

    @property
    def real(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] (it is read-only)
        """The value; an array cannot be written to."""
        return _read_only(self._number().primal)

    @property
    def epsilon(self) -> Any:
        """The derivative; an array cannot be written to."""
        return _read_only(self._number().tangent)

    def _number(self) -> DualNumber:
        self.refresh()
        if self.owner is DUALS:
            return self.state
        self.owner.check_open("Dual")
        value = self._concrete("Dual", "read it outside of the transform")
        return DualNumber(value, np.zeros(self.shape, self.dtype)[()])  # a constant was written into it

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
    """Write a number with two decimals, without a second that is zero; very small and large ones with three digits."""
    if number != 0 and not 0.01 <= abs(number) < 1e7:
        return f"{number:.3g}"
    text = f"{number:.2f}"
    return text[:-1] if text.endswith("0") else text


def _plain(operation: str, value: Any) -> Any:
    """Return a number or an array; sequences become arrays."""
    if isinstance(value, Box):
        hint = "take its value (x.value), or transforms for derivatives of derivatives"
        raise DtypeError(message(operation, "a plain number or array is needed", repr(value), hint))
    return np.asarray(value) if isinstance(value, SEQUENCE) else value


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, NDARRAY) else value


def _read_only(value: Any) -> Any:
    """Return a view of an array that cannot be written to: what was recorded must not change."""
    if isinstance(value, NDARRAY):
        value = value.view()
        value.flags.writeable = False
    return value


VARIABLES = VariableTrace()
DUALS = PublicDualTrace()
