"""Networks as scikit-learn's estimators."""

from __future__ import annotations

import logging
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from wengert import nn, optim
from wengert.data import digits
from wengert.errors import ArgumentError, MissingExtraError
from wengert.estimators import Classifier
from wengert.train import DivergedError
from wengert.tree import leaves


class Plain:
    def __call__(self, x):
        return x


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "it holds to float32's rounding, and this check asks for more"
}


@parametrize_with_checks(
    [Classifier(16, epochs=8, rate=0.03, compiled=False)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [{}, {"patience": 50, "validation_fraction": 0.2}, {"hidden": (20, 20)}])
def test_scikit_learns_checks_of_compiled_networks(chosen):
    found = check_estimator(
        Classifier(rate=0.01, **chosen), on_fail=None, on_skip=None, expected_failed_checks=EXPECTED
    )
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []
    assert sum(each["status"] == "passed" for each in found) > 40


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def quick(**chosen):
    return Classifier(**({"epochs": 15, "rate": 0.01, "random_state": 0, "compiled": False} | chosen))


# -- what is learned -------------------------------------------------------------------------------------


def test_digits_compiled():
    X, y = load_digits(return_X_y=True)
    classifier = Classifier(epochs=30, random_state=0).fit(X[:1200] / 16, y[:1200])
    assert classifier.score(X[1200:] / 16, y[1200:]) > 0.9
    assert [each["epoch"] for each in classifier.history_] == list(range(1, 31))
    assert classifier.history_[-1]["loss"] < 0.3 * classifier.history_[0]["loss"]
    assert {leaf.dtype for leaf in leaves(classifier.model_)} == {np.dtype(np.float32)}


def test_compiled_as_without(iris):
    eager, compiled = (
        quick(compiled=compiled, epochs=3).fit(*iris).predict_proba(iris[0]) for compiled in (0, 1)
    )
    np.testing.assert_allclose(eager, compiled, rtol=1e-4, atol=1e-6)


def test_labels_are_those_of_the_user(iris):
    X, y = iris
    classifier = quick().fit(X, y)
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert classifier.score(X, y) > 0.9
    assert set(classifier.predict(X)) == set(y)
    probabilities = classifier.predict_proba(X)
    assert (probabilities.shape, probabilities.dtype) == ((150, 3), np.float64)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    assert np.array_equal(classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(X))


def test_the_random_state_decides(iris):
    def of(random_state):
        return quick(random_state=random_state, epochs=2).fit(*iris).predict_proba(iris[0])

    assert np.array_equal(of(3), of(3))
    assert np.array_equal(of(3), of(np.random.RandomState(3)))
    assert not np.array_equal(of(3), of(4))
    assert not np.array_equal(of(None), of(None))


def test_every_optimiser_and_activation_learns(iris):
    X, y = iris
    for name in ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw", "lion"):
        rate = {"sgd": 0.1, "lion": 0.003}.get(name, 0.02)
        assert quick(optimiser=name, rate=rate).fit(X, y).score(X, y) > 0.8, name
    for name in ("relu", "leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh"):
        assert quick(activation=name).fit(X, y).score(X, y) > 0.8, name
    own = quick(optimiser=lambda rate: optim.adamw(rate, decay=0.1), activation=np.tanh, hidden=[8, 8])
    assert own.fit(X, y).score(X, y) > 0.8
    assert [leaf.shape for leaf in leaves(own.model_) if leaf.ndim == 2] == [(4, 8), (8, 8), (8, 3)]
    assert [leaf.shape for leaf in leaves(quick(hidden=()).fit(X, y).model_)] in (
        [(4, 3), (3,)],
        [(3,), (4, 3)],
    )


# -- weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_an_example_of_weight_2_counts_as_two(iris, compiled):
    """In steps of all examples, where their order does not matter; one of weight 0 does not count."""
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    chosen = {"batch_size": 1000, "epochs": 5, "compiled": compiled}
    repeated = quick(**chosen).fit(X.repeat(weights, axis=0), y.repeat(weights))
    weighted = quick(**chosen).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-4, atol=1e-6)
    for one, other in zip(weighted.history_, repeated.history_, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-5)
        assert one["accuracy"] == pytest.approx(other["accuracy"], rel=1e-5)
    scaled = quick(**chosen).fit(X, y, sample_weight=weights * 4.0)
    assert np.array_equal(scaled.predict_proba(X), weighted.predict_proba(X))
    assert not np.allclose(quick(**chosen).fit(X, y).predict_proba(X), weighted.predict_proba(X), rtol=1e-3)


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


def with_a_state_and_random_numbers(rng, shape, classes):
    hidden = nn.Dense(*shape, 16, seed=rng), nn.BatchNorm(16), nn.relu, nn.Dropout(0.2)
    return nn.Chain(*hidden, nn.Dense(16, classes, seed=rng))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("network", [None, with_a_state_and_random_numbers])
def test_passes_over_the_same_examples_are_the_epochs_of_fit(iris, network, compiled):
    X, y = iris
    chosen = {"compiled": compiled, "network": network, "batch_size": 25, "optimiser": "adam"}
    whole, parts = quick(epochs=4, **chosen).fit(X, y), quick(**chosen)
    for _ in range(2):
        parts.partial_fit(X, y, classes=np.unique(y))
    begun = quick(epochs=2, **chosen).fit(X, y)
    for classifier in (parts, begun):
        again = pickle.loads(pickle.dumps(classifier)).partial_fit(X, y)
        classifier.partial_fit(X, y).partial_fit(X, y)
        for one in (classifier, again.partial_fit(X, y, classes=np.unique(y))):
            assert np.array_equal(one.predict_proba(X), whole.predict_proba(X))
            assert [each["loss"] for each in one.history_] == [each["loss"] for each in whole.history_]
            assert one.n_iter_ == 4


def test_passes_of_one_size_share_a_program(iris, caplog):
    X, y = iris
    classifier, told = quick(compiled=True), []
    with caplog.at_level(logging.INFO, "wengert.jit"):
        for part in range(3):
            classifier.partial_fit(X[part::3], y[part::3], classes=np.unique(y))
            told.append(len(caplog.messages))
    assert 0 < told[0] == told[-1]


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
    with pytest.raises(ArgumentError, match=r"labels must be of the classes .*; got 'versicolor'"):
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
    with pytest.raises(ArgumentError, match="labels must be of the classes"):
        classifier.partial_fit(X, np.arange(150) % 3)
    assert np.array_equal(classifier.predict_proba(X), before)


# -- the end of training ---------------------------------------------------------------------------------


def test_patience_ends_with_the_best_model(iris):
    X, y = iris
    classifier = quick(epochs=200, patience=4, validation_fraction=0.3).fit(X, y)
    accuracies = [each["validation_accuracy"] for each in classifier.history_]
    best = int(np.argmax(accuracies))
    assert classifier.n_iter_ == len(accuracies) == best + 1 + 4 < 200
    assert {"epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "seconds"} == set(
        classifier.history_[0]
    )
    again = quick(epochs=best + 1, patience=200, validation_fraction=0.3).fit(X, y)
    assert np.array_equal(classifier.predict_proba(X), again.predict_proba(X))


def test_verbose(iris, capsys):
    quick(epochs=2, verbose=True).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [["epoch", "1/2", "loss"], ["epoch", "2/2", "loss"]]
    assert "validation" not in lines[0]
    quick(epochs=1, patience=1, verbose=True).fit(*iris)
    assert "validation accuracy 0." in capsys.readouterr().out
    quick(epochs=1).fit(*iris)
    assert capsys.readouterr().out == ""


def test_ctrl_c_keeps_what_was_learned(iris):
    calls = []

    def activation(x):
        calls.append(x)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return nn.relu(x)

    classifier = quick(activation=activation)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(*iris)
    assert 1 <= classifier.n_iter_ < 15
    assert classifier.score(*iris) > 0.6


def test_divergence_is_said(iris):
    with pytest.raises(
        DivergedError, match=r"in epoch 1, step \d+.* try a smaller learning rate than 1e\+30"
    ):
        quick(rate=1e30).fit(*iris)


# -- scikit-learn's tools --------------------------------------------------------------------------------


def test_search_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), quick())
    grid = {"classifier__hidden": [(8,), (16, 16)], "classifier__rate": np.array([1e-5, 0.02])}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_params_["classifier__rate"] == 0.02
    assert search.best_score_ > 0.9
    assert np.mean(cross_val_score(clone(search.best_estimator_), X, y, cv=3)) > 0.9


def test_parameters_can_be_read_set_and_cloned():
    classifier = Classifier(network=flat, hidden=(3,), patience=2)
    assert classifier.get_params()["network"] is flat
    assert classifier.set_params(epochs=7) is classifier
    assert clone(classifier).get_params() == classifier.get_params()
    shown = "".join(repr(classifier).split())
    assert shown == "".join(f"Classifier(epochs=7,hidden=(3,),network={flat!r},patience=2)".split())
    with pytest.raises(ValueError, match="nothing"):
        classifier.set_params(nothing=1)


def test_pickling(iris):
    for classifier in (quick(epochs=2), quick(epochs=2, network=flat, optimiser=optim.adam)):
        fitted = classifier.fit(*iris)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict_proba(iris[0]), fitted.predict_proba(iris[0]))


# -- networks of the user's ------------------------------------------------------------------------------


def flat(rng, shape, classes):
    return nn.Chain(nn.Flatten(), nn.Dense(int(np.prod(shape)), classes, seed=rng))


def convolutional(rng, shape, classes):
    assert (shape, classes) == ((1, 28, 28), 10)
    return nn.Chain(
        nn.Conv2D(1, 4, 3, seed=rng), nn.relu, nn.MaxPool2D(4), nn.Flatten(), nn.Dense(144, classes, seed=rng)
    )


def test_images():
    images, labels = digits(400, seed=1)
    X = images[:, np.newaxis] / 255
    for network in (convolutional, None):
        classifier = quick(network=network, epochs=4).fit(X, labels)
        assert classifier.score(X, labels) > 0.6
        with pytest.raises(ArgumentError, match=r"the shape \(1, 28, 28\); got \(1, 28, 27\)"):
            classifier.predict(X[:, :, :, 1:])


def test_layers_with_a_state_and_random_numbers(iris):
    X, y = iris
    classifier = quick(network=with_a_state_and_random_numbers, batch_size=30).fit(X, y)
    assert classifier.score(X, y) > 0.9
    alone = np.concatenate([classifier.predict_proba(X[n : n + 1]) for n in range(10)])
    np.testing.assert_allclose(alone, classifier.predict_proba(X)[:10], rtol=1e-12)
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (lambda rng, shape, classes: nn.Dense(4, classes + 1, seed=rng), r"logits \(2, 3\).*got \(2, 4\)"),
        (
            lambda rng, shape, classes: {"weight": np.ones(3)},
            "container of arrays that can be called; got dict",
        ),
        (
            nn.Dense(4, 3, seed=0),
            r"must be a function, \(generator, shape of an example, classes\) -> model; got Dense",
        ),
        ("mlp", "must be a function, .*; got str; write lambda rng, shape, classes"),
        (lambda rng, shape, classes: Plain(), "got Plain; make Plain a dataclass"),
    ],
)
def test_networks_that_do_not_fit(network, says, iris):
    with pytest.raises(ArgumentError, match=says):
        quick(network=network).fit(*iris)


# -- what is wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"hidden": (0,)}, "hidden must be an integer of at least 1; got 0"),
        ({"hidden": "wide"}, "hidden"),
        ({"hidden": 2.5}, "hidden"),
        ({"activation": "cube"}, "activation must be a function or one of relu"),
        ({"optimiser": "newton"}, "optimiser must be a function or one of sgd"),
        ({"optimiser": None}, "optimiser"),
        (
            {"optimiser": optim.adam(0.1)},
            "optimiser must .*; got an Optimiser; write optimiser=lambda rate: ",
        ),
        ({"optimiser": lambda rate: None}, "optimiser must return an Optimiser .*; got NoneType"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"rate": 0.0}, "rate must be a positive finite number"),
        ({"rate": np.nan}, "rate"),
        ({"rate": "fast"}, "rate"),
        ({"patience": 0}, "patience"),
        ({"patience": 1, "validation_fraction": 1.0}, "validation_fraction must be between 0 and 1"),
        ({"patience": 1, "validation_fraction": None}, "validation_fraction"),
    ],
)
def test_parameters_that_cannot_be(chosen, says, iris):
    with pytest.raises(ArgumentError, match=says):
        quick(**chosen).fit(*iris)


def test_data_that_cannot_be(iris):
    X, y = iris
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="too large for dtype"):
        quick().fit(X * 1e300, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        quick().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="least populated"):
        quick(patience=1).fit(X, np.arange(150) == 0)
    with pytest.raises(NotFittedError):
        quick().predict(X)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.delitem(sys.modules, "wengert.estimators")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"wengert\[sklearn\]"):
        import wengert.estimators  # noqa: F401
