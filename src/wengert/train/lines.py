"""Training told in plain lines: one for each epoch."""

from __future__ import annotations

from typing import Any

from wengert.train.loop import Progress
from wengert.train.state import EpochResult, State


class Lines:
    """A reporter that prints a line for each epoch, if it is verbose."""

    def __init__(self, epochs: int, verbose: bool, validated: bool) -> None:
        self.epochs, self.verbose, self.validated = epochs, verbose, validated

    def on_steps(self, progress: Progress, state: State) -> None:
        """Say nothing of single steps."""

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Print the numbers of an epoch."""
        if self.verbose:
            numbers = self.described(result)
            parts = [f"{name.replace('_', ' ')} {numbers[name]:.4f}" for name in numbers if name != "epoch"]
            print(f"epoch {result.epoch}/{self.epochs}  {'  '.join(parts)}")

    def described(self, result: EpochResult) -> dict[str, Any]:
        """Return what is told of an epoch."""
        found: dict[str, Any] = {
            "epoch": result.epoch,
            "loss": result.train_loss,
            "accuracy": result.train_score,
        }
        if self.validated:
            found |= {"validation_loss": result.test_loss, "validation_accuracy": result.test_score}
        return found | {"seconds": result.seconds}
