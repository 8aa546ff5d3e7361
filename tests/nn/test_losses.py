"""Losses are stable and differentiable, and reject labels that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import OutOfRangeError, ShapeError
from wengert.testing import check_grads


def test_cross_entropy_formula(rng):
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
    ("labels", "message"),
    [
        (np.array([0, 3]), "must lie in"),
        (np.array([-1, 0]), "must lie in"),
        (np.zeros(3, int), "labels must be"),
        (np.array([0.0, 1.0]), "integers"),
        (np.array([True, False]), "integers"),
        (np.zeros((3, 2)), "labels must be"),
    ],
)
def test_labels_that_do_not_fit(labels, message):
    with pytest.raises(ValueError, match=message):
        nn.softmax_cross_entropy(np.zeros((2, 3)), labels)


@pytest.mark.parametrize("label", [-1, 4, np.iinfo(np.int64).min])
def test_labels_out_of_range_in_a_compiled_loss(rng, label):
    logits, labels = rng.standard_normal((2, 4)), np.array([0, label])
    step = wg.value_and_grad(lambda z, labels: nn.softmax_cross_entropy(z, labels))
    compiled = wg.jit(step)
    message = rf"^softmax_cross_entropy: labels must lie in \[0, 4\); got {label}\. \[test_losses.py:\d+\]$"
    for run in (step, *[compiled] * 3):  # the first call takes another path than later ones
        for kind in (IndexError, ValueError):
            with pytest.raises(kind, match=message):
                run(logits, labels)
    good = np.array([0, 3])
    for actual, expected in zip(
        compiled(logits, good), wg.value_and_grad(nn.softmax_cross_entropy)(logits, good), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_labels_in_few_bits_and_many_classes(rng):
    logits, labels = rng.standard_normal((3, 300)), np.array([0, 1, 127], np.int8)
    loss = wg.jit(lambda z, labels: nn.softmax_cross_entropy(z, labels))
    assert np.isclose(loss(logits, labels), nn.softmax_cross_entropy(logits, labels))
    with pytest.raises(OutOfRangeError, match=r"labels must lie in \[0, 300\); got -1\."):
        loss(logits, np.array([0, 1, -1], np.int8))
    with pytest.raises(OutOfRangeError, match=rf"got {2**64 - 1}\."):
        loss(logits, np.array([0, 1, 2**64 - 1], np.uint64))


def test_squared_errors_and_accuracy(rng):
    a, b = rng.standard_normal((2, 3, 4))
    assert np.isclose(nn.sum_squared_error(a, b), ((a - b) ** 2).sum())
    assert np.isclose(nn.mean_squared_error(a, b), ((a - b) ** 2).mean())
    check_grads(nn.sum_squared_error, (a, b))
    check_grads(nn.mean_squared_error, (a, b))
    assert nn.accuracy(np.eye(4), np.array([0, 1, 2, 0])) == 0.75
    assert nn.mean_squared_error(a, 0.0) == np.mean(a**2)


def test_lists_and_every_integer_dtype_are_labels(rng):
    logits = rng.standard_normal((3, 4))
    expected = nn.softmax_cross_entropy(logits, np.array([3, 0, 1]))
    assert nn.softmax_cross_entropy(logits.tolist(), [3, 0, 1]) == expected
    for dtype in (np.uint8, np.int32, np.int64):
        assert nn.softmax_cross_entropy(logits, np.array([3, 0, 1], dtype)) == expected
    assert nn.accuracy(logits.tolist(), [3, 0, 1]) == nn.accuracy(logits, np.array([3, 0, 1]))
    assert nn.sum_squared_error([1.0, 2.0], [0.0, 0.0]) == 5.0


def test_cross_entropy_of_each_example(rng):
    logits, labels = rng.standard_normal((5, 4)), rng.integers(0, 4, 5)
    losses = wg.vmap(lambda z, label: nn.softmax_cross_entropy(z[np.newaxis], label[np.newaxis]))
    actual = losses(logits, labels)
    assert actual.shape == (5,)
    assert np.isclose(np.mean(actual), nn.softmax_cross_entropy(logits, labels))


@pytest.mark.parametrize("loss", [nn.sum_squared_error, nn.mean_squared_error])
@pytest.mark.parametrize(
    "shapes", [((3,), (3, 1)), ((3, 1), (3,)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((), (3,))]
)
def test_squared_errors_do_not_broadcast(loss, shapes):
    with pytest.raises(ShapeError, match="must have the same shape"):
        loss(*map(np.ones, shapes))


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 3), (2, 3)), ((3,), (3,))])
def test_accuracy_rejects_labels_that_do_not_fit(shapes):
    with pytest.raises(ShapeError, match="accuracy: labels must be"):
        nn.accuracy(*map(np.ones, shapes))
