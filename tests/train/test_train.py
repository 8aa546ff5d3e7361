"""The training loop and the folder of a run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wengert import train as training
from wengert.data import DataError, digit_set, load
from wengert.train.storage import MODEL, RunError, RunFolder, load_run
from wengert.train.tasks import TASKS
from wengert.tree import leaves


class Notes:
    """A reporter that remembers, and can press Ctrl-C."""

    def __init__(self, interrupt_at=None):
        self.steps, self.epochs, self.interrupt_at = [], [], interrupt_at

    def on_step(self, progress):
        self.steps.append(progress)
        if len(self.steps) == self.interrupt_at:
            raise KeyboardInterrupt

    def on_epoch(self, result):
        self.epochs.append(result)


@pytest.fixture(scope="module")
def small():
    return digit_set(train=300, test=60, seed=3)


def run(name, small, notes=None, **chosen):
    task = TASKS[name]
    return training.train(task, task.settings("digits", **chosen), small, notes or Notes())


@pytest.mark.parametrize("name", TASKS)
def test_every_task_learns(name, small):
    rate = {"rate": 0.05} if name in ("cnn", "rnn") else {}
    notes = Notes()
    outcome = run(name, small, notes, epochs=3, batch_size=10, **rate)
    assert outcome.history[-1].train_loss < 0.9 * outcome.history[0].train_loss
    assert len(notes.steps) == 3 * 30
    assert notes.steps[-1].remaining == pytest.approx(0, abs=1e-9)
    assert all(leaf.dtype == np.float32 for leaf in leaves(outcome.model))


def test_the_papers_settings():
    found = {name: (task.batch_size, task.rate) for name, task in TASKS.items()}
    assert found["cnn"] == (100, 0.01)
    assert found["rnn"] == (100, 0.015)
    assert found["autoencoder"] == (1, 0.02)


def test_the_same_seed_gives_the_same_run(small):
    first, second, other = (run("mlp", small, epochs=1, seed=seed).model for seed in (1, 1, 2))
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(leaves(first)[1], leaves(other)[1])


def test_ctrl_c_keeps_what_was_learned(small):
    outcome = run("mlp", small, Notes(interrupt_at=2), epochs=5, batch_size=100)
    assert outcome.interrupted
    assert outcome.history == []
    fresh = TASKS["mlp"].build(np.random.default_rng(0))
    assert not np.array_equal(leaves(outcome.model)[1], leaves(fresh)[1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_stops_the_run(small):
    with pytest.raises(training.DivergedError, match="smaller learning rate"):
        run("cnn", small, rate=1e30, epochs=2, batch_size=50)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="must be positive"):
        TASKS["cnn"].settings("digits", epochs=0)


def test_a_run_folder_holds_the_run(tmp_path, small):
    task = TASKS["mlp"]
    settings = task.settings("digits", epochs=2)
    folder = RunFolder(tmp_path / "run", settings)
    outcome = training.train(task, settings, small, Notes())
    for result in outcome.history:
        folder.add_metrics(result)
    folder.finish(outcome)
    lines = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert lines[1]["test_score"] == outcome.history[1].test_score
    kept, model = load_run(folder.path)
    assert kept == settings
    for a, b in zip(leaves(model), leaves(outcome.model), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(RunError, match="not empty"):
        RunFolder(tmp_path / "run", settings)
    assert not list(folder.path.glob(".*")), "no partial file stays behind"


def test_damaged_models_are_named(tmp_path, small):
    task = TASKS["mlp"]
    folder = RunFolder(tmp_path / "run", task.settings("digits"))
    folder.finish(training.Outcome(task.build(np.random.default_rng(0)), [], False))
    whole = (folder.path / MODEL).read_bytes()
    (folder.path / MODEL).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"model\.npz"):
        load_run(folder.path)
    training.save_model(folder.path / MODEL, TASKS["rnn"].build(np.random.default_rng(0)))
    with pytest.raises(DataError, match="not a file of this model"):
        load_run(folder.path)
    with pytest.raises(DataError, match="not the folder of a run"):
        load_run(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "each", "mean"), [("cnn", 0.962, 0.964), ("rnn", 0.922, 0.93)])
def test_the_papers_accuracy_on_mnist(name, each, mean, mnist_folder):
    dataset = load("mnist", mnist_folder)
    found = []
    for seed in range(3):
        task = TASKS[name]
        outcome = training.train(task, task.settings("mnist", epochs=5, seed=seed), dataset, Notes())
        found.append(outcome.history[-1].test_score)
    assert min(found) >= each
    assert np.mean(found) >= mean
