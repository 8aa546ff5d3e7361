"""Connectionist temporal classification against the sum over all paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import ArgumentError, OutOfRangeError, ShapeError
from wengert.testing import check_grads


def by_paths(log_y, labels, blank):
    """Return -ln of the sum of the probabilities of all paths that give the labels."""
    total = 0.0
    for path in itertools.product(range(log_y.shape[1]), repeat=len(log_y)):
        merged = [a for a, before in zip(path, (None, *path), strict=False) if a != before]
        if [a for a in merged if a != blank] == list(labels):
            total += np.exp(sum(log_y[t, a] for t, a in enumerate(path)))
    with np.errstate(divide="ignore"):
        return -np.log(total)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 9))])
def test_the_sum_over_all_paths(seed):
    rng = np.random.default_rng(seed)
    steps, classes, blank, most = 4, 3, int(rng.integers(3)), 3
    logits = rng.standard_normal((4, steps, classes))
    symbols = np.delete(np.arange(classes), blank)
    labels = rng.choice(symbols, (4, most))
    times, counts = rng.integers(0, steps + 1, 4), rng.integers(0, most + 1, 4)
    log_y = nn.log_softmax(logits)
    expected = [by_paths(log_y[n, : times[n]], labels[n, : counts[n]], blank) for n in range(4)]
    labels[np.arange(most) >= counts[:, None]] = -7  # what lies beyond the lengths does not matter
    each = [
        nn.ctc_loss(logits[n : n + 1], labels[n : n + 1], times[n : n + 1], counts[n : n + 1], blank=blank)
        for n in range(4)
    ]
    np.testing.assert_allclose(each, expected, rtol=1e-12)
    possible = np.isfinite(expected)
    mean = lambda z: nn.ctc_loss(z, labels, times, counts, blank=blank, weights=possible)  # noqa: E731
    assert possible.any()
    np.testing.assert_allclose(mean(logits), np.mean(np.array(expected)[possible]))
    assert mean(logits.astype("f4")).dtype == np.float32
    check_grads(mean, (logits,))


def test_too_few_steps_cost_infinity_without_a_derivative():
    """Equal labels need a blank between them."""
    logits, labels = np.zeros((2, 2, 3)), np.array([[1, 1], [1, 2]])
    value, gradient = wg.value_and_grad(lambda z: nn.ctc_loss(z, labels))(logits)
    assert value == np.inf
    assert np.isfinite(gradient).all()
    assert not gradient[0].any()
    assert gradient[1].any()


def test_classes_that_are_ruled_out(rng):
    """A logit of -inf is a class of probability 0."""
    logits, labels = rng.standard_normal((2, 4, 3)), np.array([[1], [2]])
    logits[:, :, 1] = -np.inf
    value, gradient = wg.value_and_grad(lambda z: nn.ctc_loss(z[1:], labels[1:]))(logits)
    np.testing.assert_allclose(value, by_paths(nn.log_softmax(logits[1]), [2], 0))
    assert np.isfinite(gradient).all()
    assert nn.ctc_loss(logits[:1], labels[:1]) == np.inf
    check_grads(lambda z: nn.ctc_loss(z, labels), (rng.standard_normal((2, 3, 3)),), order=2)


@pytest.mark.slow
def test_long_sequences_do_not_underflow(rng):
    logits = (30 * rng.standard_normal((1, 300, 5))).astype("f4")
    labels = rng.integers(1, 5, (1, 40))
    value, gradient = wg.jit(wg.value_and_grad(nn.ctc_loss))(logits, labels)
    np.testing.assert_allclose(value, nn.ctc_loss(logits.astype("f8"), labels), rtol=1e-5)
    assert np.isfinite(gradient).all()


def test_each_example_under_vmap(rng):
    logits, labels = rng.standard_normal((3, 4, 3)), rng.integers(1, 3, (3, 2))
    each = wg.vmap(lambda z, y: nn.ctc_loss(z[np.newaxis], y[np.newaxis]))(logits, labels)
    np.testing.assert_allclose(np.mean(each), nn.ctc_loss(logits, labels))


ONES, TWO = np.ones((2, 3, 4)), np.array([[1, 2], [3, 1]])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nn.ctc_loss(ONES[0], TWO), ShapeError, "logits .examples, steps, classes"),
        (lambda: nn.ctc_loss(ONES, TWO[:1]), ShapeError, "logits .examples, steps, classes"),
        (lambda: nn.ctc_loss(ONES, TWO * 1.0), ShapeError, "integer labels"),
        (lambda: nn.ctc_loss(ONES, TWO, blank=4), ArgumentError, "blank must lie"),
        (lambda: nn.ctc_loss(ONES, TWO + 1), OutOfRangeError, r"labels must lie in \[0, 4\)"),
        (lambda: nn.ctc_loss(ONES, TWO - 1), OutOfRangeError, "none may be the blank 0"),
        (
            lambda: nn.ctc_loss(ONES, TWO, np.array([4, 3])),
            OutOfRangeError,
            r"input_lengths must lie in \[0, 3\]",
        ),
        (lambda: nn.ctc_loss(ONES, TWO, None, np.array([-1, 3])), OutOfRangeError, "label_lengths must lie"),
        (lambda: nn.ctc_loss(ONES, TWO, np.array([3])), ShapeError, "input_lengths must be"),
    ],
)
def test_invalid_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
