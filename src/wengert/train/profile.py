"""Where the time of a run goes, and how much memory it takes."""

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
except ImportError:  # where there is none, memory is not measured
    resource = None

COMPILING = "tracing and compiling"
STEPS = "steps"
DATA = "data"
EVALUATION = "evaluation"
LOGGING = "logging"
CHECKPOINTS = "checkpoints"
_REST = "the loop itself"


class Stopwatch:
    """Sums up the seconds that the parts of each epoch take. The parts do not overlap."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._start = time.perf_counter()

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
        self._parts, self._start = defaultdict(float), time.perf_counter()

    def end(self) -> None:
        """End an epoch."""
        total = time.perf_counter() - self._start
        parts = dict(self._parts)
        parts[_REST] = max(total - sum(parts.values()), 0.0)
        self.epochs.append(parts)

    def table(self) -> list[tuple[str, float, float]]:
        """Return parts, their seconds and their share, of the typical epoch: the median of those after the first.

        Compiling is no part of it: it happens once, and is `compiling`.
        """
        epochs = self.epochs[1:] or self.epochs
        if not epochs:
            return []
        chosen = sorted(epochs, key=_seconds)[len(epochs) // 2]
        total = _seconds(chosen)
        parts = [(part, seconds, seconds / total) for part, seconds in chosen.items() if part != COMPILING]
        return sorted(parts, key=lambda row: -row[1])

    @property
    def compiling(self) -> float:
        """The seconds of the run that compiling took, the first call of each program included."""
        return sum(epoch.get(COMPILING, 0.0) for epoch in self.epochs)

    def described(self) -> dict[str, Any]:
        """Return what was measured, for ``profile.json``."""
        table = {part: {"seconds": seconds, "share": share} for part, seconds, share in self.table()}
        return {"compiling": self.compiling, "typical_epoch": table, "epochs": self.epochs}


def _seconds(parts: dict[str, float]) -> float:
    return sum(seconds for part, seconds in parts.items() if part != COMPILING)


def peak_memory() -> int:
    """Return the most bytes that this process had; 0 where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent had when it started this process
        for line in status.read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
