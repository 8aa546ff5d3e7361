"""A trained network as a function of images."""

from __future__ import annotations

import numpy as np
import pytest

from tests.commands import mnist
from wengert.data import DataError
from wengert.engine.core.errors import ArgumentError
from wengert.predict import Predictor
from wengert.train import TASKS, DivergedError, ModelError, Outcome, RunFolder
from wengert.train.runs import task_of
from wengert.train.state import begin


def test_probabilities_are_softmax_of_the_logits(run, learned):
    predictor, (images, labels) = Predictor.open(run), learned
    probabilities = predictor.probabilities(images)
    assert np.mean(np.argmax(probabilities, axis=1) == labels) > 0.9
    logits = predictor.model(predictor.run.task.prepare(images)).astype(np.float64)
    expected = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5)
    np.testing.assert_allclose(np.sum(probabilities, axis=1), 1, rtol=1e-14)
    assert predictor.labels(images[:20]) == [str(best) for best in np.argmax(probabilities[:20], axis=1)]


def test_any_number_of_images(run, learned):
    predictor, images = Predictor.open(run), np.concatenate([learned[0]] * 4)
    whole = predictor.probabilities(images)
    assert whole.shape == (800, 10)
    np.testing.assert_allclose(whole[600:], whole[:200], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(predictor.probabilities(images[3:4]), whole[3:4], rtol=1e-4, atol=1e-7)
    assert predictor.probabilities(images[:0]).shape == (0, 10)


def test_what_is_no_image_is_refused(run):
    predictor = Predictor.open(run)
    for wrong in (np.zeros((28, 28), np.uint8), np.zeros((1, 28, 28), np.float32)):
        with pytest.raises(ArgumentError, match="must be uint8"):
            predictor.probabilities(wrong)


def test_images_of_another_size_are_refused_where_the_network_does(run):
    message = r"images must be 28x28, the network's input size; got 32x30; Dense: .* in layers\[0\], Dense"
    with pytest.raises(ArgumentError, match=message):
        Predictor.open(run).probabilities(np.zeros((2, 32, 30), np.uint8))


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("layer", ["nn.tanh", "nn.BatchNorm(8)"])
def test_a_checkpoint_instead_of_a_model(wengert, small_mnist, tmp_path, learned, layer, monkeypatch):
    """The error for a diverged run names its checkpoint; the last checkpoint of a finished run has its model."""
    (tmp_path / "mine.py").write_text(f"""
import numpy as np
from wengert import nn

def network(rng):
    return nn.Chain(nn.Flatten(), nn.Dense(784, 8, seed=rng), {layer}, nn.Dense(8, 10, seed=rng))
""")
    options = ("--model", "mine.py:network", *mnist(small_mnist), "--eager", "--batch-size", 100)
    assert wengert("train", *options, "--epochs", 2, "--out", "whole").code == 0
    images = learned[0][:5]
    expected = Predictor.open("whole").probabilities(images)
    for ending in ("json", "safetensors"):
        actual = Predictor.open(f"whole/checkpoints/step-00000004.{ending}").probabilities(images)
        np.testing.assert_array_equal(actual, expected)
    earlier = Predictor.open("whole/checkpoints/step-00000002.json").probabilities(images)
    assert not np.array_equal(earlier, expected)
    with monkeypatch.context() as inside:
        inside.chdir("whole/checkpoints")
        np.testing.assert_array_equal(
            Predictor.open("step-00000002.safetensors").probabilities(images), earlier
        )
    (tmp_path / "whole/checkpoints/step-00000002.safetensors").unlink()
    with pytest.raises(DataError, match=r"no step-00000002.safetensors, which is part of the checkpoint"):
        Predictor.open("whole/checkpoints/step-00000002.json")

    run = RunFolder.again("whole")
    (run.path / "model.safetensors").unlink()
    run.fail(DivergedError("the loss became nan in epoch 3, step 7"))
    newest = "wengert predict whole/checkpoints/step-00000004.safetensors"
    with pytest.raises(
        DataError, match=rf"it diverged: the loss became nan in epoch 3, step 7; .*: {newest}"
    ):
        Predictor.open("whole")


def test_the_classes_are_those_of_the_data(tmp_path):
    for data, name in (("digits", "9"), ("mnist", "9"), ("fashion-mnist", "Ankle boot")):
        task = TASKS["mlp"]
        settings = task.settings(data)
        folder = RunFolder(tmp_path / data, settings)
        folder.finish(Outcome(begin(task, settings, 1).model, [], False, begin(task, settings, 1)))
        assert Predictor.open(folder.path).classes[9] == name


def test_runs_that_cannot_predict(tmp_path):
    with pytest.raises(DataError, match="not the folder of a run"):
        Predictor.open(tmp_path)
    unfinished = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits"))
    with pytest.raises(DataError, match=r"has no model\.safetensors: it has not finished; it has no chec"):
        Predictor.open(unfinished.path)
    RunFolder(tmp_path / "other", TASKS["autoencoder"].settings("digits"))
    with pytest.raises(DataError, match="does not classify"):
        Predictor.open(tmp_path / "other")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("return x.reshape(len(x), -1) @ self.weight * np.inf", DataError, "finite logits"),
        ("return x.reshape(len(x), -1)", DataError, r"finite logits \(1, 10\); got \(1, 784\)"),
        ("return x.nothing", ModelError, r"model\.py:12: AttributeError"),
    ],
)
def test_networks_of_the_users_that_fail(body, error, message, tmp_path):
    (tmp_path / "mine.py").write_text(f"""
import dataclasses
from typing import Any
import numpy as np


@dataclasses.dataclass
class Model:
    weight: Any

    def __call__(self, x):
        {body}


def network(rng):
    return Model(np.ones((784, 10), np.float32))
""")
    task, source = TASKS["mlp"], tmp_path / "mine.py"
    settings = task.settings("digits", model=f"{source}:network")
    folder = RunFolder(tmp_path / "run", settings, source)
    state = begin(task_of(settings), settings, 1)
    folder.finish(Outcome(state.model, [], False, state))
    predictor = Predictor.open(folder.path)
    with pytest.raises(error, match=message), np.errstate(all="ignore"):
        predictor.probabilities(np.full((1, 28, 28), 255, np.uint8))
