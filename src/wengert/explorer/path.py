"""The path that a function takes at its arguments, as a Wengert list.

Python's own ``if`` and ``while`` work, because each value is known. The list notes what decided them: for other inputs
it holds as long as these decisions stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.control.recording import RecordedState, Recorder
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import user_frame, user_location
from wengert.engine.core.notebooks import readable
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Var
from wengert.engine.ir.types import type_of
from wengert.engine.primitive import Primitive
from wengert.inspect.listing import Listing, listed


class Place(NamedTuple):
    """A line of the user's program."""

    file: str
    """The whole name of the file."""
    line: int
    function: str
    """The function that the line belongs to."""


class Decision(NamedTuple):
    """A truth value or an integer that Python asked for, on which the path depends."""

    var: Var
    value: Any


class Path(NamedTuple):
    """A function recorded at its arguments."""

    listing: Listing
    places: Mapping[str, Place]
    """The line behind each location, as readers see it."""
    decisions: tuple[Decision, ...]


class _PathTrace(Recorder):
    """Records every operation with its value, and the decisions of the program."""

    name = "explored function"

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, Place] = {}
        self.decisions: dict[Var, Decision] = {}

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the result, and append an equation."""
        self.check_open(primitive.name)
        with np.errstate(all="ignore"):
            result = primitive(*map(self._value, operands), **params)
        several = isinstance(result, tuple)
        results: tuple[Any, ...] = result if several else (result,)  # pyright: ignore[reportUnknownVariableType]
        variables = self.append(primitive, tuple(map(self.atom, operands)), map(type_of, results), params)
        boxes = tuple(self.box(RecordedState(var, x)) for var, x in zip(variables, results, strict=True))
        return boxes if several else boxes[0]

    def _value(self, operand: Any) -> Any:
        if isinstance(operand, Box):
            operand.refresh()
            if operand.owner is self:
                return operand.state.value
        return concrete(operand)

    def concrete(self, state: Any) -> Any:
        """Return the value of a box, and note the decision; an array of positions stays a value of the list."""
        kind = dtype_of(state.value).kind
        if kind in "iu" and shape_of(state.value):
            return None
        if kind in "iub":
            self.decisions.setdefault(state.var, Decision(state.var, state.value))
        return state.value

    def location(self) -> str:
        """Return the user's line, and note the file behind it."""
        text = super().location()
        shown = readable(text)
        frame = user_frame() if text and shown not in self.places else None
        if frame is not None and text == user_location():
            code = frame.f_code
            self.places[shown] = Place(code.co_filename, frame.f_lineno, code.co_name)
        return text


def follow(fun: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Path:
    """Record a function at its arguments.

    Args:
        fun: a function of arrays, numbers and containers of them.
        arguments: those by position.
        options: those by name.

    Example:
        >>> path = follow(lambda x: 2 * x if x > 0 else -x, (3.0,), {})
        >>> [equation.primitive for equation in path.listing.equations], path.decisions[0].value
        (['greater', 'multiply'], True)
    """
    listing, trace = listed(fun, _PathTrace, _PathTrace.argument, arguments, options)
    decisions = trace.decisions.values()
    decided = tuple(made for made in decisions if made.var.dtype == BOOL or not made.var.shape)
    return Path(listing, trace.places, decided)
