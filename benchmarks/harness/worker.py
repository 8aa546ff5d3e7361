"""One contestant in a process of its own: it trains, and answers the requests of `contest.Worker`.

Started as ``python -m harness.worker LIBRARY VARIANT NETWORK THREADS FOLDER``.

=================  ===================================================================================
``prepare()``      first call, then more until warm, then back to the first weights
``epoch(number)``  an epoch: seconds, the loss of every step, the memory taken from the system
``losses(count)``  the losses of the first steps
``weights(name)``  writes the weights into the folder; the peak memory of the process so far
=================  ===================================================================================
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness import allocations, shared
from harness.engine import serve
from harness.trainers.jax_trainer import JaxTrainer
from harness.trainers.tensorflow_trainer import TensorflowTrainer
from harness.trainers.torch_trainer import TorchTrainer
from harness.trainers.trainer import Trainer
from harness.trainers.wengert_trainer import WengertTrainer
from wengert.train.profile import peak_memory

try:
    import resource
except ImportError:  # where the system has no such module, memory is not measured
    resource = None

_WARM_SECONDS = 0.5
"""After the first call: until threads, caches and the processor's clock are steady."""

TRAINERS: dict[str, type[Trainer]] = {
    "wengert": WengertTrainer,
    "torch": TorchTrainer,
    "jax": JaxTrainer,
    "tensorflow": TensorflowTrainer,
}


def fresh_memory() -> int:
    """Return the bytes that the system has handed out to this process so far: pages touched for the first time.

    Where `harness.allocations` counts requests, their bytes, of memory that is used again, too.
    """
    if (counted := allocations.requested()) is not None:
        return counted
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt * resource.getpagesize()


class Training:
    """A contestant's training."""

    def __init__(self, library: str, variant: str, network: str, threads: int, folder: Path) -> None:
        self.folder = folder
        self.inputs = shared.load(folder)
        steps = shared.steps_of_call(self.inputs.order.shape[1])
        self.trainer = TRAINERS[library](network, variant, threads, self.inputs, steps)

    def prepare(self) -> dict[str, Any]:
        """Compile and warm up, and start from the first weights."""
        before = peak_memory()
        self.trainer.restart(self.inputs.weights)
        calls = self._calls(0)
        start = time.perf_counter()
        np.asarray(self.trainer.call(calls[0]))
        self.trainer.wait()
        first = time.perf_counter() - start
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < _WARM_SECONDS and done < len(calls):
            np.asarray(self.trainer.call(calls[done]))
            done += 1
        self.trainer.wait()
        self.trainer.restart(self.inputs.weights)
        return {"first": first, "steps": self.trainer.steps, "before": before}

    def _calls(self, epoch: int) -> Sequence[Any]:
        """Return the indices of each call of an epoch."""
        steps, batch = self.inputs.order.shape[1:]
        return list(self.inputs.order[epoch].reshape(steps // self.trainer.steps, self.trainer.steps, batch))

    def epoch(self, number: int) -> dict[str, Any]:
        """Train for an epoch."""
        calls = self._calls(number)
        fresh, start = fresh_memory(), time.perf_counter()
        losses = [self.trainer.call(index) for index in calls]
        self.trainer.wait()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "fresh": fresh_memory() - fresh, "losses": _flat(losses)}

    def losses(self, count: int) -> list[float]:
        """Train from the first weights and return the losses of the first steps."""
        self.trainer.restart(self.inputs.weights)
        calls = -(-count // self.trainer.steps)
        return _flat([np.asarray(self.trainer.call(index)) for index in self._calls(0)[:calls]])[:count]

    def weights(self, name: str) -> dict[str, Any]:
        """Write the weights."""
        peak = peak_memory()
        shared.save_arrays(self.folder, name, self.trainer.weights())
        return {"peak": peak}


def _flat(losses: Sequence[Any]) -> list[float]:
    return np.concatenate([np.reshape(np.asarray(loss), -1) for loss in losses]).astype(float).tolist()


def main() -> None:
    """Answer until the parent closes the input."""
    library, variant, network, threads, folder = sys.argv[1:]
    serve(
        int(threads),
        functools.partial(Training, library, variant, network, int(threads), Path(folder)),
    )


if __name__ == "__main__":
    main()
