"""Runs to report on, trained once."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from wengert.app.train import run_training
from wengert.train import TASKS

RUNS = {
    "cnn": {"epochs": 3, "profile": True},
    "autoencoder": {"epochs": 1, "batch_size": 20},
    "rnn": {"epochs": 2},
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory, small_mnist):
    """Return a folder with runs of each kind of network."""
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setitem(sys.modules, "matplotlib", None)  # its pictures are not needed
        for network, chosen in RUNS.items():
            how = {"data_dir": str(small_mnist), "eager": True, "log_every": 1}
            settings = TASKS[network].settings("mnist", **how, **chosen)
            assert run_training(settings, str(folder / network)) == 0
    return folder
