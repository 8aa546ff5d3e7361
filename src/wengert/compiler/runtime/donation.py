"""Donation: arrays that their owners gave up, because results of a compiled function take their memory."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiler.runtime.execute import address_of
from wengert.engine.core.dtypes import NDARRAY
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ir.types import show
from wengert.engine.transforms.arguments import is_number

#: The number of donated arrays that are remembered before the freed ones are removed.
_MANY = 1000

COUNT = np.zeros(1, np.int64)
"""The number of donated arrays that are remembered; native code reads the number."""
_given_up: dict[int, weakref.ref[Any]] = {}
_many = _MANY
_lock = threading.Lock()


def give_up(arrays: Sequence[Any]) -> None:
    """Remember that arrays no longer belong to their owner, and make them read-only.

    If two threads donate an array at the same time, one gets it, and the other an error.
    """
    global _many
    with _lock:
        refuse_given_up(arrays)
        COUNT[0] = len(_given_up) + len(arrays)  # before the arrays become read-only
        for array in arrays:
            array.flags.writeable = False
        _given_up.update(zip(map(id, arrays), map(weakref.ref, arrays), strict=True))
        if len(_given_up) > _many:
            for key, reference in list(_given_up.items()):
                if reference() is None:
                    del _given_up[key]
            _many = max(_MANY, 2 * len(_given_up))
        COUNT[0] = len(_given_up)


def refuse_given_up(leaves: Sequence[Any]) -> None:
    """Raise `ArgumentError` where an argument was given up in an earlier call."""
    if not _given_up:
        return
    for leaf in leaves:
        reference = _given_up.get(id(leaf))
        if reference is not None and reference() is leaf:
            requirement = "an array that was donated belongs to the result of that call"
            raise ArgumentError(message("jit", requirement, describe(leaf), "use the returned array"))


def refuse_shared(arrays: Sequence[Any], donated: Collection[int]) -> None:
    """Raise `ArgumentError` where a donated array shares memory with an argument that the call reads in place."""
    spans: list[tuple[int, int, int]] = []
    for position, array in enumerate(arrays):
        if isinstance(array, NDARRAY) and array.flags.c_contiguous and array.nbytes:
            start = address_of(array)
            spans.append((start, start + array.nbytes, position))
    spans.sort()
    end, last = 0, -1
    for start, stop, position in spans:
        if start < end and (position in donated or last in donated):
            requirement = "a donated argument must not share memory with another one"
            raise ArgumentError(message("jit", requirement, describe(arrays[position]), "pass a copy"))
        if stop > end:
            end, last = stop, position


def describe(leaf: Any) -> str:
    """Return the type of an argument as text."""
    return show(leaf) if is_number(leaf) else type(leaf).__name__


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
