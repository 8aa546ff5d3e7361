"""The interface of each library to the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from harness.shared import Shared


class Trainer(Protocol):
    """A network in training by one library."""

    steps: int
    """Steps in one call."""

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        """Import the library; ``steps`` is the number of steps in a call, where a library can take several."""
        ...

    def restart(self, weights: Sequence[Any]) -> None:
        """Start from these weights."""
        ...

    def call(self, index: Any) -> Any:
        """Take steps on the examples ``index`` (steps, batch), and return their losses, perhaps not yet computed."""
        ...

    def wait(self) -> None:
        """Return when all calls are done; by default, calls are synchronous."""

    def weights(self) -> list[Any]:
        """Return the current weights, as arrays of the shapes given at the start."""
        ...
