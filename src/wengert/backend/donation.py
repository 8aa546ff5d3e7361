"""Donation: arrays whose memory the results of a compiled function take, and their owners, who may use them no more."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.backend.execute import address_of, empty, is_placed
from wengert.control.values import is_number
from wengert.dtypes import NDARRAY
from wengert.errors import ArgumentError, message
from wengert.ir.types import type_of

#: Bytes up to which an array is moved to where a cache line begins: with more, memory itself is what is waited for.
_MOVED = 1 << 25
#: How many arrays in a row are moved: in a loop the second lies well, and an argument that is made anew for each call
#: is not worth a copy in each.
_MOVES = 2

_given_up: dict[int, weakref.ref[Any]] = {}


class Taking:
    """Takes a donated argument over, call after call.

    The program has its memory, unless a result stays there and it begins in the middle of a cache line: such an array
    is moved, up to a size, and a few of them in a row at most.

    Args:
        is_kept: whether a result takes its memory.
    """

    def __init__(self, *, is_kept: bool) -> None:
        self._most = _MOVES if is_kept else 0
        self._left = self._most

    def __call__(self, array: Any) -> Any:
        """Return a new array for one that is given up; raise an error if it cannot be."""
        if not (type(array) is np.ndarray and array.flags.carray and array.dtype.isnative):
            requirement = "a donated argument must be a writable, contiguous and aligned array"
            hint = "pass np.array(x), or do not donate it"
            raise ArgumentError(message("jit", requirement, describe(array), hint))
        if is_placed(array):
            self._left = self._most
        elif self._left and array.nbytes <= _MOVED:
            self._left -= 1
            moved = empty(array.shape, array.dtype)
            moved[...] = array
            return moved
        return array.view()


def give_up(array: Any) -> None:
    """Remember that an array is no longer its owner's, and keep it from being written."""
    key = id(array)
    _given_up[key] = weakref.ref(array, lambda _: _given_up.pop(key, None))
    array.flags.writeable = False


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
