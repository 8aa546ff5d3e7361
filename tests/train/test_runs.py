"""The folder of a run: its files, and errors when they cannot be written or read."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from wengert.data import DataError
from wengert.engine.core.tree import leaves
from wengert.train import Outcome, Run, RunFolder, State, load_run, save_model
from wengert.train.logs import epoch_line
from wengert.train.runs import METRICS, MODEL, SUMMARY, check_place
from wengert.train.state import EpochResult
from wengert.train.storage import RunError
from wengert.train.tasks import TASKS
from wengert.train.user_models import SETTINGS


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
        lines = (folder.path / METRICS).read_text().splitlines()  # each epoch is written at once
        assert json.loads(lines[-1]) == {"kind": "epoch"} | result(epoch)._asdict()
    model = task.build(np.random.default_rng(9))
    folder.finish(outcome(model, [result(1), result(2)], interrupted=True))
    summary = json.loads((folder.path / SUMMARY).read_text())
    assert summary.pop("peak_memory") > 10e6
    assert summary == {"interrupted": True, "problem": None, "last_epoch": result(2)._asdict()}
    kept, again = load_run(folder.path)
    assert kept == settings
    for actual, expected in zip(leaves(again), leaves(model), strict=True):
        np.testing.assert_array_equal(actual, expected)
    with pytest.raises(RunError, match="not empty"):
        RunFolder(folder.path, settings)
    assert not list(folder.path.glob(".*")), "no partial file stays behind"


def test_a_failed_run_says_why(tmp_path):
    folder = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits"))
    folder.fail(ArithmeticError("the loss became nan"))
    summary = json.loads((folder.path / SUMMARY).read_text())
    assert summary.pop("peak_memory") > 10e6
    assert summary == {"interrupted": False, "problem": "the loss became nan", "last_epoch": None}


def test_when_a_run_began_and_its_largest_peak_are_kept(tmp_path):
    folder = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits"))
    run = Run.open(folder.path)
    assert run.began is not None
    assert abs((datetime.now().astimezone() - run.began).total_seconds()) < 60
    (folder.path / SUMMARY).write_text('{"peak_memory": 1000000000000}')
    again = RunFolder.again(folder.path)
    again.describe(run.settings._replace(epochs=9), run.began)
    again.fail(ArithmeticError("the loss became nan"))
    later = Run.open(folder.path)
    assert (later.began, later.settings.epochs) == (run.began, 9)
    assert later.summary == {
        "interrupted": False,
        "problem": "the loss became nan",
        "last_epoch": None,
        "peak_memory": 10**12,
    }
    again.describe(run.settings, None)
    assert Run.open(folder.path).began is None


DAMAGED = {
    "": "settings.json: the file is damaged: Expecting value",
    "[]": "settings.json: the file is damaged: it must hold a JSON object",
    "{}": "settings.json: the file is damaged: it lacks network, data, epochs, batch-size, lr, seed",
    "\\": "settings.json: the file is damaged: Expecting value",
    "\0": "settings.json: the file is damaged: ",
    '"task": "gan"': "settings.json: network must be one of cnn, rnn",
    '"task": null': "settings.json: network must be a non-empty string; got None",
    '"rate": null': "settings.json: lr must be a positive finite number; got None",
    '"epochs": "3"': "settings.json: epochs must be an integer of at least 1; got '3'",
    '"model": "mine"': "settings.json: model must be FILE.py:NAME; got 'mine'",
}


@pytest.mark.parametrize("content", DAMAGED)
def test_settings_that_are_damaged(tmp_path, content):
    path = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits")).path / SETTINGS
    if content.startswith('"'):
        content_now = json.dumps(json.loads(path.read_text()) | json.loads(f"{{{content}}}"))
    else:
        content_now = content
    path.write_text(content_now)
    with pytest.raises(DataError, match=re.escape(f"run/{DAMAGED[content]}")):
        Run.open(path.parent)


def test_what_a_run_can_do_without(tmp_path):
    folder = RunFolder(tmp_path / "run", TASKS["mlp"].settings("digits"))
    described = json.loads((folder.path / SETTINGS).read_text())
    for other in ({"versions": 3}, {"began": "yesterday"}, {"began": 7}, {"unknown": 1}):
        (folder.path / SETTINGS).write_text(json.dumps(described | other))
        assert Run.open(folder.path).settings == TASKS["mlp"].settings("digits")
    (folder.path / METRICS).write_text('{"kind"')
    (folder.path / SUMMARY).write_text("[]")
    run = Run.open(folder.path)
    assert (run.history, run.steps) == ((), [])
    with pytest.raises(DataError, match=r"summary.json: the file is damaged"):
        _ = run.summary


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
    with pytest.raises(RunError, match="runs cannot be written: runs is not a writable folder"):
        check_place(None)
    for name in ("runs", "runs/x"):
        with pytest.raises(RunError, match=f"{name} cannot be written"):
            RunFolder(name, TASKS["cnn"].settings("digits"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "runs"]


def test_damaged_runs_are_named(tmp_path):
    task = TASKS["mlp"]
    folder = RunFolder(tmp_path / "run", task.settings("digits"))
    with pytest.raises(FileNotFoundError):
        load_run(folder.path)  # there is no model yet
    folder.finish(outcome(task.build(np.random.default_rng(0))))
    load_run(folder.path)
    save_model(folder.path / MODEL, TASKS["rnn"].build(np.random.default_rng(0)))
    with pytest.raises(DataError, match="not a file of this model"):
        load_run(folder.path)
    with pytest.raises(DataError, match=r"not the folder of a run: it has no settings.json"):
        load_run(tmp_path)
    with pytest.raises(DataError, match="not the folder of a run: No such file or directory"):
        load_run(tmp_path / "nowhere")
