"""The time that subnormal numbers cost: programs that meet them, with `jit(flush_subnormals=True)` and without.

Both programs take turns on one thread; the table has medians of the processor's time. The processor decides how much
longer a subnormal number takes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert import nn, optim

TURNS = 15
SECONDS = 0.02
"""Of the calls of a turn, about."""


class Case(NamedTuple):
    """A program and arguments with which it meets subnormal numbers."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def elementwise() -> Iterator[Case]:
    tiny, small = np.full(1 << 14, 1e-30, "f4"), np.full(1 << 14, 1e-10, "f4")
    yield Case("a product that is subnormal", lambda x, y: x * y, (tiny, small))
    yield Case("tanh x times y, subnormal", lambda x, y: np.tanh(x) * y, (tiny, small))
    yield Case("a square root of subnormal numbers", np.sqrt, (tiny * small,))


def recurrences() -> Iterator[Case]:
    """Yield networks of 200 steps, whose gradients vanish on the way back from the last one."""

    def loss(model: Any, x: Any) -> Any:
        return np.mean(model(x)[:, -1] ** 2)

    for layer in (nn.RNN, nn.GRU):
        for batch in (1, 32):
            model = wg.tree.map_tree(lambda p: p * np.float32(0.3), layer(32, 64, seed=0))
            x = np.random.default_rng(0).normal(size=(batch, 200, 32)).astype("f4")
            name = f"{layer.__name__} of 64 units, 200 steps, batch {batch}, gradient"
            yield Case(name, wg.value_and_grad(loss), (model, x))


def update() -> Iterator[Case]:
    """Yield a step of Adam whose moments have decayed to subnormal numbers."""
    optimiser = optim.adam(1e-3)
    w = np.ones((256, 256), "f4")
    state = wg.tree.map_tree(lambda x: np.full_like(x, 1e-40) if x.shape else x, optimiser.init(w))
    yield Case("a step of Adam, 65,536 parameters without gradients", optimiser.update, (w * 0, state, w))


def seconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        function(*arguments)
    return (time.process_time() - start) / calls


def main() -> None:
    wg.set_threads(1)
    print("| program | kept, ms | flushed, ms | ratio |\n|---|---:|---:|---:|")
    for case in (*elementwise(), *recurrences(), *update()):
        both = [wg.jit(case.function, flush_subnormals=flush) for flush in (False, True)]
        first, again = ([seconds(f, case.arguments, 3) for f in both] for _ in (0, 1))
        calls = max(1, int(SECONDS / max(*map(min, first, again), 1e-7)))
        turns = [[seconds(f, case.arguments, calls) for f in both] for _ in range(TURNS)]
        kept, flushed = (1e3 * statistics.median(column) for column in zip(*turns, strict=True))
        ratio = statistics.median(kept / flushed for kept, flushed in turns)
        print(f"| {case.name} | {kept:.3g} | {flushed:.3g} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
