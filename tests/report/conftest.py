"""Runs to report on, trained once."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from wengert.app.train import run_training
from wengert.data import digits, write_idx
from wengert.train import TASKS

RUNS = {
    "cnn": {"epochs": 3, "batch_size": 10, "profile": True},
    "autoencoder": {"epochs": 1, "batch_size": 2},
    "rnn": {"epochs": 2, "batch_size": 10},
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Return a folder with runs of each kind of network, on 20 digits."""
    folder, images = tmp_path_factory.mktemp("reports"), tmp_path_factory.mktemp("few")
    for part, count in (("train", 20), ("t10k", 50)):
        drawn, labels = digits(count, seed=len(part))
        write_idx(images / f"{part}-images-idx3-ubyte", drawn)
        write_idx(images / f"{part}-labels-idx1-ubyte", labels)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setitem(sys.modules, "matplotlib", None)  # its pictures are not needed
        for network, chosen in RUNS.items():
            how = {"data_dir": str(images), "eager": True, "log_every": 1}
            settings = TASKS[network].settings("mnist", **how, **chosen)
            assert run_training(settings, str(folder / network)) == 0
    return folder
