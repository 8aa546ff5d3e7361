"""Losses are stable and differentiable, and reject labels that do not fit."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import ArgumentError, OutOfRangeError, ShapeError
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


# -- weights, smoothing, and numbers of PyTorch ----------------------------------------------------------


eager_and_compiled = pytest.mark.parametrize(
    "transform", [lambda f: f, pytest.param(wg.jit, marks=pytest.mark.slow)]
)


@eager_and_compiled
@pytest.mark.parametrize(
    ("case", "loss", "arguments"),
    [
        (
            "softmax cross entropy",
            lambda z, y, w: nn.softmax_cross_entropy(z, y, weights=y != -100, class_weights=w, smoothing=0.2),
            ("logits", "labels", "weights"),
        ),
        (
            "sigmoid cross entropy",
            lambda z, p, w: nn.sigmoid_cross_entropy(z, p, positive_weight=w),
            ("logits", "labels", "weights"),
        ),
        ("huber", lambda x, y: nn.huber_loss(x, y, 0.7), ("x", "y")),
        ("kl", nn.kl_divergence, ("logits", "targets")),
        ("ctc", nn.ctc_loss, ("logits", "labels", "times", "counts")),
    ],
)
def test_pytorchs_numbers(case, loss, arguments, transform, numbers):
    of = lambda name: numbers[f"{case}/{name}"]  # noqa: E731
    value, gradient = transform(wg.value_and_grad(loss))(*map(of, arguments))
    np.testing.assert_allclose(value, np.mean(of("losses" if case == "ctc" else "loss")))
    np.testing.assert_allclose(gradient, of(f"{arguments[0]}_gradient"), atol=1e-12)


LEFT_OUT = np.array([[True, False, True], [True, True, False]])
CLASSES = (nn.softmax_cross_entropy, nn.focal_loss)
ELEMENTS = (nn.sigmoid_cross_entropy, nn.mean_squared_error, nn.huber_loss, nn.kl_divergence)


@eager_and_compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", CLASSES + ELEMENTS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_has_weight_0_is_left_out(loss, dtype, transform, rng):
    logits = rng.standard_normal((2, 3, 4)).astype(dtype)
    labels = (
        rng.integers(0, 4, (2, 3)) if loss in CLASSES else rng.dirichlet(np.ones(4), (2, 3)).astype(dtype)
    )
    expected, of_chosen = wg.value_and_grad(loss)(logits[LEFT_OUT], labels[LEFT_OUT])
    logits[~LEFT_OUT] = np.nan
    labels[~LEFT_OUT] = -100
    differentiate = transform(wg.value_and_grad(loss))
    for weights in (LEFT_OUT, LEFT_OUT.astype(int), 2.5 * LEFT_OUT):
        value, gradient = differentiate(logits, labels, weights=weights)
        assert value.dtype == gradient.dtype == dtype
        np.testing.assert_allclose(value, expected, rtol=1e-5)
        np.testing.assert_allclose(gradient[LEFT_OUT], of_chosen, rtol=1e-4, atol=1e-7)
        assert not gradient[~LEFT_OUT].any()
    value, gradient = differentiate(logits, labels, weights=LEFT_OUT & False)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("loss", CLASSES + ELEMENTS)
def test_a_weight_counts_an_example_that_often(loss, rng):
    logits, times = rng.standard_normal((3, 4)), np.array([2, 1, 3])
    labels = rng.integers(0, 4, 3) if loss in CLASSES else rng.dirichlet(np.ones(4), 3)
    repeated = [np.repeat(part, times, axis=0) for part in (logits, labels)]
    np.testing.assert_allclose(loss(logits, labels, weights=times), loss(*repeated))
    np.testing.assert_allclose(loss(logits, labels, weights=np.ones(3)), loss(logits, labels))
    check_grads(lambda z: loss(z, labels, weights=times), (logits,), order=2)
    with pytest.raises(ShapeError, match=r"weights must have leading axes of"):
        loss(logits, labels, weights=np.ones(2))


@pytest.mark.parametrize("loss", CLASSES)
def test_labels_and_their_probabilities_are_the_same(loss, rng):
    logits, labels = rng.standard_normal((2, 3, 4)), rng.integers(0, 4, (2, 3))
    options = {"weights": rng.random((2, 3)), "class_weights": rng.random(4), "smoothing": 0.3}
    for names in ((), ("weights",), ("class_weights",), ("smoothing",), tuple(options)):
        chosen = {name: options[name] for name in names}
        of_labels = loss(logits, labels, **chosen)
        np.testing.assert_allclose(of_labels, loss(logits, np.eye(4)[labels], **chosen))
        np.testing.assert_allclose(of_labels, loss(logits.astype("f4"), labels, **chosen), rtol=1e-5)
    flat = loss(logits.reshape(6, 4), labels.reshape(6))
    np.testing.assert_allclose(loss(logits, labels), flat)


def test_weights_do_not_change_the_precision(rng):
    logits, labels, weights = rng.standard_normal((3, 4)).astype("f4"), np.array([0, 3, 1]), rng.random(4)
    for loss in CLASSES:
        value = loss(logits, labels, weights=rng.random(3), class_weights=weights, smoothing=0.1)
        assert value.dtype == np.float32
    assert nn.sigmoid_cross_entropy(logits, logits > 0, positive_weight=weights).dtype == np.float32
    assert nn.sigmoid_cross_entropy(logits, logits > 0, positive_weight=2).dtype == np.float32
    assert nn.sigmoid_cross_entropy(logits, logits > 0, positive_weight=np.float64(2)).dtype == np.float32


def test_focal_loss_formula(rng):
    logits, labels = rng.standard_normal((5, 4)), rng.integers(0, 4, 5)
    p = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True))[np.arange(5), labels]
    np.testing.assert_allclose(nn.focal_loss(logits, labels, 1.5), np.mean(-((1 - p) ** 1.5) * np.log(p)))
    assert np.isclose(nn.focal_loss(logits, labels, 0.0), nn.softmax_cross_entropy(logits, labels))
    value, gradient = wg.value_and_grad(nn.focal_loss)(np.array([[1e4, 0.0], [0.0, 1e4]]), np.array([0, 0]))
    assert value == 5e3
    np.testing.assert_array_equal(gradient, [[0, 0], [-0.5, 0.5]])
    with pytest.raises(ArgumentError, match="focus"):
        nn.focal_loss(logits, labels, -1.0)


def test_sigmoid_cross_entropy_of_huge_logits():
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, gradient = wg.value_and_grad(nn.sigmoid_cross_entropy)(
            np.array([1e4, -1e4, 30.0]), np.array([0, 0, 1])
        )
    np.testing.assert_allclose(3 * value, 1e4 + np.exp(-30.0), rtol=1e-15)
    np.testing.assert_allclose(3 * gradient, [1, 0, -np.exp(-30.0)], rtol=1e-12)


def test_huber_is_smooth_at_zero_and_linear_far_away(rng):
    assert wg.hessian(lambda x: nn.huber_loss(x, 0.0))(np.zeros(1)) == 1.0
    r = rng.standard_normal(50) * 3
    expected = np.where(abs(r) <= 1.5, r**2 / 2, 1.5 * (abs(r) - 0.75))
    np.testing.assert_allclose(nn.huber_loss(r, np.zeros(50), 1.5), expected.mean())
    with pytest.raises(ArgumentError, match="threshold must be positive"):
        nn.huber_loss(r, 0.0, 0.0)


def test_divergence_of_equal_distributions_is_zero(rng):
    p = rng.dirichlet(np.ones(4), 3)
    p[0] = [0.0, 0.5, 0.5, 0.0]
    with np.errstate(divide="ignore"):
        assert abs(nn.kl_divergence(np.log(np.maximum(p, 1e-300)), p)) < 1e-12
    check_grads(lambda z: nn.kl_divergence(z, p), (rng.standard_normal((3, 4)),))


@pytest.mark.parametrize("smoothing", [-0.1, 1.1])
def test_smoothing_is_a_share(smoothing):
    for loss, labels in ((nn.softmax_cross_entropy, [0, 1]), (nn.sigmoid_cross_entropy, np.ones((2, 2)))):
        with pytest.raises(ArgumentError, match="smoothing must lie"):
            loss(np.zeros((2, 2)), np.array(labels), smoothing=smoothing)


@pytest.mark.parametrize(
    "loss",
    [nn.softmax_cross_entropy, nn.focal_loss, nn.kl_divergence, functools.partial(nn.focal_loss, focus=0.5)],
)
def test_classes_without_a_share_may_have_no_probability(loss):
    """A logit of -inf masks a class: the loss is that of the other classes."""
    logits, labels = np.array([[1.0, -np.inf, 2.0]]), np.array([[0.3, 0.0, 0.7]])
    for found in (wg.value_and_grad(loss), wg.jit(wg.value_and_grad(loss))):
        value, slopes = found(logits, labels)
        known, others = wg.value_and_grad(loss)(logits[:, ::2], labels[:, ::2])
        np.testing.assert_allclose(value, known, rtol=1e-14)
        np.testing.assert_allclose(slopes, [[others[0, 0], 0.0, others[0, 1]]], rtol=1e-13)


def test_certain_labels_of_certain_logits_have_no_loss():
    logits = np.array([np.inf, -np.inf, 0.0])
    for run in (nn.sigmoid_cross_entropy, wg.jit(nn.sigmoid_cross_entropy)):
        np.testing.assert_allclose(run(logits, np.array([1, 0, 1])), np.log(2) / 3)
        assert run(logits, np.array([0, 0, 1])) == np.inf
