"""Embeddings: rows of a matrix, and their derivatives, which are sums."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, IndexingError, WengertError


def test_rows_and_their_derivatives(rng):
    layer = nn.Embedding(6, 3, seed=0)
    indices, arriving = np.array([[1, 5, 1], [0, 1, 4]]), rng.standard_normal((2, 3, 3)).astype("f4")
    np.testing.assert_array_equal(layer(indices), layer.weight[indices])
    expected = np.zeros((6, 3), "f4")
    np.add.at(expected, indices, arriving)
    differentiate = wg.grad(lambda layer, indices: np.sum(layer(indices) * arriving))
    for run in (differentiate, wg.jit(differentiate)):
        np.testing.assert_allclose(run(layer, indices).weight, expected, rtol=1e-5)
    moved = wg.jvp(lambda w: np.take(w, indices, axis=0), (layer.weight,), (expected,))[1]
    np.testing.assert_array_equal(moved, expected[indices])


def test_padding_is_zero_and_is_not_learned():
    layer = nn.Embedding(4, 2, padding=1, seed=0)
    np.testing.assert_array_equal(layer.weight[1], 0)
    layer = tree.map_tree(lambda weight: weight + 1, layer)
    np.testing.assert_array_equal(layer(np.array([1, 2]))[0], 0)
    gradient = wg.grad(lambda layer: np.sum(layer(np.array([1, 1, 2]))))(layer).weight
    np.testing.assert_array_equal(gradient, [[0, 0], [0, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_indices_of_every_integer_dtype_and_under_vmap(dtype):
    layer = nn.Embedding(5, 2, seed=0, padding=0)
    indices = np.array([[1, 4], [0, 2]], dtype)
    np.testing.assert_array_equal(wg.jit(layer.__call__)(indices), layer(indices))
    np.testing.assert_array_equal(wg.vmap(layer)(indices), layer(indices))
    np.testing.assert_array_equal(layer([[1, 4], [0, 2]]), layer(indices))
    assert layer(np.zeros((0, 3), dtype)).shape == (0, 3, 2)


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_out_of_range(index):
    layer = nn.Embedding(5, 2, seed=0)
    for call in (layer, wg.jit(layer.__call__), wg.vmap(layer), wg.jit(wg.vmap(layer))):
        with pytest.raises(
            IndexingError, match=rf"^Embedding: indices must lie in \[0, 5\); got {index}\. \["
        ):
            call(np.array([0, index]))


def test_invalid_arguments():
    with pytest.raises(DtypeError, match="indices must be integers"):
        nn.Embedding(5, 2, seed=0)(np.array([0.0]))
    with pytest.raises(ArgumentError, match=r"padding must be a symbol, in \[0, 5\)"):
        nn.Embedding(5, 2, seed=0, padding=5)
    with pytest.raises(WengertError, match="count and size"):
        nn.Embedding(0, 2, seed=0)
