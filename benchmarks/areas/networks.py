"""Networks: dense, variational, residual and attention blocks, their parts and losses, with gradients."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from areas.families import Case, Draw, family

DERIVATIVES = ("", "gradient")


def _layers(draw: Draw, widths: tuple[int, ...]) -> list[Any]:
    return [(draw.weights(before, after), draw(after, scale=0.1)) for before, after in pairwise(widths)]


def _dense(xp: Any, layers: Any, x: Any) -> Any:
    *hidden, (weight, bias) = layers
    for w, b in hidden:
        x = xp.relu(x @ w + b)
    return x @ weight + bias


@family(
    widths=((20, 30, 10), (784, 256, 256, 10), (1024, 1024, 1024, 10), (64, 64, 64, 64, 64, 1)),
    batch=(8, 1, 128, 1024),
    derivative=DERIVATIVES,
)
def mlp(draw: Draw, widths: tuple[int, ...], batch: int, derivative: str) -> Case:
    x, labels = draw(batch, widths[0]), draw.integers(widths[-1], batch)

    def program(xp: Any, layers: Any, x: Any, labels: Any) -> Any:
        return xp.cross_entropy(_dense(xp, layers, x), labels)

    return Case(program, (_layers(draw, widths), x, labels), derivative, tolerance=1e-3)


@family(width=(20, 400), latent=(4, 20), batch=(8, 128))
def variational_autoencoder(draw: Draw, width: int, latent: int, batch: int) -> Case:
    inputs = 784 if width > 100 else 30
    parameters = (_layers(draw, (inputs, width, 2 * latent)), _layers(draw, (latent, width, inputs)))

    def program(xp: Any, parameters: Any, x: Any, noise: Any) -> Any:
        code = _dense(xp, parameters[0], x)
        mean, logarithm = code[:, :latent], code[:, latent:]
        scores = _dense(xp, parameters[1], mean + xp.exp(0.5 * logarithm) * noise)
        divergence = -0.5 * xp.sum(1 + logarithm - mean**2 - xp.exp(logarithm))
        return (xp.sum(xp.softplus(scores) - x * scores) + divergence) / batch

    x = (draw(batch, inputs) > 0).astype("f4")
    return Case(program, (parameters, x, draw(batch, latent)), "gradient", tolerance=1e-3)


@family(
    shape=((2, 4, 6, 6), (1, 64, 28, 28), (32, 64, 16, 16), (8, 16, 32, 32), (4, 256, 7, 7)),
    derivative=DERIVATIVES,
)
def residual_block(draw: Draw, shape: tuple[int, ...], derivative: str) -> Case:
    channels = shape[1]
    parameters = [(draw.weights(channels, channels, 3, 3), draw(channels), draw(channels)) for _ in range(2)]

    def normalised(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
        mean = xp.mean(x, axis=(0, 2, 3), keepdims=True)
        variance = xp.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
        return (x - mean) / xp.sqrt(variance + 1e-5) * scale[:, None, None] + shift[:, None, None]

    def program(xp: Any, parameters: Any, x: Any, y: Any) -> Any:
        (w1, s1, t1), (w2, s2, t2) = parameters
        hidden = xp.relu(normalised(xp, xp.conv(x, w1, padding=1), s1, t1))
        out = xp.relu(x + normalised(xp, xp.conv(hidden, w2, padding=1), s2, t2))
        return xp.mean((out - y) ** 2)

    return Case(program, (parameters, draw(*shape), draw(*shape)), derivative, tolerance=1e-2)


def _layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    mean = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(variance + 1e-5) * scale + shift


def _attention(xp: Any, q: Any, k: Any, v: Any, heads: int) -> Any:
    batch, length, width = q.shape
    q, k, v = (xp.swapaxes(xp.reshape(z, (batch, length, heads, width // heads)), 1, 2) for z in (q, k, v))
    weights = xp.softmax(q @ xp.swapaxes(k, -1, -2) * (1 / math.sqrt(width // heads)), -1)
    return xp.reshape(xp.swapaxes(weights @ v, 1, 2), (batch, length, width))


@family(
    shape=((2, 5, 8), (1, 128, 256), (8, 64, 128), (32, 32, 64), (2, 256, 64)),
    heads=(2, 4),
    derivative=DERIVATIVES,
)
def transformer_block(draw: Draw, shape: tuple[int, ...], heads: int, derivative: str) -> Case:
    width = shape[-1]
    parameters = {
        "attention": [draw.weights(width, width) for _ in range(4)],
        "norms": [(draw(width), draw(width)) for _ in range(2)],
        "dense": _layers(draw, (width, 4 * width, width)),
    }

    def program(xp: Any, parameters: Any, x: Any) -> Any:
        first, second = parameters["norms"]
        wq, wk, wv, wo = parameters["attention"]
        z = _layer_norm(xp, x, *first)
        x = x + _attention(xp, z @ wq, z @ wk, z @ wv, heads) @ wo
        (w1, b1), (w2, b2) = parameters["dense"]
        x = x + xp.gelu(_layer_norm(xp, x, *second) @ w1 + b1) @ w2 + b2
        return xp.mean(x**2) if derivative else x

    return Case(program, (parameters, draw(*shape)), derivative, tolerance=1e-2)


@family(shape=((2, 3, 5, 8), (8, 8, 128, 64), (1, 4, 512, 32)), derivative=("", "pullback"))
def attention_scores(draw: Draw, shape: tuple[int, ...], derivative: str) -> Case:
    def program(xp: Any, q: Any, k: Any, v: Any) -> Any:
        return xp.softmax(q @ xp.swapaxes(k, -1, -2) * (1 / math.sqrt(shape[-1])), -1) @ v

    arguments = tuple(draw(*shape) for _ in range(4 if derivative else 3))
    return Case(program, arguments, derivative, (0, 1, 2), tolerance=1e-3)


PARTS = {
    "layer norm": lambda xp, x, s, t: _layer_norm(xp, x, s, t),
    "softmax": lambda xp, x, s, t: xp.softmax(x * s + t, -1),
    "gelu": lambda xp, x, s, t: xp.gelu(x * s + t),
    "log softmax": lambda xp, x, s, t: xp.log_softmax(x * s + t, -1),
}


@family(part=tuple(PARTS), shape=((4, 10), (128, 1000), (4096, 64)), derivative=("", "pullback"))
def part_of_networks(draw: Draw, part: str, shape: tuple[int, int], derivative: str) -> Case:
    x, scale, shift = draw(*shape), draw(shape[1]), draw(shape[1])
    arguments = (x, scale, shift, draw(*shape)) if derivative else (x, scale, shift)
    return Case(PARTS[part], arguments, derivative, (0, 1, 2), tolerance=1e-3)


@family(inputs=(3, 10, 64), width=(8, 32, 128), derivative=("jacfwd", "jacrev", "hessian"))
def jacobian(draw: Draw, inputs: int, width: int, derivative: str) -> Case:
    layers = [(w.astype("f8"), b.astype("f8")) for w, b in _layers(draw, (inputs, width, width, inputs))]

    def program(xp: Any, x: Any, layers: Any) -> Any:
        for w, b in layers:
            x = xp.tanh(x @ w + b)
        return xp.sum(x**2) if derivative == "hessian" else x

    return Case(program, (draw(inputs, dtype="f8"), layers), derivative)
