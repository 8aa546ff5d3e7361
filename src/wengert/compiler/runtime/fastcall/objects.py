"""Native code that looks at Python's objects: their fields, and conditions on them."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.runtime.fastcall.entry_table import CODE_MASK, OFFSETS

I32 = Kind("i32")


class ObjectText:
    """The text of a native function that is given objects.

    A function goes on only while what it requires holds; the blocks for what does not are written by who derives.
    """

    def __init__(self) -> None:
        self.b = Builder(fast="")

    def _at(self, pointer: Value, offset: int) -> Value:
        return self.b.element(pointer, "i8", constant(I64, offset))

    def _field(self, pointer: Value, offset: int, kind: Kind = POINTER) -> Value:
        return self.b.load(self._at(pointer, offset), kind, kind.bits // 8)

    def _type(self, item: Value) -> Value:
        return self._field(item, OFFSETS.type)

    def _flags(self, array: Value) -> Value:
        return self._field(array, OFFSETS.flags, I32)

    def _code(self, array: Value) -> Value:
        """Return what tells the dtype of an array from others."""
        word = self._field(self._field(array, OFFSETS.descr), OFFSETS.descr_code, I64)
        return self.b.binary("and", word, constant(I64, CODE_MASK))

    def _local(self, words: int) -> Value:
        """Return room on the stack. It is made at the beginning, where it counts once and may become registers."""
        name = self.b.fresh()
        self.b.lines.insert(1, f"  {name} = alloca [{words} x ptr], align 8")
        return Value(name, POINTER)

    def _require(self, condition: Value, otherwise: str = "other") -> None:
        """Go on only if a condition holds."""
        label = self.b.new_label("so")
        self.b.branch_if(condition, label, otherwise)
        self.b.label(label)

    def _same(self, x: Value, y: Value) -> Value:
        return self.b.compare("eq", x, y)

    def _is_number(self, x: Value, number: int) -> Value:
        return self._same(x, constant(x.kind, number))
