"""Each layer of `nn` has a summary, and comes back from files and checkpoints; tests/exporting takes it to ONNX."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.nn.layers import LAYERS, input_of
from wengert import nn
from wengert.engine.core import tree
from wengert.train import Task, load_model, save_model
from wengert.train.checkpoint_files import Checkpoints
from wengert.train.state import begin
from wengert.train.tasks import as_vectors

each_layer = pytest.mark.parametrize("name", LAYERS)


def assert_equal(actual: Any, expected: Any) -> None:
    assert tree.flatten(actual)[1] == tree.flatten(expected)[1]
    for one, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)


def test_the_table_is_complete() -> None:
    classes = {name for name in nn.__all__ if dataclasses.is_dataclass(getattr(nn, name))}
    assert classes == {name.split()[0] for name in LAYERS}


@each_layer
def test_a_summary(name: str) -> None:
    layer, x = LAYERS[name][0], input_of(name)
    table = nn.summary(layer, x)
    y, _ = nn.apply(layer, x, nn.initial_state(layer), training=True, key=wg.random.key(0))
    assert table.rows[0].output[0].shape == y.shape
    assert table.rows[0].inputs[0].shape == x.shape
    assert table.parameters == sum(np.size(leaf) for leaf in tree.leaves(layer))
    assert table.parameter_bytes == 4 * table.parameters
    assert (table.backward > 0) == (table.parameters > 0)
    assert table.forward > 0 or name in ("Flatten", "Embedding", "Upsample2D", "Upsample3D")


@each_layer
def test_a_file(name: str, tmp_path: Any) -> None:
    layer, path = LAYERS[name][0], tmp_path / "layer.safetensors"
    save_model(path, layer)
    assert_equal(load_model(path, tree.map_tree(np.zeros_like, layer)), layer)


@each_layer
def test_a_checkpoint(name: str, tmp_path: Any) -> None:
    """The parameters, the state of the layer and that of the optimiser."""

    def network(rng: Any) -> Any:
        return nn.Chain(LAYERS[name][0])

    task = Task("mine", "mine", network, as_vectors, rate=1e-3, batch_size=4)
    settings = task.settings("arrays", optimiser="adam")
    start = begin(task, settings, 1)
    checkpoints = Checkpoints(tmp_path, task, settings, 1, 0)
    moved = tree.map_tree(lambda leaf: leaf + 1, (start.model, start.optimiser, start.layer_state))
    state = start._replace(model=moved[0], optimiser=moved[1], layer_state=moved[2])
    checkpoints.save(state)
    found, problems = checkpoints.newest(start)
    assert problems == []
    assert_equal(found, state)
