"""The arguments of a call, checked and read: in place by one native function, or else copied by Python.

For each leaf of the arguments, a row of words holds its requirements. The native function compares them with the fields
of the objects, and writes the addresses of the elements into the block of the program. It leaves all other arguments to
Python: an array that must be copied, moved or refused, say.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from wengert.compiler.llvm.ir_builder import I64, POINTER, Value, constant
from wengert.compiler.llvm.object_code import stored_library
from wengert.compiler.runtime import donation
from wengert.compiler.runtime.execute import address_of, empty, is_placed, must_begin
from wengert.compiler.runtime.fastcall.objects import (
    ALIGNED,
    CONTIGUOUS,
    I32,
    OFFSETS,
    WRITABLE,
    ObjectFunction,
    code_of,
    supported,
)
from wengert.engine.core.dtypes import DEFAULT_DTYPE, NDARRAY, PYTHON_TYPE, SHORT_NAMES, Dtype
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.ir.types import TensorType

#: Bytes of an array that is moved to a cache line, at most: with more, memory itself is the bottleneck.
_MOVED = 1 << 25
#: The number of arrays in a row that are moved: in a loop the second one is aligned, and an argument that is new in
#: each call is not worth a copy in each.
_MOVES = 2

#: The words of a row; the extents of the shape follow.
_WORDS = {
    name: number
    for number, name in enumerate((
        "array",  # the type of an array, if the leaf may be one
        "number",  # the type of a number that is one object, if it may be one
        "flags",  # the flags of NumPy's that an array must have
        "code",  # the code of its dtype
        "axes",
        "misplaced",  # the bits of its address that must be zero
        "bytes",
        "taken",  # whether a result takes its memory, so that no other argument may share it
        "slot",  # the slot for its address
    ))
}  # fmt: skip
_MOST_AXES = 7
_ROW = len(_WORDS) + _MOST_AXES


class Reader:
    """Checks and reads the arguments of a program, whose leaves have slots in the block of addresses.

    Leaves ``taken`` are donated. In those ``held`` a result stays, so that they must begin on a cache line.
    """

    def __init__(
        self, types: Sequence[TensorType], slots: Sequence[int], taken: Sequence[int], held: Collection[int]
    ) -> None:
        rows = [
            _row(type_, slot, is_taken=position in taken, is_kept=position in held)
            for position, (type_, slot) in enumerate(zip(types, slots, strict=True))
        ]
        self._dtypes = [type_.dtype for type_ in types]
        self._taken = taken
        self._moves_left = dict.fromkeys(held, _MOVES)
        self._rows = np.array([row for row in rows if row], np.int64)
        #: The leaves in the order of their addresses in the last call, if that matters.
        self._order = np.arange(len(rows) if taken else 0)
        self._given = address_of(self._rows), len(rows), address_of(self._order), len(self._order)

    @lazy
    def _read(self) -> Callable[..., int] | None:
        return _native() if len(self._rows) == len(self._dtypes) and supported() else None

    def in_place(self, leaves: list[Any], block: int) -> bool:
        """Write the addresses of the leaves into a block, and return whether the program can read all in place."""
        read = self._read
        if read is None or not read(leaves, block, *self._given):
            return False
        donation.refuse_given_up(leaves)
        if self._taken:
            self._note_placed()
        return True

    def _note_placed(self) -> None:
        """Note a call in which no array has to be moved."""
        self._moves_left = dict.fromkeys(self._moves_left, _MOVES)

    def prepared(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves as arrays that the program can read; donated ones are not copied, at most moved."""
        donation.refuse_given_up(leaves)
        if self._taken:
            donation.refuse_shared(leaves, self._taken)
        arrays = list(map(_array, leaves, self._dtypes))
        for position in self._taken:  # a copy would leave the memory with its owner
            arrays[position] = self._takeover(position, leaves[position])
        return arrays

    def _takeover(self, position: int, array: Any) -> Any:
        """Return a donated array, moved if a result stays in it and it begins in the middle of a cache line."""
        if not (type(array) is np.ndarray and array.flags.carray and array.dtype.isnative):
            requirement = "a donated argument must be a writable, contiguous and aligned array"
            hint = "pass np.array(x), or do not donate it"
            raise ArgumentError(message("jit", requirement, donation.describe(array), hint))
        if position not in self._moves_left:
            return array
        if is_placed(array):
            self._moves_left[position] = _MOVES
        elif self._moves_left[position] and array.nbytes <= _MOVED:
            self._moves_left[position] -= 1
            moved = empty(array.shape, array.dtype)
            moved[...] = array
            return moved
        return array


def _array(leaf: Any, dtype: Dtype) -> Any:
    """Return an argument as an array that the program can read: itself, if it is contiguous and aligned, or a copy."""
    if isinstance(leaf, NDARRAY) and leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype == dtype:
        return leaf
    return np.array(leaf, dtype, order="C")


def _row(type_: TensorType, slot: int, *, is_taken: bool, is_kept: bool) -> list[int]:
    """Return the requirements of a leaf; an empty list if a row cannot express them."""
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


def is_loaded() -> bool:
    """Return whether this process has the native function."""
    return _native.cache_info().currsize > 0


@functools.cache
def _native() -> Callable[..., int]:
    """Return the native function, which keeps its code in memory: two threads may load it at first, each its own."""
    library = stored_library("reader", _ReadFunction().text())
    address, count = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.PYFUNCTYPE(count, ctypes.py_object, address, address, count, address, count)
    read: Any = prototype(library.address("read"))
    read.library = library
    return read


class _ReadFunction(ObjectFunction):
    """Emits ``i64 read(ptr leaves, ptr block, ptr rows, i64 count, ptr order, i64 ordered)``."""

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
        parameters = "ptr %leaves, ptr %block, ptr %rows, i64 %count, ptr %order, i64 %ordered"
        return b.function(f"define i64 @read({parameters}) nounwind")

    def _row(self, number: Value) -> Value:
        begin = self.b.binary("mul", number, constant(I64, _ROW))
        return self.b.element(Value("%rows", POINTER), "i64", begin)

    def _word(self, row: Value, name: str) -> Value:
        return self._field(row, 8 * _WORDS[name], I64)

    def _place(self, row: Value) -> Value:
        """Return the slot for the address of a leaf."""
        return self.b.element(Value("%block", POINTER), "ptr", self._word(row, "slot"))

    def _leaf(self, item: Value, row: Value) -> None:
        b = self.b
        array, number, after = b.new_labels("array", "number", "after")
        kind = self._field(item, OFFSETS.type, I64)
        b.branch_if(self._same(kind, self._word(row, "array")), array, number)
        b.label(number)
        self._require(self._same(kind, self._word(row, "number")))
        b.store(self._at(item, OFFSETS.value), self._place(row), 8)
        b.branch(after)
        b.label(array)
        b.store(self._array(item, row), self._place(row), 8)
        b.enter(after)

    def _array(self, item: Value, row: Value) -> Value:
        """Return the address of the elements of an array that meets the requirements of its row."""
        b = self.b
        flags, needed = b.convert("zext", self._flags(item), "i64"), self._word(row, "flags")
        self._require(self._same(b.binary("and", flags, needed), needed))
        self._require(self._same(self._code(item), self._word(row, "code")))
        axes = self._word(row, "axes")
        self._require(self._same(b.convert("zext", self._field(item, OFFSETS.ndim, I32), "i64"), axes))
        shape, extents = self._field(item, OFFSETS.shape), self._at(row, 8 * len(_WORDS))
        with b.loop(constant(I64, 0), axes) as axis:
            extent, expected = (b.load(b.element(words, "i64", axis), I64, 8) for words in (shape, extents))
            self._require(self._same(extent, expected))
        data = self._field(item, OFFSETS.data, I64)
        self._require(self._is_number(b.binary("and", data, self._word(row, "misplaced")), 0))
        return data

    def _insert(self, order: Value, number: Value) -> None:
        """Move a leaf to its place in the order of addresses; the leaves before it are sorted (insertion sort).

        Most arrays stay where they are from call to call, so that there is next to nothing to do.
        """
        b = self.b
        look, compare, move, done = b.new_labels("look", "compare", "move", "done")
        leaf = b.load(b.element(order, "i64", number), I64, 8)
        start, _ = self._span(self._row(leaf))
        b.store(number, self.place, 8)
        b.enter(look)
        place = b.load(self.place, I64, 8)
        b.branch_if(b.compare("sgt", place, constant(I64, 0)), compare, done)
        b.label(compare)
        before = b.binary("sub", place, constant(I64, 1))
        neighbour = b.load(b.element(order, "i64", before), I64, 8)
        b.branch_if(b.compare("ugt", self._span(self._row(neighbour))[0], start), move, done)
        b.label(move)
        b.store(neighbour, b.element(order, "i64", place), 8)
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
            with b.only_if(b.compare("ult", start, stop)):  # an empty array shares nothing
                taken = b.compare("ne", self._word(row, "taken"), constant(I64, 0))
                ends = [b.load(end, I64, 8) for end in (last, last_taken)]
                self._require(b.compare("uge", start, b.select(taken, ends[0], ends[1])))
                for end, before, counts in ((last, ends[0], None), (last_taken, ends[1], taken)):
                    later = b.select(b.compare("ugt", stop, before), stop, before)
                    b.store(later if counts is None else b.select(counts, later, before), end, 8)

    def _span(self, row: Value) -> tuple[Value, Value]:
        start = self.b.load(self._place(row), I64, 8)
        return start, self.b.binary("add", start, self._word(row, "bytes"))
