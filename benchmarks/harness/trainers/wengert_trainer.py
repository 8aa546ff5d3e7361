"""Wengert: `wg.jit` of a scan over steps, the model donated.

The variant ``reference`` computes in double precision, and is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.shared import Shared
from harness.trainers.trainer import Trainer
from harness.workloads import NETWORKS
from wengert import optim
from wengert.compiler.jit import jit
from wengert.compiler.runtime.threads.team import set_threads
from wengert.engine.control import scan
from wengert.engine.core import tree
from wengert.engine.transforms.reverse_mode import value_and_grad


class WengertTrainer(Trainer):
    """A network in training."""

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        set_threads(threads)
        self.steps = steps
        self._task, self._shared = NETWORKS[network], shared
        self._optimiser = optim.sgd(shared.rate)
        self._differentiate = value_and_grad(self._task.loss, has_aux=True)
        self._structure = tree.flatten(self._task.build(np.random.default_rng(0)))[1]
        self._double = variant == "reference"
        self._run = jit(self._scanned, donate=0, flush_subnormals=True)

    def _scanned(self, carry: Any, images: Any, labels: Any, index: Any) -> Any:
        def step(carry: Any, rows: Any) -> Any:
            model, state = carry
            inputs = self._inputs(images[rows])
            (loss, _), gradients = self._differentiate(model, inputs, labels[rows])
            return self._optimiser.update(gradients, state, model), loss

        return scan(step, carry, index)

    def _inputs(self, images: Any) -> Any:
        if not self._double or self._task.data == "text":
            return self._task.prepare(images)
        x = images.astype(np.float64) / 255
        if self._task.name == "cnn":
            return ((x - 0.1307) / 0.3081)[:, np.newaxis]
        return x.reshape(len(x), -1) if self._task.name == "autoencoder" else 2 * x

    def restart(self, weights: Sequence[Any]) -> None:
        dtype = np.float64 if self._double else np.float32
        model = tree.unflatten(self._structure, [np.array(weight, dtype) for weight in weights])
        self._carry = model, self._optimiser.init(model)

    def call(self, index: Any) -> Any:
        self._carry, losses = self._run(self._carry, self._shared.images, self._shared.labels, index)
        return losses

    def weights(self) -> list[Any]:
        return tree.leaves(self._carry[0])
