"""What every library does for the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from wengert.bench.shared import Shared


class Side(Protocol):
    """A network in training, by one library."""

    steps: int
    """Steps of one call."""

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        """Import the library; ``steps`` is for those that take several steps in a call."""
        ...

    def restart(self, weights: Sequence[Any]) -> None:
        """Start from these weights."""
        ...

    def call(self, index: Any) -> Any:
        """Carry out some steps on the examples ``index`` (steps, batch), and return their losses, perhaps later."""
        ...

    def wait(self) -> None:
        """Return when all that was called is done."""
        ...

    def weights(self) -> list[Any]:
        """Return the weights as they are now, as arrays of the shapes given at the start."""
        ...
