"""Optimisers follow their equations, keep dtypes, and are functions of arrays that transforms take."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import optim
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.testing import check_grads
from wengert.train import load_model, save_model

OPTIMISERS = {
    "sgd": optim.sgd(0.1),
    "momentum": optim.momentum(0.05, 0.8),
    "nesterov": optim.nesterov(0.05, 0.8),
    "adagrad": optim.adagrad(0.5),
    "rmsprop": optim.rmsprop(optim.schedules.cosine(0.05, 200), 0.9, centred=True, momentum=0.5),
    "adam": optim.adam(0.05),
    "amsgrad": optim.adam(0.05, amsgrad=True),
    "adamw": optim.adamw(0.05, decay=0.01, mask=lambda p: np.ndim(p) == 2),
    "lion": optim.lion(optim.schedules.linear(0.05, 0.0, 200), decay=0.01),
    "chain": optim.chain(optim.clip_by_norm(1.0), optim.clip_by_value(0.5), optim.adam(0.05)),
    "accumulated": optim.accumulate(optim.momentum(0.2, 0.8), 2),
    "averaged": optim.averaged(optim.sgd(0.1), 0.9),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_parabola_is_descended(name):
    optimiser = OPTIMISERS[name]
    parameters = {"a": np.array([1.0, -2.0], "f4"), "b": (np.float64(0.5),)}
    state = optimiser.init(parameters)
    gradient = wg.grad(lambda p: np.sum(p["a"] ** 2) + p["b"][0] ** 2)
    for _ in range(200):
        parameters, state = optimiser.update(gradient(parameters), state, parameters)
    assert np.all(np.abs(parameters["a"]) < 1e-2)
    assert parameters["a"].dtype == np.float32


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_update_is_a_pure_function(name, rng):
    """An update keeps containers and dtypes, does not modify its arguments, and is deterministic."""
    optimiser = OPTIMISERS[name]
    parameters = {"w": rng.standard_normal((3, 2)).astype("f4"), "b": [1.5, None], "v": np.zeros(0)}
    gradients = tree.map_tree(lambda p: p + 1, parameters)
    state = optimiser.update(gradients, optimiser.init(parameters), parameters)[1]
    before = [np.array(leaf) for leaf in tree.leaves((gradients, state, parameters))]
    first, second = (optimiser.update(gradients, state, parameters) for _ in range(2))
    for kept, leaf in zip(before, tree.leaves((gradients, state, parameters)), strict=True):
        np.testing.assert_array_equal(kept, leaf)
    for leaf, other in zip(tree.leaves(first), tree.leaves(second), strict=True):
        np.testing.assert_array_equal(leaf, other)
    assert tree.flatten(first[0])[1] == tree.flatten(parameters)[1]
    assert tree.flatten(first[1])[1] == tree.flatten(state)[1]
    assert first[0]["w"].dtype == np.float32
    assert np.shares_memory(first[0]["w"], parameters["w"]) is False


@pytest.mark.parametrize("name", OPTIMISERS)
def test_many_runs_at_once(name, rng):
    """Vmap over parameters and state equals a loop over them."""
    optimiser, starts = OPTIMISERS[name], rng.standard_normal((4, 3))

    def train(p):
        state = optimiser.init(p)
        for _ in range(3):
            p, state = optimiser.update(np.sin(p), state, p)
        return p

    np.testing.assert_allclose(wg.vmap(train)(starts), np.stack([train(p) for p in starts]), rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_mismatched_gradients_and_parameters(name):
    optimiser, parameters = OPTIMISERS[name], {"a": np.ones(3)}
    state = optimiser.init(parameters)
    with pytest.raises(ArgumentError, match="structure"):
        optimiser.update({"b": np.ones(3)}, state, parameters)
    for shape in ((), (1,), (3, 1), (4,)):  # NumPy would broadcast these
        with pytest.raises(ShapeError, match="shapes of the parameters"):
            optimiser.update({"a": np.ones(shape)}, state, parameters)


def test_momentum_step_by_step(rng):
    p, v = 1.0, 0.0
    parameters, state = 1.0, OPTIMISERS["momentum"].init(1.0)
    for g in rng.standard_normal(5):
        v = 0.8 * v + g
        p -= 0.05 * v
        parameters, state = OPTIMISERS["momentum"].update(g, state, parameters)
        assert np.isclose(parameters, p)


def test_adam_step_by_step(rng):
    p, m, s = 1.0, 0.0, 0.0
    parameters, state = 1.0, OPTIMISERS["adam"].init(1.0)
    for t, g in enumerate(rng.standard_normal(5), 1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        p -= 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
        parameters, state = OPTIMISERS["adam"].update(g, state, parameters)
        assert np.isclose(parameters, p, rtol=1e-7)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_update_is_differentiable(name):
    """The derivative of training with respect to the first parameters, through the updates."""
    optimiser = OPTIMISERS[name]

    def trained(p):
        state = optimiser.init(p)
        for _ in range(3):
            p, state = optimiser.update(2 * p, state, p)
        return np.sum(p**2)

    p, h = np.array([1.0, 2.0]), 1e-6
    differences = [(trained(p + h * e) - trained(p - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(wg.grad(trained)(p), differences, rtol=1e-5)


def test_the_derivative_with_respect_to_the_rate():
    def trained(rate):
        optimiser, p = optim.momentum(rate, 0.5), np.array([1.0, -2.0])
        state = optimiser.init(p)
        for _ in range(4):
            p, state = optimiser.update(p**3, state, p)
        return np.sum(p**2)

    check_grads(trained, (0.05,), order=2)


def test_other_parameters_do_not_change():
    """Integers, truth values and None in a model do not change, whatever their gradients."""
    model = {"w": np.array([1.0, 2.0], "f4"), "count": np.int64(3), "on": np.array([True]), "none": None}

    def updated(gradients, runs):
        return {name: OPTIMISERS[name].update(gradients, state, p) for name, (p, state) in runs.items()}

    for gone in (model, {**model, "count": None, "on": None}):
        gradients = {**gone, "w": np.ones(2, "f4")}
        runs = {name: (model, optimiser.init(model)) for name, optimiser in OPTIMISERS.items()}
        for update in (updated, wg.jit(updated)):
            runs = update(gradients, runs)
        for name, (after, _) in runs.items():
            assert (after["count"], after["on"].tolist(), after["none"]) == (3, [True], None)
            assert (after["count"].dtype, after["on"].dtype) == (np.int64, bool)
            assert np.all(after["w"] < model["w"]), name
    with pytest.raises(ArgumentError, match="structure"):
        optim.sgd(0.1).update({"w": None, "count": None, "on": None, "none": None}, (), model)


def test_complex_parameters_are_refused():
    p = np.ones(2, complex)
    for optimiser in OPTIMISERS.values():
        with pytest.raises(DtypeError, match="real numbers"):
            optimiser.init(p)


def test_a_run_goes_on_from_a_file(tmp_path):
    """Parameters and state survive a file: the next step is the same."""
    start = {"w": np.ones((2, 2), "f4"), "b": np.ones(2, "f4")}
    for name, optimiser in OPTIMISERS.items():
        p, state = start, optimiser.init(start)
        for _ in range(3):
            p, state = optimiser.update(p, state, p)
        path = tmp_path / f"{name}.safetensors"
        save_model(path, (p, state))
        q, loaded = load_model(path, (start, optimiser.init(start)))
        after, expected = optimiser.update(start, loaded, q), optimiser.update(start, state, p)
        for leaf, other in zip(tree.leaves(after), tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(leaf, other)


def test_the_state_of_another_optimiser():
    p = np.ones(2)
    with pytest.raises(ArgumentError, match="init"):
        optim.momentum(0.1).update(p, optim.sgd(0.1).init(p), p)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adamw", "lion"])
def test_a_missing_or_misplaced_state(name):
    make = getattr(optim, name)
    optimiser, p = make(0.1), {"w": np.ones(2)}
    with pytest.raises(ArgumentError, match=r"begin with optimiser.init\(parameters\)"):
        optimiser.update(p, None, p)
    with pytest.raises(ArgumentError, match=r"the order is update\(gradients, state, parameters\)"):
        optimiser.update(p, p, optimiser.init(p))
    for rate in ("a", -1.0, float("nan"), np.float32("inf"), None, [0.1], np.ones(2)):
        with pytest.raises(
            ArgumentError, match=f"{name}: the rate must be a finite number >= 0, or a schedule"
        ):
            make(rate)
    for rate in (0, 0.1, np.float32(0.1), np.array(0.1), lambda step: 0.1):
        make(rate).update(p, make(rate).init(p), p)


def test_parts_that_are_optimisers():
    """A chain in a chain equals the chain of all parts."""
    p, g = np.array([1.0, -2.0]), np.array([3.0, 4.0])
    whole = optim.chain(optim.clip_by_norm(1.0), optim.trace(0.9), optim.scale(0.1))
    parts = optim.chain(optim.clip_by_norm(1.0), optim.momentum(0.1, 0.9))
    states = [whole.init(p), parts.init(p)]
    for _ in range(3):
        (left, states[0]), (right, states[1]) = whole.update(g, states[0], p), parts.update(g, states[1], p)
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_compiled_training(name):
    """A compiled scan of steps equals single steps."""
    optimiser = OPTIMISERS[name]
    start = {"w": np.array([[1.0, -2.0]], "f4"), "b": np.array([0.5])}
    gradient = wg.grad(lambda p: np.sum(p["w"] ** 2) + np.sum(np.cosh(p["b"])))

    def train(p):
        def step(carry, _):
            return optimiser.update(gradient(carry[0]), carry[1], carry[0]), None

        return wg.scan(step, (p, optimiser.init(p)), None, length=6)[0]

    p, state = start, optimiser.init(start)
    for _ in range(6):
        p, state = optimiser.update(gradient(p), state, p)
    actual = wg.jit(train)(start)
    for leaf, other in zip(tree.leaves(actual), tree.leaves((p, state)), strict=True):
        assert np.asarray(leaf).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(leaf, other, rtol=1e-5)


def test_settings_and_gradients_in_float64_leave_float32_as_it_is():
    number = np.float64
    optimisers = (
        optim.sgd(number(0.1)),
        optim.nesterov(number(0.1), number(0.9)),
        optim.adagrad(number(0.1), number(1e-6), number(0.5)),
        optim.rmsprop(number(0.1), number(0.9), number(1e-6), centred=True, momentum=number(0.5)),
        optim.adamw(number(0.1), number(0.9), number(0.99), number(1e-6), number(0.1), amsgrad=True),
        optim.lion(number(0.1), number(0.9), number(0.99), number(0.1)),
        optim.chain(optim.clip_by_value(number(0.5)), optim.clip_by_norm(number(0.5)), optim.sgd(0.1)),
        optim.accumulate(optim.averaged(optim.sgd(0.1), number(0.9)), 2),
    )
    p = np.ones(2, "f4")
    for optimiser in optimisers:
        first = optimiser.init(p)
        for update in (optimiser.update, wg.jit(optimiser.update)):
            after, state = update(np.ones(2), first, p)
            assert np.asarray(after).dtype == np.float32
            for leaf, other in zip(tree.leaves(state), tree.leaves(first), strict=True):
                assert np.asarray(leaf).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("name", OPTIMISERS)
def test_one_program_does_all_steps(name):
    """The number of steps is a value of a compiled training step, which is traced once."""
    optimiser, traced = OPTIMISERS[name], []

    def loss(p, x):
        traced.append(p)
        return np.sum((p["w"] @ x) ** 2) + np.sum(p["b"] ** 2)

    def step(p, state, x):
        value, gradients = wg.value_and_grad(loss)(p, x)
        return value, *optimiser.update(gradients, state, p)

    compiled = wg.jit(step, donate=(0, 1))
    start = {"w": np.array([[1.0, -2.0, 0.5]], "f4"), "b": np.array([0.5], "f4")}
    expected = (start, optimiser.init(start))
    actual = tree.map_tree(np.array, start), optimiser.init(start)
    xs = np.random.default_rng(1).standard_normal((8, 3), dtype=np.float32)
    for x in xs:
        actual = compiled(*actual, x)[1:]
    assert len(traced) == 1
    for x in xs:
        expected = step(*expected, x)[1:]
    for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        assert np.asarray(leaf).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(leaf, other, rtol=2e-5, atol=1e-6)
