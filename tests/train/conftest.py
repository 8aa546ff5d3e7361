"""``wengert train`` on few images."""

from __future__ import annotations

import sys

import pytest

from tests.commands import mnist


@pytest.fixture
def quick(wengert, small_mnist, monkeypatch):
    """Train the perceptron on few images without pictures, by default into the folder ``run``."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    def run(*options, network=("mlp",)):
        out = () if {"--out", "--resume", "--dry-run"} & set(options) else ("--out", "run")
        data = () if "--resume" in options else mnist(small_mnist)
        return wengert("train", *network, *data, *options, *out)

    return run
