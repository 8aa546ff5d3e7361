"""The context in which a scalar operation is emitted, and the registry of emitters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant
from wengert.compiler.mathlib.terms import symbol
from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.costs import OPERATION_COSTS


class Context(NamedTuple):
    """The builder that an emitter writes to, and the dtypes of the operation."""

    builder: Builder
    dtype: Dtype
    """Of the operands."""
    result: Dtype
    param: int
    functions: set[tuple[str, Kind]]
    """The elementary functions that the module must define."""
    copies: bool = False
    """Whether the code of an elementary function is copied to the call."""

    @property
    def is_float(self) -> bool:
        """Whether the operands are floating-point numbers."""
        return self.dtype.kind == "f"

    @property
    def is_signed(self) -> bool:
        """Whether the operands are signed integers."""
        return self.dtype.kind == "i"

    def call(self, name: str, *operands: Value) -> Value:
        """Call an elementary function, which the module must define."""
        kind = operands[0].kind
        self.functions.add((name, kind))
        arguments = ", ".join(map(str, operands))
        attribute = " alwaysinline" if self.copies else ""
        return self.builder.emit(f"call {kind} @{symbol(name, kind)}({arguments}){attribute}", kind)


Emitter: TypeAlias = Callable[..., Value]
#: The emitter of each operation: ``(context, *operands) -> result`` writes its instructions.
EMITTERS: dict[str, Emitter] = {}


def operation(*names: str, cost: int = 1) -> Callable[[Emitter], Emitter]:
    """Register the emitter of scalar operations, each of which costs that many additions."""

    def register(emitter: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(names, emitter))
        OPERATION_COSTS.update(dict.fromkeys(names, cost))
        return emitter

    return register


def like(value: Value, number: float) -> Value:
    """Return a number in the type of a value."""
    return constant(value.kind, number)
