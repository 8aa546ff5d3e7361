"""The papers' networks, their first weights and order for all libraries, and one program that evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.shared import Shared
from wengert.compiler.jit import jit
from wengert.data import Dataset
from wengert.data.batches import consecutive
from wengert.engine.core import tree
from wengert.train.tasks import TASKS, Task

_TEST_BATCH = 1000
"""Enough test images for full speed, few enough for the memory."""

NETWORKS: dict[str, Task] = {
    "cnn": TASKS["cnn"],
    "rnn": TASKS["rnn"],
    "lstm": TASKS["lstm"]._replace(rate=TASKS["rnn"].rate),
    "autoencoder": TASKS["autoencoder"],
    "gpt": TASKS["gpt"]._replace(rate=0.1, epochs=2),
}
"""The papers' networks and a transformer, all trained by gradient descent with the papers' batch size and rate."""


def draw(network: str, dataset: Dataset, examples: int | None, epochs: int, seed: int) -> Shared:
    """Draw the first weights and the order of a run.

    Args:
        network: a key of `NETWORKS`.
        dataset: the data.
        examples: the number of training examples; all by default.
        epochs: their number.
        seed: for the weights and the order.

    Example:
        >>> from wengert.data import digit_set
        >>> shared = draw("rnn", digit_set(train=250, test=1), None, 2, 0)
        >>> shared.order.shape, [weight.shape for weight in shared.weights[:2]]
        ((2, 2, 100), [(28, 64), (64, 64)])
    """
    task = NETWORKS[network]
    images, labels = dataset.train_images[:examples], dataset.train_labels[:examples]
    rng = np.random.default_rng(seed)
    weights = [np.asarray(leaf) for leaf in tree.leaves(task.build(rng))]
    steps = len(images) // task.batch_size
    rows = [rng.permutation(len(images))[: steps * task.batch_size] for _ in range(epochs)]
    order = np.reshape(rows, (epochs, steps, task.batch_size))
    return Shared(np.ascontiguousarray(images), labels.astype(np.int64), order, task.rate, weights)


def evaluator(network: str, dataset: Dataset) -> Callable[[Sequence[Any]], tuple[float, float]]:
    """Return a function from weights to the loss and the score on the test images, a mean over the examples."""
    task = NETWORKS[network]
    structure = tree.flatten(task.build(np.random.default_rng(0)))[1]

    def total(weights: Sequence[Any], images: Any, labels: Any) -> Any:
        loss, score = task.loss(tree.unflatten(structure, weights), task.prepare(images), labels)
        return loss * len(images), score

    measure = jit(total)

    def evaluate(weights: Sequence[Any]) -> tuple[float, float]:
        count = len(dataset.test_images)
        parts = consecutive(count, _TEST_BATCH)
        sums = [measure(weights, dataset.test_images[part], dataset.test_labels[part]) for part in parts]
        loss, score = np.sum(np.asarray(sums, np.float64), axis=0) / count
        return float(loss), float(score)

    return evaluate
