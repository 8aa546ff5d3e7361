"""Losses are stable, differentiable, and refuse labels that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.testing import check_grads


def test_cross_entropy_is_its_formula(rng):
    logits, labels = rng.standard_normal((6, 4)), rng.integers(0, 4, 6)
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -np.mean(np.log(probabilities[np.arange(6), labels]))
    assert np.isclose(nn.softmax_cross_entropy(logits, labels), expected, rtol=1e-12)
    assert np.isclose(nn.softmax_cross_entropy(logits, np.eye(4)[labels]), expected, rtol=1e-12)
    gradient = wg.grad(nn.softmax_cross_entropy)(logits, labels)
    np.testing.assert_allclose(gradient, (probabilities - np.eye(4)[labels]) / 6, atol=1e-15)
    check_grads(lambda z: nn.softmax_cross_entropy(z, labels), (logits,), order=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_entropy_of_huge_logits(dtype):
    logits = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 1e4]], dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient = wg.value_and_grad(nn.softmax_cross_entropy)(logits, np.array([0, 0]))
    assert np.isclose(value, (2e4 + np.log(2)) / 2)
    assert value.dtype == gradient.dtype == dtype
    np.testing.assert_allclose(gradient, [[0, 0, 0], [-0.5, 0.25, 0.25]], atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (np.array([0, 3]), "must lie in"),
        (np.array([-1, 0]), "must lie in"),
        (np.zeros(3, int), "labels must be"),
        (np.array([0.0, 1.0]), "integers"),
    ],
)
def test_labels_that_do_not_fit(labels, says):
    with pytest.raises(ValueError, match=says):
        nn.softmax_cross_entropy(np.zeros((2, 3)), labels)


def test_squared_errors_and_accuracy(rng):
    a, b = rng.standard_normal((2, 3, 4))
    assert np.isclose(nn.sum_squared_error(a, b), ((a - b) ** 2).sum())
    assert np.isclose(nn.mean_squared_error(a, b), ((a - b) ** 2).mean())
    check_grads(nn.sum_squared_error, (a, b))
    check_grads(nn.mean_squared_error, (a, b))
    assert nn.accuracy(np.eye(4), np.array([0, 1, 2, 0])) == 0.75
