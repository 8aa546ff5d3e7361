"""What the papers changed in their programs, one thing at a time: the old way against the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from ablation.convolution import by_fft, by_loops, by_matrix, cnn_loss, pooled
from ablation.measure import Change, Side, table
from wengert import nn
from wengert.data import Dataset
from wengert.inspect.notation import all_values
from wengert.train import TASKS

Arguments = tuple[Any, ...]


def first_batch(name: str, dataset: Dataset, size: int, dtype: Any) -> Arguments:
    """Return the first weights of a network of `wengert.train`, in a list, and a batch."""
    task = TASKS[name]
    weights = [np.asarray(leaf, dtype) for leaf in wg.tree.leaves(task.build(np.random.default_rng(0)))]
    images, labels = dataset.train_images[:size], dataset.train_labels[:size]
    return weights, np.asarray(task.prepare(images), dtype), labels.astype(np.int64)


def gradient(name: str) -> Callable[..., Any]:
    """Return the loss of a network and its gradient, by the weights in a list."""
    task = TASKS[name]
    structure = wg.tree.flatten(task.build(np.random.default_rng(0)))[1]

    def loss(weights: Sequence[Any], x: Any, labels: Any) -> Any:
        return task.loss(wg.tree.unflatten(structure, weights), x, labels)[0]

    return wg.value_and_grad(loss)


def recorded(function: Callable[..., Any], arguments: Arguments) -> Callable[..., Any]:
    """Return a function that evaluates the list of another, recorded once; NumPy runs each operation."""
    listing = wg.trace(function)(*arguments)

    def call(*arguments: Any) -> list[Any]:
        values = all_values(listing, wg.tree.leaves(arguments))
        return [values[output] for output in listing.outputs]

    return call


def run(function: Callable[..., Any], *arguments: Any) -> Side:
    """Return the side on which NumPy runs each operation of a function."""
    return Side(partial(function, *arguments))


def native(function: Callable[..., Any], *arguments: Any) -> Side:
    """Return the side on which a function is compiled."""
    fast = wg.jit(function)
    return Side(partial(fast, *arguments), fast.memory(*arguments))


def activation(y: Any, b: Any, place: Any = None) -> Any:
    """Add a bias and cut off at zero, in NumPy: in new arrays, or in one that is given."""
    return np.maximum(np.add(y, b, out=place), 0, out=place)


def updated(weights: Sequence[Any], x: Any, labels: Any) -> list[Any]:
    """Take a step of the autoencoder's training."""
    _, slopes = gradient("autoencoder")(weights, x, labels)
    return [w - 0.02 * slope for w, slope in zip(weights, slopes, strict=True)]


def changes(dataset: Dataset, size: int) -> Iterator[Change]:
    """Yield what is measured, with batches of ``size`` images, but for the autoencoder."""
    double, single = (first_batch("cnn", dataset, size, dtype) for dtype in (np.float64, np.float32))
    rnn = first_batch("rnn", dataset, size, np.float32)
    wide_rnn = first_batch("rnn", dataset, size, np.float64)
    one = first_batch("autoencoder", dataset, 1, np.float32)
    loops, matrix, fft, direct = (
        wg.value_and_grad(cnn_loss(kind)) for kind in (by_loops, by_matrix, by_fft, nn.convolve)
    )
    numpy, compiled = "CNN, NumPy", "CNN, compiled"
    yield Change("loops → im2col", numpy, run(loops, *double), run(matrix, *double), 1)
    yield Change("loops → im2col", compiled, native(loops, *double), native(matrix, *double))
    yield Change("im2col → Fourier transforms", numpy, run(matrix, *double), run(fft, *double))
    yield Change("im2col → Fourier transforms", compiled, native(matrix, *double), native(fft, *double))
    yield Change("im2col → `nn.convolve`", compiled, native(matrix, *double), native(direct, *double))
    for title, given in {"CNN": single, "RNN": rnn, "autoencoder": one}.items():
        slopes = gradient(title.lower())
        once = run(recorded(slopes, given), *given)
        yield Change("graph built in each step → once", f"{title}, NumPy", run(slopes, *given), once)
        yield Change("NumPy → compiled", title, once, native(slopes, *given))
    x, b = np.random.default_rng(0).standard_normal((size, 6, 26, 26)), np.ones((6, 1, 1))
    for how, place in ((run, "pooling, NumPy"), (native, "pooling, compiled")):
        yield Change("slices copied → views", place, how(partial(pooled, copies=True), x), how(pooled, x))
    for y, place in ((x, "bias and ReLU, NumPy"), (np.repeat(x, 11, axis=0), "the same, 11 times as large")):
        given = run(activation, y, b, np.empty_like(y))
        yield Change("arrays made → given (`out=`)", place, run(activation, y, b), given)
    yield Change("float64 → float32", numpy, run(matrix, *double), run(matrix, *single))
    yield Change("float64 → float32", compiled, native(direct, *double), native(direct, *single))
    slopes = gradient("rnn")
    yield Change("float64 → float32", "RNN, compiled", native(slopes, *wide_rnn), native(slopes, *rnn))
    held, step = [list(map(np.array, one[0]))], wg.jit(updated, donate=0)

    def donated() -> None:
        held[0] = step(held[0], *one[1:])

    after = Side(donated, step.memory(held[0], *one[1:]))
    yield Change("new weights → `donate`", "autoencoder, compiled step", native(updated, *one), after)


def changes_table(dataset: Dataset, size: int = 100) -> str:
    """Return the table of the changes."""
    rows = []
    for change in changes(dataset, size):
        rows.append(change.row())
        print(*rows[-1], sep=" | ", flush=True)
    return table(["change", "in", "before", "after", "faster by", "memory before", "after"], rows, texts=2)
