"""Python's operators on boxes, and in-place updates."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from wengert.engine.array.sparse import is_sparse, refused, star
from wengert.engine.boxes import DIVISIONS, Box, Unsized, boxed, class_of, snapshot
from wengert.engine.core.dtypes import SEQUENCE, dtype_of, is_inexact
from wengert.engine.core.errors import RETURNED, ConcreteError, DtypeError, ShapeError, is_users, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops import arithmetic, comparison, exponential
from wengert.engine.ops.conversion import cast
from wengert.engine.primitive import PLAIN, Primitive

#: The implementation of each NumPy function for boxes; `wengert.numpy` fills it.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: Functions that load the implementations of further modules of NumPy's, by their names; `wengert.numpy` fills it.
LATE: dict[str, Callable[[], Any]] = {}
#: Methods of boxes that divide for the user.
_DIVIDING = {"__divmod__", "__rdivmod__"}
_OPERANDS: Any = (Box, np.ndarray, float, int, complex, np.generic)  # a bool is an int


def operand(value: Any) -> Any:
    """Return an operand of a primitive: a box, an array or a scalar; convert sequences to arrays."""
    if isinstance(value, _OPERANDS):
        return value
    if is_sparse(value):
        raise refused("operand", value)
    array = snapshot(FUNCTIONS[np.array](value))
    if dtype_of(array).kind not in "biufc":
        requirement = "a number, an array or a sequence of them is required"
        hint = {str: "write f'{x}' for its text", type(None): RETURNED}.get(type(value), "")
        raise DtypeError(message("operand", requirement, type(value).__name__, hint))
    return array


def takes_over(other: Any) -> bool:
    """Return whether another operand does an operation itself: it says so in NumPy's way."""
    return isinstance(other, Unsized) or getattr(type(other), "__array_ufunc__", True) is None


def _binary(primitive: Primitive) -> tuple[Any, Any]:
    def forward(self: Operators, other: Any) -> Any:
        if type(other) not in PLAIN:
            if takes_over(other):
                return NotImplemented
            other = operand(other)
        return primitive.apply((self, other), {})

    def reflected(self: Operators, other: Any) -> Any:
        if type(other) not in PLAIN:
            if takes_over(other):
                return NotImplemented
            other = operand(other)
        return primitive.apply((other, self), {})

    return forward, reflected


def _division(primitive: Primitive, division: Any) -> tuple[Any, Any]:
    forward, reflected = _binary(primitive)

    def divide(self: Operators, other: Any) -> Any:
        quotient = forward(self, other)
        return _checked(division, quotient, self, other) if _is_integer(other) else quotient

    def divide_into(self: Operators, other: Any) -> Any:
        quotient = reflected(self, other)
        return _checked(division, quotient, other, self) if _is_integer(self) else quotient

    return divide, divide_into


def _is_integer(divisor: Any) -> bool:
    """Return whether a divisor stands for an integer of Python's."""
    return isinstance(divisor, Box) and divisor.weak and divisor.dtype.kind in "iub" and not divisor.shape


def _checked(division: Any, quotient: Any, dividend: Any, divisor: Any) -> Any:
    """Return the quotient of an operation of the user's, which may raise what Python raises."""
    if quotient is NotImplemented or not DIVISIONS:
        return quotient
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_code.co_name in _DIVIDING and frame.f_back is not None:
        frame = frame.f_back
    return DIVISIONS[0](division, quotient, dividend, divisor) if is_users(frame.f_code) else quotient


def _product() -> tuple[Any, Any]:
    def forward(self: Operators, other: Any) -> Any:
        if type(other) in PLAIN or isinstance(other, _OPERANDS):
            return arithmetic.multiply.apply((self, other), {})
        if takes_over(other):
            return NotImplemented
        return star(self, other) if is_sparse(other) else arithmetic.multiply(self, _factor(self, other))

    def reflected(self: Operators, other: Any) -> Any:
        if type(other) in PLAIN or isinstance(other, _OPERANDS):
            return arithmetic.multiply.apply((other, self), {})
        if takes_over(other):
            return NotImplemented
        return star(other, self) if is_sparse(other) else arithmetic.multiply(_factor(self, other), self)

    return forward, reflected


def _factor(box: Operators, factor: Any) -> Any:
    """Return the other factor of a product, or raise an error where Python would repeat a list."""
    if (
        isinstance(factor, SEQUENCE)
        and box.dtype.kind in "iu"
        and issubclass(class_of(box), int | np.integer)
    ):
        requirement = f"a concrete number is needed to repeat a {type(factor).__name__}"
        hint = "name it in static_argnums of wg.jit, or multiply wengert.numpy.array of it"
        raise ConcreteError(message("multiply", requirement, show(box.type), hint))
    return operand(factor)


def _in_place(primitive: Primitive) -> Any:
    def method(self: Operators, other: Any) -> Any:
        if takes_over(other):
            return NotImplemented
        return self.assign(primitive(self, operand(other)))

    return method


def _division_in_place(primitive: Primitive, division: Any) -> Any:
    def method(self: Operators, other: Any) -> Any:
        if takes_over(other):
            return NotImplemented
        quotient = primitive(self, operand(other))
        if _is_integer(other):
            quotient = _checked(division, quotient, self, other)
        return self.assign(quotient)

    return method


def power_of(base: Any, exponent: Any) -> Any:
    """Return a power by the primitive for the exponent: with constant integers it has derivatives at zero."""
    if isinstance(exponent, int) and not isinstance(exponent, bool):
        if exponent >= 0 or is_inexact(dtype_of(base)):
            return arithmetic.integer_power(base, exponent=exponent)
    elif type(exponent) is float and exponent == 0.5 and is_inexact(dtype_of(base)):
        return exponential.sqrt(base)
    return exponential.power(base, exponent)


class Operators(Box):
    """A box on which Python's operators mean NumPy's."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 1000.0
    #: Above those of pandas, whose operators then leave the operation to this class.
    __pandas_priority__: ClassVar[int] = 5000

    __add__, __radd__ = _binary(arithmetic.add)
    __sub__, __rsub__ = _binary(arithmetic.subtract)
    __mul__, __rmul__ = _product()
    __truediv__, __rtruediv__ = _division(arithmetic.divide, operator.truediv)
    __floordiv__, __rfloordiv__ = _division(arithmetic.floor_divide, operator.floordiv)
    __mod__, __rmod__ = _division(arithmetic.remainder, operator.mod)
    __and__, __rand__ = _binary(comparison.bitwise_and)
    __or__, __ror__ = _binary(comparison.bitwise_or)
    __xor__, __rxor__ = _binary(comparison.bitwise_xor)
    __lshift__, __rlshift__ = _binary(comparison.left_shift)
    __rshift__, __rrshift__ = _binary(comparison.right_shift)
    __eq__, _ = _binary(comparison.equal)
    __ne__, _ = _binary(comparison.not_equal)
    __lt__, _ = _binary(comparison.less)
    __le__, _ = _binary(comparison.less_equal)
    __gt__, _ = _binary(comparison.greater)
    __ge__, _ = _binary(comparison.greater_equal)
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    __iadd__ = _in_place(arithmetic.add)
    __isub__ = _in_place(arithmetic.subtract)
    __imul__ = _in_place(arithmetic.multiply)
    __itruediv__ = _division_in_place(arithmetic.divide, operator.truediv)
    __ifloordiv__ = _division_in_place(arithmetic.floor_divide, operator.floordiv)
    __imod__ = _division_in_place(arithmetic.remainder, operator.mod)
    __iand__ = _in_place(comparison.bitwise_and)
    __ior__ = _in_place(comparison.bitwise_or)
    __ixor__ = _in_place(comparison.bitwise_xor)
    __ilshift__ = _in_place(comparison.left_shift)
    __irshift__ = _in_place(comparison.right_shift)

    def __neg__(self) -> Any:
        return arithmetic.negative.apply((self,), {})

    def __pos__(self) -> Any:
        return arithmetic.positive(self)

    def __abs__(self) -> Any:
        return arithmetic.absolute(self)

    def __invert__(self) -> Any:
        return comparison.invert(self)

    def __pow__(self, exponent: Any) -> Any:
        return power_of(self, operand(exponent))

    def __rpow__(self, base: Any) -> Any:
        return exponential.power(operand(base), self)

    def __ipow__(self, exponent: Any) -> Any:
        return self.assign(power_of(self, operand(exponent)))

    def fitted(self, value: Any) -> Any:
        """Return the result of an in-place operation in the dtype of this array, or raise an error."""
        if shape_of(value) != self.shape:
            requirement = f"the result must keep the shape {self.shape}"
            raise ShapeError(message("in-place operation", requirement, show(self, value)))
        if not np.can_cast(dtype_of(value), self.dtype, "same_kind"):
            requirement = f"the result must fit {self.dtype}"
            raise DtypeError(message("in-place operation", requirement, show(self, value)))
        return cast(value, dtype=self.dtype) if dtype_of(value) != self.dtype else value

    def assign(self, value: Any) -> Any:
        """Assign a value to all elements; a scalar cannot change, so the value itself is returned."""
        if not self.shape and self.lens is None:
            return value
        self.write(boxed(self.fitted(value)))
        return self
