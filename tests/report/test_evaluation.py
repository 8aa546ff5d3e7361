from __future__ import annotations

import numpy as np

from wengert import nn
from wengert.data import digit_set
from wengert.report.evaluation import classified, largest, reconstructed
from wengert.report.network import first_weights


def test_what_a_classifier_says(rng):
    data = digit_set(train=1, test=50)
    logits = (10 * rng.normal(size=(50, 10))).astype("f4")
    actual = classified(logits, data)
    assert actual is not None
    assert actual.confusion.sum() == 50
    assert np.trace(actual.confusion) == round(50 * float(nn.accuracy(logits, data.test_labels)))
    assert np.array_equal(actual.confusion.sum(axis=1), np.bincount(data.test_labels, minlength=10))
    mean = nn.softmax_cross_entropy(logits.astype(float), data.test_labels)
    assert np.isclose(actual.losses.mean(), mean)
    assert np.all((actual.probabilities >= 0.1) & (actual.probabilities <= 1))
    assert classified(logits[:, :9], data) is None


def test_logits_without_an_end():
    data = digit_set(train=1, test=2)
    logits = np.zeros((2, 10))
    logits[0, data.test_labels[0]] = 1e300
    actual = classified(logits, data)
    assert actual is not None
    assert (actual.losses[0], actual.probabilities[0]) == (0.0, 1.0)


def test_what_an_autoencoder_draws():
    data = digit_set(train=1, test=4)
    exact = data.test_images.reshape(4, -1) / 255
    actual = reconstructed(exact + np.eye(4, 784), data)
    assert actual is not None
    assert np.allclose(actual.losses, 1)
    assert reconstructed(exact[:, :10], data) is None


def test_the_largest_come_first():
    assert largest(np.array([1.0, np.nan, 3.0, 3.0]), 3) == [1, 2, 3]
    assert largest(np.array([]), 3) == []


def test_first_weights():
    filters = first_weights(nn.Chain(nn.Flatten(), nn.Conv2D(1, 6, 3, seed=0)), 28, 28)
    assert filters is not None
    assert (filters.place, len(filters.pictures), filters.pictures[0].shape) == (
        ".layers[1].weight",
        6,
        (3, 3),
    )
    matrix = first_weights(nn.GRU(28, 4, seed=0), 28, 28)
    assert matrix is not None
    assert [picture.shape for picture in matrix.pictures] == [(28, 12)]
    assert first_weights(nn.Chain(nn.relu), 28, 28) is None
