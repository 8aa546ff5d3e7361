"""Gradients and Hessians of examples: beside formulas, and in the forms in which the packages call."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import wengert as wg
from wengert.boost import metric, objective
from wengert.special import expit, log_softmax


def logistic(score, label):
    return np.logaddexp(0.0, score) - label * score


def softmax(scores, label):
    return -log_softmax(scores)[label.astype(int)]


def bernoulli(p, label):
    return -label * np.log(p) - (1 - label) * np.log(1 - p)


class Data:
    """A data set as LightGBM has it, or, with pointers, as XGBoost does."""

    def __init__(self, label, weight=None, sizes=None):
        self.label, self.weight, self.sizes = label, weight, sizes

    def get_label(self):
        return self.label

    def get_weight(self):
        return self.weight


class LightGBM(Data):
    def get_group(self):
        return self.sizes

    def num_data(self):
        return len(self.label)


class XGBoost(Data):
    def get_weight(self):
        return np.empty(0, np.float32) if self.weight is None else self.weight

    def get_uint_info(self, name):
        assert name == "group_ptr"
        return np.empty(0, np.uint32) if self.sizes is None else np.concatenate([[0], np.cumsum(self.sizes)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_logistic_loss_has_its_formulas(rng, dtype):
    s, y = rng.normal(size=50).astype(dtype), (rng.random(50) < 0.5).astype(dtype)
    w = rng.random(50)
    p = 1 / (1 + np.exp(-s.astype(float)))
    for loss in (
        objective(logistic),
        objective(bernoulli, expit),
        objective(bernoulli, expit, hessian="expected"),
    ):
        for kind in (LightGBM, XGBoost):
            gradient, hessian = loss(s, kind(y, w))
            assert (gradient.dtype, hessian.dtype) == (dtype, dtype)
            np.testing.assert_allclose(gradient, w * (p - y), rtol=2e-5)
            np.testing.assert_allclose(hessian, w * p * (1 - p), rtol=2e-5)
        np.testing.assert_allclose(loss(y, s)[0], p - y, rtol=2e-5)
        np.testing.assert_allclose(loss(y, s, sample_weight=w)[0], w * (p - y), rtol=2e-5)


def test_classes_have_the_diagonal_or_the_bound(rng):
    s, y = np.asfortranarray(rng.normal(size=(30, 4))), rng.integers(0, 4, 30).astype(float)
    w = rng.random(30)
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    expected = p - np.eye(4)[y.astype(int)]
    for kind, factor in (("diagonal", 1.0), ("bound", 2.0)):
        gradient, hessian = objective(softmax, hessian=kind)(s, LightGBM(y, w))
        np.testing.assert_allclose(gradient, w[:, None] * expected, rtol=1e-9)
        np.testing.assert_allclose(hessian, factor * w[:, None] * p * (1 - p), rtol=1e-9)


def test_the_bound_is_above_the_curvature(rng):
    def loss(scores, label):
        return np.sum(np.sin(scores * label)) * scores[0] + scores[1] * scores[2]

    s, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    bound = objective(loss, hessian="bound")(s, LightGBM(y))[1]
    for row, label, diagonal in zip(s, y, bound, strict=True):
        matrix = wg.hessian(loss)(row, label)
        assert np.all(np.linalg.eigvalsh(np.diag(diagonal) - matrix) > -1e-12)
        assert np.all(np.linalg.eigvalsh(np.diag(diagonal) + matrix) > -1e-12)


def test_safe_hessians(rng):
    s, y = rng.normal(size=40), np.abs(rng.normal(size=40)) + 0.1

    def gamma(mean, label):
        return np.log(np.abs(mean)) + label / mean

    hessians = {
        kind: objective(gamma, hessian=kind, floor=1e-3)(y, s)[1]
        for kind in ("diagonal", "absolute", "bound")
    }
    mean = s  # without a link the score is the mean, and may be negative
    with np.errstate(invalid="ignore"):
        exact = -1 / mean**2 + 2 * y / mean**3
    np.testing.assert_allclose(hessians["diagonal"], np.maximum(exact, 1e-3))
    np.testing.assert_allclose(hessians["absolute"], np.maximum(np.abs(exact), 1e-3))
    np.testing.assert_array_equal(hessians["bound"], hessians["absolute"])
    by_log = objective(gamma, np.exp, hessian="expected")(y, s)
    np.testing.assert_allclose(by_log[0], 1 - y * np.exp(-s), rtol=1e-9)  # the gradient has the label
    np.testing.assert_allclose(by_log[1], np.ones(40))
    with pytest.raises(
        wg.errors.ArgumentError, match="one of diagonal, absolute, bound, expected; got 'exact'"
    ):
        objective(gamma, hessian="exact")
    with pytest.raises(wg.errors.ArgumentError, match="mean of a label is needed"):
        objective(gamma, hessian="expected")


def pairs(scores, relevance):
    better = relevance[:, None] > relevance[None, :]
    return np.sum(np.where(better, np.logaddexp(0.0, scores[None, :] - scores[:, None]), 0.0))


def test_groups_of_several_sizes(rng):
    sizes = np.array([3, 0, 5, 1, 3])
    s, y = rng.normal(size=12), rng.integers(0, 3, 12).astype(float)
    w = rng.random(12)
    gradient, hessian = objective(pairs, groups=True)(s, LightGBM(y, w, sizes))
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        if size:
            np.testing.assert_allclose(gradient[rows], w[rows] * wg.grad(pairs)(s[rows], y[rows]), atol=1e-14)
            diagonal = np.diag(wg.hessian(pairs)(s[rows], y[rows]))
            np.testing.assert_allclose(hessian[rows], w[rows] * np.maximum(diagonal, 1e-16))
        start += size
    of_groups = rng.random(5)
    got = objective(pairs, groups=True)(s, XGBoost(y, of_groups, sizes))
    again = objective(pairs, groups=True)(y, s, np.repeat(of_groups, sizes), sizes)
    np.testing.assert_array_equal(got, again)
    losses = [pairs(s[a:b], y[a:b]) for a, b in ((0, 3), (3, 8), (8, 9), (9, 12))]
    assert metric(pairs, groups=True)(s, LightGBM(y, None, sizes)) == (
        "pairs",
        pytest.approx(np.mean(losses)),
        False,
    )
    for wrong in (None, [3, 3]):
        with pytest.raises(wg.errors.ArgumentError, match="needs the groups"):
            objective(pairs, groups=True)(y, s, None, wrong)


def test_targets_are_containers(rng):
    def loss(score, interval):
        low, high = interval
        return (score - low) ** 2 * (high - score)

    s, low, high = rng.normal(size=(3, 9))
    made = objective(loss, target=lambda data: (data.get_label(), data.extra), hessian="absolute")
    data = LightGBM(low)
    data.extra = high
    gradient, hessian = made(s, data)
    np.testing.assert_allclose(gradient, 2 * (s - low) * (high - s) - (s - low) ** 2)
    np.testing.assert_allclose(hessian, np.abs(2 * (high - s) - 4 * (s - low)))


def test_faults_name_the_row(rng):
    with pytest.raises(wg.errors.RangeError, match=r"bernoulli: .* for the score 1.0 and the label 0.5"):
        objective(bernoulli)(np.array([0.0, 0.5]), np.array([0.5, 1.0]))
    with pytest.raises(wg.errors.ShapeError, match="a label for each row of the scores; got 3 for 2"):
        objective(logistic)(np.ones(3), np.ones(2))


def test_metrics_in_each_form(rng):
    s, y, w = rng.normal(size=20), (rng.random(20) < 0.5) * 1.0, rng.random(20)
    value, weighted = np.mean(logistic(s, y)), np.average(logistic(s, y), weights=w)
    measure = metric(logistic)
    assert measure(y, s) == pytest.approx(value)
    assert measure(y, s, sample_weight=w) == pytest.approx(weighted)
    assert measure(y, s, w, None) == ("logistic", pytest.approx(weighted), False)
    assert measure(s, XGBoost(y)) == ("logistic", pytest.approx(value))
    named = metric(logistic, name="loss", maximize=True)
    assert named(s, LightGBM(y, w)) == ("loss", pytest.approx(weighted), True)
    assert named.__name__ == "loss"


def test_objectives_are_copied_and_pickled(rng):
    made = objective(logistic, floor=0.1)
    s, y = rng.normal(size=5), np.ones(5)
    before = made(y, s)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again(y, s), before)
    assert copy.deepcopy(made) is made


def test_a_loss_may_use_math_and_branches(rng):
    import math

    def huber(score, label):
        r = score - label
        return 0.5 * r * r if abs(r) < 1 else abs(r) - 0.5 + 0 * math.exp(r)

    s, y = rng.normal(size=30) * 3, rng.normal(size=30)
    gradient, hessian = objective(huber)(y, s)
    np.testing.assert_allclose(gradient, np.clip(s - y, -1, 1))
    np.testing.assert_allclose(hessian, np.where(np.abs(s - y) < 1, 1.0, 1e-16))
