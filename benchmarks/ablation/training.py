"""Trainings of the papers' networks: by several libraries, on Fashion-MNIST, from other weights; codes to classify."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from harness import allocations, measurements, plot
from harness.contest import Round, Trial, hold
from harness.contestants import Contestant, is_installed
from papers import Watch

import wengert as wg
from ablation.measure import table
from wengert import nn, optim
from wengert.data import Dataset
from wengert.train import TASKS, Task, fit, train
from wengert.train.plots import new_figure, png, reconstructions
from wengert.train.reporters import counted

LIBRARIES = (
    Contestant("wengert", "jit"),
    Contestant("wengert", "reference"),
    Contestant("torch", "eager"),
    Contestant("tensorflow", "function"),
)
"""Those of the papers, which used Flux as well, and Wengert in double precision."""


def libraries(
    dataset: Dataset,
    runs: int,
    epochs: int = 5,
    limit: int | None = None,
    networks: Sequence[str] = ("cnn", "rnn"),
) -> tuple[str, bytes]:
    """Return the table and the picture of trainings by the libraries that are installed, from several seeds."""
    chosen = [contestant for contestant in LIBRARIES if is_installed(contestant.library)]
    measured: list[Trial] = []

    def failed(contestant: Contestant, error: Exception) -> None:
        print(f"left out: {contestant}: {error}", file=sys.stderr)

    with allocations.counted():
        for network, seed in itertools.product(networks, range(runs)):
            measured += hold(Round(network, 1, seed), chosen, dataset, limit, epochs, failed)
            print(network, "seed", seed, file=sys.stderr)
    rows = [
        [
            line.network,
            str(line.contestant),
            f"{line.seconds:.2f}",
            f"{line.ratio:.1f} x",
            f"{line.fresh / 1e9:.1f}",
            f"{line.peak / 1e6:.0f}",
            line.score.show(".2%", ".2%"),
            line.loss.show(".3f", ".3f"),
        ]
        for line in measurements.lines(measured)
    ]
    head = ("network", "library", "s an epoch", "to Wengert", "GB asked for", "peak, MB", "accuracy", "loss")
    caption = f"Accuracy and loss, after {counted(epochs, 'epoch')}, are means over {counted(runs, 'seed')}."
    return f"{table(head, rows, texts=2)}\n\n{caption}", plot.comparison(measured)


def watched(task: Task, data: str, dataset: Dataset, epochs: int, runs: int) -> list[Watch]:
    """Train from several seeds, and return what was seen."""
    found: list[Watch] = []
    for seed in range(runs):
        found.append(Watch())
        train(task, task.settings(data, epochs=epochs, seed=seed), dataset, found[-1])
        print(task.name, "seed", seed, f"{found[-1].epochs[-1].test_score:.2%}", file=sys.stderr)
    return found


def fashion(dataset: Dataset, runs: int, epochs: int = 15) -> str:
    """Return the table of the CNN on Fashion-MNIST."""
    found = watched(TASKS["cnn"], dataset.name, dataset, epochs, runs)
    scores = np.array([[epoch.test_score for epoch in watch.epochs] for watch in found])
    shown = [number for number in (1, 2, 5, 10, 15) if number <= epochs]
    rows = [
        [f"{name} of {counted(runs, 'run')}", *(f"{function(scores[:, number - 1]):.2%}" for number in shown)]
        for name, function in (("mean", np.mean), ("least", np.min))
    ]
    return table(["accuracy after epoch", *map(str, shown)], rows)


def plain_rnn(rng: np.random.Generator) -> nn.Chain:
    """Return the RNN with Glorot's weights alone, as the paper has it."""
    layer = nn.RNN(28, 64, seed=rng, initialise=nn.glorot_uniform, recurrent=nn.glorot_uniform)
    return nn.Chain(layer, nn.Dense(64, 10, seed=rng))


def weights(dataset: Dataset, runs: int, epochs: int = 5) -> tuple[str, bytes]:
    """Return the table and the picture of the RNN from Glorot's weights and from ours."""
    figure, axes = new_figure(1, 2, 9, 3)
    rows = []
    ours = TASKS["rnn"]
    for name, task in (("Glorot's weights", ours._replace(build=plain_rnn)), ("ours", ours)):
        found = watched(task, dataset.name, dataset, epochs, runs)
        last = [watch.epochs[-1] for watch in found]
        scores = [result.test_score for result in last]
        first = np.mean([watch.losses[0] for watch in found])
        losses = f"{first:.3f}", f"{np.mean([result.test_loss for result in last]):.3f}"
        rows.append([name, f"{np.mean(scores):.2%}", f"{min(scores):.2%}", f"{max(scores):.2%}", *losses])
        for axis, title in zip(axes[0], ("loss", "accuracy"), strict=True):
            curve = np.mean([watch.losses if title == "loss" else watch.scores for watch in found], axis=0)
            width = min(50, len(curve))
            axis.plot(np.convolve(curve, np.full(width, 1 / width), "valid"), lw=1, label=name)
            axis.set(title=f"RNN: training {title}", xlabel="batch")
            axis.grid(alpha=0.3)
    axes[0, 0].legend()
    head = [
        f"{runs} runs from",
        "accuracy",
        "least",
        "most",
        "loss of the first batch",
        "test loss at the end",
    ]
    return table(head, rows), png(figure)


# -- codes -----------------------------------------------------------------------------------------------


def regression(features: Sequence[Any], labels: Sequence[Any]) -> float:
    """Return the test accuracy of a softmax regression on features of the training and the test images."""
    mean, scale = features[0].mean(axis=0), features[0].std()
    x, test_x = ((part - mean) / scale for part in features)
    model = nn.Dense(x.shape[1], 10, seed=0)

    def loss(model: Any, x: Any, y: Any) -> Any:
        return nn.softmax_cross_entropy(model(x), y)

    trained = fit(model, loss, (x, labels[0]), optim.adam(2e-3), epochs=10, batch_size=100).model
    return float(np.mean(np.argmax(trained(test_x), axis=1) == labels[1]))


def principal(pixels: Any, others: Any, count: int = 100) -> tuple[Any, Any]:
    """Return the first principal components of two sets of pictures, from the first one."""
    mean = pixels.mean(axis=0)
    axes = np.linalg.eigh(np.cov(pixels, rowvar=False))[1][:, -count:]
    return (pixels - mean) @ axes, (others - mean) @ axes


def codes(dataset: Dataset, epochs: int = 4) -> tuple[str, bytes]:
    """Return the table and the picture of the autoencoder's codes, with other features of the same images."""
    task = TASKS["autoencoder"]
    images = [np.asarray(task.prepare(np.array(x))) for x in (dataset.train_images, dataset.test_images)]
    labels = [y.astype(np.int64) for y in (dataset.train_labels, dataset.test_labels)]
    settings = task.settings(dataset.name, epochs=epochs)
    before = task.build(np.random.default_rng(settings.seed))
    after = train(task, settings, dataset).model

    def encoded(model: Any) -> list[Any]:
        encode = wg.jit(nn.Chain(*model.layers[:4]))
        return [encode(x) for x in images]

    features = {
        "784 pixels": images,
        "100 codes of the first weights": encoded(before),
        f"100 codes after {epochs} epochs": encoded(after),
        "100 principal components": principal(*images),
    }
    rows = []
    for name, parts in features.items():
        rows.append([name, f"{regression(parts, labels):.2%}"])
        print(*rows[-1], file=sys.stderr)
    return table(["softmax regression on", "test accuracy"], rows), _pictures(images, after)


def _pictures(images: Sequence[Any], model: Any, count: int = 8) -> bytes:
    """Draw images of both sets, their codes and what the decoder makes of them."""
    x = np.concatenate([part[:count] for part in images])
    squares = np.kron(nn.Chain(*model.layers[:4])(x).reshape(-1, 10, 10), np.ones((2, 2)))
    codes, outputs = np.pad(squares, ((0, 0), (4, 4), (4, 4))), model(x).reshape(-1, 28, 28)
    return reconstructions(x.reshape(-1, 28, 28), np.concatenate([codes, outputs]))
