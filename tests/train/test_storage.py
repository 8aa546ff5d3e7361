"""Models and runs on disk: whole or not at all, and checked when they are read."""

from __future__ import annotations

import json
import os
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wengert import nn
from wengert.data import DataError
from wengert.train import Outcome, RunFolder, load_model, save_model
from wengert.train.loop import EpochResult
from wengert.train.storage import METRICS, MODEL, SETTINGS, SUMMARY, RunError, check_place, load_run
from wengert.train.tasks import TASKS
from wengert.tree import leaves

SMALL = {"a": nn.Dense(3, 2, seed=0), "b": [np.float64(2.5), 1.5, np.zeros((0, 2))], "none": None}


def result(epoch):
    return EpochResult(epoch, 1.0 / epoch, 0.5, 0.1, 0.75, 2.0, 30.0)


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "model.npz", SMALL)
    return tmp_path / "model.npz"


def test_a_model_comes_back_as_it_was(saved):
    again = load_model(saved, SMALL)
    assert list(again) == list(SMALL)
    assert isinstance(again["a"], nn.Dense)
    for found, expected in zip(leaves(again), leaves(SMALL), strict=True):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    assert set(np.load(saved)) == {
        "model['a'].weight", "model['a'].bias", "model['b'][0]", "model['b'][1]", "model['b'][2]",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (nn.Dense(3, 2, seed=0), "not a file of this model"),
        (SMALL | {"c": 1.0}, r"not a file of this model: model\['c'\]"),
        ({"a": SMALL["a"], "none": None}, r"not a file of this model: model\['b'\]\[0\]"),
        (
            SMALL | {"a": nn.Dense(3, 3, seed=0)},
            r"must be float32\(3, 3\); got float32\(3, 2\)|must be float32\(3,\)",
        ),
        (SMALL | {"b": [np.float32(1), 1.0, np.zeros((0, 2))]}, r"must be float32\(\); got float64\(\)"),
    ],
)
def test_a_file_of_another_model(saved, model, says):
    with pytest.raises(DataError, match=says) as error:
        load_model(saved, model)
    assert "model.npz" in str(error.value)


def test_files_that_are_no_models(saved):
    np.save(saved.with_name("array.npy"), np.ones(3))
    saved.with_name("text.npz").write_text("hello")
    saved.with_name("empty.npz").write_bytes(b"")
    for name in ("array.npy", "text.npz", "empty.npz"):
        with pytest.raises(DataError, match=f"{name}: it is no .npz file"):
            load_model(saved.with_name(name), SMALL)
    with pytest.raises(FileNotFoundError):
        load_model(saved.with_name("nothing.npz"), SMALL)
    with zipfile.ZipFile(saved.with_name("text.npz"), "w") as archive:
        archive.writestr("model.weight.npy", "hello")
    np.savez(saved.with_name("code.npz"), **{"model.weight": np.array([print], object)})
    for name, says in (("text.npz", "no array"), ("code.npz", "Object arrays cannot be loaded")):
        with pytest.raises(DataError, match=f"{name}: the file is damaged: .*{says}"):
            load_model(saved.with_name(name), SMALL["a"])  # nothing is unpickled


def test_damage_is_an_error_or_harmless(saved):
    """Bytes changed or cut off at random: the same model, or DataError; never anything else."""
    whole, rng, refused = saved.read_bytes(), random.Random(0), 0
    for trial in range(300):
        damaged = bytearray(whole)
        if trial % 3:
            for _ in range(rng.choice((1, 3))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        else:
            del damaged[rng.randrange(len(damaged)) :]
        saved.write_bytes(damaged)
        try:
            again = load_model(saved, SMALL)
        except DataError:
            refused += 1
        else:
            for found, expected in zip(leaves(again), leaves(SMALL), strict=True):
                np.testing.assert_array_equal(found, expected)
    assert refused > 200


def test_a_model_is_replaced_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(RunError, match=r"model\.npz cannot be written: No space left on device"):
                save_model(saved, {"other": np.ones(100)})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]
    save_model(saved, {"other": np.ones(100)})
    np.testing.assert_array_equal(load_model(saved, {"other": np.zeros(100)})["other"], np.ones(100))
    with pytest.raises(RunError, match=r"nowhere/model\.npz cannot be written"):
        save_model(saved.parent / "nowhere" / "model.npz", SMALL)


def test_a_run_folder_holds_the_run(tmp_path):
    task = TASKS["mlp"]
    settings = task.settings("digits", epochs=2, seed=3)
    folder = RunFolder(tmp_path / "deep" / "run", settings)
    described = json.loads((folder.path / SETTINGS).read_text())
    assert described["versions"]["numpy"] == np.__version__
    for epoch in (1, 2):
        folder.add_metrics(result(epoch))
        lines = (folder.path / METRICS).read_text().splitlines()  # each epoch is on the disk at once
        assert json.loads(lines[-1]) == result(epoch)._asdict()
    model = task.build(np.random.default_rng(9))
    folder.finish(Outcome(model, [result(1), result(2)], interrupted=True))
    summary = json.loads((folder.path / SUMMARY).read_text())
    assert summary == {"interrupted": True, "problem": None, "last_epoch": result(2)._asdict()}
    kept, again = load_run(folder.path)
    assert kept == settings
    for found, expected in zip(leaves(again), leaves(model), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(RunError, match="not empty"):
        RunFolder(folder.path, settings)
    assert not list(folder.path.glob(".*")), "no partial file stays behind"


def test_a_failed_run_says_why(tmp_path):
    folder = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits"))
    folder.fail(ArithmeticError("the loss became nan"))
    summary = json.loads((folder.path / SUMMARY).read_text())
    assert summary == {"interrupted": False, "problem": "the loss became nan", "last_epoch": None}


def test_runs_that_start_in_the_same_second(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20240229-120000")
    settings = TASKS["cnn"].settings("digits")
    names = [RunFolder(None, settings).path for _ in range(3)]
    assert names == [Path("runs", f"cnn-20240229-120000{end}") for end in ("", "-2", "-3")]


def test_places_for_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for free in (None, "new", "new/deeper", "empty", tmp_path / "absolute"):
        check_place(free)
    (tmp_path / "empty").mkdir()
    check_place("empty")
    (tmp_path / "runs").write_text("a file where runs go")
    with pytest.raises(RunError, match="runs cannot be written: runs is not a folder"):
        check_place(None)
    for name in ("runs", "runs/x"):
        with pytest.raises(RunError, match=f"{name} cannot be written"):
            RunFolder(name, TASKS["cnn"].settings("digits"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "runs"]


def test_damaged_runs_are_named(tmp_path):
    task = TASKS["mlp"]
    folder = RunFolder(tmp_path / "run", task.settings("digits"))
    with pytest.raises(FileNotFoundError):
        load_run(folder.path)  # nothing was learned yet
    folder.finish(Outcome(task.build(np.random.default_rng(0)), [], False))
    load_run(folder.path)
    save_model(folder.path / MODEL, TASKS["rnn"].build(np.random.default_rng(0)))
    with pytest.raises(DataError, match="not a file of this model"):
        load_run(folder.path)
    for content in ("", "[]", "{}", '{"task": "gan"}', "\\"):
        (folder.path / SETTINGS).write_text(content)
        with pytest.raises(DataError, match="run: this is not the folder of a run"):
            load_run(folder.path)
    with pytest.raises(DataError, match="not the folder of a run"):
        load_run(tmp_path)
