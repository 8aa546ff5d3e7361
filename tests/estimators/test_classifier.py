"""Networks as scikit-learn estimators."""

from __future__ import annotations

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

from tests.estimators.quick import quick, with_a_state_and_random_numbers
from wengert import nn, optim
from wengert.data import digits
from wengert.engine.core.errors import ArgumentError, MissingExtraError
from wengert.engine.core.tree import leaves
from wengert.estimators import Classifier
from wengert.train import DivergedError


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
    actual = check_estimator(
        Classifier(rate=0.01, **chosen), on_fail=None, on_skip=None, expected_failed_checks=EXPECTED
    )
    assert [record["check_name"] for record in actual if record["status"] == "failed"] == []
    assert sum(record["status"] == "passed" for record in actual) > 40


# -- what is learned -------------------------------------------------------------------------------------


def test_digits_compiled():
    X, y = load_digits(return_X_y=True)
    classifier = Classifier(epochs=30, random_state=0).fit(X[:1200] / 16, y[:1200])
    assert classifier.score(X[1200:] / 16, y[1200:]) > 0.9
    assert [record["epoch"] for record in classifier.history_] == list(range(1, 31))
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


@pytest.mark.parametrize(
    ("optimiser", "activation"),
    [
        ("sgd", "relu"),
        ("momentum", "leaky_relu"),
        ("nesterov", "elu"),
        ("adagrad", "gelu"),
        ("rmsprop", "silu"),
        ("adam", "sigmoid"),
        ("adamw", "tanh"),
        ("lion", "relu"),
    ],
)
def test_every_optimiser_and_activation_learns(iris, optimiser, activation):
    X, y = iris
    rate = {"sgd": 0.1, "lion": 0.003}.get(optimiser, 0.02)
    classifier = quick(optimiser=optimiser, activation=activation, rate=rate)
    assert classifier.fit(X, y).score(X, y) > 0.8


def test_an_optimiser_an_activation_and_widths_of_the_user_learn(iris):
    X, y = iris
    own = quick(optimiser=lambda rate: optim.adamw(rate, decay=0.1), activation=np.tanh, hidden=[8, 8])
    assert own.fit(X, y).score(X, y) > 0.8
    assert [leaf.shape for leaf in leaves(own.model_) if leaf.ndim == 2] == [(4, 8), (8, 8), (8, 3)]
    assert [leaf.shape for leaf in leaves(quick(hidden=()).fit(X, y).model_)] in (
        [(4, 3), (3,)],
        [(3,), (4, 3)],
    )


# -- the end of training ---------------------------------------------------------------------------------


def test_patience_ends_with_the_best_model(iris):
    X, y = iris
    classifier = quick(epochs=200, patience=4, validation_fraction=0.3).fit(X, y)
    accuracies = [record["validation_accuracy"] for record in classifier.history_]
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


@pytest.mark.parametrize("network", [convolutional, None])
def test_images(network):
    images, labels = digits(400, seed=1)
    X = images[:, np.newaxis] / 255
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
    ("network", "message"),
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
def test_networks_that_do_not_fit(network, message, iris):
    with pytest.raises(ArgumentError, match=message):
        quick(network=network).fit(*iris)


# -- what is wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"hidden": (0,)}, "hidden must be an integer of at least 1; got 0"),
        ({"hidden": "wide"}, "hidden"),
        ({"hidden": 2.5}, "hidden"),
        ({"activation": "cube"}, "activation must be a function or one of relu"),
        ({"optimiser": "newton"}, "optimiser must be a function or one of sgd"),
        ({"optimiser": None}, "optimiser"),
        (
            {"optimiser": optim.adam(0.1)},
            "optimiser must .*; got an Optimiser; for example optimiser=lambda rate: ",
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
def test_parameters_that_cannot_be(chosen, message, iris):
    with pytest.raises(ArgumentError, match=message):
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
