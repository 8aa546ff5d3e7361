"""Programs of many kinds, each with example arguments, that every kind of file must carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn, optim, random
from wengert.engine.core import tree

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def training_step() -> Case:
    """Return a step of Adam for a small convolutional network; it updates its state in place."""
    model = nn.Chain(
        nn.Conv2D(1, 4, 3, seed=0), nn.relu, nn.MaxPool2D(2), nn.Flatten(), nn.Dense(36, 10, seed=1)
    )
    optimiser = optim.adam(1e-2)

    @wg.jit(donate=0)
    def step(state: Any, x: Any, labels: Any) -> Any:
        model, moments = state

        def loss(model: Any) -> Any:
            return nn.softmax_cross_entropy(model(x), labels)

        value, gradient = wg.value_and_grad(loss)(model)
        return optimiser.update(gradient, moments, model), value

    r = np.random.default_rng(0)
    x = r.normal(size=(5, 1, 8, 8)).astype(np.float32)
    return step, ((model, optimiser.init(model)), x, r.integers(0, 10, 5))


def lstm_gradient() -> Case:
    """Return the gradient of a recurrent network: a scan, and its reverse."""
    model = nn.LSTM(3, 8, seed=0)
    x = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    return wg.value_and_grad(lambda model, x: np.mean(model(x) ** 2)), (model, x)


def next_symbols() -> Case:
    """Return a step of a transformer with a cache of keys and values."""
    model = nn.Transformer(11, 8, heads=2, layers=1, seed=0)
    _, cache = model.extend(np.array([[1, 2], [7, 3]]), model.initial_cache(2, 5))
    return lambda model, symbols, cache: model.extend(symbols, cache), (model, np.array([[4], [10]]), cache)


def enlarged_images() -> Case:
    """Return the gradient of a loss of depthwise filters over enlarged images."""
    depthwise = nn.Conv2D(3, 3, 3, groups=3, padding="same", seed=0)
    model = nn.Chain(nn.Upsample2D((1, 2)), depthwise, nn.RMSNorm(8), nn.Upsample2D(2, "linear"))
    r = np.random.default_rng(2)
    x, y = r.normal(size=(2, 3, 3, 4)).astype("f4"), r.normal(size=(2, 3, 6, 16)).astype("f4")
    return wg.value_and_grad(lambda model, x, y: nn.huber_loss(model(x), y)), (model, x, y)


def kalman_filter() -> Case:
    """Return the gradient of the negative log likelihood of a filter with two states."""

    def likelihood(parameters: Any, observed: Any) -> Any:
        noise, drift = np.exp(parameters["noise"]), parameters["drift"]
        transition = np.array([[1.0, 1.0], [0.0, 1.0]])
        h = np.array([1.0, 0.0])

        def turn(carry: Any, y: Any) -> Any:
            mean, cov, total = carry
            mean = transition @ mean + np.array([0.0, 1.0]) * drift
            cov = transition @ cov @ transition.T + noise * np.eye(2)
            s = h @ cov @ h + 1.0
            gain = cov @ h / s
            off = y - h @ mean
            total = total + 0.5 * (np.log(s) + off * off / s)
            return (mean + gain * off, cov - np.outer(gain, h @ cov), total), off

        (_, _, total), offs = wg.scan(turn, (np.zeros(2), np.eye(2), 0.0), observed)
        return total + 0.0 * np.sum(offs)

    observed = np.cumsum(np.random.default_rng(2).normal(size=30))
    return wg.value_and_grad(likelihood), ({"noise": np.float64(-1.0), "drift": np.float64(0.1)}, observed)


def newton_loop() -> Case:
    """Return a square root by a loop that ends when it is done."""

    def root(x: Any) -> Any:
        start = (x, 0)
        return wg.while_loop(
            lambda s: np.abs(s[0] * s[0] - x) > 1e-12, lambda s: (0.5 * (s[0] + x / s[0]), s[1] + 1), start
        )

    return root, (np.float64(2.0),)


def branch() -> Case:
    """Return a function with two branches, and its derivative."""

    def f(x: Any) -> Any:
        return wg.cond(np.sum(x) > 0, lambda x: np.sum(np.sin(x)), lambda x: np.sum(x**3), x)

    return wg.value_and_grad(f), (np.array([0.5, -0.25, 1.0]),)


def gather_and_scatter() -> Case:
    """Return the gradient of a table that is read at indices."""

    def f(table: Any, rows: Any) -> Any:
        return np.sum(np.tanh(table[rows]) ** 2)

    r = np.random.default_rng(3)
    return wg.value_and_grad(f), (r.normal(size=(7, 3)), np.array([0, 3, 3, 6]))


def random_numbers() -> Case:
    """Return random numbers of three distributions."""

    def f(key: Any) -> Any:
        first, second = random.split(key)
        return random.normal(first, (9,)), random.uniform(second, (5,)), random.bernoulli(key, 0.3, (8,))

    return f, (random.key(7),)


def elementary_functions() -> Case:
    """Return every common elementary function of float64 numbers, rounding and remainders among them."""

    def f(x: Any) -> Any:
        near = [
            np.sin(x),
            np.cos(x),
            np.tan(x),
            np.arctan(x),
            np.sinh(x / 9),
            np.tanh(x),
            np.exp(x / 5),
            np.cbrt(x),
        ]
        above = [
            np.log(np.abs(x)),
            np.sqrt(np.abs(x)),
            np.abs(x) ** 0.7,
            np.log1p(np.abs(x)),
            np.expm1(x / 7),
        ]
        whole = [
            np.floor(x),
            np.ceil(x),
            np.trunc(x),
            np.rint(x),
            np.mod(x, 0.7),
            np.fmod(x, -0.9),
            np.hypot(x, 2),
        ]
        return np.stack([*near, *above, *whole, wg.special.erf(x), np.arctan2(x, 0.5)])

    edge = [0.0, -0.0, 0.5, -0.5, 2.5, 1e-310, -1e300, 1e22, 3e15, 0.7, -1.4]
    return f, (np.concatenate([np.random.default_rng(4).normal(size=30) * 5, edge]),)


def integers_and_booleans() -> Case:
    """Return results of several dtypes."""

    def f(x: Any, n: Any) -> Any:
        return {"above": x > 0.5, "index": np.argmax(x), "power": n * n, "small": (x * 100).astype(np.int16)}

    return f, (np.linspace(0, 1, 7), 5)


def marginal_likelihood() -> Case:
    """Return the gradient of the likelihood of a Gaussian process: a Cholesky factor of two blocks."""

    def likelihood(parameters: Any, x: Any, y: Any) -> Any:
        distance = (x[:, None] - x) / parameters["length"]
        covariance = np.exp(-0.5 * distance**2) + parameters["noise"] * np.eye(len(x))
        factor = np.linalg.cholesky(covariance)
        z = np.linalg.solve(factor, y)
        return 0.5 * np.sum(z * z) + np.sum(np.log(np.diagonal(factor)))

    x = np.linspace(0.0, 4.0, 33)
    parameters = {"length": np.float64(0.7), "noise": np.float64(0.1)}
    return wg.value_and_grad(likelihood), (parameters, x, np.sin(3 * x))


def equations() -> Case:
    """Return the solution of twenty equations, the sensitivity to the matrix, and its determinant."""

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1]

    r = np.random.default_rng(5)
    return wg.value_and_grad(f), (r.normal(size=(20, 20)) + 10 * np.eye(20)[::-1], r.normal(size=20))


def least_squares() -> Case:
    """Return a least squares fit by orthogonal factors, and its derivative."""

    def f(a: Any, b: Any) -> Any:
        q, r = np.linalg.qr(a)
        return np.sum(np.cos(np.linalg.solve(r, q.T @ b)))

    r = np.random.default_rng(6)
    return wg.value_and_grad(f), (r.normal(size=(12, 9)), r.normal(size=12))


def order_statistics() -> Case:
    """Return sorted values, positions, the median and quantiles, with gradients: lines short, long and strided."""

    def f(x: Any, y: Any, n: Any) -> Any:
        def spread(x: Any) -> Any:
            low, middle, high = np.quantile(x, np.array([0.1, 0.5, 0.9]), axis=0)
            return np.sum((high - low) ** 2 + np.abs(middle)) + np.sum(np.median(x, axis=1) ** 2)

        return {
            "spread": wg.value_and_grad(spread)(x),
            "long": (np.sort(y), np.argsort(y, kind="stable"), np.percentile(y, 30)),
            "whole": (np.sort(n, axis=0), np.argsort(n, axis=1, kind="stable")),
            "first": np.partition(n, 2, axis=1),
            "places": np.searchsorted(np.sort(y[:40]), x[:, 0]),
        }

    r = np.random.default_rng(5)
    y = np.round(r.normal(size=1300).astype(np.float32), 2)
    y[[3, 700]], y[[10, 900]] = np.nan, -0.0
    return f, (r.normal(size=(9, 21)), y, r.integers(-9, 9, (5, 20)))


CASES: dict[str, Callable[[], Case]] = {
    case.__name__: case
    for case in (
        training_step, lstm_gradient, next_symbols, enlarged_images, kalman_filter, newton_loop, branch,
        gather_and_scatter, random_numbers, elementary_functions, integers_and_booleans, marginal_likelihood,
        equations, least_squares, order_statistics,
    )
}  # fmt: skip
#: The operation for which ONNX has no form.
WITHOUT_ONNX = {"marginal_likelihood": "cholesky", "equations": "solve", "least_squares": "qr"}


def vanishing(*, flush: bool) -> Case:
    """Return products that are subnormal numbers, or are flushed to zero, and a loop that gets there."""

    def f(x: Any, y: Any) -> Any:
        return x * y, wg.fori_loop(0, 200, lambda _, c: c * np.float32(0.5), x)

    x, y = np.full(5, 1e-30, np.float32), np.full(5, 1e-10, np.float32)
    return wg.jit(f, flush_subnormals=flush), (x, y)


def copied(arguments: Any) -> Any:
    """Return arguments with arrays of their own, for a function that takes donated ones."""
    return tree.map_tree(lambda leaf: np.array(leaf) if isinstance(leaf, np.ndarray) else leaf, arguments)
