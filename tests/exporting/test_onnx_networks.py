"""Every layer and loss in ONNX: its value and gradient by onnxruntime on three inputs."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import wengert as wg
from tests.exporting.onnx_models import assert_same, inputs_of, session
from tests.nn.layers import LAYERS, input_of
from wengert import nn, random
from wengert.engine.core import tree

ACTIVATIONS = (nn.relu, nn.leaky_relu, nn.elu, nn.sigmoid, nn.tanh, nn.silu, nn.gelu, nn.softplus, nn.softmax,
               nn.log_softmax)  # fmt: skip
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "sum_squared_error": nn.sum_squared_error,
    "mean_squared_error": nn.mean_squared_error,
    "huber_loss": nn.huber_loss,
    "sigmoid_cross_entropy": nn.sigmoid_cross_entropy,
    "kl_divergence": lambda logits, x: nn.kl_divergence(logits, nn.softmax(x)),
}


def weighted(layer: Any, x: Any) -> Any:
    """Return a number that depends on all results of a layer in training."""
    start = converted(nn.initial_state(layer), x.dtype)
    y, state = nn.apply(layer, x, start, training=True, key=random.key(3))
    weights = np.cos(np.arange(y.size)).astype(y.dtype).reshape(y.shape)
    return np.mean(weights * y * y) + sum(np.sum(leaf) for leaf in tree.leaves(state) if leaf is not None)


def check(fun: Callable[..., Any], draw: Callable[[int], Any], dtype: str) -> Any:
    """Compare results on three inputs, and return the model."""
    first = converted(draw(0), dtype)
    export = wg.export(fun, *first)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = export.onnx(Path(folder) / "model.onnx")
        model, runtime = onnx.load(path), session(path)
    for number in range(3):
        arguments = converted(draw(number), dtype)
        with np.errstate(all="ignore"):
            expected = fun(*arguments)
        assert_same(runtime.run(None, inputs_of(export, arguments)), expected)
    return model


def converted(arguments: Any, dtype: Any) -> Any:
    """Return containers with their floats in a precision."""

    def leaf(value: Any) -> Any:
        return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value

    return tree.map_tree(leaf, arguments)


each_precision = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.mark.parametrize("name", LAYERS)
@each_precision
def test_layers_and_their_gradients(name, dtype) -> None:
    layer, is_smooth = LAYERS[name][0], input_of(name).dtype.kind == "f"
    fun = wg.value_and_grad(weighted, argnums=(0, 1) if is_smooth else 0)
    check(fun, lambda n: (layer, input_of(name, n)), dtype)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@each_precision
def test_activations_and_their_gradients(activation, dtype) -> None:
    fun = wg.value_and_grad(weighted, argnums=(0, 1))
    check(fun, lambda n: (nn.Lambda(activation), input_of("Lambda", n)), dtype)


@pytest.mark.parametrize("loss", LOSSES)
@each_precision
def test_losses_of_differences(loss, dtype) -> None:
    def draw(number: int) -> Any:
        return tuple(np.random.default_rng(number).normal(size=(2, 4, 3)))

    check(wg.value_and_grad(LOSSES[loss], argnums=(0, 1)), draw, dtype)


@each_precision
def test_cross_entropy_and_accuracy(dtype) -> None:
    def draw(number: int) -> Any:
        r = np.random.default_rng(number)
        return r.normal(size=(5, 4)), r.integers(0, 4, 5)

    check(wg.value_and_grad(nn.softmax_cross_entropy), draw, dtype)
    check(wg.value_and_grad(nn.focal_loss), draw, dtype)
    check(nn.accuracy, draw, dtype)


@pytest.mark.slow
@each_precision
def test_ctc(dtype) -> None:
    def draw(number: int) -> Any:
        r = np.random.default_rng(number)
        return r.normal(size=(3, 6, 4)), r.integers(1, 4, (3, 2)), r.integers(4, 7, 3), r.integers(0, 3, 3)

    check(wg.value_and_grad(nn.ctc_loss), draw, dtype)


# -- operators -------------------------------------------------------------------------------------------


def operators(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def exported(fun: Callable[..., Any], *arguments: Any) -> Counter[str]:
    with tempfile.TemporaryDirectory() as folder:
        (path,) = wg.export(fun, *converted(arguments, "float32")).onnx(Path(folder) / "model.onnx")
        return operators(onnx.load(path))


@pytest.mark.parametrize(
    ("layer", "operator"),
    [
        (nn.Conv2D(4, 3, 3, seed=0), "Conv"),
        (nn.Conv2D(4, 6, (3, 2), seed=0, stride=(2, 1), padding=1, dilation=(1, 2)), "Conv"),
        (nn.Conv2D(4, 8, 3, seed=0, padding="same", groups=4), "Conv"),
        (nn.ConvTranspose2D(4, 6, 3, seed=0, stride=2, groups=2), "ConvTranspose"),
        (nn.MaxPool2D(2), "MaxPool"),
        (nn.MaxPool2D(3, stride=2, padding=1), "MaxPool"),
        (nn.AvgPool2D(3, stride=2, padding=1), "AveragePool"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_operators_of_images_are_found(layer, operator) -> None:
    found = exported(lambda layer, x: layer(x), layer, np.ones((2, 4, 8, 8)))
    assert found[operator] == 1
    assert not found.keys() & {"Pad", "Gather", "MatMul", "ScatterND", "ScatterElements"}


def test_derivatives_of_convolutions_are_convolutions() -> None:
    fun = wg.grad(lambda layer, x: np.sum(np.tanh(layer(x))), argnums=(0, 1))
    found = exported(fun, nn.Conv2D(4, 3, 3, seed=0, stride=2, padding=1), np.ones((2, 4, 8, 8)))
    assert (found["Conv"], found["ConvTranspose"]) == (2, 1)
    assert not found.keys() & {"Gather", "MatMul", "ScatterElements"}


def test_matrix_products_are_one_operator() -> None:
    assert exported(np.matmul, np.ones((2, 3)), np.ones((3, 4))) == {"MatMul": 1, "Identity": 1}
    assert exported(np.matmul, np.ones((5, 2, 3)), np.ones((5, 3, 4))) == {"MatMul": 1, "Identity": 1}


def test_products_with_transposed_matrices_read_them_as_they_are() -> None:
    assert exported(lambda x, y: x @ y.T, np.ones((2, 3)), np.ones((4, 3))) == {"Gemm": 1, "Identity": 1}
    assert exported(lambda x, y: x.T @ y, np.ones((3, 2)), np.ones((3, 4))) == {"Gemm": 1, "Identity": 1}


def test_softmax_and_its_logarithm_are_operators() -> None:
    assert exported(nn.softmax, np.ones((2, 3))) == {"Softmax": 1, "Identity": 1}
    assert exported(nn.log_softmax, np.ones((2, 3))) == {"LogSoftmax": 1, "Identity": 1}
    written = exported(lambda x: np.exp(x) / np.sum(np.exp(x), axis=0, keepdims=True), np.ones((2, 3)))
    assert written == {"Softmax": 1, "Identity": 1}


def test_quotients_that_are_no_softmax_stay() -> None:
    other = exported(lambda x: np.exp(x) / np.sum(np.exp(2 * x), axis=1, keepdims=True), np.ones((2, 3)))
    assert "Softmax" not in other
    everything = exported(lambda x: np.exp(x) / np.sum(np.exp(x)), np.ones((2, 3)))
    assert "Softmax" not in everything


def test_loops_and_branches_are_operators() -> None:
    assert exported(lambda x: wg.scan(lambda c, y: (c + y, c * y), 0.0, x)[0], np.ones(3))["Scan"] == 1
    assert exported(lambda x: wg.fori_loop(0, 4, lambda i, y: y * i, x), np.ones(3))["Loop"] == 1
    assert exported(lambda x: wg.cond(x[0] > 0, np.sin, np.cos, x), np.ones(3))["If"] == 1
