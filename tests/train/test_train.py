"""The training loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wengert import nn
from wengert import train as training
from wengert.data import Dataset, digit_set, load
from wengert.engine.core.errors import ArgumentError
from wengert.engine.core.tree import leaves
from wengert.train.steps import Steps
from wengert.train.tasks import RECIPES, TASKS, as_vectors, shifts, task_named


class Notes:
    """A reporter that records its calls, and can raise KeyboardInterrupt."""

    def __init__(self, interrupt_at=None):
        self.steps, self.epochs, self.states, self.interrupt_at = [], [], [], interrupt_at

    def on_steps(self, progress, state):
        self.steps.append(progress)
        self.states.append(state)
        if len(self.steps) == self.interrupt_at:
            raise KeyboardInterrupt

    def on_epoch(self, result, state):
        self.epochs.append(result)
        self.states.append(state)


@pytest.fixture(scope="module")
def small():
    return digit_set(train=300, test=60, seed=3)


def ordered(images):
    return np.sort(images.reshape(len(images), -1).view("V784"), axis=0)


#: A task whose training compiles fast, where the network plays no part.
LINEAR = TASKS["mlp"]._replace(build=lambda rng: nn.Chain(nn.Dense(784, 10, seed=rng)))


def run(task, small, notes=None, compiled=True, **chosen):
    task = TASKS[task] if isinstance(task, str) else task
    return training.train(task, task.settings("digits", **chosen), small, notes or Notes(), compiled=compiled)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_learns(name, small):
    rate = {"rate": 0.05} if name in ("cnn", "rnn") else {}
    notes = Notes()
    outcome = run(name, small, notes, epochs=3, batch_size=10, **rate)
    assert outcome.history[-1].train_loss < 0.9 * outcome.history[0].train_loss
    assert sum(len(progress.losses) for progress in notes.steps) == 3 * 30
    assert notes.steps[-1].remaining == pytest.approx(0, abs=1e-9)
    assert all(leaf.dtype == np.float32 for leaf in leaves(outcome.model))


@pytest.mark.parametrize(("name", "recipe"), RECIPES)
def test_recipes_learn_with_the_same_network(name, recipe):
    task, few = task_named(name, recipe), digit_set(train=100, test=20, seed=3)
    assert (task.build, task.prepare, task.recipe) == (TASKS[name].build, TASKS[name].prepare, recipe)
    runs = [
        training.train(
            task, task.settings("digits", epochs=3, batch_size=10), few, Notes(), compiled=compiled
        )
        for compiled in (True, False)
    ]
    losses = [[result.train_loss for result in outcome.history] for outcome in runs]
    assert losses[0][-1] < 0.9 * losses[0][0]
    np.testing.assert_allclose(*losses, rtol=1e-2)


def test_images_may_be_varied(small):
    task = LINEAR._replace(vary=shifts(2))
    settings = task.settings("digits", epochs=2, batch_size=20)
    first, second, eager = (
        training.train(task, settings, small, Notes(), compiled=compiled).history
        for compiled in (True, True, False)
    )
    plain = training.train(LINEAR, settings, small, Notes(), compiled=False).history
    assert first[-1][:5] == second[-1][:5]
    assert eager[-1][:5] != plain[-1][:5]
    np.testing.assert_allclose(first[-1][:3], eager[-1][:3], rtol=1e-3)


def test_the_papers_settings():
    actual = {name: (task.batch_size, task.rate) for name, task in TASKS.items()}
    assert actual["cnn"] == (100, 0.01)
    assert actual["rnn"] == (100, 0.015)
    assert actual["autoencoder"] == (1, 0.02)


def test_the_same_seed_gives_the_same_run(small):
    first, second, other = (run(LINEAR, small, epochs=1, seed=seed).model for seed in (1, 1, 2))
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(leaves(first)[1], leaves(other)[1])


def test_ctrl_c_keeps_what_was_learned(small):
    outcome = run(LINEAR, small, Notes(interrupt_at=1), epochs=5, batch_size=100)
    assert outcome.interrupted
    assert outcome.history == []
    assert (outcome.state.epoch, outcome.state.step) == (1, 3)
    fresh = LINEAR.build(np.random.default_rng(0))
    assert not np.array_equal(leaves(outcome.model)[1], leaves(fresh)[1])


def test_ctrl_c_in_a_step_and_in_evaluation(small):
    """Ctrl-C at any moment keeps the result of the last complete step."""
    once = TASKS["mlp"].settings("digits", epochs=1, batch_size=100)
    after_one = training.train(TASKS["mlp"], once, small, Notes(interrupt_at=1), compiled=False).model
    for call, steps in ((2, 1), (4, 3)):  # in the second step; in the evaluation after the third
        calls = itertools.count(1)

        def prepare(images, call=call, calls=calls):
            if next(calls) == call:
                raise KeyboardInterrupt
            return as_vectors(images)

        task, notes = TASKS["mlp"]._replace(prepare=prepare), Notes()
        settings = task.settings("digits", epochs=2, batch_size=100)
        outcome = training.train(task, settings, small, notes, compiled=False)
        assert (outcome.interrupted, outcome.history, len(notes.steps)) == (True, [], steps)
        if steps == 1:
            for actual, expected in zip(leaves(outcome.model), leaves(after_one), strict=True):
                np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("name", "compiled"), [("cnn", False), ("rnn", False), ("mlp", True)])
def test_a_loss_that_is_not_finite_stops_the_run(name, compiled, small):
    notes = Notes()
    with pytest.raises(training.DivergedError, match=r"in epoch 1, step \d: .*smaller learning rate"):
        run(name, small, notes, compiled=compiled, rate=1e38, epochs=2, batch_size=50)
    assert all(np.isfinite(progress.loss) for progress in notes.steps)


def test_a_loss_that_is_not_finite_on_the_test_images_stops_the_run(small):
    spoilt = TASKS["mlp"]._replace(
        prepare=lambda images: np.where(len(images) == 60, np.nan, 1.0) * as_vectors(images)
    )
    notes = Notes()
    with pytest.raises(training.DivergedError, match="on the held-out data after epoch 1"):
        training.train(spoilt, spoilt.settings("digits", epochs=1), small, notes, compiled=False)
    assert notes.epochs == []


def test_batches_of_any_size(small):
    for size, sizes in ((7, [7] * 42 + [6]), (300, [300]), (1000, [300]), (299, [299, 1])):
        notes = Notes()
        outcome = run(LINEAR, small, notes, compiled=size == 7, epochs=1, batch_size=size)
        taken = [len(progress.losses) for progress in notes.steps]
        assert [progress.step for progress in notes.steps] == list(itertools.accumulate(taken))
        assert sum(taken) == len(sizes)
        assert notes.steps[-1].steps == len(sizes)
        assert notes.steps[-1].loss == outcome.history[0].train_loss
        assert 0 <= outcome.history[0].train_score <= 1


def test_means_count_each_example_once(small):
    """At a rate of almost 0, the training loss is the loss over the whole set for any batch size."""
    task = LINEAR._replace(build=lambda rng: LINEAR.build(np.random.default_rng(5)))
    still = [
        training.train(
            task,
            task.settings("digits", epochs=1, batch_size=size, rate=1e-30),
            small,
            Notes(),
            compiled=size == 7,
        )
        for size in (7, 299, 1000)
    ]
    for outcome in still:
        steps = Steps(task, task.optimiser(task.rate, 10), compiled=False)
        expected = steps.evaluate(outcome.model, small.train_images, small.train_labels)
        result = outcome.history[0]
        np.testing.assert_allclose((result.train_loss, result.train_score), expected, rtol=1e-5)


def test_evaluation_goes_in_parts(small):
    task = LINEAR
    model = task.build(np.random.default_rng(0))
    images, labels = (np.resize(x, (2345, *x.shape[1:])) for x in (small.train_images, small.train_labels))
    loss, right = task.loss(model, task.prepare(images), labels)
    for compiled in (False, True):
        actual = Steps(task, task.optimiser(task.rate, 10), compiled=compiled).evaluate(model, images, labels)
        np.testing.assert_allclose(actual, (loss, right / 2345), rtol=1e-5)


def test_every_example_is_seen_once_an_epoch(small):
    seen = []

    def prepare(images):
        seen.append(images)
        return as_vectors(images)

    task = TASKS["mlp"]._replace(prepare=prepare)
    settings = task.settings("digits", epochs=2, batch_size=128)
    training.train(task, settings, small, Notes(), compiled=False)
    first, second = np.concatenate(seen[:3]), np.concatenate(seen[4:7])
    assert not np.array_equal(first, second)
    for epoch in (first, second):
        np.testing.assert_array_equal(ordered(epoch), ordered(small.train_images))


def test_time_left_goes_down(small):
    notes = Notes()
    run(LINEAR, small, notes, epochs=3, batch_size=100)
    first, *others = notes.steps
    assert np.isnan(first.remaining), "all of it was compiled first"
    assert len(others) == 2
    for progress in others:
        done = 300 * (progress.epoch - 1) + 100 * progress.step
        assert progress.remaining * progress.rate == pytest.approx(900 - done)


@pytest.mark.parametrize("sizes", [(0, 10), (10, 0)])
def test_no_images(sizes):
    train, test = (np.zeros((size, 28, 28), np.uint8) for size in sizes)
    empty = Dataset(train, train[:, 0, 0], test, test[:, 0, 0], "empty", tuple("0123456789"))
    with pytest.raises(ArgumentError, match="there must be examples"):
        run("mlp", empty)


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch_size": 0}, {"rate": 0.0}, {"rate": np.nan}, {"rate": np.inf}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match="must be"):
        TASKS["cnn"].settings("digits", **wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recipe", "least", "mean"),
    [
        ("cnn", "paper", 0.962, 0.964),
        ("rnn", "paper", 0.922, 0.93),
        ("cnn", "fast", 0.98, 0.985),
        ("lstm", "paper", 0.97, 0.975),
        ("gru", "paper", 0.97, 0.975),
    ],
)
def test_accuracy_on_mnist(name, recipe, least, mean, mnist_folder):
    dataset, task = load("mnist", mnist_folder), task_named(name, recipe)
    actual = []
    for seed in range(3):
        outcome = training.train(task, task.settings("mnist", epochs=5, seed=seed), dataset, Notes())
        actual.append(outcome.history[-1].test_score)
    assert min(actual) >= least
    assert np.mean(actual) >= mean
