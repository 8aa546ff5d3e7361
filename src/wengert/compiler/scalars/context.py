"""What the emissions of scalar operations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant
from wengert.core.dtypes import Dtype


class Context(NamedTuple):
    """What an emission has at hand."""

    builder: Builder
    dtype: Dtype
    """Of the operands."""
    result: Dtype
    param: int
    functions: set[tuple[str, Kind]]
    """The elementary functions that the module must define."""

    @property
    def is_float(self) -> bool:
        """Whether the operands are floating-point numbers."""
        return self.dtype.kind == "f"

    @property
    def is_signed(self) -> bool:
        """Whether the operands are signed integers."""
        return self.dtype.kind == "i"


Emit: TypeAlias = Callable[..., Value]
#: What writes the instructions of each operation.
EMITTERS: dict[str, Emit] = {}


def operation(*names: str) -> Callable[[Emit], Emit]:
    """Register what writes the instructions of operations."""

    def register(emitter: Emit) -> Emit:
        EMITTERS.update(dict.fromkeys(names, emitter))
        return emitter

    return register


def like(value: Value, number: float) -> Value:
    """Return a number in the type of a value."""
    return constant(value.kind, number)
