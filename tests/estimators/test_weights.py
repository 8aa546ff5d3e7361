"""Sample weights and incremental training."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest

from tests.estimators.quick import quick, trained, with_a_state_and_random_numbers
from wengert import nn, optim
from wengert.engine.core.errors import ArgumentError

# -- weights ---------------------------------------------------------------------------------------------


def one_layer(rng, shape, classes):
    return nn.Dense(*shape, classes, seed=rng)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_example_of_weight_2_counts_as_two(iris, compiled):
    """Steps use all examples, so that their order does not matter; weight 0 has no effect."""
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    chosen = {"batch_size": 1000, "epochs": 5, "compiled": compiled, "network": one_layer}
    repeated = trained(quick(**chosen), X.repeat(weights, axis=0), y.repeat(weights))
    weighted = trained(quick(**chosen), X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-4, atol=1e-6)
    for result, other in zip(weighted.history_, repeated.history_, strict=True):
        assert result["loss"] == pytest.approx(other["loss"], rel=1e-5)
        assert result["accuracy"] == pytest.approx(other["accuracy"], rel=1e-5)
    scaled = trained(quick(**chosen), X, y, sample_weight=weights * 4.0)
    assert np.array_equal(scaled.predict_proba(X), weighted.predict_proba(X))
    assert not np.allclose(
        trained(quick(**chosen), X, y).predict_proba(X), weighted.predict_proba(X), rtol=1e-3
    )


def test_weights_are_probabilities_where_labels_disagree():
    X, y = np.zeros((400, 1)), np.tile([0, 1], 200)
    weights = np.tile([1.0, 4.0], 200)
    classifier = quick(epochs=60).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(classifier.predict_proba(X[:1])[0], [0.2, 0.8], atol=0.03)
    assert classifier.history_[-1]["accuracy"] == pytest.approx(0.8)
    judged = quick(epochs=2, patience=2, rate=0.1).fit(X, y, sample_weight=weights)
    assert judged.history_[-1]["validation_accuracy"] == pytest.approx(0.8)


def test_what_is_put_aside_has_weights_of_its_own(iris):
    X, y = iris
    weights = np.random.default_rng(0).exponential(size=len(X)) ** 2
    classifier = quick(epochs=30, patience=30, validation_fraction=0.3, rate=0.03)
    for result in classifier.fit(X, y, sample_weight=weights).history_:
        for name in ("accuracy", "validation_accuracy"):
            assert 0 <= result[name] <= 1 + 1e-6


def test_weights_of_a_pass_are_factors(iris):
    X, y = iris
    passes = [quick(optimiser=optim.sgd) for _ in range(2)]
    for classifier, weight in zip(passes, (1.0, 0.25), strict=True):
        classifier.partial_fit(X, y, np.unique(y), sample_weight=np.full(len(X), weight))
    slow = quick(optimiser=optim.sgd, rate=passes[0].rate / 4).partial_fit(X, y, np.unique(y))
    np.testing.assert_allclose(passes[1].predict_proba(X), slow.predict_proba(X), rtol=1e-5)
    assert not np.allclose(passes[0].predict_proba(X), slow.predict_proba(X), rtol=1e-3)


def test_another_optimiser_begins_anew(iris):
    X, y = iris
    for before, after in (("sgd", "adam"), ("momentum", "adagrad")):
        classifier = quick(optimiser=before).fit(X, y)
        loss = classifier.history_[-1]["loss"]
        classifier.set_params(optimiser=after, rate=0.003)
        for _ in range(20):
            classifier.partial_fit(X, y)
        assert classifier.history_[-1]["loss"] < loss


@pytest.mark.parametrize("weights", [np.zeros(150), np.full(150, -1.0), np.full(150, np.nan), np.ones(149)])
def test_weights_that_cannot_be(iris, weights):
    with pytest.raises(ValueError, match=r"(?i)sample.weight|NaN"):
        quick().fit(*iris, sample_weight=weights)


# -- going on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("network", [None, with_a_state_and_random_numbers])
def test_passes_over_the_same_examples_are_the_epochs_of_fit(iris, network, compiled):
    X, y = iris
    chosen = {"compiled": compiled, "network": network, "batch_size": 25, "optimiser": "adam"}
    whole, parts = trained(quick(epochs=4, **chosen), X, y), quick(**chosen)
    for _ in range(2):
        trained(parts, X, y, by_pass=True, classes=np.unique(y))
    begun = trained(quick(epochs=2, **chosen), X, y)
    for classifier in (parts, begun):
        again = trained(pickle.loads(pickle.dumps(classifier)), X, y, by_pass=True)
        for _ in range(2):
            trained(classifier, X, y, by_pass=True)
        trained(again, X, y, by_pass=True, classes=np.unique(y))
        for result in (classifier, again):
            assert np.array_equal(result.predict_proba(X), whole.predict_proba(X))
            assert [epoch["loss"] for epoch in result.history_] == [epoch["loss"] for epoch in whole.history_]
            assert result.n_iter_ == 4


def test_passes_of_one_size_share_a_program(iris, caplog):
    X, y = iris
    classifier, counts = quick(compiled=True), []
    with caplog.at_level(logging.INFO, "wengert.jit"):
        for part in range(3):
            classifier.partial_fit(X[part::3], y[part::3], classes=np.unique(y))
            counts.append(len(caplog.messages))
    assert 0 < counts[0] == counts[-1]


def test_the_best_model_goes_on(iris):
    X, y = iris
    classifier = quick(
        epochs=200, patience=4, validation_fraction=0.3, network=with_a_state_and_random_numbers
    )
    best = classifier.fit(X, y).predict_proba(X)
    later = classifier.set_params(rate=1e-12).partial_fit(X, y)
    difference = np.max(np.abs(later.predict_proba(X) - best))
    assert 0 < difference < 0.2, (
        "what the normalisation knows of the examples moves, and the parameters do not"
    )
    assert "validation_loss" not in later.history_[-1]


def test_passes_with_weights_and_without(iris):
    X, y = iris
    classifier = quick()
    for weights in (None, np.ones(150), None):
        classifier.partial_fit(X, y, np.unique(y), sample_weight=weights)
    np.testing.assert_allclose(
        classifier.predict_proba(X), quick(epochs=3).fit(X, y).predict_proba(X), rtol=1e-4, atol=1e-6
    )


def test_passes_that_cannot_be(iris):
    X, y = iris
    classifier = quick()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        classifier.partial_fit(X, y)
    with pytest.raises(ArgumentError, match=r"labels must be among the classes .*; got 'versicolor'"):
        classifier.partial_fit(X, y, classes=["setosa", "virginica"])
    classifier = quick()
    with pytest.raises(ValueError, match="NaN"):
        classifier.partial_fit(X * np.nan, y, classes=np.unique(y))
    classifier.partial_fit(X, y)
    before = classifier.predict_proba(X)
    with pytest.raises(ValueError, match="is not the same as on last call"):
        classifier.partial_fit(X, y, classes=["setosa"])
    with pytest.raises(ValueError, match="features"):
        classifier.partial_fit(X[:, :3], y)
    with pytest.raises(ArgumentError, match="labels must be among the classes"):
        classifier.partial_fit(X, np.arange(150) % 3)
    assert np.array_equal(classifier.predict_proba(X), before)
