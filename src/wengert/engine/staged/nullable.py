"""Values that are None on some paths and something else on others, as only a run knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.regions import known

_HINT = "compare it with None before it is used, or begin with a number such as np.inf"


@dataclass(frozen=True, eq=False)
class Maybe:
    """Stands for a value or None.

    Args:
        some: whether it is the value: a truth value that only a run knows.
        value: the value, or zeros.
    """

    some: Any
    value: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise refused(name)


def refused(use: str) -> Exception:
    """Return the error of a use for which it must be known whether a value is None."""
    requirement = "only a run knows whether the value is None"
    return refusal("None", requirement, use.strip("_"), _HINT)


def _refusing(name: str) -> Any:
    def method(*_: Any, **__: Any) -> Any:
        raise refused(name)

    return method


_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
_OTHERS = (
    "eq ne lt le gt ge neg pos abs invert bool int float complex index len iter contains getitem setitem delitem call "
    "hash round trunc floor ceil array array_ufunc array_function enter exit str format"
)
_SWAPPED = [f"r{name}" for name in _OPERATORS.split()]
for _name in (*_OPERATORS.split(), *_SWAPPED, *_OTHERS.split()):
    setattr(Maybe, f"__{_name}__", _refusing(f"__{_name}__"))


def settled(value: Any) -> Any:
    """Return a value, or what is known of it here: the value, or None."""
    if type(value) is not Maybe:
        return value
    some = known(value.some)
    if isinstance(some, Box):
        return value
    return value.value if some else None


# -- structures ------------------------------------------------------------------------------------------

_NONE = tree.flatten(None)[1]
_KEYS = tree.flatten(Maybe(True, 0.0))[1].keys


def _of(structure: tree.Structure) -> tree.Structure:
    return tree.Structure(Maybe, _KEYS, (tree.LEAF, structure))


def is_nullable(structure: tree.Structure | None) -> bool:
    """Return whether a structure is that of a `Maybe`, whose first leaf says whether it is a value."""
    return structure is not None and structure.kind is Maybe


def unified(one: tree.Structure, other: tree.Structure) -> tree.Structure | None:
    """Return the structure of what has either structure; None if only equal structures, or None, would fit."""
    if one == other:
        return one
    inner = {part.children[1] if is_nullable(part) else part for part in (one, other)} - {_NONE}
    return _of(*inner) if len(inner) == 1 else None


def expanded(structure: tree.Structure, leaves: list[Any], to: tree.Structure, flag: Any) -> list[Any]:
    """Return the leaves of a value as those of a unified structure; None for each that is missing.

    Args:
        structure: of the value.
        leaves: its leaves.
        to: the unified structure.
        flag: makes the leaf of a known truth value.
    """
    if structure == to:
        return leaves
    if structure == _NONE:
        return [flag(False), *[None] * (to.leaf_count() - 1)]
    return [flag(True), *leaves]
