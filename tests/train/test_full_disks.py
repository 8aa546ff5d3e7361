"""Runs whose files cannot be written."""

from __future__ import annotations

import errno
import os
import tempfile

import numpy as np
import pytest

from wengert.engine.core.tree import leaves
from wengert.train import Run, load_model
from wengert.train.tasks import TASKS


@pytest.fixture
def full_disk(monkeypatch):
    """Make writing fail for paths that contain any of some words."""
    words = []
    plain = os.fsync

    def fsync(number):
        path = os.readlink(f"/proc/self/fd/{number}")
        if any(word in path for word in words):
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(number)

    monkeypatch.setattr(os, "fsync", fsync)
    return words


def test_a_model_that_finds_no_room_is_saved_elsewhere(quick, full_disk, tmp_path, monkeypatch):
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    full_disk += ["run/.model", "run/checkpoints"]
    ended = quick("--epochs", 2)
    ended.failed(1, "run/model.safetensors cannot be written: No space left on device; the model is saved in")
    assert ended.out.count("warning   ") == 1
    (saved,) = (tmp_path / "spare").rglob("model.safetensors")
    assert str(saved) in ended.err
    task = TASKS["mlp"]
    assert leaves(load_model(saved, task.build(np.random.default_rng(0))))
    assert len(Run.open("run").history) == 2
    full_disk += ["spare", "again/.model"]
    quick("--epochs", 2, "--out", "run/again").failed(1, "the model could not be saved in")


def test_logs_and_checkpoints_that_find_no_room_do_not_end_a_run(quick, full_disk):
    full_disk.append("run/checkpoints")
    ended = quick("--epochs", 2)
    ended.failed(
        1, "run/checkpoints/step-00000002.safetensors cannot be written", "is saved in run/model.safetensors"
    )
    assert "examples/s" in ended.out, "the table is shown all the same"
    assert len(Run.open("run").history) == 2
    assert leaves(Run.open("run").model())


def test_a_folder_that_may_not_be_written(quick, monkeypatch):
    assert quick("--epochs", 1).code == 0
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    quick("--resume", "run", network=()).failed(1, "run cannot be written: Permission denied")
    quick("--out", "new").failed(1, "new cannot be written")
