"""Texts of values that only a run knows: a trace has none, except where nothing but a message can come of one."""

from __future__ import annotations

from typing import Any

from wengert.engine.boxes import RUNNING


class texts:  # noqa: N801 (it is used as a function)
    """Let values that only a run knows show their types as texts inside a block."""

    __slots__ = ("_are_shown", "_before")

    def __init__(self, are_shown: bool = True) -> None:
        self._are_shown = are_shown

    def __enter__(self) -> None:
        self._before = RUNNING.hides_text
        if self._are_shown:
            RUNNING.hides_text = False

    def __exit__(self, *problem: object) -> None:
        RUNNING.hides_text = self._before


def text_of(value: Any) -> str:
    """Return the text of an object for a message."""
    with texts():
        return repr(value)
