"""The interface of a compiled program: the block of addresses that it takes, and what a call needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wengert.core.dtypes import Dtype
from wengert.core.shapes import Shape

#: The first slots of the block of addresses; the arguments, constants and results of the program follow.
STATUS, ARENA, CALLBACK, FIRST = 0, 1, 2, 3


class Located(NamedTuple):
    """An array of the program: a slot of the block of addresses, and bytes from there."""

    slot: int
    offset: int
    dtype: Dtype
    shape: Shape
    weak: bool = False
    """Whether NumPy is to take it as a number of Python's."""


class HostCall(NamedTuple):
    """An operation that is left to NumPy."""

    primitive: str
    params: Mapping[str, Any]
    operands: tuple[Any, ...]
    outputs: tuple[Located, ...]
    location: str = ""
    """The user's line."""
    check_nan: bool = False
    """Whether to complain of a NaN."""


class Interface(NamedTuple):
    """What a call needs to know of a program."""

    arena: int
    """Bytes of the arena that all threads share."""
    private: int
    """Bytes behind it for each thread."""
    slots: int
    """Of the block of addresses."""
    inputs: tuple[int, ...]
    """The slots of the arguments."""
    outputs: tuple[int, ...]
    """The slots of the results; the slot of an argument, if the result takes its place."""
    constants: tuple[tuple[int, Any], ...]
    places: tuple[str, ...]
    """Where errors that the program reports come from."""
    parallel: bool
    """Whether several threads have something to do."""
    hosts: tuple[HostCall, ...]
