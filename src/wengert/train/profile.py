"""The time that the parts of a run take, and its peak memory."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows: memory is not measured
    resource = None

COMPILING = "tracing and compiling"
STEPS = "steps"
DATA = "data"
EVALUATION = "evaluation"
LOGGING = "logging"
CHECKPOINTS = "checkpoints"
_REST = "the loop itself"


class Stopwatch:
    """Sums up the seconds of the parts of each epoch. The parts do not overlap."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self.begin()

    @contextmanager
    def measuring(self, part: str) -> Generator[None, None, None]:
        """Count the block's time as that of a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._parts[part] += time.perf_counter() - start

    def begin(self) -> None:
        """Begin an epoch."""
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._start = time.perf_counter()

    def end(self) -> None:
        """End an epoch."""
        total = time.perf_counter() - self._start
        self.epochs.append(self._parts | {_REST: max(total - sum(self._parts.values()), 0.0)})

    def table(self) -> list[tuple[str, float, float]]:
        """Return the parts of the typical epoch, their seconds and their share, without compiling.

        The typical epoch is the median of those after the first.
        """
        epochs = self.epochs[1:] or self.epochs
        if not epochs:
            return []
        typical = sorted(epochs, key=_seconds)[len(epochs) // 2]
        total = _seconds(typical)
        parts = [(part, seconds, seconds / total) for part, seconds in typical.items() if part != COMPILING]
        return sorted(parts, key=lambda row: -row[1])

    @property
    def compiling(self) -> float:
        """The run's seconds in the first calls of its programs, which compile."""
        return sum(epoch.get(COMPILING, 0.0) for epoch in self.epochs)

    def described(self) -> dict[str, Any]:
        """Return the content of ``profile.json``."""
        table = {part: {"seconds": seconds, "share": share} for part, seconds, share in self.table()}
        return {"compiling": self.compiling, "typical_epoch": table, "epochs": self.epochs}


def _seconds(parts: dict[str, float]) -> float:
    return sum(seconds for part, seconds in parts.items() if part != COMPILING)


def peak_memory() -> int:
    """Return the largest number of bytes that this process has used; 0 if the system does not provide it."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage includes the memory of the parent before it started this process
        for line in status.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
