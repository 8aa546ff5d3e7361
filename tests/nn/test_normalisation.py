"""Normalisation against numbers of PyTorch, and the state of `BatchNorm`."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, ShapeError
from wengert.testing import check_grads

LAYERS = {"layer norm": nn.LayerNorm((3, 4)), "group norm": nn.GroupNorm(2, 4)}


def float64(model):
    return tree.map_tree(lambda leaf: leaf.astype(np.float64), model)


def assert_gradients(differentiate, of, layer, *more):
    for run in (differentiate, wg.jit(differentiate)):
        of_layer, of_x = run(layer, of("x"), *more)
        np.testing.assert_allclose(of_x, of("x_gradient"), atol=1e-11)
        np.testing.assert_allclose(of_layer.weight, of("weight_gradient"), atol=1e-11)
        np.testing.assert_allclose(of_layer.bias, of("bias_gradient"), atol=1e-11)


@pytest.mark.parametrize("case", LAYERS)
def test_pytorchs_numbers(case, numbers):
    of = lambda name: numbers[f"{case}/{name}"]  # noqa: E731
    layer = float64(LAYERS[case])
    layer.weight, layer.bias = of("weight"), of("bias")
    np.testing.assert_allclose(layer(of("x")), of("y"), atol=1e-12)
    assert_gradients(wg.grad(lambda layer, x: np.sum(np.sin(layer(x))), argnums=(0, 1)), of, layer)


@pytest.mark.parametrize("number", [0, 1])
def test_pytorchs_batches(number, numbers):
    of = lambda name: numbers[f"batch norm {number}/{name}"]  # noqa: E731
    layer = float64(nn.BatchNorm(3, momentum=(0.1, 0.3)[number]))
    layer.weight, layer.bias = of("weight"), of("bias")
    state = tree.map_tree(lambda leaf: leaf.astype(np.float64), layer.initial_state())
    y, after = layer.apply(of("x"), state, training=True)
    np.testing.assert_allclose(y, of("y"), atol=1e-12)
    np.testing.assert_allclose(after.mean, of("mean"), atol=1e-12)
    np.testing.assert_allclose(after.variance, of("variance"), atol=1e-12)
    later, kept = layer.apply(of("x"), after)
    np.testing.assert_allclose(later, of("later"), atol=1e-12)
    assert kept is after
    differentiate = wg.grad(
        lambda layer, x, state: np.sum(np.sin(layer.apply(x, state, training=True)[0])), argnums=(0, 1)
    )
    assert_gradients(differentiate, of, layer, state)


@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 5)])
def test_derivatives(shape, rng):
    x = rng.standard_normal(shape)
    weigh = np.arange(x.size).reshape(shape)
    for layer in (nn.LayerNorm(shape[-1]), nn.GroupNorm(2, 4), nn.GroupNorm(4, 4, affine=False)):
        check_grads(lambda m, x: np.sum(weigh * m(x)), (float64(layer), x), order=2)
    batch = float64(nn.BatchNorm(4))
    state = batch.initial_state()
    check_grads(lambda m, x: np.sum(weigh * m.apply(x, state, training=True)[0]), (batch, x), order=2)


def test_constant_inputs_have_finite_derivatives():
    for layer in (nn.LayerNorm(3), nn.GroupNorm(1, 3)):
        gradient = wg.grad(lambda x: np.sum(np.sin(layer(x))))(np.ones((2, 3)))  # noqa: B023
        assert np.isfinite(gradient).all()


def test_no_derivative_passes_through_the_statistics(rng):
    layer, x = nn.BatchNorm(2), rng.standard_normal((4, 2))
    moved = lambda x: np.sum(layer.apply(x, layer.initial_state(), training=True)[1].mean)  # noqa: E731
    np.testing.assert_array_equal(wg.grad(moved)(x), np.zeros((4, 2)))


def test_the_state_keeps_its_types_in_a_loop(rng):
    layer, xs = nn.BatchNorm(2), rng.standard_normal((5, 8, 2))

    def run(xs):
        step = lambda state, x: (layer.apply(x, state, training=True)[1], None)  # noqa: E731
        return wg.scan(step, layer.initial_state(), xs)[0]

    state = layer.initial_state()
    for x in xs:
        state = layer.apply(x, state, training=True)[1]
    assert state.mean.dtype == np.float32
    np.testing.assert_allclose(wg.jit(run)(xs).variance, state.variance, rtol=1e-5)


def test_under_vmap(rng):
    x = rng.standard_normal((3, 4, 2))
    layer = nn.BatchNorm(2)
    actual = wg.vmap(lambda x: layer.apply(x, layer.initial_state(), training=True)[0])(x)
    expected = np.stack([layer.apply(example, layer.initial_state(), training=True)[0] for example in x])
    np.testing.assert_allclose(actual, expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.LayerNorm(3)(np.ones((2, 4))), ShapeError, r"must be \(..., 3\)"),
        (lambda: nn.LayerNorm((3, 4))(np.ones(4)), ShapeError, r"must be \(..., 3, 4\)"),
        (lambda: nn.LayerNorm(0), ShapeError, "shape must be an integer >= 1"),
        (lambda: nn.GroupNorm(3, 4), ArgumentError, "groups must divide channels"),
        (lambda: nn.GroupNorm(2, 4)(np.ones((2, 3))), ShapeError, r"\(examples, 4, ...\)"),
        (lambda: nn.BatchNorm(3)(np.ones((2, 3))), ArgumentError, "nn.apply"),
        (lambda: nn.BatchNorm(3).apply(np.ones((2, 3)), None), ArgumentError, "nn.initial_state"),
        (
            lambda: nn.BatchNorm(3).apply(np.ones((1, 3)), nn.BatchNorm(3).initial_state(), training=True),
            ShapeError,
            "more than one value in each channel",
        ),
    ],
)
def test_invalid_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_pytorchs_numbers_of_the_mean_square(numbers):
    of = lambda name: numbers[f"rms norm/{name}"]  # noqa: E731
    layer = nn.RMSNorm(6)
    layer.weight = of("weight")
    np.testing.assert_allclose(layer(of("x")), of("y"), rtol=1e-12)
    of_layer, of_x = wg.grad(lambda layer, x: np.sum(np.sin(layer(x))), argnums=(0, 1))(layer, of("x"))
    np.testing.assert_allclose(of_layer.weight, of("weight_gradient"), atol=1e-12)
    np.testing.assert_allclose(of_x, of("x_gradient"), atol=1e-12)


def test_the_mean_square_is_one(rng):
    x = rng.standard_normal((5, 2, 3))
    layer = nn.RMSNorm((2, 3), epsilon=0.0, affine=False)
    np.testing.assert_allclose(np.mean(layer(x) ** 2, axis=(1, 2)), np.ones(5))
    check_grads(layer, (x,), order=2)
    assert layer(x.astype("f4")).dtype == np.float32
    with pytest.raises(ShapeError, match=r"RMSNorm: the input must be \(..., 2, 3\)"):
        layer(x[..., :2])
