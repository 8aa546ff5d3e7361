"""Training steps under `allocation.c`, in a process of their own: their allocations are printed as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

import numpy as np

import wengert as wg
from wengert.compiler.runtime import execute
from wengert.data import digits
from wengert.train import TASKS
from wengert.train.state import training_loss

STEPS = 25


class Counter:
    """The allocations since the last look."""

    def __init__(self) -> None:
        library: Any = ctypes.CDLL(None)
        library.allocation_requests.restype = ctypes.c_long
        library.allocation_largest.restype = ctypes.c_size_t
        library.allocation_call.argtypes = (ctypes.c_void_p,) * 3
        library.allocation_call.restype = None
        self.library = library

    def program(self, address: int) -> Any:
        """Return a compiled program whose allocations are counted."""
        return lambda context, team: self.library.allocation_call(address, context, team)

    def look(self) -> dict[str, int]:
        return {
            "requests": self.library.allocation_requests(),
            "largest": self.library.allocation_largest(),
        }


def training_step(name: str) -> tuple[Any, list[Any]]:
    """Return a training step of a network of `wengert train`, and its first arguments."""
    task = TASKS[name]
    model = task.build(np.random.default_rng(0))
    optimiser = task.optimiser(0.01, STEPS)

    def step(model: Any, state: Any, images: Any, labels: Any) -> Any:
        def loss(model: Any) -> Any:
            return training_loss(task, model, None, task.prepare(images), labels)[0]

        value, gradients = wg.value_and_grad(loss)(model)
        return *optimiser.update(gradients, state, model), value

    return wg.jit(step, donate=(0, 1)), [model, optimiser.init(model), *digits(100)]


def steps(run: Any, given: list[Any], count: int) -> float:
    loss = np.nan
    for _ in range(count):
        given[0], given[1], loss = run(*given)
    return float(loss)


def main(name: str, watched: str) -> None:
    counter, report = Counter(), dict[str, Any]()
    if watched == "programs":
        execute._MAIN = counter.program  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    run, given = training_step(name)
    report["arena"] = run.memory(*given)
    for threads in (1, 2):
        wg.set_threads(threads)
        first = steps(run, given, 5)
        counter.look()
        if watched == "steps":
            counter.library.allocation_watch(1)
        last = steps(run, given, STEPS)
        counter.library.allocation_watch(0)
        now = {"learns": last < first, "threads": len(os.listdir("/proc/self/task"))}
        report[str(threads)] = counter.look() | now
    inverse = wg.jit(lambda x: np.linalg.pinv(x) + 1)  # NumPy runs it, and allocates memory
    inverse(np.eye(100))
    counter.look()
    inverse(np.eye(100))
    report["control"] = counter.look()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
