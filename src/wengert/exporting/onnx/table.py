"""The table of lowerings: for each primitive the function that writes it as nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from wengert.engine.ir.types import TensorType
from wengert.exporting.onnx.values import Value, Writer


class Call(NamedTuple):
    """One equation, as its lowering sees it."""

    writer: Writer
    results: tuple[TensorType, ...]

    @property
    def result(self) -> TensorType:
        """The type of the first result."""
        return self.results[0]


#: ``(call, *operands, **params) -> value``
Single: TypeAlias = Callable[..., Value]
#: The same, or several values.
Lowering: TypeAlias = Single | Callable[..., Sequence[Value]]
_Given = TypeVar("_Given", bound=Lowering)
LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[_Given], _Given]:
    """Register the lowering of primitives."""

    def register(lowering: _Given) -> _Given:
        for name in names:
            assert name not in LOWERINGS, name
            LOWERINGS[name] = lowering
        return lowering

    return register


def lowers_each(names: dict[str, str], make: Callable[[str], Lowering]) -> None:
    """Register lowerings that differ in one word: ``{primitive: operator}``."""
    for name, operator in names.items():
        lowers(name)(make(operator))


def lowers_by(lowerings: dict[str, Single]) -> None:
    """Register lowerings by the names of their primitives."""
    for name, lowering in lowerings.items():
        lowers(name)(lowering)
