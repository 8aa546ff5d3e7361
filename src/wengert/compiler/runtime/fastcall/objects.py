"""The layout of Python's and NumPy's objects in memory, and native code that reads their fields."""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.runtime.execute import slow_address_of
from wengert.engine.core.dtypes import SHORT_NAMES, Dtype
from wengert.engine.core.named_tuples import NamedTuple

I32 = Kind("i32")


class Offsets(NamedTuple):
    """The offsets of fields, in bytes, on 64-bit CPython and NumPy; `supported` verifies them."""

    type: int = 8
    value: int = 16
    """Of a float and of NumPy's scalars."""
    size: int = 16
    """Of a tuple, a list and a dict."""
    tuple_items: int = tuple.__basicsize__
    """Behind the hash from Python 3.14 on."""
    list_items: int = 24
    """A pointer to them."""
    data: int = 16
    ndim: int = 24
    shape: int = 32
    descr: int = 56
    flags: int = 64
    descr_code: int = 24
    """The word of a dtype that holds its byte order and its number."""


OFFSETS = Offsets()
#: NumPy's flags of an array.
CONTIGUOUS, ALIGNED, WRITABLE = 0x0001, 0x0100, 0x0400
#: The flags of an array that an entry reads in place.
READABLE = CONTIGUOUS | ALIGNED
#: The bits of that word that identify a dtype: byte order (byte 2) and number (bytes 4 to 7).
_CODE_MASK = 0xFFFF_FFFF_00FF_0000

#: Positions in NumPy's table of functions, which its binary interface fixes.
ARRAY_API = {"PyArray_New": 93, "PyArray_Scalar": 60}
_ARRAY_TYPE, _INTERFACE_VERSION = 2, 0
_INTERFACE = 2  # the major version of NumPy's interface


def code_of(dtype: Dtype) -> int:
    """Return the bits that identify a dtype.

    Example:
        >>> import numpy as np
        >>> hex(code_of(np.dtype(np.float64)))
        '0xc003d0000'
    """
    return ord(dtype.byteorder) << 16 | dtype.num << 32


class ObjectFunction:
    """Emits a native function that reads objects.

    The function goes on only while its requirements hold; subclasses emit the blocks for the other cases.
    """

    def __init__(self) -> None:
        self.b = Builder(fast="")

    def _at(self, pointer: Value, offset: int) -> Value:
        return self.b.element(pointer, "i8", constant(I64, offset))

    def _field(self, pointer: Value, offset: int, kind: Kind = POINTER) -> Value:
        return self.b.load(self._at(pointer, offset), kind, kind.bits // 8)

    def _type(self, item: Value) -> Value:
        return self._field(item, OFFSETS.type)

    def _flags(self, array: Value) -> Value:
        return self._field(array, OFFSETS.flags, I32)

    def _code(self, array: Value) -> Value:
        """Return the bits that identify the dtype of an array."""
        word = self._field(self._field(array, OFFSETS.descr), OFFSETS.descr_code, I64)
        return self.b.binary("and", word, constant(I64, _CODE_MASK))

    def _local(self, words: int) -> Value:
        """Return room on the stack, allocated at the beginning, where LLVM can keep it in registers."""
        name = self.b.fresh()
        self.b.lines.insert(1, f"  {name} = alloca [{words} x ptr], align 8")
        return Value(name, POINTER)

    def _require(self, condition: Value, otherwise: str = "other") -> None:
        """Go on only if a condition holds."""
        label = self.b.new_label("so")
        self.b.branch_if(condition, label, otherwise)
        self.b.label(label)

    def _same(self, x: Value, y: Value) -> Value:
        return self.b.compare("eq", x, y)

    def _is_number(self, x: Value, number: int) -> Value:
        return self._same(x, constant(x.kind, number))


# -- whether the layout is as expected -------------------------------------------------------------------


@functools.cache
def supported() -> bool:
    """Return whether this Python and this NumPy lay objects out as native code expects.

    Other Python implementations, and builds for debugging or without the global lock, do not. Each offset is checked in
    real objects, so that a release that moves a field makes calls slower, and nothing else.
    """
    if not _usual_python():
        return False
    try:
        return _function_table() and all(_layouts())
    except (AttributeError, ValueError):
        return False


def _usual_python() -> bool:
    return (
        platform.python_implementation() == "CPython"
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and "t" not in getattr(sys, "abiflags", "")
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and object.__basicsize__ == OFFSETS.value
        and not hasattr(sys, "gettotalrefcount")
    )


@functools.cache
def array_function(number: int) -> int:
    """Return an address in NumPy's table of functions."""
    core: Any = np
    capsule = core._core._multiarray_umath._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return _word(pointer(capsule, None) + 8 * number)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _field(value: Any, offset: int) -> int:
    return _word(id(value) + offset)


def _bytes(value: Any, offset: int, size: int) -> bytes:
    return ctypes.string_at(id(value) + offset, size)


def _function_table() -> bool:
    """Check NumPy's table: the version of the interface, a type in the table, and the results of two functions."""
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(array_function(_INTERFACE_VERSION))
    if version() >> 24 != _INTERFACE or array_function(_ARRAY_TYPE) != id(np.ndarray):
        return False
    pointer, number = ctypes.c_void_p, ctypes.c_int
    arguments = (ctypes.py_object, number, pointer, number, pointer, pointer, number, number, pointer)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(array_function(ARRAY_API["PyArray_New"]))
    shape = (ctypes.c_int64 * 2)(2, 3)
    array = new(np.ndarray, 2, ctypes.addressof(shape), np.dtype(np.float32).num, None, None, 0, 0, None)
    as_scalar = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, ctypes.py_object, pointer)(
        array_function(ARRAY_API["PyArray_Scalar"])
    )
    five = ctypes.c_double(5.0)
    scalar = as_scalar(ctypes.addressof(five), np.dtype(np.float64), None)
    made = type(array) is np.ndarray and array.shape == (2, 3) and array.dtype == np.float32
    return made and bool(array.flags.owndata) and type(scalar) is np.float64 and scalar == five.value


def _layouts() -> Iterator[bool]:
    """Compare the fields of objects with the values that Python returns for them."""
    pair = (1.5, 2.5)
    yield _field(pair, OFFSETS.type) == id(tuple) and _field(pair, OFFSETS.size) == 2
    yield [_field(pair, OFFSETS.tuple_items + 8 * n) for n in (0, 1)] == list(map(id, pair))
    several = [*pair, 3.5]
    items = _field(several, OFFSETS.list_items)
    yield _field(several, OFFSETS.size) == 3
    yield [_word(items + 8 * n) for n in range(3)] == list(map(id, several))
    yield _field(dict(enumerate(several)), OFFSETS.size) == 3
    yield _bytes(pair[0], OFFSETS.value, 8) == struct.pack("=d", 1.5)
    for dtype in SHORT_NAMES:
        scalar = dtype.type(1)
        yield _bytes(scalar, OFFSETS.value, dtype.itemsize) == np.ones((), dtype).tobytes()
        for order in (dtype, dtype.newbyteorder("S")):
            yield _field(order, OFFSETS.descr_code) & _CODE_MASK == code_of(order)
        whole = np.zeros((3, 4), dtype)
        yield all(map(_is_array, (whole, whole.T, whole[1:, ::2], whole[0], whole[0, 0, ...], whole[:0])))
        whole.flags.writeable = False
        yield _is_array(whole)


def _is_array(array: Any) -> bool:
    """Compare the fields of an array."""
    shape, flags = _field(array, OFFSETS.shape), _field(array, OFFSETS.flags)
    return (
        _field(array, OFFSETS.type) == id(np.ndarray)
        and _field(array, OFFSETS.data) == slow_address_of(array)
        and _field(array, OFFSETS.ndim) & 0xFFFF_FFFF == array.ndim
        and tuple(_word(shape + 8 * axis) for axis in range(array.ndim)) == array.shape
        and _field(array, OFFSETS.descr) == id(array.dtype)
        and (flags & READABLE == READABLE) is bool(array.flags.c_contiguous and array.flags.aligned)
        and bool(flags & WRITABLE) is bool(array.flags.writeable)
    )
