"""Donation: arrays whose memory the results of a compiled function take, and their owners, who may use them no more."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiler.runtime.execute import address_of, empty, is_placed
from wengert.control.values import is_number
from wengert.core.dtypes import NDARRAY
from wengert.core.errors import ArgumentError, message
from wengert.ir.types import type_of

#: Bytes up to which an array is moved to where a cache line begins: with more, memory itself is what is waited for.
_MOVED = 1 << 25
#: How many arrays in a row are moved: in a loop the second lies well, and an argument that is made anew for each call
#: is not worth a copy in each.
_MOVES = 2

#: How many arrays that were given up are remembered before those that have gone are looked for.
_MANY = 1000

_given_up: dict[int, weakref.ref[Any]] = {}
_many = _MANY
_lock = threading.Lock()


class Taking:
    """Takes donated arguments over, call after call.

    The program has their memory, unless a result stays there and it begins in the middle of a cache line: such an array
    is moved, up to a size, and a few of them in a row at most.

    Args:
        donated: which of the arguments are.
        kept: in the memory of which of them a result stays.
    """

    def __init__(self, donated: Sequence[int], kept: Collection[int]) -> None:
        self._donated = donated
        self._left = dict.fromkeys(kept, _MOVES)

    def __call__(self, arrays: list[Any]) -> None:
        """Put moved arrays in the places of those that are; raise an error if one cannot be given up."""
        for position in self._donated:
            array = arrays[position]
            if not (type(array) is np.ndarray and array.flags.carray and array.dtype.isnative):
                requirement = "a donated argument must be a writable, contiguous and aligned array"
                hint = "pass np.array(x), or do not donate it"
                raise ArgumentError(message("jit", requirement, describe(array), hint))
            if position not in self._left:
                continue
            if is_placed(array):
                self._left[position] = _MOVES
            elif self._left[position] and array.nbytes <= _MOVED:
                self._left[position] -= 1
                arrays[position] = empty(array.shape, array.dtype)
                arrays[position][...] = array

    def all_placed(self) -> None:
        """Remember a call to which all arguments came as they are to be."""
        self._left = dict.fromkeys(self._left, _MOVES)


def give_up(arrays: Sequence[Any]) -> None:
    """Remember that arrays are no longer their owner's, and keep them from being written.

    Of two threads that donate an array at the same time one has it, and the other an error.
    """
    with _lock:
        refuse_given_up(arrays)
        for array in arrays:
            array.flags.writeable = False
        _given_up.update(zip(map(id, arrays), map(weakref.ref, arrays), strict=True))
        _forget_those_that_have_gone()


def _forget_those_that_have_gone() -> None:
    global _many
    if len(_given_up) > _many:
        for key, known in list(_given_up.items()):
            if known() is None:
                del _given_up[key]
        _many = max(_MANY, 2 * len(_given_up))


def refuse_given_up(leaves: Sequence[Any]) -> None:
    """Raise an error where an argument was given up in an earlier call."""
    if not _given_up:
        return
    for leaf in leaves:
        known = _given_up.get(id(leaf))
        if known is not None and known() is leaf:
            requirement = "an array that was donated belongs to the result of that call"
            raise ArgumentError(message("jit", requirement, describe(leaf), "use the returned array"))


def refuse_shared(arrays: Sequence[Any], donated: Sequence[int]) -> None:
    """Raise an error where a donated array shares memory with another argument that is not copied anyway."""
    given = set(donated)
    spans: list[tuple[int, int, int]] = []
    for position, array in enumerate(arrays):
        if isinstance(array, NDARRAY) and array.flags.c_contiguous and array.nbytes:
            start = address_of(array)
            spans.append((start, start + array.nbytes, position))
    spans.sort()
    end, last = 0, -1
    for start, stop, position in spans:
        if start < end and (position in given or last in given):
            requirement = "a donated argument must not share memory with another one"
            raise ArgumentError(message("jit", requirement, describe(arrays[position]), "pass a copy"))
        if stop > end:
            end, last = stop, position


def describe(leaf: Any) -> str:
    """Write the type of an argument."""
    return str(type_of(leaf)) if is_number(leaf) else type(leaf).__name__


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
