"""The folder of a run: what is written when, and what happens where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wengert.data import DataError
from wengert.train import Outcome, RunFolder, State, load_run, save_model
from wengert.train.files import RunError
from wengert.train.folder import METRICS, MODEL, SETTINGS, SUMMARY, check_place
from wengert.train.logs import epoch_line
from wengert.train.state import EpochResult
from wengert.train.tasks import TASKS
from wengert.tree import leaves


def result(epoch):
    return EpochResult(epoch, 1.0 / epoch, 0.5, 0.1, 0.75, 2.0, 30.0)


def outcome(model, history=(), interrupted=False):
    return Outcome(model, list(history), interrupted, State(model, (), {}))


def test_a_run_folder_holds_the_run(tmp_path):
    task = TASKS["mlp"]
    settings = task.settings("digits", epochs=2, seed=3)
    folder = RunFolder(tmp_path / "deep" / "run", settings)
    described = json.loads((folder.path / SETTINGS).read_text())
    assert described["versions"]["numpy"] == np.__version__
    for epoch in (1, 2):
        folder.metrics.add(epoch_line(result(epoch)))
        lines = (folder.path / METRICS).read_text().splitlines()  # each epoch is on the disk at once
        assert json.loads(lines[-1]) == {"kind": "epoch"} | result(epoch)._asdict()
    model = task.build(np.random.default_rng(9))
    folder.finish(outcome(model, [result(1), result(2)], interrupted=True))
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
    folder.finish(outcome(task.build(np.random.default_rng(0))))
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
