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

_given_up: dict[int, weakref.ref[Any]] = {}


def taken(array: Any, *, is_kept: bool) -> Any:
    """Return a new array for one that is given up; raise an error if it cannot be.

    It has the same memory, unless a result will keep that, and it begins in the middle of a cache line: then it is
    moved. That happens in the first of many calls, since later ones are given what it has become.
    """
    if not (type(array) is np.ndarray and array.flags.carray and array.dtype.isnative):
        requirement = "a donated argument must be a writable, contiguous and aligned array"
        hint = "pass np.array(x), or do not donate it"
        raise ArgumentError(message("jit", requirement, describe(array), hint))
    if not is_kept or is_placed(array) or array.nbytes > _MOVED:
        return array.view()
    moved = empty(array.shape, array.dtype)
    moved[...] = array
    return moved


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
