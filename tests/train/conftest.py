"""``wengert train`` on few images."""

from __future__ import annotations

import sys

import pytest

from tests.commands import mnist
from wengert import nn
from wengert.train import TASKS


def one_layer(rng):
    """Return a network that is compiled in a moment."""
    return nn.Chain(nn.Dense(784, 10, seed=rng))


@pytest.fixture
def quick(wengert, small_mnist, monkeypatch):
    """Train a perceptron of one layer on few images without pictures, by default into the folder ``run``."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(build=one_layer))

    def run(*options, network=("mlp",)):
        out = () if {"--out", "--resume", "--dry-run"} & set(options) else ("--out", "run")
        data = () if "--resume" in options else mnist(small_mnist)
        return wengert("train", *network, *data, *options, *out)

    return run
