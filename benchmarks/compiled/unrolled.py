"""Programs with Python loops over a NumPy-like module: a loss of parameters, which compilers get unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A family of programs, by their length."""

    title: str
    lengths: tuple[int, ...]
    limit: float
    """Seconds that the first call of the longest one may take."""
    make: Callable[[int], tuple[Callable[[Any], Callable[..., Any]], tuple[Any, ...]]]
    """``length -> (function, arguments)``; ``function(module)`` is the loss, differentiated by its first argument."""


def _normal(rng: np.random.Generator, *shape: int) -> Any:
    return (0.1 * rng.normal(size=shape)).astype(np.float32)


def euler(length: int) -> Any:
    def program(xp: Any) -> Any:
        def loss(rates: Any, y: Any) -> Any:
            for _ in range(length):
                y = y + 0.01 * (rates * xp.sin(y) - y * y * y)
            return xp.sum(y * y)

        return loss

    return program, (np.full(3, 1.5), np.array([1.0, 2.0, 0.5]))


def runge_kutta(length: int) -> Any:
    def program(xp: Any) -> Any:
        def field(y: Any, p: Any) -> Any:
            meet = y[0] * y[1]
            return xp.stack([p[0] * y[0] - p[1] * meet, p[2] * meet - p[3] * y[1]])

        def loss(p: Any, y: Any) -> Any:
            for _ in range(length):
                a = field(y, p)
                b = field(y + 0.005 * a, p)
                c = field(y + 0.005 * b, p)
                d = field(y + 0.01 * c, p)
                y = y + 0.01 / 6 * (a + 2 * b + 2 * c + d)
            return xp.sum(y * y)

        return loss

    return program, (np.array([1.5, 1.0, 1.0, 3.0]), np.array([1.0, 1.0]))


def lstm(length: int) -> Any:
    rng, hidden, symbols, batch = np.random.default_rng(0), 64, 40, 16

    def program(xp: Any) -> Any:
        def logistic(x: Any) -> Any:
            return 1 / (1 + xp.exp(-x))

        def loss(weights: Any, x: Any) -> Any:
            w, u, bias, out = weights
            h = c = xp.zeros((batch, hidden), np.float32)
            total = 0.0
            for t in range(length - 1):
                z = x[t] @ w + h @ u + bias
                i, f, o, g = (z[:, n * hidden : (n + 1) * hidden] for n in range(4))
                c = logistic(f) * c + logistic(i) * xp.tanh(g)
                h = logistic(o) * xp.tanh(c)
                logits = h @ out
                most = xp.max(logits, axis=1, keepdims=True)
                chosen = xp.sum(x[t + 1] * (logits - most), axis=1)
                total = total + xp.mean(xp.log(xp.sum(xp.exp(logits - most), axis=1)) - chosen)
            return total

        return loss

    shapes = ((symbols, 4 * hidden), (hidden, 4 * hidden), (4 * hidden,), (hidden, symbols))
    text = np.eye(symbols, dtype=np.float32)[rng.integers(0, symbols, (length, batch))]
    return program, (tuple(_normal(rng, *shape) for shape in shapes), text)


def perceptron(length: int) -> Any:
    rng, width = np.random.default_rng(0), 64

    def program(xp: Any) -> Any:
        def loss(layers: Any, x: Any) -> Any:
            for weights, bias in layers:
                x = xp.tanh(x @ weights + bias)
            return xp.mean(x * x)

        return loss

    layers = [(_normal(rng, width, width), _normal(rng, width)) for _ in range(length)]
    return program, (layers, _normal(rng, 32, width))


def transformer(length: int) -> Any:
    rng = np.random.default_rng(0)
    batch, places, width, heads = 4, 32, 64, 4

    def program(xp: Any) -> Any:
        def normalised(x: Any, scale: Any) -> Any:
            x = x - xp.mean(x, axis=-1, keepdims=True)
            return scale * x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-5))

        def attention(x: Any, block: Any) -> Any:
            parts = xp.reshape(x @ block["qkv"], (batch, places, 3, heads, width // heads))
            q, k, v = (xp.transpose(parts[:, :, n], (0, 2, 1, 3)) for n in range(3))
            scores = q @ xp.transpose(k, (0, 1, 3, 2)) / np.float32((width // heads) ** 0.5)
            scores = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
            mixed = (scores / xp.sum(scores, axis=-1, keepdims=True)) @ v
            return xp.reshape(xp.transpose(mixed, (0, 2, 1, 3)), x.shape) @ block["out"]

        def loss(blocks: Any, x: Any) -> Any:
            for block in blocks:
                x = x + attention(normalised(x, block["first"]), block)
                inner = xp.maximum(normalised(x, block["second"]) @ block["up"] + block["bias"], 0)
                x = x + inner @ block["down"]
            return xp.mean(x * x)

        return loss

    def block() -> dict[str, Any]:
        shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width)}
        shapes |= {"down": (4 * width, width), "bias": (4 * width,), "first": (width,), "second": (width,)}
        return {name: _normal(rng, *shape) for name, shape in shapes.items()}

    return program, ([block() for _ in range(length)], _normal(rng, batch, places, width))


def forward_algorithm(length: int) -> Any:
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 5, length)

    def program(xp: Any) -> Any:
        def loss(moves: Any, emissions: Any) -> Any:
            weights = emissions[:, symbols[0]] / len(moves)
            total = 0.0
            for t in range(1, length):
                scale = xp.sum(weights)
                total = total + xp.log(scale)
                weights = (weights / scale) @ moves * emissions[:, symbols[t]]
            return total + xp.log(xp.sum(weights))

        return loss

    moves = rng.random((8, 8))
    return program, (moves / moves.sum(axis=1, keepdims=True), rng.random((8, 5)))


def neuron(length: int) -> Any:
    def program(xp: Any) -> Any:
        def rate(x: Any, width: float) -> Any:
            return x / (1 - xp.exp(-x / width))

        def loss(sodium: Any, current: Any) -> Any:
            v, m, h, n = current - 75.0, 0.05, 0.6, 0.32
            total = 0.0
            for _ in range(length):
                flow = sodium * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.4)
                rising_m, falling_m = 0.1 * rate(v + 40, 10.0), 4 * xp.exp(-(v + 65) / 18)
                rising_h, falling_h = 0.07 * xp.exp(-(v + 65) / 20), 1 / (1 + xp.exp(-(v + 35) / 10))
                rising_n, falling_n = 0.01 * rate(v + 55, 10.0), 0.125 * xp.exp(-(v + 65) / 80)
                v = v + 0.01 * (current - flow)
                m = m + 0.01 * (rising_m * (1 - m) - falling_m * m)
                h = h + 0.01 * (rising_h * (1 - h) - falling_h * h)
                n = n + 0.01 * (rising_n * (1 - n) - falling_n * n)
                total = total + v
            return total

        return loss

    return program, (120.0, 10.0)


def flow(length: int) -> Any:
    def program(xp: Any) -> Any:
        def difference(u: Any, axis: int) -> Any:
            return 0.5 * (xp.roll(u, -1, axis) - xp.roll(u, 1, axis))

        def loss(u: Any, v: Any) -> Any:
            for _ in range(length):
                u, v = u - 0.01 * u * difference(u, 0), v - 0.01 * v * difference(v, 1)
                divergence = difference(u, 0) + difference(v, 1)
                p = 0.0 * u
                for _ in range(10):
                    around = xp.roll(p, 1, 0) + xp.roll(p, -1, 0) + xp.roll(p, 1, 1) + xp.roll(p, -1, 1)
                    p = (around - divergence) / 4
                u, v = u - difference(p, 0), v - difference(p, 1)
            return xp.sum(u * u)

        return loss

    rng = np.random.default_rng(0)
    return program, (rng.random((20, 20)), rng.random((20, 20)))


PROGRAMS = {
    "euler": Program("Euler steps of 3 equations", (10, 1000, 1_000_000), 1.5, euler),
    "runge-kutta": Program("Runge-Kutta steps of Lotka and Volterra", (10, 1000, 100_000), 1.5, runge_kutta),
    "hmm": Program("symbols of a hidden Markov model", (10, 2400), 1.5, forward_algorithm),
    "neuron": Program("steps of Hodgkin's and Huxley's neuron", (10, 10_000), 1.5, neuron),
    "flow": Program("steps of a flow, 10 sweeps each", (10, 1000), 1.5, flow),
    "lstm": Program("LSTM over characters", (16, 32, 64), 3.0, lstm),
    "perceptron": Program("layers of a perceptron", (10, 30, 100), 3.0, perceptron),
    "transformer": Program("blocks of a transformer", (3, 6, 12), 4.0, transformer),
}
