"""Arguments read where they lie: whether all are exactly what a program was compiled for, told by one native function.

For each leaf of the arguments a row of words says what it must be. The function compares them with the fields of the
objects, and writes the addresses of their elements where the program looks for them. What is not exactly so, such as an
array that has to be copied, moved or refused, is left to Python.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.llvm.ir_builder import I64, POINTER, Value, constant
from wengert.compiler.llvm.object_code import Library, stored_library
from wengert.compiler.runtime.execute import address_of, must_begin
from wengert.compiler.runtime.fastcall.entry import supported
from wengert.compiler.runtime.fastcall.entry_table import (
    ALIGNED,
    CONTIGUOUS,
    OFFSETS,
    WRITABLE,
    code_of,
)
from wengert.compiler.runtime.fastcall.objects import I32, ObjectText
from wengert.core.dtypes import DEFAULT_DTYPE, NDARRAY, PYTHON_TYPE, SHORT_NAMES
from wengert.ir.types import TensorType

#: The words of a row; the extents of the shape follow.
_WORDS = {
    name: number
    for number, name in enumerate((
        "array",  # the type of an array, if the leaf may be one
        "number",  # the type of a number that is one object, if it may be one
        "flags",  # which of NumPy's an array must have
        "code",  # of its dtype
        "axes",
        "misplaced",  # the bits of its address that must be zero
        "bytes",
        "taken",  # whether a result takes its memory, so that no other argument may share it
        "slot",  # where its address goes
    ))
}  # fmt: skip
_MOST_AXES = 7
_ROW = len(_WORDS) + _MOST_AXES


class Reader:
    """Reads the arguments of a program.

    Args:
        types: of the leaves.
        slots: of the block of addresses, one for each leaf.
        taken: which of the leaves are donated.
        kept: in which of them a result stays, so that they must begin where a cache line does.
    """

    def __init__(
        self, types: Sequence[TensorType], slots: Sequence[int], taken: Collection[int], kept: Collection[int]
    ) -> None:
        rows = [
            _row(type_, slot, is_taken=position in taken, is_kept=position in kept)
            for position, (type_, slot) in enumerate(zip(types, slots, strict=True))
        ]
        self._rows = np.array([row for row in rows if row], np.int64)
        #: The leaves in the order of their addresses in the last call, if that has to be known.
        self._order = np.arange(len(rows) if taken else 0)
        self._given = address_of(self._rows), len(rows), address_of(self._order), len(self._order)
        self._native = _native() if len(self._rows) == len(rows) and supported() else None

    def __call__(self, leaves: list[Any], block: int) -> bool:
        """Write where the elements of each leaf begin.

        Args:
            leaves: as many as there are types.
            block: the address of the block of addresses.

        Returns:
            Whether all of them are what they must be.
        """
        return self._native is not None and bool(self._native.read(leaves, block, *self._given))


def _row(type_: TensorType, slot: int, *, is_taken: bool, is_kept: bool) -> list[int]:
    """Return what is required of a leaf; nothing if that cannot be said."""
    dtype, shape = type_.dtype, type_.shape
    number = 0
    if type_.weak:
        usual = PYTHON_TYPE[dtype.kind]
        if shape or usual is not float or DEFAULT_DTYPE[usual] != dtype:
            return []
        number = id(float)
    elif not shape and not is_taken:
        number = id(dtype.type)
    if dtype not in SHORT_NAMES or len(shape) > _MOST_AXES:
        return []
    size = math.prod(shape) * dtype.itemsize
    row = {
        "array": 0 if type_.weak else id(NDARRAY),
        "number": number,
        "flags": CONTIGUOUS | ALIGNED | (WRITABLE if is_taken else 0),
        "code": code_of(dtype),
        "axes": len(shape),
        "misplaced": must_begin(size) - 1 if is_kept else 0,
        "bytes": size,
        "taken": is_taken,
        "slot": slot,
    }
    return [*(int(row[word]) for word in _WORDS), *shape, *[0] * (_MOST_AXES - len(shape))]


class _Native(NamedTuple):
    """The native function, and the library that it is in."""

    library: Library
    read: Callable[..., int]


@functools.cache
def _native() -> _Native:
    """Return the native function. Two threads may do so at first, and each keep one of its own."""
    library = stored_library("reader", _ReaderText().text())
    address, count = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.PYFUNCTYPE(count, ctypes.py_object, address, address, count, address, count)
    return _Native(library, prototype(library.address("read")))


class _ReaderText(ObjectText):
    """The text of ``i64 read(ptr leaves, ptr block, ptr rows, i64 count, ptr order, i64 ordered)``."""

    def text(self) -> str:
        b = self.b
        self.place = self._local(1)
        count = Value("%count", I64)
        items = self._field(Value("%leaves", POINTER), OFFSETS.list_items)
        with b.loop(constant(I64, 0), count) as number:
            self._leaf(b.load(b.element(items, "ptr", number), POINTER, 8), self._row(number))
        order, ordered = Value("%order", POINTER), Value("%ordered", I64)
        with b.loop(constant(I64, 1), ordered) as number:
            self._insert(order, number)
        self._apart(order, ordered)
        b.do("ret i64 1")
        b.label("other")
        b.do("ret i64 0")
        body = "\n".join(b.lines)
        parameters = "ptr %leaves, ptr %block, ptr %rows, i64 %count, ptr %order, i64 %ordered"
        return f"define i64 @read({parameters}) nounwind {{\n{body}\n}}\n"

    def _row(self, number: Value) -> Value:
        begin = self.b.binary("mul", number, constant(I64, _ROW))
        return self.b.element(Value("%rows", POINTER), "i64", begin)

    def _word(self, row: Value, name: str) -> Value:
        return self._field(row, 8 * _WORDS[name], I64)

    def _place(self, row: Value) -> Value:
        """Return where the address of a leaf goes."""
        return self.b.element(Value("%block", POINTER), "ptr", self._word(row, "slot"))

    def _leaf(self, item: Value, row: Value) -> None:
        b = self.b
        array, number, after = b.new_label("array"), b.new_label("number"), b.new_label("after")
        kind = self._field(item, OFFSETS.type, I64)
        b.branch_if(self._same(kind, self._word(row, "array")), array, number)
        b.label(number)
        self._require(self._same(kind, self._word(row, "number")))
        b.store(self._at(item, OFFSETS.value), self._place(row), 8)
        b.branch(after)
        b.label(array)
        b.store(self._array(item, row), self._place(row), 8)
        b.branch(after)
        b.label(after)

    def _array(self, item: Value, row: Value) -> Value:
        """Return where the elements of an array begin, if it is what its row says."""
        b = self.b
        flags, needed = b.convert("zext", self._flags(item), "i64"), self._word(row, "flags")
        self._require(self._same(b.binary("and", flags, needed), needed))
        self._require(self._same(self._code(item), self._word(row, "code")))
        axes = self._word(row, "axes")
        self._require(self._same(b.convert("zext", self._field(item, OFFSETS.ndim, I32), "i64"), axes))
        shape, extents = self._field(item, OFFSETS.shape), self._at(row, 8 * len(_WORDS))
        with b.loop(constant(I64, 0), axes) as axis:
            found, extent = (b.load(b.element(where, "i64", axis), I64, 8) for where in (shape, extents))
            self._require(self._same(found, extent))
        data = self._field(item, OFFSETS.data, I64)
        self._require(self._is_number(b.binary("and", data, self._word(row, "misplaced")), 0))
        return data

    def _insert(self, order: Value, number: Value) -> None:
        """Put the leaf at a place of the order, which is that of addresses before it, where it belongs.

        From call to call most arrays stay where they are, so that there is next to nothing to do.
        """
        b = self.b
        look, compare, move, done = (b.new_label(hint) for hint in ("look", "compare", "move", "done"))
        leaf = b.load(b.element(order, "i64", number), I64, 8)
        start, _ = self._span(self._row(leaf))
        b.store(number, self.place, 8)
        b.branch(look)
        b.label(look)
        place = b.load(self.place, I64, 8)
        b.branch_if(b.compare("sgt", place, constant(I64, 0)), compare, done)
        b.label(compare)
        before = b.binary("sub", place, constant(I64, 1))
        other = b.load(b.element(order, "i64", before), I64, 8)
        b.branch_if(b.compare("ugt", self._span(self._row(other))[0], start), move, done)
        b.label(move)
        b.store(other, b.element(order, "i64", place), 8)
        b.store(before, self.place, 8)
        b.branch(look)
        b.label(done)
        b.store(leaf, b.element(order, "i64", b.load(self.place, I64, 8)), 8)

    def _apart(self, order: Value, count: Value) -> None:
        """Require that no leaf shares memory with one that is taken."""
        b = self.b
        last, last_taken = self._local(1), self._local(1)
        for end in (last, last_taken):
            b.store(constant(I64, 0), end, 8)
        with b.loop(constant(I64, 0), count) as number:
            row = self._row(b.load(b.element(order, "i64", number), I64, 8))
            start, stop = self._span(row)
            with b.only_if(b.compare("ult", start, stop)):  # what has no elements shares none
                taken = b.compare("ne", self._word(row, "taken"), constant(I64, 0))
                ends = [b.load(end, I64, 8) for end in (last, last_taken)]
                self._require(b.compare("uge", start, b.select(taken, ends[0], ends[1])))
                for end, before, counts in ((last, ends[0], None), (last_taken, ends[1], taken)):
                    later = b.select(b.compare("ugt", stop, before), stop, before)
                    b.store(later if counts is None else b.select(counts, later, before), end, 8)

    def _span(self, row: Value) -> tuple[Value, Value]:
        start = self.b.load(self._place(row), I64, 8)
        return start, self.b.binary("add", start, self._word(row, "bytes"))
