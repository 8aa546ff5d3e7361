"""Training steps whose bits depend neither on threads nor on processes.

A batch is split into micro-batches of equal size. One compiled function, on one thread, computes the loss and the
gradients of one of them. A fixed tree adds them (`wengert.parallel`), and each process makes the same update.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from wengert import random
from wengert.compiler.jit import jit
from wengert.compiler.runtime.threads.team import get_threads, set_threads
from wengert.data.batches import consecutive
from wengert.engine.core.dtypes import dtype_of, is_float
from wengert.engine.core.tree import map_tree
from wengert.engine.ops.conversion import cast
from wengert.optim import Optimiser
from wengert.optim.transforms import in_dtype_of, select, trainable
from wengert.parallel import Group
from wengert.parallel.balance import Balance
from wengert.parallel.layout import Buffer, Layout
from wengert.parallel.reduction import Reduction
from wengert.train.profile import EVALUATION, STEPS, Stopwatch
from wengert.train.state import LayerState, Mean
from wengert.train.steps import EVALUATION_BATCH, Carry, Steps, one_by_one
from wengert.train.tasks import Task

_OWN_KEYS = 2
"""The key of a step gives two keys already: that of its random numbers, and that of the next step."""


class Summand(NamedTuple):
    """The summand of a micro-batch in a step, weighted by its examples in units of a whole micro-batch."""

    loss: Any
    score: Any
    """Not weighted: a sum over the examples."""
    gradients: Any
    state: Any
    """Of the layers; numbers that are not floating are those of the first micro-batch."""


class _Sum(NamedTuple):
    """The sum of the micro-batches of a step."""

    reduction: Reduction
    out: Buffer
    balance: Balance


class MicroBatchSteps(Steps):
    """Takes training steps in micro-batches of ``size`` examples, shared by the processes of a group and by threads.

    A process computes as many micro-batches at a time as it has threads.
    """

    def __init__(
        self,
        task: Task,
        optimiser: Optimiser,
        *,
        size: int,
        group: Group,
        threads: int,
        compiled: bool,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        super().__init__(task, optimiser, compiled=compiled, stopwatch=stopwatch)
        self.size, self.processes, self.threads = size, group, threads
        self._contribution = jit(self._summand, flush_subnormals=True) if compiled else self._summand
        self._update = jit(self._updated, flush_subnormals=True) if compiled else self._updated
        self._pool: ThreadPoolExecutor | None = None
        self._sums: dict[int, _Sum] = {}
        """By the number of micro-batches of a step."""

    @contextlib.contextmanager
    def running(self) -> Generator[None, None, None]:
        """Keep compiled functions to one thread each, and threads ready that call them."""
        before = get_threads()
        set_threads(1)
        try:
            if self.threads == 1:
                yield
            else:
                with ThreadPoolExecutor(self.threads, "wengert-micro-batch") as self._pool:
                    yield
        finally:
            self._pool = None
            set_threads(before)

    def run(
        self, carry: Carry, images: Any, labels: Any, index: Any, variation: Any
    ) -> tuple[Carry, tuple[Any, Any]]:
        """Take a step for each row of ``index``, and return the carry, and the losses and scores of the steps."""
        with self._stopwatch.measuring(self._part(STEPS, index.shape)):
            return one_by_one(self._step, carry, images, labels, index, variation)

    def _step(self, carry: Carry, images: Any, labels: Any, row: Any, variation: Any) -> Any:
        parts = consecutive(len(row), self.size)

        def summand(number: int) -> Summand:
            part = parts[number]
            chosen = row[part]
            return self._contribution(
                carry.model,
                carry.layer_state,
                images,
                labels,
                chosen,
                None if variation is None else variation[part],
                np.int64(number),
                np.float64(len(chosen) / self.size),
            )

        total = self._sums.get(len(parts)) or self._sum(summand, len(parts))
        reduction, own = total.reduction, total.reduction.own
        start = time.perf_counter()
        for number, buffer in zip(own, self._map(lambda n: reduction.packed(summand(n)), own), strict=True):
            reduction.add(number, buffer)
        computed = time.perf_counter()
        added = reduction.layout.unpack(reduction.finish(total.out))
        total.balance.record(computed - start, time.perf_counter() - computed)
        return self._update(carry, added, np.float64(len(row) / self.size))

    def _sum(self, summand: Callable[[int], Summand], parts: int) -> _Sum:
        """Return the reduction that adds some number of micro-batches, after computing one of them, which compiles."""
        layout = Layout.of(summand(0))
        self.processes.agree("the types of the gradients", layout.described())
        reduction = Reduction(layout, parts, self.processes.communicator)
        self._sums[parts] = _Sum(reduction, layout.buffer(), Balance(self.processes, reduction))
        return self._sums[parts]

    def _map(self, f: Callable[[int], Any], own: Sequence[int]) -> Any:
        if self._pool is None or len(own) == 1:
            return map(f, own)
        return self._pool.map(f, own)

    # -- compiled ----------------------------------------------------------------------------------------

    def _summand(
        self,
        model: Any,
        layer_state: LayerState | None,
        images: Any,
        labels: Any,
        index: Any,
        variation: Any,
        number: Any,
        weight: Any,
    ) -> Summand:
        batch = self.batch(images, labels, index, variation)
        if layer_state is not None:
            key = random.fold_in(layer_state.key, number + _OWN_KEYS)
            layer_state = layer_state._replace(key=key)
        (loss, (score, after)), gradients = self._differentiate(model, layer_state, *batch)

        def weighted(leaf: Any) -> Any:
            if is_float(dtype_of(leaf)):
                return leaf * in_dtype_of(leaf, weight)
            whole = np.uint8 if dtype_of(leaf).kind == "b" else dtype_of(leaf)
            return cast(np.where(number == 0, leaf, np.zeros_like(leaf)), dtype=np.dtype(whole))

        state = None if after is None else after.state
        gradients = select(gradients, trainable(model))
        return Summand(weighted(loss), score, map_tree(weighted, gradients), map_tree(weighted, state))

    def _updated(self, carry: Carry, added: Summand, weight: Any) -> tuple[Carry, tuple[Any, Any]]:
        model, layer_state, optimiser = carry

        def mean(leaf: Any) -> Any:
            # A copy: the next step writes to the buffer of this sum.
            return leaf / in_dtype_of(leaf, weight) if is_float(dtype_of(leaf)) else leaf.copy()

        model, optimiser = self.optimiser.update(map_tree(mean, added.gradients), optimiser, model)
        if layer_state is not None:
            state = map_tree(
                lambda before, leaf: cast(mean(leaf), dtype=dtype_of(before)), layer_state.state, added.state
            )
            layer_state = LayerState(state, random.fold_in(layer_state.key, 1))
        return Carry(model, layer_state, optimiser), (mean(added.loss), added.score.copy())

    # -- evaluation --------------------------------------------------------------------------------------

    def evaluate(self, model: Any, images: Any, labels: Any) -> tuple[float, float]:
        """Return the mean loss and the mean score of a model over images, of which each process takes a share."""
        parts = consecutive(len(images), EVALUATION_BATCH)

        def measured(number: int) -> tuple[float, float]:
            mean, total = self._measure(model, images[parts[number]], labels[parts[number]])
            return float(mean), float(total)

        with self._stopwatch.measuring(self._part(EVALUATION, len(images))):
            own = list(self._map(measured, self.processes.share(len(parts))))
            everyone = [result for results in self.processes.gather(own) for result in results]
        loss, score = Mean(), Mean()
        for part, (mean, total) in zip(parts, everyone, strict=True):
            count = part.stop - part.start
            loss, score = loss.plus(mean * count, count), score.plus(total, count)
        return loss.value, score.value
