"""Transforms that torch does not have, and edge cases of those that it has."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import optim
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError
from wengert.testing import check_grads


def apply(transform, direction):
    return transform.update(direction, transform.init(direction), direction)[0]


def test_lion_step_by_step(rng):
    """Algorithm 1 of the paper."""
    beta1, beta2, rate, decay = 0.8, 0.95, 0.03, 0.1
    optimiser = optim.lion(rate, beta1, beta2, decay)
    p, m = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    for update in (optimiser.update, wg.jit(optimiser.update)):
        theta, mean, parameters, state = p, m, p, optimiser.init(p)
        for g in rng.standard_normal((12, 3)):
            c = beta1 * mean + (1 - beta1) * g
            theta = theta - rate * (np.sign(c) + decay * theta)
            mean = beta2 * mean + (1 - beta2) * g
            parameters, state = update(g, state, parameters)
            np.testing.assert_allclose(parameters, theta, rtol=1e-12)


def test_sign():
    np.testing.assert_array_equal(apply(optim.scale_by_sign(), np.array([-2.0, 0.0, 3.0])), [-1, 0, 1])


@pytest.mark.parametrize("compiled", [False, True])
def test_clipping_by_the_norm(compiled):
    def clip(direction):
        return apply(optim.clip_by_norm(2.0), direction)

    clip = wg.jit(clip) if compiled else clip
    large = {"a": np.array([3.0, 0.0], "f4"), "b": (np.array([[4.0]]),)}
    clipped = clip(large)
    assert clipped["a"].dtype == np.float32
    assert float(optim.global_norm(clipped)) == pytest.approx(2.0, rel=1e-6)
    np.testing.assert_allclose(clipped["b"][0], [[1.6]])
    for small in (
        {"a": np.array([1.0, -1.0])},
        {"a": np.array([0.0, 2.0])},
        {"a": np.zeros(3)},
        {"a": np.zeros(0)},
    ):
        np.testing.assert_array_equal(clip(small)["a"], small["a"])  # to the last bit, also at the limit
    huge = {"a": np.full(4, 3e38, "f4")}  # squares of float32 would overflow
    np.testing.assert_allclose(clip(huge)["a"], np.ones(4), rtol=1e-6)
    tiny = {"a": np.full(4, 1e-30, "f4")}
    np.testing.assert_array_equal(clip(tiny)["a"], tiny["a"])


def test_clipping_is_differentiable():
    """Below and above the limit, and at zero, where the norm has no derivative."""

    def clipped(x):
        return apply(optim.clip_by_norm(2.0), x)

    for x in (np.array([0.3, 0.4]), np.array([3.0, 4.0])):
        check_grads(clipped, (x,), order=2)
    np.testing.assert_array_equal(wg.jacobian(clipped)(np.zeros(2)), np.eye(2))
    np.testing.assert_array_equal(wg.hessian(lambda x: np.sum(clipped(x) ** 2))(np.zeros(2)), 2 * np.eye(2))


def test_the_global_norm():
    given = {"a": np.array([3.0, 0.0], "f4"), "b": (np.array([[4.0]]), None)}
    for norm in (optim.global_norm, wg.jit(optim.global_norm)):
        assert norm(given) == 5.0
    check_grads(optim.global_norm, (given["b"],))
    gradient = wg.grad(optim.global_norm)
    for norm in (gradient, wg.jit(gradient)):
        np.testing.assert_array_equal(norm(np.zeros(3)), np.zeros(3))


def test_clipping_by_value():
    x = np.array([-5.0, -0.5, 0.0, 2.0], "f4")
    clipped = apply(optim.clip_by_value(1.5), x)
    np.testing.assert_array_equal(clipped, np.clip(x, -1.5, 1.5))
    assert clipped.dtype == np.float32


def test_a_constant_gradient_has_no_variance():
    """In centred RMSprop, rounding would make the variance negative and its root NaN."""
    optimiser = optim.rmsprop(0.1, decay=0.5, centred=True, epsilon=1.0)
    p = np.array([1.0, 1.0], "f4")
    state = optimiser.init(p)
    for _ in range(200):
        p, state = optimiser.update(np.array([0.1, 1e-3], "f4"), state, p)
        assert np.all(np.isfinite(p))


@pytest.mark.parametrize("first", [1e5, 1e18])
def test_a_mean_of_decay_0_is_the_last_value(first):
    for rule in (optim.rmsprop(0.1, decay=0.0), optim.adam(0.1, beta1=0.0, beta2=0.0)):
        parameters = np.ones(2, np.float32)
        state = rule.init(parameters)
        for gradient in (first, 1e-2):
            parameters, state = rule.update(np.full(2, gradient, np.float32), state, parameters)
        squares = [leaf for leaf in tree.leaves(state) if np.shape(leaf) == (2,)]
        np.testing.assert_allclose(squares[-1], 1e-4, rtol=1e-6)


def test_a_square_that_overflows_stops_the_steps_and_no_more():
    with np.errstate(over="ignore"):
        rule = optim.rmsprop(0.1)
        parameters, state = rule.update(
            np.full(2, 1e20, np.float32), rule.init(np.ones(2, np.float32)), np.ones(2, np.float32)
        )
        for _ in range(3):
            parameters, state = rule.update(np.ones(2, np.float32), state, parameters)
    np.testing.assert_array_equal(parameters, np.ones(2, np.float32))


def test_masks():
    parameters = {"w": np.ones((2, 2)), "b": np.ones(2), "layers": [np.ones((1, 1)), np.ones(1)]}
    zero = tree.map_tree(np.zeros_like, parameters)
    expected = {"w": np.full((2, 2), 0.5), "b": np.zeros(2), "layers": [np.full((1, 1), 0.5), np.zeros(1)]}
    by_tree = {"w": True, "b": False, "layers": [True, False]}
    for mask in (lambda p: np.ndim(p) == 2, by_tree):
        decay = optim.add_decayed_weights(0.5, mask)
        actual = decay.update(zero, decay.init(parameters), parameters)[0]
        for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(leaf, other)
    with pytest.raises(ArgumentError, match=r"\['w'\]"):
        optim.add_decayed_weights(0.5, {"b": True, "layers": [True, True]}).update(zero, (), parameters)


def test_a_masked_transform_keeps_state_for_its_own_parameters():
    optimiser = optim.chain(optim.masked(optim.trace(0.5), lambda p: np.ndim(p) == 1), optim.scale(1.0))
    parameters = [np.zeros((2, 2)), np.zeros(3)]
    state = optimiser.init(parameters)
    assert [leaf.shape for leaf in tree.leaves(state)] == [(3,)]
    for update in (optimiser.update, wg.jit(optimiser.update)):
        p, s = parameters, state
        for _ in range(3):
            p, s = update([np.ones((2, 2)), np.ones(3)], s, p)
        np.testing.assert_array_equal(p[0], np.full((2, 2), -3.0))
        np.testing.assert_array_equal(p[1], np.full(3, -(1 + 1.5 + 1.75)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: optim.trace(1.0),
        lambda: optim.momentum(0.1, -0.1),
        lambda: optim.adam(beta1=1.0),
        lambda: optim.adam(beta1="a"),
        lambda: optim.adamw(beta2=1.5),
        lambda: optim.rmsprop(decay=1.0),
        lambda: optim.lion(beta2=-1.0),
        lambda: optim.clip_by_norm(0.0),
        lambda: optim.clip_by_value(-1.0),
        lambda: optim.chain(optim.sgd),
        lambda: optim.chain(optim.sgd(0.1), optim.averaged(optim.sgd(0.1))),
        lambda: optim.accumulate(optim.sgd(0.1), 0),
        lambda: optim.accumulate(optim.sgd(0.1), 1.5),
        lambda: optim.averaged(optim.sgd(0.1), 1.0),
    ],
)
def test_invalid_settings(wrong):
    with pytest.raises(ArgumentError):
        wrong()


@pytest.mark.parametrize("exponent", [-1060, -800, -400, 400, 600, 1000])
@pytest.mark.parametrize("change", [lambda f: f, wg.jit])
def test_norms_scale_where_squares_are_out_of_range(rng, exponent, change):
    """Values and derivatives are those of moderate numbers, times a power of two."""
    scale = 2.0**exponent
    x = (scale * 100.0 * rng.standard_normal(5)) / scale  # with as few digits as a subnormal number has
    value, slope = change(wg.value_and_grad(optim.global_norm))(scale * x)
    near, near_slope = wg.value_and_grad(optim.global_norm)(x)
    np.testing.assert_allclose(value, scale * near, rtol=1e-9)
    np.testing.assert_allclose(slope, near_slope, rtol=1e-9)

    def clipped(x):
        return apply(optim.clip_by_norm(2.0), x)

    slope = change(wg.jacobian(clipped))(scale * x)
    if exponent < 0:
        np.testing.assert_array_equal(change(clipped)(scale * x), scale * x)
        np.testing.assert_array_equal(slope, np.eye(5))
    else:
        np.testing.assert_allclose(change(clipped)(scale * x), clipped(x), rtol=1e-9)
        np.testing.assert_allclose(scale * slope, wg.jacobian(clipped)(x), rtol=1e-9, atol=1e-14)
