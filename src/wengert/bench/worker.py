"""One contestant in a process of its own: it trains, and answers the requests of `process`, a line of JSON each.

Started as ``python -m wengert.bench.worker LIBRARY VARIANT NETWORK THREADS FOLDER``.

=================  ===================================================================================
``prepare``        first call, then more until warm, then back to the first weights
``epoch NUMBER``   an epoch: seconds, the loss of every step, the memory taken from the system
``losses COUNT``   the losses of the first steps
``weights NAME``   writes the weights into the folder; the most memory that the process had until then
=================  ===================================================================================
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.bench import shared
from wengert.bench.sides.jax_side import JaxSide
from wengert.bench.sides.side import Side
from wengert.bench.sides.tensorflow_side import TensorflowSide
from wengert.bench.sides.torch_side import TorchSide
from wengert.bench.sides.wengert_side import WengertSide
from wengert.train.profile import peak_memory

try:
    import resource
except ImportError:  # where there is none, memory is not measured
    resource = None

_WARM_SECONDS = 0.5
"""After the first call: until threads, caches and the processor's clock are as they stay."""


def pin(threads: int) -> None:
    """Stay on the first ``threads`` of the processors that this process may use, before a library counts them."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def fresh_memory() -> int:
    """Return the bytes that the system has handed out to this process so far: pages touched for the first time."""
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt * resource.getpagesize()


SIDES: dict[str, type[Side]] = {
    "wengert": WengertSide,
    "torch": TorchSide,
    "jax": JaxSide,
    "tensorflow": TensorflowSide,
}


class Training:
    """A contestant's training."""

    def __init__(self, library: str, variant: str, network: str, threads: int, folder: Path) -> None:
        self.folder = folder
        self.given = shared.load(folder)
        self.order = self.given.order
        most = shared.steps_of_call(self.order.shape[1])
        self.side = SIDES[library](network, variant, threads, self.given, most)

    def prepare(self) -> dict[str, Any]:
        """Compile and warm up, and start from the first weights."""
        before = peak_memory()
        self.side.restart(self.given.weights)
        parts = self._parts(0)
        start = time.perf_counter()
        np.asarray(self.side.call(parts[0]))
        self.side.wait()
        first = time.perf_counter() - start
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < _WARM_SECONDS and done < len(parts):
            np.asarray(self.side.call(parts[done]))
            done += 1
        self.side.wait()
        self.side.restart(self.given.weights)
        return {"first": first, "steps": self.side.steps, "before": before}

    def _parts(self, epoch: int) -> Sequence[Any]:
        """Return the indices of the calls of an epoch."""
        steps, batch = self.order.shape[1:]
        return list(self.order[epoch].reshape(steps // self.side.steps, self.side.steps, batch))

    def epoch(self, number: str) -> dict[str, Any]:
        """Train for an epoch."""
        parts = self._parts(int(number))
        fresh, start = fresh_memory(), time.perf_counter()
        losses = [self.side.call(part) for part in parts]
        self.side.wait()
        seconds = time.perf_counter() - start
        fresh = fresh_memory() - fresh
        found = np.concatenate([np.reshape(loss, -1) for loss in map(np.asarray, losses)])
        return {"seconds": seconds, "fresh": fresh, "losses": found.astype(float).tolist()}

    def losses(self, count: str) -> list[float]:
        """Train from the first weights and return the losses of the first steps."""
        self.side.restart(self.given.weights)
        calls = -(-int(count) // self.side.steps)
        found = [np.reshape(np.asarray(self.side.call(part)), -1) for part in self._parts(0)[:calls]]
        return np.concatenate(found)[: int(count)].astype(float).tolist()

    def weights(self, name: str) -> dict[str, Any]:
        """Write the weights."""
        peak = peak_memory()
        shared.save_arrays(self.folder, name, self.side.weights())
        return {"peak": peak}


def main() -> None:
    """Answer until nobody asks any more."""
    library, variant, network, threads, folder = sys.argv[1:]
    pin(int(threads))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    training = Training(library, variant, network, int(threads), Path(folder))
    for line in sys.stdin:
        request, *arguments = line.split()
        print(json.dumps(getattr(training, request)(*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()
