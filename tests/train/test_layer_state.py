"""Networks whose layers have a state or draw random numbers: training, resuming, saving and inference."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import wengert as wg
from tests.commands import mnist
from wengert import nn, optim
from wengert.data import digit_set
from wengert.engine.core.tree import leaves
from wengert.train import (
    TASKS,
    DivergedError,
    ModelError,
    Run,
    Task,
    Trained,
    classification_loss,
    load_model,
    save_model,
    train,
)
from wengert.train.state import initial_layer_state, trained_model
from wengert.train.steps import Steps
from wengert.train.tasks import as_vectors

OWN = """
from wengert import nn

def network(rng):
    return nn.Chain(
        nn.Flatten(), nn.Dense(784, 12, seed=rng), nn.BatchNorm(12), nn.relu,
        nn.Dropout(0.2), nn.Dense(12, 10, seed=rng),
    )
"""


def network(rng):
    """Return a network without a bias before the normalisation: its derivative would be only rounding."""
    layers = nn.Dense(784, 24, seed=rng, bias=False), nn.BatchNorm(24), nn.relu, nn.Dropout(0.2)
    return nn.Chain(*layers, nn.Dense(24, 10, seed=rng))


TASK = Task("mine", "mine", network, as_vectors, rate=5e-3, batch_size=20)


class Stop:
    """A reporter that ends a run after some groups of steps."""

    def __init__(self, after):
        self.left = after

    def on_steps(self, progress, state):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def on_epoch(self, result, state): ...


@pytest.fixture(scope="module")
def small():
    return digit_set(train=300, test=100, seed=3)


def run(small, task=TASK, reporter=None, compiled=True, state=None, **chosen):
    settings = task.settings("digits", **({"epochs": 4} | chosen))
    return train(task, settings, small, reporter, compiled=compiled, state=state)


@pytest.fixture(scope="module")
def whole(small):
    return run(small)


def same(left, right):
    for a, b in zip(leaves(left), leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


def test_it_learns_and_is_a_function_of_images_afterwards(whole, small):
    assert whole.history[-1].test_score > 0.7
    assert isinstance(whole.model, Trained)
    logits = whole.model(as_vectors(small.test_images))
    assert nn.accuracy(logits, small.test_labels) == pytest.approx(whole.history[-1].test_score)
    one_by_one = np.concatenate([whole.model(as_vectors(small.test_images[n : n + 1])) for n in range(5)])
    np.testing.assert_allclose(one_by_one, logits[:5], rtol=1e-4, atol=1e-5)


def test_the_state_is_the_running_mean_of_what_the_layer_was_given(small):
    """With fixed weights, the running mean and variance converge to those of the whole training set."""
    outcome = run(small, compiled=False, rate=1e-30, epochs=3)
    given = outcome.model.layers[0](as_vectors(small.train_images))
    state = outcome.model.state[1]
    np.testing.assert_allclose(state.mean, given.mean(0), atol=0.15)
    np.testing.assert_allclose(state.variance, given.var(0), rtol=0.3)


def test_eager_and_compiled_do_the_same(small):
    compiled, eager = (run(small, compiled=compiled, epochs=2) for compiled in (True, False))
    np.testing.assert_allclose(compiled.history[-1][1:5], eager.history[-1][1:5], rtol=2e-2)
    assert compiled.state.layer_state.key == eager.state.layer_state.key
    for a, b in zip(leaves(compiled.model), leaves(eager.model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize(("compiled", "after"), [(True, 1), (True, 2), (False, 1), (False, 19)])
def test_it_goes_on_to_the_same_bits(small, whole, compiled, after):
    expected = whole if compiled else run(small, compiled=False, epochs=2)
    epochs = 4 if compiled else 2
    stopped = run(small, reporter=Stop(after), compiled=compiled, epochs=epochs)
    assert stopped.interrupted
    resumed = run(small, compiled=compiled, state=stopped.state, epochs=epochs)
    same((resumed.model, resumed.state.layer_state), (expected.model, expected.state.layer_state))


def test_seeds_draw_other_numbers():
    model = network(np.random.default_rng(5))
    first = [initial_layer_state(model, np.random.default_rng(seed)).key for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_no_step_drops_what_another_dropped():
    """Each step has its own key, and so does each call of the model in it."""
    seen = []

    def loss(model, inputs, labels):
        seen.extend([np.asarray(model.layers[0].rate), model(inputs), model(inputs)])
        return classification_loss(model, inputs, labels)

    model = nn.Chain(nn.Dropout(0.5))
    task = Task("drop", "drop", lambda rng: model, loss=loss)
    steps = Steps(task, optim.sgd(0.1), compiled=False)
    layer_state = initial_layer_state(model, np.random.default_rng(0))
    ones, labels = np.ones((4, 10), np.float32), np.zeros(4, int)
    for _ in range(3):
        _, (_, layer_state) = steps.loss(model, layer_state, ones, labels)
    drawn = [array for array in seen if np.ndim(array) == 2]
    assert len(drawn) == len({array.tobytes() for array in drawn}) == 6


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_other_networks_have_no_layer_state_and_the_same_program(task):
    """Without a layer state, a step traces to the same operations as the loss alone."""
    rng = np.random.default_rng(0)
    model = task.build(rng)
    assert initial_layer_state(model, rng) is None
    assert trained_model(model, None) is model
    given = model, task.prepare(np.zeros((3, 28, 28), np.uint8)), np.zeros(3, np.int64)
    steps = Steps(task, optim.sgd(0.1), compiled=True)

    def step(model, inputs, labels):
        (loss, (score, layer_state)), gradients = wg.value_and_grad(steps.loss, has_aux=True)(
            model, None, inputs, labels
        )
        assert layer_state is None
        return (loss, score), gradients

    plain = wg.value_and_grad(task.loss, has_aux=True)
    listed = [re.sub(r" *#.*", "", str(wg.trace(function)(*given))) for function in (step, plain)]
    assert listed[0] == listed[1]


def test_the_best_model_has_the_state_of_its_epoch(small):
    outcome = run(small, compiled=False, keep="best", epochs=3, rate=0.05)
    best = max(outcome.history, key=lambda result: result.test_score)
    logits = outcome.model(as_vectors(small.test_images))
    assert nn.accuracy(logits, small.test_labels) == pytest.approx(best.test_score)


def test_a_trained_model_on_disk(whole, tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(path, whole.model)
    assert {"state[1][0]", "state[1][1]", "model.layers[1].weight"} <= set(load_file(path))
    model = network(np.random.default_rng(9))
    same(load_model(path, Trained(model, nn.initial_state(model))), whole.model)


@dataclasses.dataclass
class Shortcut:
    """A user's layer that contains other layers."""

    inner: Any

    def initial_state(self):
        return nn.initial_state(self.inner)

    def apply(self, x, state, *, training=False, key=None):
        y, state = nn.apply(self.inner, x, state, training=training, key=key)
        return x + y, state


@dataclasses.dataclass
class Hiding:
    inner: Any

    def __call__(self, x):
        return self.inner(x)


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm(784)])
def test_a_layer_that_passes_the_state_on_and_one_that_hides_it(layer):
    passes, rng = Shortcut(nn.Chain(layer)), np.random.default_rng(0)
    layer_state = initial_layer_state(passes, rng)
    assert layer_state is not None
    assert trained_model(passes, layer_state)(np.ones((2, 784), np.float32)).shape == (2, 784)
    with pytest.raises(ModelError, match=f"a Hiding hides its {type(layer).__name__} from training: put it"):
        initial_layer_state(nn.Chain(Hiding(layer)), rng)


def test_a_run_that_diverges_names_the_layer_with_a_state(small):
    task = TASK._replace(prepare=lambda images: as_vectors(images) * np.float32(1e30))
    with pytest.raises(DivergedError, match=r"step 1: the next state\[1\]\[1\] of the layers is not finite"):
        run(small, task)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_layer_with_a_state_is_named_where_a_run_diverges(small, compiled):
    """The input of the normalisation is finite, its output is not."""

    def build(rng):
        model = network(rng)
        model.layers[1].weight = np.full(24, 3e38, np.float32)
        return model

    message = r"the output of model.layers\[1\] \(BatchNorm\) is not finite"
    with pytest.raises(DivergedError, match=message):
        run(small, TASK._replace(build=build), compiled=compiled)


# -- the command -----------------------------------------------------------------------------------------


@pytest.fixture
def own(wengert, small_mnist, no_pictures, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)

    def run(out, *options):
        ended = wengert(
            "train",
            "--model",
            "mine.py:network",
            *mnist(small_mnist),
            "--batch-size",
            40,
            "--out",
            out,
            *options,
        )
        assert (ended.code, ended.err) == (0, "")
        return load_file(tmp_path / out / "model.safetensors")

    return run


def test_the_command_from_training_to_a_report(own, wengert, tmp_path, small_mnist):
    expected = own("whole", "--epochs", 2, "--keep", "best")
    own("parts", "--epochs", 1, "--keep", "best")
    assert wengert("train", "--resume", "parts", "--epochs", 2).code == 0
    actual = load_file(tmp_path / "parts" / "model.safetensors")
    assert {name: value.tobytes() for name, value in actual.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }
    opened = Run.open("whole")
    data, model = opened.dataset(), opened.model()
    best = max(result.test_score for result in opened.history)
    logits = model(opened.task.prepare(data.test_images))
    assert nn.accuracy(logits, data.test_labels) == pytest.approx(best)
    predicted = wengert("predict", "whole", small_mnist / "t10k-images-idx3-ubyte", "--json")
    assert predicted.code == 0, predicted.err
    assert wengert("report", "whole").code == 0
    page = (tmp_path / "whole" / "report.html").read_text()
    assert "BatchNorm" in page
    assert "Confusion" in page


def test_a_batch_that_is_too_small_is_seen_before_the_run(wengert, small_mnist, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    options = ("--model", "mine.py:network", *mnist(small_mnist), "--batch-size", 199, "--out", "run")
    message = (
        "BatchNorm: training needs more than one value in each channel",
        "choose another batch-size than 199",
    )
    wengert("train", *options).failed(1, *message)
    assert not (tmp_path / "run").exists()
