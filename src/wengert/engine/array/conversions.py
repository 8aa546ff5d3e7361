"""Conversions of a value inside a transform to a plain number or array: errors with hints where they lose something."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from wengert.engine.array.operators import Operators
from wengert.engine.array.sparse import left_to_box
from wengert.engine.array.suggestions import advised, instead_of_package, way_out
from wengert.engine.boxes import STANDARD, as_standard, complain, concrete, has_derivative, on_graph
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.errors import (
    OTHERWISE,
    UNFOLLOWED,
    ConcreteError,
    LostDerivativeError,
    WengertError,
    message,
)
from wengert.engine.core.shapes import size
from wengert.engine.ir.types import show

_OUTSIDE = "return the array and convert it outside; build arrays with np.stack or wengert.numpy"
_NUMBER = "write NumPy's functions, such as np.sin for math.sin; return the value and convert it outside"
_INTEGER = (
    "x[i] takes it as it is; a size or a count must be known: name it in static_argnums of wg.jit, or take it from a "
    "shape; write a loop with wg.fori_loop"
)
_CONDITION = (
    "write np.where(condition, a, b), wg.cond(condition, f, g, ...) for if, or wg.while_loop for while"
)
#: The device of DLPack where NumPy's arrays lie.
_PROCESSOR = (1, 0)
_EXPORTED = "leave x as it is, or pass wg.stop_gradient(x)"
_BUILT = "build arrays with np.stack or wengert.numpy.array, write into wengert.numpy.zeros"
_COMPUTED = (
    "write np.sin for math.sin, make an array to write into with wengert.numpy.zeros or np.zeros_like(x)"
)

#: The conversions of arrays with one element.
_OF_ONE_ELEMENT = ("float(x)", "int(x)", "complex(x)", "bool", "item()")

#: The arguments of the instruction ``BINARY_OP`` for ``a % b`` and ``a %= b``.
_REMAINDERS = [
    instruction.arg
    for text in ("a % b", "a %= b")
    for instruction in dis.get_instructions(compile(text, "", "exec"))
    if instruction.opname == "BINARY_OP"
]


def _is_formatted(frame: FrameType) -> bool:
    """Return whether a frame evaluates ``text % values``: numbers have ``%`` of their own, which converts nothing."""
    code, position = frame.f_code.co_code, frame.f_lasti
    is_operation = dis.opname[code[position]] == "BINARY_OP"
    return is_operation and code[position + 1] in _REMAINDERS


def _lost(name: str, hint: str, traced: str = _OUTSIDE, on_constant: Callable[..., Any] | None = None) -> Any:
    """Return a method that raises an error, except for constants if ``on_constant`` is given."""

    def method(self: Conversions, *arguments: Any, **options: Any) -> Any:
        if on_constant is not None and self.owner.plain:
            return on_constant(self.state.value, *arguments, **options)
        self.owner.check_open(name)
        if on_graph(self):
            raise self.without_value(name, way_out(name) or traced)
        raise self.without_derivative(name, hint)

    return method


def _or_given_up(hint: str, value: str = "wg.stop_gradient(x)") -> str:
    return f"{hint}; or give up the derivative: {value}"


def _export(value: Any, *, stream: Any, **options: Any) -> Any:
    """Export a copy of an array by DLPack."""
    copied: Any = np.array(value)
    try:
        return copied.__dlpack__(stream=stream, **options)
    except TypeError:  # NumPy 2.0 knows the stream alone
        if options.get("dl_device", _PROCESSOR) != _PROCESSOR:
            raise BufferError(message("from_dlpack", "the array lies on the processor")) from None
        return copied.__dlpack__(stream=stream)


class Conversions(Operators):
    """A value inside a transform, whose number is unknown, or available only without its derivative."""

    __slots__ = ()

    def without_value(self, operation: str, hint: str) -> WengertError:
        """Return the error for an operation that needs numbers where only the type is known."""
        requirement = f"a concrete value is needed, and a {self.owner.name} knows only the type here"
        problem = ConcreteError(message(operation, requirement, show(self.type), hint))
        return complain(self.owner, problem, self._is_converted(operation))

    def without_derivative(self, operation: str, hint: str) -> WengertError:
        """Return the error for an operation that would lose the derivative."""
        requirement = "the derivative would be lost"
        problem = LostDerivativeError(message(operation, requirement, show(self.type), hint))
        return complain(self.owner, problem, self._is_converted(operation))

    def _is_converted(self, operation: str) -> bool:
        """Return whether NumPy converts an array of this shape: most conversions are of one element."""
        return (
            size(self.shape) == 1 if operation in _OF_ONE_ELEMENT else operation != "index" or not self.shape
        )

    def _concrete(self, operation: str, hint: str) -> Any:
        value = concrete(self)
        if value is None:
            raise self.without_value(operation, instead_of_package(UNFOLLOWED) or way_out(operation) or hint)
        return value

    def __bool__(self) -> bool:
        return bool(self._concrete("bool", _CONDITION))

    def __index__(self) -> int:
        if is_inexact(self.dtype):
            hint = "write x.astype(int)" if on_graph(self) else "use int(wg.stop_gradient(x))"
            raise LostDerivativeError(message("index", "an integer is needed", show(self.type), hint))
        return self._concrete("index", advised(_INTEGER)).__index__()

    def __int__(self) -> int:
        if (value := self._to_format(sys._getframe(1))) is not None:  # pyright: ignore[reportPrivateUsage]
            return int(value)
        if not is_inexact(self.dtype):
            return self.__index__()
        if concrete(self) is None and not has_derivative(self):
            raise self.without_value("int(x)", "write x.astype(int)")
        return self._truncated()

    _truncated = _lost("int(x)", "use int(wg.stop_gradient(x))", "write x.astype(int)", int)

    def _check_convertible(
        self, name: str, traced: str, hint: str, value: str = "wg.stop_gradient(x)"
    ) -> None:
        """Raise the error of a conversion of a floating-point value, or of one that has no value."""
        if on_graph(self):
            raise self.without_value(name, instead_of_package(UNFOLLOWED) or way_out(name) or traced)
        if is_inexact(self.dtype) or name in ("float(x)", "complex(x)"):
            given_up = _or_given_up(way_out(name) or hint, value)
            raise self.without_derivative(name, instead_of_package(_or_given_up(OTHERWISE)) or given_up)

    def _to_format(self, caller: FrameType) -> Any:
        """Return the number for a text that the caller formats; None elsewhere, and where it is not known."""
        return concrete(self) if not self.shape and _is_formatted(caller) else None

    def __float__(self) -> float:
        if (value := self._to_format(sys._getframe(1))) is not None:  # pyright: ignore[reportPrivateUsage]
            return float(value)
        if not self.owner.plain:
            self.owner.check_open("float(x)")
            self._check_convertible("float(x)", _NUMBER, _COMPUTED, "float(wg.stop_gradient(x))")
        return float(self.state.value)

    def __complex__(self) -> complex:
        if not self.owner.plain:
            self.owner.check_open("complex(x)")
            self._check_convertible("complex(x)", _NUMBER, _COMPUTED, "complex(wg.stop_gradient(x))")
        return complex(self.state.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        name = "conversion to a plain array"
        self.owner.check_open(name)
        if self.owner.plain:  # an array that no transform follows
            self.refresh()
            return np.array(self.state.value, dtype=dtype, copy=None if self.owner is not STANDARD else True)
        if (wrapped := left_to_box(self, sys._getframe(1))) is not None:  # pyright: ignore[reportPrivateUsage]
            return wrapped
        self._check_convertible(name, _OUTSIDE, _BUILT)
        hint = "write wengert.numpy.take(x, i), or wengert.numpy.array(x)[i]"
        return np.array(self._concrete(name, hint), dtype=dtype)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Export a constant: a copy, as a write of the consumer's must not reach it; else raise an error."""
        if copy is False:
            raise BufferError(message("from_dlpack", "copy=False is refused: a constant must be copied"))
        options = {"max_version": max_version, "dl_device": dl_device}
        return self._exported(stream=stream, **{name: x for name, x in options.items() if x is not None})

    _exported = _lost("from_dlpack", _EXPORTED, on_constant=_export)
    __dlpack_device__ = _lost("from_dlpack", _EXPORTED, on_constant=lambda x: x.__dlpack_device__())
    item = _lost(
        "item()", "leave x as it is, or write wg.stop_gradient(x).item()", on_constant=np.ndarray.item
    )
    tolist = _lost(
        "tolist()",
        "iterate over the array, or write wg.stop_gradient(x).tolist()",
        on_constant=np.ndarray.tolist,
    )

    def __reduce__(self) -> Any:
        if self.owner is STANDARD:
            return as_standard, (self.state.value,)
        return self._not_pickled()

    _not_pickled = _lost("pickle", "pickle the value: wg.stop_gradient(x)")
    tobytes = _lost("tobytes()", "write wg.stop_gradient(x).tobytes()", on_constant=np.ndarray.tobytes)
