"""The interface of a compiled program: the block of addresses that it reads, and the facts for its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape

#: The first slots of the block of addresses; the arguments, constants and results of the program follow.
STATUS, ARENA, CALLBACK, FIRST = 0, 1, 2, 3
POLL = 1 << 27
"""Cycles between two checks for Ctrl-C: about 50 milliseconds."""
SERIAL = "wengert_serial_begin", "wengert_serial_end"
"""The functions between which BLAS and LAPACK compute on the calling thread; their operand is the package's number."""


def symbol(routine: str) -> str:
    """Return the symbol of a routine, such as ``dgetrf``."""
    return f"wengert_{routine}"


class Located(NamedTuple):
    """An array of the program: a slot of the block of addresses, and a distance in bytes."""

    slot: int
    offset: int
    dtype: Dtype
    shape: Shape
    weak: bool = False
    """Whether NumPy gets it as a Python number."""


class HostCall(NamedTuple):
    """An operation that is left to NumPy."""

    primitive: str
    params: Mapping[str, Any]
    operands: tuple[Any, ...]
    outputs: tuple[Located, ...]
    location: str = ""
    """The user's line."""
    check: str = ""
    """The class of floats, one of `CLASSES`, of which it must make none."""
    serial: bool = False
    """Whether BLAS computes on the calling thread."""


class Interface(NamedTuple):
    """The facts for the calls of a program."""

    arena: int
    """Bytes of the arena that all threads share."""
    private: int
    """Bytes behind it for each thread."""
    slots: int
    """The length of the block of addresses."""
    inputs: tuple[int, ...]
    """The slots of the arguments."""
    outputs: tuple[int, ...]
    """The slots of the results; a result in the memory of an argument has its slot."""
    constants: tuple[tuple[int, Any], ...]
    """The constants and their slots."""
    places: tuple[str, ...]
    """The places that can report an error: ``check|requirement|line``."""
    parallel: bool
    """Whether threads share a nest or a loop."""
    hosts: tuple[HostCall, ...]
    routines: tuple[str, ...] = ()
    """The routines of BLAS and LAPACK that the program calls, such as ``dgetrf``."""
    entry: str = ""
    """The kind of its entry, ``plain`` or ``polling``, if it can have one."""
