"""Independent operations side by side: what two threads gain beyond the nests that they share already."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import wengert as wg
from ablation.changes import first_batch, gradient
from ablation.measure import Call, compare, milliseconds, table
from wengert.data import Dataset
from wengert.engine.machine.costs import COSTS, is_large, total_work
from wengert.engine.nest.nest import Loop, Nest
from wengert.engine.nest.rewrite import can_pass

GRADIENTS = {"cnn": 100, "rnn": 100, "lstm": 100, "autoencoder": 1}  # the examples of a batch


def product(a: Any) -> Any:
    return np.tanh(a @ a) @ a


def elements(a: Any) -> Any:
    return np.sum(np.exp(-a * a) * np.sin(a))


def recurrence(a: Any) -> Any:
    """Return the last state of a filter: no turn can begin before the one before it has ended."""
    y = 0.0
    for x in a:
        y = np.tanh(0.9 * y + x)
    return y


def pairs(scale: int) -> Iterator[tuple[str, Callable[..., Any], Any, Any]]:
    """Yield functions of one array, and two arrays: the program is a call with each."""
    rng = np.random.default_rng(0)
    for name, function, shape in (
        ("two products of matrices, 512 x 512", product, (512 // scale,) * 2),
        ("two maps of 1,000,000 elements", elements, (1_000_000 // scale,)),
        ("two maps of 10,000 elements", elements, (10_000 // scale,)),
        ("two recurrences, 200,000 steps", recurrence, (200_000 // scale,)),
    ):
        a, b = rng.standard_normal((2, *shape)) / np.sqrt(shape[0])
        yield name, function, a, b


def bound(function: Any, *arguments: Any) -> tuple[int, int, float]:
    """Return the steps of a compiled program, how many may fire together, and the most that this gains on two threads.

    A step takes its work; one that threads share, half of it. Steps that depend on each other follow each other.
    """
    steps = function._traced(arguments, {}).compiled.program.steps
    is_long = total_work(steps) > COSTS.parallel_program_work
    times: list[float] = []
    ends: list[float] = []
    rounds: list[int] = []
    for place, step in enumerate(steps):
        shared = step.shared if isinstance(step, Loop) else isinstance(step, Nest) and is_large(step)
        times.append(total_work([step]) / (1 + (is_long and shared)))
        before = [earlier for earlier in range(place) if not can_pass(step, [steps[earlier]])]
        ends.append(times[-1] + max((ends[earlier] for earlier in before), default=0))
        rounds.append(1 + max((rounds[earlier] for earlier in before), default=0))
    return len(steps), max(map(rounds.count, rounds)), sum(times) / max(*ends, total_work(steps) / 2)


def on(threads: int, call: Call) -> Call:
    """Return a call on a number of threads."""

    def run() -> Any:
        wg.set_threads(threads)
        return call()

    return run


def dataflow(dataset: Dataset, scale: int = 1, turns: int = 25) -> str:
    """Return the table of gradients and of pairs of calls: the bound, and the measurements on two threads."""
    rows = []

    def add(name: str, both: Any, arguments: Any, apart: Call | None = None) -> None:
        steps, together, most = bound(both, *arguments)
        alone, shared = (on(threads, lambda: both(*arguments)) for threads in (1, 2))
        seconds, _, nests = compare(alone, shared, turns, time.perf_counter)
        side = f"{compare(alone, on(1, apart), turns, time.perf_counter)[2]:.2f} x" if apart else ""
        rows.append(
            [name, str(steps), str(together), f"{most:.2f} x", milliseconds(seconds), f"{nests:.2f} x", side]
        )
        print(*rows[-1], sep=" | ", flush=True)

    for name, count in GRADIENTS.items():
        add(f"gradient, {name}", wg.jit(gradient(name)), first_batch(name, dataset, count, np.float32))
    with ThreadPoolExecutor(1) as other:
        for name, function, a, b in pairs(scale):
            one, both = wg.jit(function), wg.jit(lambda a, b, function=function: (function(a), function(b)))

            def apart(one: Any = one, a: Any = a, b: Any = b) -> Any:
                second = other.submit(one, b)
                return one(a), second.result()

            np.testing.assert_allclose(apart(), both(a, b), rtol=1e-9)
            add(name, both, (a, b), apart)
    wg.set_threads(1)
    head = [
        "program",
        "steps",
        "fire together",
        "gain at most",
        "one thread",
        "threads share steps",
        "side by side",
    ]
    return table(head, rows)
