"""What entries and their text agree on: signatures, the layout of objects, and the table of addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from wengert.compiler.codegen.interface import Interface
from wengert.core.dtypes import SHORT_NAMES, Dtype
from wengert.core.tree import Structure, insertion_order
from wengert.ir.types import TensorType


class Signature(NamedTuple):
    """What a compiled function takes and gives: containers, and the types of their leaves in order."""

    arguments: Structure
    """Of the tuple of positional arguments."""
    taken: tuple[TensorType, ...]
    results: Structure
    given: tuple[TensorType, ...]
    named: Structure = Structure(dict)
    """Of the arguments that are given by name; their order is that of the call."""


class Offsets(NamedTuple):
    """Where the fields of objects lie, in bytes, on 64-bit CPython and NumPy; `entry.supported` verifies them."""

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
#: Those of an array that an entry reads as it lies. One that was donated is not writable any more: it must not be read.
READABLE = CONTIGUOUS | ALIGNED | WRITABLE
#: The part of the word of a dtype that counts: byte order (byte 2) and number (bytes 4 to 7).
CODE_MASK = 0xFFFF_FFFF_00FF_0000

_OBJECTS = ("float", "int", "tuple", "list", "dict", "ndarray", "True", "False", "None")
_FUNCTIONS = (
    "PyObject_Vectorcall",
    "Py_IncRef",
    "Py_DecRef",
    "PyFloat_FromDouble",
    "PyLong_FromLongLong",
    "PyBool_FromLong",
    "PyLong_AsLongLongAndOverflow",
    "PyTuple_New",
    "PyList_New",
    "PyDict_New",
    "PyDict_Next",
    "PyDict_SetItem",
    "PyArray_New",
    "PyArray_Scalar",
)
_SCALARS = tuple(f"{part} {name}" for name in SHORT_NAMES.values() for part in ("scalar", "dtype"))
#: Where each address that is the same for all entries of a process stands in the table, in words.
WORDS = {name: number for number, name in enumerate((*_OBJECTS, *_FUNCTIONS, *_SCALARS))}


#: What one entry has for itself follows, by the first word of each part. The method is a ``PyMethodDef`` of four words
#: and its name, which takes two; the status is the eight words of `wengert.compiler.runtime.execute`.
TEAM = len(WORDS)
METHOD = TEAM + 1
STATUS = METHOD + 6
BLOCK = STATUS + 8


def pointer_to(dtype: Dtype, what: str) -> str:
    """Return the name in `WORDS` of the scalar type, or the dtype, of a dtype."""
    return f"{what} {SHORT_NAMES[dtype]}"


def code_of(dtype: Dtype) -> int:
    """Return what `CODE_MASK` leaves of the word of a dtype.

    Example:
        >>> import numpy as np
        >>> hex(code_of(np.dtype(np.float64)))
        '0xc003d0000'
    """
    return ord(dtype.byteorder) << 16 | dtype.num << 32


def number_word(interface: Interface, position: int) -> int:
    """Return the word, after the block, for the number that is an argument or, after these, a result."""
    return BLOCK + interface.slots + position


def keys_word(signature: Signature, interface: Interface) -> int:
    """Return the first of the words for the keys of dicts; it is also where the numbers end."""
    return number_word(interface, len(signature.taken) + len(signature.given))


def keys(signature: Signature) -> list[Any]:
    """Return the names of arguments and the keys of all dicts, each as it had them, in the order of their words."""
    inside = (key for child in signature.named.children for key in _keys(child))
    return [
        *insertion_order(signature.named),
        *_keys(signature.arguments),
        *inside,
        *_keys(signature.results),
    ]


def _keys(structure: Structure) -> Iterator[Any]:
    if structure.kind is dict:
        yield from insertion_order(structure)
    for child in structure.children:
        yield from _keys(child)
