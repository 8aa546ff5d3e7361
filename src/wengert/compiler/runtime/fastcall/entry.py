"""Entries: small compiled functions as built-in functions of Python, which the interpreter calls without a frame.

The ``self`` of an entry is a tuple of the table of addresses, the next callable, and the objects to keep alive. The
garbage collector cannot empty a built-in function or a tuple, so that code, table and method definition live as long as
the function.

An entry holds Python's lock from beginning to end, so that one table serves all threads; this is why only programs of
some tens of microseconds get one. A loop that ends by a condition may take longer: then the program polls, `entry_poll`
ends it, and the call goes to the next callable, which releases the lock; after some such calls in a row, all do.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.compiler.codegen.interface import ARENA, CALLBACK, FIRST
from wengert.compiler.llvm.object_code import Library
from wengert.compiler.runtime import donation
from wengert.compiler.runtime.execute import STATUS as STATUS_SLOT
from wengert.compiler.runtime.execute import Executable, address_of, aligned
from wengert.compiler.runtime.fastcall.entry_code import (
    BLOCK,
    GIVEN_UP,
    METHOD,
    STATUS,
    TEAM,
    WORDS,
    Signature,
    is_record,
    keys,
    keys_word,
    number_word,
    pointer_to,
)
from wengert.compiler.runtime.fastcall.objects import ARRAY_API, OFFSETS, READABLE, array_function, supported
from wengert.compiler.runtime.threads import team
from wengert.engine.core.dtypes import DEFAULT_DTYPE, PYTHON_TYPE, SHORT_NAMES, is_complex
from wengert.engine.core.tree import Structure, insertion_order
from wengert.engine.ir.types import TensorType
from wengert.engine.machine import costs
from wengert.engine.nest.nest import Branch, Call, Loop, Nest, Sort, Step, While, all_steps

if TYPE_CHECKING:
    from wengert.compiler.codegen.module import Module

#: The convention of calls of such a built-in function: ``METH_FASTCALL | METH_KEYWORDS``.
_CALL = 0x0080 | 0x0002
_NAME = b"compiled\0"
#: The most arguments and results: LLVM needs some 4 ms for each.
_MOST = 256
_CONTAINERS = (None, tuple, list, dict, type(None))


def eligible(signature: Signature, module: Module) -> bool:
    """Return whether a program can have an entry.

    It must be short, because an entry holds Python's lock; its arguments and results must be numbers and arrays, not
    too many, alone or in tuples, named tuples, lists and dicts; its results must be new arrays; and it must not call
    Python code.
    """
    program = module.program
    return (
        module.work <= costs.COSTS.parallel_program_work
        and not module.parallel
        and len(program.inputs) + len(program.outputs) <= _MOST
        and not set(program.inputs) & set(program.outputs)
        and len(program.inputs) == len(signature.taken)
        and len(program.outputs) == len(signature.returned)
        and _has_plain_containers(signature)
        and all(map(_is_known, (*signature.taken, *signature.returned)))
        and all(map(_is_short, all_steps(program.steps)))
        and supported()
    )


def _is_short(step: Step) -> bool:
    """Return whether a step runs in the calling thread, and without Python code."""
    return isinstance(step, (Nest, Branch, Sort, Call, While)) or (isinstance(step, Loop) and not step.shared)


def polls(module: Module) -> bool:
    """Return whether a program has loops that end by a condition, in which it calls back now and then."""
    return any(isinstance(step, While) for step in all_steps(module.program.steps))


def _structures(signature: Signature) -> tuple[Structure, ...]:
    return signature.arguments, signature.named, signature.results


def _has_plain_containers(signature: Signature) -> bool:
    return all(map(_is_plain, _structures(signature)))


def _is_plain(structure: Structure) -> bool:
    named = structure.kind is not dict or all(type(key) is str for key in structure.keys)
    is_known = structure.kind in _CONTAINERS or is_record(structure)
    return is_known and named and all(map(_is_plain, structure.children))


def _is_known(type_: TensorType) -> bool:
    if is_complex(type_.dtype) and not type_.shape:
        return False  # the two words of a complex number do not fit the places of numbers
    usual = DEFAULT_DTYPE[PYTHON_TYPE[type_.dtype.kind]] if type_.weak else type_.dtype
    return type_.dtype == usual and type_.dtype in SHORT_NAMES and not (type_.weak and type_.shape)


def kind(signature: Signature, module: Module) -> str:
    """Return the kind of entry that a program can have, ``plain`` or ``polling``; "" for none."""
    if not eligible(signature, module):
        return ""
    return "polling" if polls(module) else "plain"


def make(
    signature: Signature, executable: Executable, library: Library, following: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the entry of a program, which is in a library, as a built-in function.

    The entry calls ``following``, with the same arguments, where it cannot serve a call.
    """
    entry = library.address("entry")
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
    with suppress(KeyError):  # a program that does not poll
        block[CALLBACK] = library.address("entry_poll")
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
    references = (executable.library, library, arena, alone, names, constants)
    return _new_function()(method, (table, following, references), None)


class Watch:
    """Observes whether an entry has served calls, which run no Python code.

    Each call leaves the address of its first argument in the table, which the watch clears; an entry without arguments
    counts as used. The watch does not keep the entry alive.
    """

    def __init__(self, call: Any, signature: Signature) -> None:
        self._table = call.__self__[0]
        self._has_arguments = bool(signature.taken)

    def has_served(self) -> bool:
        """Return whether there were calls since the last time."""
        if not self._has_arguments:
            return True
        used = bool(self._table[BLOCK + FIRST])
        self._table[BLOCK + FIRST] = 0
        return used


def identity(signature: Signature) -> str:
    """Return the facts besides the program that determine the text of an entry, for its cache key; "" without one."""
    if not (_has_plain_containers(signature) and supported()):
        return ""
    structures = _structures(signature)
    types = [list(map(str, types)) for types in (signature.taken, signature.returned)]
    return f"{structures} {types} {list(map(_orders, structures))} {OFFSETS} {READABLE} {list(WORDS)}"


def _orders(structure: Structure) -> Any:
    return insertion_order(structure), list(map(_orders, structure.children))


@functools.cache
def _new_function() -> Callable[[int, Any, Any], Callable[..., Any]]:
    """Return the function that makes built-in functions."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


@functools.cache
def _addresses() -> Any:
    """Return the beginning of every table: addresses of objects and functions that live as long as the process."""
    objects: dict[str, Any] = {
        "ndarray": np.ndarray,
        **{str(value): value for value in (True, False, None)},
        **{kind.__name__: kind for kind in (float, int, tuple, list, dict)},
    }
    for dtype in SHORT_NAMES:
        objects[pointer_to(dtype, "scalar")] = dtype.type
        objects[pointer_to(dtype, "dtype")] = np.dtype(dtype.type)

    def address(name: str) -> int:
        if name in objects:
            return id(objects[name])
        if name == GIVEN_UP:
            return address_of(donation.COUNT)
        if name in ARRAY_API:
            return array_function(ARRAY_API[name])
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0

    return np.array([address(name) for name in WORDS], np.uintp)
