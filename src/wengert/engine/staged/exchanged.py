"""Arrays that a loop exchanged with others: only the variables of the loop show them afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.boxes import Box, State, Trace
from wengert.engine.core.errors import StagingError, message


def refusal(operation: str, requirement: str, got: str = "", hint: str = "") -> StagingError:
    """Return the error of control flow that cannot be staged."""
    return StagingError(message(operation, requirement, got, hint))


class _Gone(Trace):
    """Owns the boxes of such arrays."""

    name = "exchanged array"

    def process(self, primitive: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Refuse the operation."""
        self.check_open(getattr(primitive, "name", "loop"))

    def check_open(self, operation: str) -> None:
        """Refuse any use."""
        requirement = "a loop exchanged this array with others, and only its own variables show them"
        hint = "return the arrays by the names of the loop, or copy them"
        raise refusal(operation, requirement, hint=hint)

    def concrete(self, state: Any) -> Any:
        """Refuse the conversion."""
        self.check_open("loop")


_GONE = _Gone()


def give_up(box: Box) -> None:
    """Make later reads of an array raise an error."""
    box.owner, box.state = _GONE, State(np.zeros(box.shape, box.dtype))


def is_given_up(box: Box) -> bool:
    """Return whether reads of an array raise an error."""
    return box.owner is _GONE
