"""The workloads, with the data and the first weights that all contestants share. It needs only NumPy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from harness.shared import load_arrays, save_arrays


class Training(NamedTuple):
    """A training step: gather and scaling of uint8 images, forward, backward and update."""

    title: str
    batch: int
    rate: float
    scale: float
    """The factor of a grey value; then ``shift`` is subtracted, and ``stretch`` multiplies the difference."""
    shift: float = 0.0
    stretch: float = 1.0
    optimiser: str = "sgd"
    chunk: int = 50
    """Steps that a contestant may take in one call; losses are compared after the first chunk."""
    tolerance: float = 1e-3


class Calculation(NamedTuple):
    """A function of fixed arguments."""

    title: str
    arguments: tuple[Any, ...]
    chunk: int = 1
    tolerance: float = 1e-9


TRAININGS = {
    "cnn": Training("CNN training step, batch 100", 100, 0.01, 1 / 255, 0.1307, 1 / 0.3081),
    "rnn": Training("tanh RNN step, hidden 64", 100, 0.015, 2 / 255),
    "lstm": Training("LSTM step, hidden 64, SGD", 100, 0.015, 2 / 255),
    "autoencoder-1": Training("autoencoder, one sample a step", 1, 0.02, 1 / 255, chunk=200),
    "autoencoder-100": Training("autoencoder, batch 100", 100, 0.02, 1 / 255),
    "mlp": Training("MLP 784-256-256-10, Adam, batch 128", 128, 1e-3, 1 / 255, optimiser="adam"),
}
CALCULATIONS = {
    **{
        f"matmul-{n}-{dtype}": f"matrix product {n}^3, {dtype}"
        for n in (1024, 256)
        for dtype in ("float32", "float64")
    },
    "chain": "sum of exp(-x²) sin x + sqrt(1 + x²), 10^7 float32",
    "loss": "mean of (tanh x - y)² and its gradient, 10^7 float32",
    "gradient-ln": "gradient of ln x1 + x1 x2 - sin x2",
    "gradient-rosenbrock": "gradient of Rosenbrock, n = 10",
    "hessian-rosenbrock": "Hessian of Rosenbrock, n = 100",
    "hvp-rosenbrock": "HVP of Rosenbrock, n = 10,000",
    "gaussians": "log-likelihoods of 10,000 Gaussians, n = 3, and gradient",
    "kalman": "likelihood of a Kalman filter of 200 steps, n = 4, and gradient",
}
NAMES = (*TRAININGS, *CALCULATIONS)

ADAM = (0.9, 0.999, 1e-8)
"""Adam's two decays and epsilon."""


def workload(name: str) -> Training | Calculation:
    if name in TRAININGS:
        return TRAININGS[name]
    rng = np.random.default_rng(1)
    kind, *rest = name.split("-")
    title = CALCULATIONS[name]
    if kind == "matmul":
        n, dtype = int(rest[0]), rest[1]
        factors = tuple(rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
        return Calculation(title, factors, tolerance=1e-4 if dtype == "float32" else 1e-9)
    if kind == "chain":
        return Calculation(title, (rng.standard_normal(10**7, np.float32),), tolerance=1e-4)
    if kind == "loss":
        return Calculation(title, tuple(rng.standard_normal((2, 10**7), np.float32)), tolerance=1e-4)
    if name == "gradient-ln":
        return Calculation(title, (2.0, 5.0))
    if name == "gaussians":
        return Calculation(title, (rng.standard_normal((10_000, 3, 3)), rng.standard_normal((10_000, 3))))
    if name == "kalman":
        moves, seen = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)
        return Calculation(title, (np.array([0.1, 0.5]), rng.standard_normal((200, 2)), moves, seen))
    n = {"gradient": 10, "hessian": 100, "hvp": 10_000}[kind]
    return Calculation(title, tuple(rng.standard_normal((2, n))) if kind == "hvp" else (rng.random(n),))


def initial_weights(name: str) -> list[np.ndarray]:
    """Return the first weights of a training, each bias after its weight.

    Dense weights are (inputs, outputs), filters (outputs, inputs, height, width); an LSTM's gates are input, forget,
    cell and output, side by side.
    """
    rng = np.random.default_rng(0)

    def dense(inputs: int, outputs: int, bound: float | None = None) -> list[np.ndarray]:
        bound = bound or np.sqrt(6 / (inputs + outputs))
        return [uniform(bound, (inputs, outputs)), np.zeros(outputs, np.float32)]

    def uniform(bound: float, shape: tuple[int, ...]) -> np.ndarray:
        return rng.uniform(-bound, bound, shape).astype(np.float32)

    if name == "cnn":
        filters = [
            array
            for outputs, inputs in ((6, 1), (16, 6))
            for array in (
                uniform(np.sqrt(6 / (9 * inputs)), (outputs, inputs, 3, 3)),
                np.zeros(outputs, np.float32),
            )
        ]
        return [*filters, *dense(400, 84), *dense(84, 10)]
    if name == "mlp":
        return [*dense(784, 256), *dense(256, 256), *dense(256, 10)]
    if name in ("rnn", "lstm"):
        gates = 64 if name == "rnn" else 256
        inputs = uniform(0.06, (28, gates))
        recurrent = uniform(0.12, (64, gates))
        return [inputs, recurrent, np.zeros(gates, np.float32), *dense(64, 10)]
    last = dense(100, 784, 0.17)[:1]  # the paper's last layer has no bias
    return [*dense(784, 300, 0.17), *dense(300, 100, 0.17), *last]


class Data(NamedTuple):
    """The training images and labels, and their order in training."""

    images: np.ndarray
    labels: np.ndarray
    order: np.ndarray

    def batches(self, size: int) -> np.ndarray:
        """Return the indices of each full batch of an epoch, a row each."""
        count = len(self.order) // size
        return self.order[: count * size].reshape(count, size)


def save_data(folder: Path, images: Any, labels: Any) -> None:
    order = np.random.default_rng(0).permutation(len(images))
    save_arrays(folder, "data", (images, np.asarray(labels, np.int64), order))


def load_data(folder: Path) -> Data:
    return Data(*load_arrays(folder, "data"))
