"""Entries: small compiled functions as built-in functions of Python, called without the interpreter's help.

What an entry needs hangs on its ``self``, a tuple: the table of addresses, the callable that comes next, and what must
stay alive. Neither a built-in function nor a tuple can be emptied by the garbage collector, so that code, table and
method definition are there for as long as the function is.

An entry holds Python's lock from beginning to end, so that one table serves all threads; this is why only programs of
some tens of microseconds get one.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compiler.codegen.interface import ARENA, FIRST
from wengert.compiler.codegen.module import Module
from wengert.compiler.machine import costs
from wengert.compiler.runtime.execute import STATUS as STATUS_SLOT
from wengert.compiler.runtime.execute import Executable, address_of, aligned, slow_address_of
from wengert.compiler.runtime.fastcall.entry_table import (
    BLOCK,
    CODE_MASK,
    METHOD,
    OFFSETS,
    READABLE,
    STATUS,
    TEAM,
    WORDS,
    Signature,
    code_of,
    keys,
    keys_word,
    number_word,
    pointer_to,
)
from wengert.compiler.runtime.threads import team
from wengert.core.dtypes import DEFAULT_DTYPE, PYTHON_TYPE, SHORT_NAMES, Dtype
from wengert.core.tree import Structure, insertion_order
from wengert.ir.types import TensorType
from wengert.nest.nest import Branch, Nest, all_steps

#: How a built-in function of this kind is called: ``METH_FASTCALL | METH_KEYWORDS``.
_CALL = 0x0080 | 0x0002
_NAME = b"compiled\0"
#: Arrays and numbers that are taken and given, at most: LLVM needs some 4 ms for each.
_MOST = 256
_CONTAINERS = (None, tuple, list, dict, type(None))
#: Positions in NumPy's table of functions, which its binary interface fixes.
_ARRAY_API = {"PyArray_New": 93, "PyArray_Scalar": 60}
_ARRAY_TYPE, _INTERFACE_VERSION = 2, 0
_INTERFACE = 2  # of NumPy, its major version


def eligible(signature: Signature, module: Module) -> bool:
    """Tell whether a program can have an entry.

    It must be short, for Python's lock is held; take and give numbers and arrays, not too many, alone or in tuples,
    lists and dicts; give new arrays only; and call nothing that is written in Python.
    """
    program = module.program
    plain = (
        not module.parallel
        and len(program.inputs) + len(program.outputs) <= _MOST
        and not set(program.inputs) & set(program.outputs)
        and len(program.inputs) == len(signature.taken)
        and len(program.outputs) == len(signature.given)
        and _has_plain_containers(signature)
        and all(map(_is_known, (*signature.taken, *signature.given)))
    )
    steps = list(all_steps(program.steps))
    if not plain or not all(isinstance(step, (Nest, Branch)) for step in steps):
        return False
    return module.work <= costs.COSTS.parallel_program_work and supported()


def _has_plain_containers(signature: Signature) -> bool:
    return all(map(_is_usual, (signature.arguments, signature.named, signature.results)))


def _is_usual(structure: Structure) -> bool:
    named = structure.kind is not dict or all(type(key) is str for key in structure.keys)
    return structure.kind in _CONTAINERS and named and all(map(_is_usual, structure.children))


def _is_known(type_: TensorType) -> bool:
    usual = DEFAULT_DTYPE[PYTHON_TYPE[type_.dtype.kind]] if type_.weak else type_.dtype
    return type_.dtype == usual and type_.dtype in SHORT_NAMES and not (type_.weak and type_.shape)


def make(signature: Signature, executable: Executable, following: Callable[..., Any]) -> Callable[..., Any]:
    """Return the entry of a program as a built-in function; ``following`` itself, if the program has none.

    Args:
        signature: what the program takes and gives.
        executable: the program in memory.
        following: is called, with the same arguments, if the entry cannot serve a call.
    """
    try:
        entry = executable.library.address("entry")
    except KeyError:
        return following
    if not supported():
        return following
    interface = executable.interface
    first_key, names = keys_word(signature, interface), tuple(keys(signature))
    table = np.zeros(first_key + len(names), np.uintp)
    table[first_key:] = [id(name) for name in names]
    address = address_of(table)
    arena = aligned(interface.arena + interface.private)
    alone = team.acquire(1)
    block = table[BLOCK:]
    block[STATUS_SLOT] = address + 8 * STATUS
    block[ARENA] = address_of(arena)
    for slot, value in executable.constants:
        block[slot] = address_of(value)
    for position, slot in enumerate(interface.outputs, len(signature.taken)):
        block[slot] = address + 8 * number_word(interface, position)
    table[: len(WORDS)] = _addresses()
    table[TEAM] = alone.address
    method = address + 8 * METHOD
    definition = struct.pack("=QQQQ16s", method + 32, entry, _CALL, 0, _NAME)
    table[METHOD:STATUS] = np.frombuffer(definition, np.uintp)
    constants = tuple(value for _, value in executable.constants)
    kept = (executable.library, arena, alone, names, constants)
    return _new_function()(method, (table, following, kept), None)


class Watch:
    """Tells whether an entry has carried out calls, which run no Python code.

    Each call leaves the address of its first argument in the table, which the watch clears; an entry without arguments
    counts as used. The watch does not hold the entry.
    """

    def __init__(self, call: Any, signature: Signature) -> None:
        self._table = call.__self__[0]
        self._has_arguments = bool(signature.taken)

    def has_served(self) -> bool:
        """Tell whether there were calls since this was asked last."""
        if not self._has_arguments:
            return True
        found = bool(self._table[BLOCK + FIRST])
        self._table[BLOCK + FIRST] = 0
        return found


def identity(signature: Signature) -> str:
    """Return what the text of an entry depends on beside the program, for its name in the cache; empty without one."""
    if not (_has_plain_containers(signature) and supported()):
        return ""
    structures = (signature.arguments, signature.named, signature.results)
    types = [list(map(str, types)) for types in (signature.taken, signature.given)]
    return f"{structures} {types} {list(map(_orders, structures))} {OFFSETS} {READABLE} {list(WORDS)}"


def _orders(structure: Structure) -> Any:
    return insertion_order(structure), list(map(_orders, structure.children))


@functools.cache
def _new_function() -> Callable[[int, Any, Any], Callable[..., Any]]:
    """Return the function that makes built-in functions."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


# -- addresses of this process -------------------------------------------------------------------------------


@functools.cache
def _array_function(number: int) -> int:
    """Return an address in NumPy's table of functions."""
    core: Any = np
    capsule = core._core._multiarray_umath._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return _word(pointer(capsule, None) + 8 * number)


def _address(name: str) -> int:
    """Return the address of an object, or of a function of Python's or NumPy's, by its name in `WORDS`."""
    objects: dict[str, Any] = {
        "ndarray": np.ndarray,
        **{str(value): value for value in (True, False, None)},
        **{kind.__name__: kind for kind in (float, int, tuple, list, dict)},
    }
    for dtype in SHORT_NAMES:
        objects[pointer_to(dtype, "scalar")] = dtype.type
        objects[pointer_to(dtype, "dtype")] = np.dtype(dtype.type)
    if name in objects:
        return id(objects[name])
    if name in _ARRAY_API:
        return _array_function(_ARRAY_API[name])
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@functools.cache
def _addresses() -> Any:
    """Return what the table of every entry begins with; all of it lives as long as the process."""
    return np.array([_address(name) for name in WORDS], np.uintp)


# -- what entries rely on ------------------------------------------------------------------------------------


@functools.cache
def supported() -> bool:
    """Tell whether this Python and this NumPy are laid out in memory as entries expect.

    Other Python implementations, and builds for debugging or without the global lock, are not. Each field is looked at
    in real objects, so that a release that moves one costs time and nothing else.

    Example:
        >>> supported() in (True, False)
        True
    """
    if not _usual_python():
        return False
    try:
        return _function_table() and all(_layouts())
    except (AttributeError, ValueError):
        return False


def _usual_python() -> bool:
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    free = bool(getattr(sys, "abiflags", "").count("t"))
    return (
        platform.python_implementation() == "CPython"
        and locked
        and not free
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and object.__basicsize__ == OFFSETS.value
        and not hasattr(sys, "gettotalrefcount")
    )


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _field(value: Any, offset: int) -> int:
    return _word(id(value) + offset)


def _bytes(value: Any, offset: int, size: int) -> bytes:
    return ctypes.string_at(id(value) + offset, size)


def _function_table() -> bool:
    """Look at NumPy's functions: the version of the interface, a type that is in the table, and what two of them do."""
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(_array_function(_INTERFACE_VERSION))
    if version() >> 24 != _INTERFACE or _array_function(_ARRAY_TYPE) != id(np.ndarray):
        return False
    pointer, number = ctypes.c_void_p, ctypes.c_int
    arguments = (ctypes.py_object, number, pointer, number, pointer, pointer, number, number, pointer)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(_array_function(_ARRAY_API["PyArray_New"]))
    shape = (ctypes.c_int64 * 2)(2, 3)
    array = new(np.ndarray, 2, ctypes.addressof(shape), np.dtype(np.float32).num, None, None, 0, 0, None)
    scalar = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, ctypes.py_object, pointer)(
        _array_function(_ARRAY_API["PyArray_Scalar"])
    )
    five = ctypes.c_double(5.0)
    found = scalar(ctypes.addressof(five), np.dtype(np.float64), None)
    made = type(array) is np.ndarray and array.shape == (2, 3) and array.dtype == np.float32
    return made and bool(array.flags.owndata) and type(found) is np.float64 and found == five.value


def _layouts() -> Iterator[bool]:
    """Compare the fields of objects with what Python says of them."""
    pair = (1.5, 2.5)
    yield _field(pair, OFFSETS.type) == id(tuple) and _field(pair, OFFSETS.size) == 2
    yield [_field(pair, OFFSETS.tuple_items + 8 * n) for n in (0, 1)] == [id(one) for one in pair]
    several = [*pair, 3.5]
    items = _field(several, OFFSETS.list_items)
    yield _field(several, OFFSETS.size) == 3
    yield [_word(items + 8 * n) for n in range(3)] == [id(one) for one in several]
    yield _field(dict(enumerate(several)), OFFSETS.size) == 3
    yield _bytes(pair[0], OFFSETS.value, 8) == struct.pack("=d", 1.5)
    for dtype in SHORT_NAMES:
        scalar = dtype.type(1)
        yield _bytes(scalar, OFFSETS.value, dtype.itemsize) == np.ones((), dtype).tobytes()
        yield _is_described(dtype) and _is_described(dtype.newbyteorder("S"))
        whole = np.zeros((3, 4), dtype)
        yield all(map(_is_array, (whole, whole.T, whole[1:, ::2], whole[0], whole[0, 0, ...], whole[:0])))
        whole.flags.writeable = False
        yield _is_array(whole)


def _is_described(dtype: Dtype) -> bool:
    return _field(dtype, OFFSETS.descr_code) & CODE_MASK == code_of(dtype)


def _is_array(array: Any) -> bool:
    """Compare the fields of an array."""
    shape, flags = _field(array, OFFSETS.shape), _field(array, OFFSETS.flags)
    readable = bool(array.flags.carray)
    return (
        _field(array, OFFSETS.type) == id(np.ndarray)
        and _field(array, OFFSETS.data) == slow_address_of(array)
        and _field(array, OFFSETS.ndim) & 0xFFFF_FFFF == array.ndim
        and tuple(_word(shape + 8 * axis) for axis in range(array.ndim)) == array.shape
        and _field(array, OFFSETS.descr) == id(array.dtype)
        and (flags & READABLE == READABLE) is readable
    )
