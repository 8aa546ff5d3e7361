"""A small run for predictions."""

from __future__ import annotations

import pytest

from wengert.data import load
from wengert.train import TASKS, RunFolder, train


@pytest.fixture(scope="session")
def run(small_mnist, tmp_path_factory):
    """Return the folder of a perceptron trained on 200 digits."""
    task = TASKS["mlp"]
    settings = task.settings("mnist", epochs=8, batch_size=20, data_dir=str(small_mnist))
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "run", settings)
    folder.finish(train(task, settings, load("mnist", small_mnist), compiled=False))
    return folder.path


@pytest.fixture(scope="session")
def learned(small_mnist):
    """Return the perceptron's training images and labels."""
    data = load("mnist", small_mnist)
    return data.train_images, data.train_labels
