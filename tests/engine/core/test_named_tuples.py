"""Named tuples against those of the standard library."""

from __future__ import annotations

import inspect
import pickle
import typing
from typing import Any

import pytest

from wengert.engine.core.named_tuples import NamedTuple


class Quick(NamedTuple):
    """A pair."""

    x: int
    y: Any = 3
    """A default."""

    @property
    def total(self) -> Any:
        return self.x + self.y

    def __str__(self) -> str:
        return f"{self.x} and {self.y}"


class Usual(typing.NamedTuple):
    """A pair."""

    x: int
    y: Any = 3
    """A default."""

    @property
    def total(self) -> Any:
        return self.x + self.y

    def __str__(self) -> str:
        return f"{self.x} and {self.y}"


def test_named_tuples_are_those_of_typing() -> None:
    quick, usual = Quick(1), Usual(1)
    assert quick == usual == (1, 3)
    assert (str(quick), quick.total, quick._replace(y=5).total) == (str(usual), 4, 6)
    assert quick._asdict() == usual._asdict()
    assert repr(quick).replace("Quick", "Usual") == repr(usual)
    for name in ("__doc__", "__bases__", "__match_args__", "__module__", "_fields", "_field_defaults"):
        assert getattr(Quick, name) == getattr(Usual, name), name
    assert typing.get_type_hints(Quick) == typing.get_type_hints(Usual)
    assert list(inspect.signature(Quick).parameters) == ["x", "y"]
    assert pickle.loads(pickle.dumps(quick)) == quick
    with pytest.raises(AttributeError):
        quick.x = 2  # type: ignore[misc]
