"""A run that diverges names the step and the first bad layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert import nn, optim
from wengert.data import digit_set
from wengert.train import DivergedError, Task, as_rows, as_vectors, train


@pytest.fixture(scope="module")
def small():
    return digit_set(train=40, test=20, seed=3)


def sgd(rate, steps):
    return optim.sgd(rate)


def two(rng):
    return nn.Chain(nn.Dense(784, 8, seed=rng), nn.relu, nn.Dense(8, 10, seed=rng))


def diverged(task, small, compiled=True, **chosen):
    settings = task.settings("digits", **({"batch_size": 10, "epochs": 3} | chosen))
    with pytest.raises(DivergedError) as error:
        train(task, settings, small, compiled=compiled)
    return str(error.value)


def infinite_at(step):
    """Return an optimiser that makes the last bias infinite at a step."""

    def update(gradients: Any, state: Any, parameters: Any) -> Any:
        parameters, state = optim.sgd(0.01).update(gradients, state, parameters)[0], state + 1
        last = parameters.layers[-1]
        last.bias = np.where(state == step, np.float32(np.inf), last.bias)
        return parameters, state

    return optim.Optimiser(lambda parameters: np.int64(0), update)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("step", [1, 3, 6])
def test_the_step_and_the_array(small, step, compiled):
    task = Task("bad", "bad", two, as_vectors, optimiser=lambda rate, steps: infinite_at(step))
    epoch, number = divmod(step - 1, 4)
    message = diverged(task, small, compiled)
    assert f"in epoch {epoch + 1}, step {number + 1}: " in message
    assert "the update of model.layers[2].bias is not finite" in message
    assert message.endswith("try a smaller learning rate than 0.001")


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda x: np.log(x - 1e9), "the output of model.layers[1] (<lambda>) is not finite"),
        (lambda x: np.exp(100 * np.abs(x) + 100), "the output of model.layers[1] (<lambda>) is not finite"),
        # A finite value whose derivative, 1e60 times a cosine, is not.
        (
            lambda x: np.sin(1e30 * np.sin(1e30 * x)),
            "the gradient at the output of model.layers[0] (Dense) is not finite",
        ),
    ],
)
def test_the_layer(small, layer, message):
    def build(rng):
        return nn.Chain(nn.Dense(784, 8, seed=rng), layer, nn.Dense(8, 10, seed=rng))

    actual = diverged(Task("bad", "bad", build, as_vectors, optimiser=sgd), small)
    assert message in actual
    assert "epoch 1, step 1" in actual
    assert actual.endswith("the inputs and the initial parameters are finite: check the network and the loss")


@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_not_finite_before_the_first_step(small, compiled):
    def prepare(images):
        return as_vectors(images) / 0.0

    def build(rng):
        model = two(rng)
        model.layers[2].weight[0, 0] = np.nan
        return model

    with np.errstate(all="ignore"):
        actual = diverged(Task("bad", "bad", two, prepare, optimiser=sgd), small, compiled)
    assert "step 1: " in actual
    assert actual.endswith("the inputs are not finite: check the data and their preparation")
    actual = diverged(Task("bad", "bad", build, as_vectors, optimiser=sgd), small, compiled)
    assert actual.endswith("model.layers[2].weight is not finite from the start: check its initialisation")


def test_the_loss(small):
    def loss(model, inputs, labels):
        value = np.sum(model(inputs))
        return np.log(value - value), value

    task = Task("bad", "bad", two, as_vectors, loss, optimiser=sgd)
    assert "step 1: the loss of finite outputs is not finite" in diverged(task, small)


def test_a_loss_that_grows(small):
    def loss(model, inputs, labels):
        value = np.mean(model(inputs)) * 0.1
        return value, value

    task = Task("bad", "bad", two, as_vectors, loss, optimiser=lambda rate, steps: optim.sgd(rate))
    message = diverged(task, small, rate=1e4)
    assert "the loss grew to -" in message
    assert "at the first step" in message


def test_recurrent_networks(small):
    """Layers inside a compiled loop have no numbers to check; the layer around the loop has."""

    def build(rng):
        return nn.Chain(nn.LSTM(28, 8, seed=rng), nn.Dense(8, 10, seed=rng))

    message = diverged(Task("bad", "bad", build, as_rows, optimiser=sgd), small, rate=1e38)
    assert "is not finite" in message
