"""`fit`: any loss over any container of arrays, interrupted and resumed to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert import nn, optim
from wengert.data import DataError, batches
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.train import DivergedError, SettingsError, Trained, fit

RNG = np.random.default_rng(0)
X = RNG.standard_normal((23, 3)).astype("f4")
Y = (X @ np.array([1.0, -2.0, 0.5], "f4") > 0).astype(int)
modes = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])


def model() -> Any:
    return nn.Chain(nn.Dense(3, 4, seed=0), nn.BatchNorm(4), nn.tanh, nn.Dropout(0.2), nn.Dense(4, 2, seed=1))


def loss(model: Any, x: Any, y: Any) -> Any:
    return nn.softmax_cross_entropy(model(x), y)


def right(model: Any, x: Any, y: Any) -> Any:
    return nn.accuracy(model(x), y)


def assert_same(one: Any, other: Any) -> None:
    assert tree.flatten(one)[1] == tree.flatten(other)[1]
    for a, b in zip(tree.leaves(one), tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


class StopAt:
    """A reporter that ends the training after a number of reports."""

    def __init__(self, count: int) -> None:
        self.count = count

    def on_steps(self, progress: Any, state: Any) -> None:
        self.count -= 1
        if not self.count:
            raise KeyboardInterrupt

    def on_epoch(self, result: Any, state: Any) -> None:
        """Do nothing."""


def test_the_loop_by_hand() -> None:
    w, optimiser = np.zeros(3, "f4"), optim.momentum(0.1)

    def cost(w: Any, batch: Any) -> Any:
        return nn.mean_squared_error(batch["x"] @ w, batch["y"] * 1.0)

    fitted = fit(
        w, cost, {"x": X, "y": Y}, optimiser, epochs=3, batch_size=5, seed=4, compiled=False,
        validation={"x": X[:7], "y": Y[:7]}, metrics={"cost": cost},
    )  # fmt: skip
    rng, state, expected = np.random.default_rng(4), optimiser.init(w), w
    for epoch in range(3):
        losses = []
        for index in batches(23, 5, rng=rng):
            batch = {"x": X[index], "y": Y[index]}
            value, gradient = wg.value_and_grad(cost)(expected, batch)
            losses.append(value * len(index))
            expected, state = optimiser.update(gradient, state, expected)
        row = fitted.history[epoch]
        assert np.isclose(row["loss"], sum(losses) / 23)
        assert row["cost"] == row["loss"]
        assert np.isclose(row["validation_loss"], cost(expected, {"x": X[:7], "y": Y[:7]}))
    np.testing.assert_array_equal(fitted.model, expected)
    assert not w.any()


@pytest.mark.parametrize("form", [lambda x, y: {"x": x, "y": y}, lambda x, y: [x, y], lambda x, y: (x, y)])
def test_containers(form: Any) -> None:
    data = form(X, {"label": Y}) if isinstance(form(0, 0), tuple) else form(X, Y)

    def of_batch(model: Any, *batch: Any) -> Any:
        if len(batch) == 2:
            return loss(model, batch[0], batch[1]["label"])
        x, y = batch[0].values() if isinstance(batch[0], dict) else batch[0]
        return loss(model, x, y)

    fitted = fit(model(), of_batch, data, epochs=1, compiled=False)
    assert_same(fitted.model, fit(model(), loss, (X, Y), epochs=1, compiled=False).model)


@modes
def test_resumed_training_has_the_same_bits(compiled: bool, tmp_path: Any) -> None:
    options: dict[str, Any] = {
        "epochs": 2, "batch_size": 6, "validation": (X, Y), "metrics": {"right": right}, "keep": "best",
        "compiled": compiled, "save_every": 0.0,
    }  # fmt: skip
    optimiser = optim.adam(optim.schedules.cosine(0.05, 8))
    whole = fit(model(), loss, (X, Y), optimiser, **options)
    for count in np.random.default_rng(1).integers(1, 9, many(1)):
        folder = tmp_path / str(count)
        resumed = fit(model(), loss, (X, Y), optimiser, checkpoints=folder, reporter=StopAt(count), **options)
        assert resumed.interrupted
        resumed = fit(model(), loss, (X, Y), optimiser, checkpoints=folder, **options)
        assert_same(resumed.model, whole.model)
        assert_same(resumed.state.optimiser, whole.state.optimiser)
        for one, other in zip(resumed.history, whole.history, strict=True):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
        again = fit(model(), loss, (X, Y), optimiser, checkpoints=folder, **options)
        assert_same(again.model, whole.model)
    with pytest.raises(SettingsError, match="saved with batch_size 6 in place of 7: choose another folder"):
        fit(model(), loss, (X, Y), optimiser, checkpoints=folder, **options | {"batch_size": 7})
    with pytest.raises(DataError, match="other data"):
        fit(model(), loss, (X + 1, Y), optimiser, checkpoints=folder, **options)
    with pytest.raises(SettingsError, match="saved with another model"):
        fit(nn.Dense(3, 2, seed=0), loss, (X, Y), optimiser, checkpoints=folder, **options)


DECISIVE: dict[str, list[Any]] = {
    "loss": [loss, lambda m, x, y: 2.0 * loss(m, x, y), *(lambda m, x, y, f=f: f * loss(m, x, y) for f in (3.0, 4.0))],
    "optimiser": [
        None, optim.adam(0.01), optim.adam(0.02), optim.momentum(0.01), optim.adamw(0.01, mask=np.ndim),
        optim.adam(optim.schedules.cosine(0.01, 8)), optim.adam(optim.schedules.cosine(0.01, 9)),
    ],
    "model": [model, lambda: nn.Dense(3, 2, seed=0), lambda: nn.Chain(nn.Dense(3, 2, seed=0), nn.Dropout(0.5))],
    "metrics": [None, {"right": right}, {"correct": right}, {"right": right, "loss_again": loss}],
}  # fmt: skip


@pytest.mark.parametrize("part", DECISIVE)
def test_a_resume_with_another_part_is_refused(part: str, tmp_path: Any) -> None:
    """Equal parts, made anew, continue; each other choice of a part is named."""

    def run(folder: Any, choice: int, epochs: int) -> Any:
        parts: dict[str, Any] = {name: one[choice if name == part else 0] for name, one in DECISIVE.items()}
        arguments = parts["model"](), parts["loss"], (X, Y), parts["optimiser"]
        return fit(
            *arguments, metrics=parts["metrics"], epochs=epochs, batch_size=12, checkpoints=folder, compiled=False
        )  # fmt: skip

    for first in np.random.default_rng(0).permutation(len(DECISIVE[part]))[: many(2)]:
        folder = tmp_path / str(first)
        run(folder, first, 1)
        for second in range(len(DECISIVE[part])):
            if second != first:
                with pytest.raises(SettingsError, match=rf"saved with (another )?{part}"):
                    run(folder, second, 2)
        assert len(str(run(folder, first, 2)).splitlines()) == 4


def test_a_damaged_checkpoint_does_not_hide_the_others(tmp_path: Any) -> None:
    options: dict[str, Any] = {"batch_size": 12, "checkpoints": tmp_path, "compiled": False}
    fit(model(), loss, (X, Y), epochs=2, **options)
    (tmp_path / "step-00000004.json").write_text("{")
    with pytest.raises(SettingsError, match="another optimiser"):
        fit(model(), loss, (X, Y), optim.sgd(0.1), epochs=3, **options)
    assert len(fit(model(), loss, (X, Y), epochs=3, **options).history) == 3


def test_metrics_do_not_change_the_training() -> None:
    plain, measured = (
        fit(model(), loss, (X, Y), epochs=2, batch_size=6, metrics=metrics, compiled=False)
        for metrics in (None, {"right": right, "again": right})
    )
    assert_same(plain.model, measured.model)
    assert [row["loss"] for row in plain.history] == [row["loss"] for row in measured.history]
    assert list(measured.history[0]) == ["epoch", "loss", "right", "again", "seconds"]
    assert isinstance(plain.model, Trained)


def test_early_stopping_returns_the_best_weights() -> None:
    def parabola(w: Any, x: Any) -> Any:
        return np.mean(x) * np.square(w - 1.0)

    x, fitted = np.ones(4), None
    for patience in (1, 3):
        fitted = fit(
            np.float64(0.9), parabola, x, optim.sgd(1.02), epochs=20, validation=x, patience=patience, compiled=False
        )  # fmt: skip
        assert len(fitted.history) == 1 + patience
        losses = [row["validation_loss"] for row in fitted.history]
        assert fitted.best == 1 + np.argmin(losses) == 1
        assert np.isclose(parabola(fitted.model, x), min(losses))
        assert "best epoch 1" in str(fitted)
    assert str(fitted).splitlines()[0].split() == ["epoch", "loss", "validation", "loss", "seconds"]


def test_a_trained_model_is_trained_further() -> None:
    first = fit(model(), loss, (X, Y), epochs=1, compiled=False)
    more = fit(first.model, loss, (X, Y), epochs=1, compiled=False)
    assert isinstance(more.model, Trained)
    moved = first.model.state[1].mean - more.model.state[1].mean
    assert 0 < np.abs(moved).max() < 1
    with pytest.raises(DivergedError, match=r"try a smaller learning rate$|smaller learning rate"):
        fit(first.model, loss, (X, Y), optim.sgd(1e38), epochs=9, compiled=False)


def call(*arguments: Any, **options: Any) -> Any:
    return lambda: fit(nn.Dense(3, 2, seed=0), *arguments, compiled=False, **options)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (
            call(loss, (X, Y[:3])),
            ShapeError,
            r"same number of examples; got data\[0\] \(23, 3\), data\[1\] \(3,\)",
        ),
        (call(loss, ()), ShapeError, "data must be arrays"),
        (call(loss, (X[:0], Y[:0])), ShapeError, "same number of examples"),
        (call(loss, ([1.0], Y)), DtypeError, "must be an array"),
        (call(loss, (X, Y), validation=X), ArgumentError, "validation must have the structure"),
        (call(lambda m, x, y: m(x), (X, Y)), ShapeError, "loss must return a number"),
        (call(loss, (X, Y), metrics={"m": lambda m, x, y: m(x)}), ShapeError, "m must return a number"),
        (call(loss, (X, Y), metrics={"loss": loss}), ArgumentError, "another name"),
        (call(loss, (X, Y), optim.adam), ArgumentError, "must be an Optimiser"),
        (call(loss, (X, Y), epochs=0), ArgumentError, "epochs must be an integer of at least 1"),
        (call(loss, (X, Y), batch_size=2.0), ArgumentError, "batch-size must be"),
        (call(loss, (X, Y), keep="first"), ArgumentError, "keep must be"),
    ],
)
def test_invalid_arguments(wrong: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        wrong()


def test_a_folder_of_something_else_stays(tmp_path: Any) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="is not empty"):
        call(loss, (X, Y), checkpoints=tmp_path)()
