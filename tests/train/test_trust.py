"""Programs in the folders of runs: only trusted ones are run."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.commands import mnist
from wengert.data import digits, write_idx
from wengert.predict import Predictor
from wengert.train import Run, UntrustedError, load_run

TEXT = """
import pathlib
from helper import WIDTH
from wengert import nn

pathlib.Path("ran").touch()

def network(rng):
    return nn.Chain(nn.Flatten(), nn.Dense(784, WIDTH, seed=rng), nn.tanh, nn.Dense(WIDTH, 10, seed=rng))
"""
LOOKING = (("report", "run"), ("predict", "run", "one.idx"), ("compare", "run"), ("train", "--resume", "run"))


@pytest.fixture
def trained(wengert, small_mnist, no_pictures, tmp_path, monkeypatch):
    """Train with a file that creates a marker when it is run, and remove the marker."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "helper.py").write_text("WIDTH = 12\n")
    (tmp_path / "there" / "mine.py").write_text(TEXT)
    options = ("--model", "there/mine.py:network", *mnist(small_mnist), "--batch-size", 40, "--epochs", 1)
    assert wengert("train", *options, "--out", "run").code == 0
    write_idx("one.idx", digits(1)[0])
    os.remove("ran")
    return tmp_path / "run"


@pytest.fixture
def foreign(trained, monkeypatch, tmp_path):
    """Return the run as seen by another user, who has not trained."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    return trained


@pytest.mark.parametrize("command", LOOKING, ids=lambda command: command[0])
def test_a_program_of_somebody_else_is_run_where_that_is_asked_for(foreign, wengert, command):
    wengert(*command).failed(
        1, "run/model.py: opening the run would run this program", "read it and run/modules", "add --trust"
    )
    assert not os.path.exists("ran")
    assert wengert(*command, "--trust").code == 0
    assert os.path.exists("ran")


def test_what_is_trusted_once_is_asked_for_again_unless_it_trained(foreign, wengert):
    for command in LOOKING[:3]:
        assert wengert(*command, "--trust").code == 0
        wengert(*command).failed(1, "add --trust")
    assert wengert(*LOOKING[3], "--trust").code == 0
    assert [wengert(*command).code for command in LOOKING] == [0] * 4


def test_in_python(foreign):
    for opened in (Run.open, load_run, Predictor.open):
        with pytest.raises(
            UntrustedError, match=r"run/model\.py: opening the run would run this program.*trust=True"
        ) as caught:
            opened(foreign)
        assert isinstance(caught.value, PermissionError)
        opened(foreign, trust=True)


def test_who_has_trained_is_not_asked(trained, wengert, tmp_path):
    assert [wengert(*command).code for command in LOOKING] == [0] * 4
    shutil.move(trained, tmp_path / "elsewhere")
    assert wengert("report", "elsewhere").code == 0
    (record,) = (tmp_path / "state" / "wengert").iterdir()
    assert record.stat().st_mode & 0o777 == 0o600
    assert len(record.read_text().split()) == 1


def changed_text(run):
    with (run / "model.py").open("a") as file:
        file.write("\n")


def changed_module(run):
    (run / "modules" / "helper.py").write_text("WIDTH = 12\nimport os\n")


def compiled_module(run):
    (run / "modules" / "__pycache__").mkdir()
    (run / "modules" / "__pycache__" / "helper.cpython-311.pyc").write_bytes(b"code")


def linked_module(run):
    (run / "modules" / "more").symlink_to(run.parent)


def another_place(run):
    described = json.loads((run / "settings.json").read_text())
    described["model"] = "/tmp/mallory/mine.py:network"
    (run / "settings.json").write_text(json.dumps(described))


@pytest.mark.parametrize(
    "change",
    [changed_text, changed_module, compiled_module, linked_module, another_place],
    ids=lambda f: f.__name__,
)
def test_a_program_that_has_changed_is_another_one(trained, change):
    Run.open(trained)
    os.remove("ran")
    change(trained)
    with pytest.raises(UntrustedError, match=r"model\.py: opening the run would run this program"):
        Run.open(trained)
    assert not os.path.exists("ran")


def open_to_all(record):
    record.parent.chmod(0o777)


def linked(record):
    record.rename(record.with_name("moved"))
    record.symlink_to(record.with_name("moved"))


def damaged(record):
    record.write_bytes(b"\xff\x00" * 40)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("spoil", [open_to_all, linked, damaged, os.remove], ids=lambda f: f.__name__)
def test_a_record_that_is_none_is_not_believed(trained, tmp_path, spoil):
    spoil(tmp_path / "state" / "wengert" / "trained-with")
    with pytest.raises(UntrustedError):
        Run.open(trained)


def test_without_a_place_for_the_record_training_works(trained, wengert, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    assert wengert("train", "--resume", "run", "--trust").code == 0
    wengert("report", "run").failed(1, "add --trust")


def test_trust_is_for_what_is_there(wengert):
    wengert("train", "--trust").failed(2, "--trust needs --resume")
