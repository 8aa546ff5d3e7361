"""Optimisers and schedules by name, in a task and as options of the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.commands import mnist
from wengert import optim
from wengert.engine.core.errors import ArgumentError
from wengert.engine.core.tree import leaves
from wengert.train import TASKS, Descent, SettingsError, task_named
from wengert.train.settings import OPTIMISERS, SCHEDULES

STEPS = 40


def path_of(optimiser, steps=STEPS):
    """Return the path of an optimiser from (3, -2) on a quadratic, (steps, 2)."""
    x, places = np.array([3.0, -2.0]), []
    state = optimiser.init(x)
    for _ in range(steps):
        x, state = optimiser.update(np.array([1.0, 4.0]) * x, state, x)
        places.append(x)
    return np.array(places)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_name_is_the_optimiser_of_that_name(name):
    expected = path_of(getattr(optim, name)(0.02))
    np.testing.assert_array_equal(path_of(Descent(name)(0.02, STEPS)), expected)
    assert np.linalg.norm(expected[-1]) < np.linalg.norm([3.0, -2.0])


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 1000])
def test_a_schedule_has_its_peak_at_the_rate_and_ends_near_zero(name, steps):
    """Runs may have any length: the dry run has one step."""
    rate = SCHEDULES[name](0.5, steps)
    rates = np.array([rate(step) if callable(rate) else rate for step in range(steps)], float)
    assert np.all(np.isfinite(rates))
    assert np.all((rates >= 0) & (rates <= 0.5 * (1 + 1e-6)))
    if steps == 1000:
        assert rates.max() == pytest.approx(0.5, rel=1e-4)
        assert rates[-1] == pytest.approx(0.5 if name == "constant" else 0, abs=1e-3)


@pytest.mark.parametrize("name", ["sgd", "momentum"])
def test_gradients_are_clipped_together(name):
    """The first step is the rate times a gradient of norm at most 1, in the gradient's direction."""
    start, gradient = np.array([3.0, -2.0]), np.array([3.0, -8.0])
    first = path_of(Descent(name, clip=1.0)(0.1, STEPS), 1)[0]
    np.testing.assert_allclose(start - first, 0.1 * gradient / np.linalg.norm(gradient))
    free = path_of(Descent(name, clip=100.0)(0.1, STEPS))
    np.testing.assert_allclose(free, path_of(Descent(name)(0.1, STEPS)), rtol=1e-12)


def test_what_there_is_not():
    with pytest.raises(ArgumentError, match="the optimiser must be one of sgd, "):
        Descent("adma")(0.1, 10)
    with pytest.raises(ArgumentError, match="the schedule must be one of constant, "):
        Descent("adam", "cosines")(0.1, 10)


def test_settings_count_more_than_the_recipe():
    """Other settings stay those of the recipe."""
    fast = task_named("cnn", "fast")
    assert fast.descent(fast.settings("digits")) == Descent("adam", "warm-up-cosine")
    chosen = fast.settings("digits", optimiser="momentum", clip=2.0)
    assert fast.descent(chosen) == Descent("momentum", "warm-up-cosine", 2.0)
    cnn = TASKS["cnn"]
    assert cnn.descent(cnn.settings("digits", schedule="linear")) == Descent("sgd", "linear")


def test_a_task_with_an_optimiser_of_its_own():
    own = TASKS["mlp"]._replace(optimiser=lambda rate, steps: optim.sgd(rate))
    assert own.descent(own.settings("digits")) is own.optimiser
    assert own.descent(own.settings("digits", optimiser="lion", clip=1)) == Descent("lion", clip=1)
    with pytest.raises(
        SettingsError, match="schedule and clip: choose an optimiser, too: the Task makes its own"
    ):
        own.settings("digits", schedule="cosine", clip=1.0)


# -- the command -----------------------------------------------------------------------------------------


@pytest.fixture
def mlp(wengert, small_mnist, no_pictures):
    def run(*options):
        return wengert("train", "mlp", *mnist(small_mnist), "--batch-size", 50, "--eager", *options)

    return run


CHOSEN = ("--optimiser", "adamw", "--schedule", "cosine", "--clip", 1, "--epochs", 2)


def test_options_files_and_resuming_come_to_the_same_bits(mlp, wengert, tmp_path, small_mnist):
    assert mlp(*CHOSEN, "--out", "whole").code == 0
    (tmp_path / "mine.toml").write_text('optimiser = "adamw"\nschedule = "cosine"\nclip = 1\nepochs = 2\n')
    assert mlp("--settings", "mine.toml", "--out", "file").code == 0
    settings = json.loads((tmp_path / "whole" / "settings.json").read_text())
    assert [settings[name] for name in ("optimiser", "schedule", "clip")] == ["adamw", "cosine", 1.0]
    first = tmp_path / "whole" / "checkpoints"
    for checkpoint in sorted(first.glob("step-*"))[2:]:
        checkpoint.unlink()  # as if it had been killed in the second epoch
    (tmp_path / "whole" / "model.safetensors").unlink()
    assert wengert("train", "--resume", "whole").code == 0
    actual = [load_file(tmp_path / name / "model.safetensors") for name in ("whole", "file")]
    for a, b in zip(*map(leaves, actual), strict=True):
        np.testing.assert_array_equal(a, b)
    refused = wengert("train", "--resume", "whole", "--optimiser", "sgd")
    refused.failed(2, "optimiser is adamw in whole; a resumed run cannot change it")


def test_a_dry_run_of_every_schedule(mlp):
    for name in SCHEDULES:
        assert mlp("--schedule", name, "--dry-run").code == 0


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--optimiser", "adma", "adam"), ("--schedule", "cos", "cosine"), ("--clip", "0", "clip")],
)
def test_wrong_options(mlp, option, value, message, tmp_path):
    ended = mlp(option, value, "--out", "run")
    assert ended.code == 2
    assert message in ended.err
    name = option.removeprefix("--")
    (tmp_path / "mine.toml").write_text(f"{name} = {json.dumps(value) if name != 'clip' else value}\n")
    mlp("--settings", "mine.toml", "--out", "run").failed(2, f"mine.toml:1: {name} must be")
    assert not (tmp_path / "run").exists()
