"""Objectives in XGBoost, LightGBM and scikit-learn: beside the built-in ones, and losses that they lack."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr

import wengert as wg
from wengert.boost import metric, objective
from wengert.special import log_softmax

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

_rng = np.random.default_rng(0)
N, CLASSES = 800, 4
X = _rng.normal(size=(N, 5))
signal = X[:, 0] + X[:, 1] ** 2 - 1
binary = (_rng.random(N) < 1 / (1 + np.exp(-signal))).astype(float)
classes = np.where(X[:, 0] > 0.5, 1, _rng.integers(0, CLASSES, N)).astype(float)
counts = _rng.poisson(np.exp(0.5 * signal)).astype(float)
weights = _rng.random(N) + 0.5


def logistic(score, label):
    return np.logaddexp(0.0, score) - label * score


def softmax(scores, label):
    return -log_softmax(scores)[label.astype(int)]


def poisson(mean, count):
    return mean - count * np.log(mean)


def poisson_of_score(score, count):
    return np.exp(score) - count * score


XGB = {"max_depth": 3, "nthread": 2}
LGB = {"num_leaves": 8, "num_threads": 2, "verbose": -1}


def test_xgboost_trains_as_with_its_own():
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix(X, binary, weight=weights)
    history = {}
    ours = xgb.train(
        {**XGB, "base_score": 0.0},
        data,
        10,
        obj=objective(logistic),
        custom_metric=metric(logistic, name="loss"),
        evals=[(data, "train")],
        evals_result=history,
        verbose_eval=False,
    )
    own = {}
    params = {**XGB, "base_score": 0.5, "objective": "binary:logistic"}
    theirs = xgb.train(params, data, 10, evals=[(data, "train")], evals_result=own, verbose_eval=False)
    margins = [model.predict(data, output_margin=True) for model in (ours, theirs)]
    np.testing.assert_allclose(*margins, atol=2e-6)
    np.testing.assert_allclose(history["train"]["loss"], own["train"]["logloss"], atol=1e-4)
    data = xgb.DMatrix(X, classes)
    params = {**XGB, "num_class": CLASSES, "base_score": 0.5}
    ours = xgb.train(params, data, 5, obj=objective(softmax, hessian="bound"))
    theirs = xgb.train({**params, "objective": "multi:softprob"}, data, 5)
    margins = [model.predict(data, output_margin=True) for model in (ours, theirs)]
    np.testing.assert_allclose(*margins, atol=2e-6)


def test_estimators_of_xgboost_and_searches():
    xgb = pytest.importorskip("xgboost")
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    options = {"n_estimators": 10, "max_depth": 3, "base_score": 0.0, "n_jobs": 2}
    model = xgb.XGBRegressor(objective=objective(logistic), eval_metric=metric(logistic), **options)
    model.fit(X, binary, sample_weight=weights, eval_set=[(X, binary)], verbose=False)
    native = xgb.train(
        {**XGB, "base_score": 0.0}, xgb.DMatrix(X, binary, weight=weights), 10, obj=objective(logistic)
    )
    np.testing.assert_array_equal(model.predict(X), native.predict(xgb.DMatrix(X)))
    assert model.evals_result()["validation_0"]["logistic"][-1] < 0.6
    assert np.all(np.isfinite(cross_val_score(clone(model), X, binary, cv=2)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_lightgbm_trains_as_with_its_own():
    lgb = pytest.importorskip("lightgbm")

    def data():
        return lgb.Dataset(X, binary, weight=weights)

    history = {}
    ours = lgb.train(
        {**LGB, "objective": objective(logistic)},
        data(),
        10,
        feval=metric(logistic, name="loss"),
        valid_sets=[data()],
        callbacks=[lgb.record_evaluation(history)],
    )
    theirs = lgb.train({**LGB, "objective": "binary", "boost_from_average": False}, data(), 10)
    scores = [model.predict(X, raw_score=True) for model in (ours, theirs)]
    np.testing.assert_allclose(*scores, atol=1e-6)
    expected = np.average(logistic(scores[0], binary), weights=weights)
    np.testing.assert_allclose(next(iter(history.values()))["loss"][-1], expected, rtol=1e-6)
    estimator = lgb.LGBMRegressor(
        objective=objective(logistic), n_estimators=10, num_leaves=8, n_jobs=2, verbose=-1
    )
    estimator.fit(
        X, binary, sample_weight=weights, eval_set=[(X, binary)], eval_metric=metric(logistic, name="loss")
    )
    np.testing.assert_allclose(estimator.predict(X, raw_score=True), scores[0], atol=1e-6)
    assert "loss" in next(iter(estimator.evals_result_.values()))
    ours = lgb.train(
        {**LGB, "num_class": CLASSES, "objective": objective(softmax)}, lgb.Dataset(X, classes), 5
    )
    factor = CLASSES / (CLASSES - 1)  # by which LightGBM multiplies its Hessian

    def theirs_by_hand(scores, data):
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        return p - np.eye(CLASSES)[data.get_label().astype(int)], p * (1 - p)

    hand = lgb.train({**LGB, "num_class": CLASSES, "objective": theirs_by_hand}, lgb.Dataset(X, classes), 5)
    np.testing.assert_allclose(ours.predict(X), hand.predict(X), atol=1e-6)
    assert factor > 1


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_counts_as_with_the_built_in_poisson(package):
    module = pytest.importorskip(package)
    if package == "xgboost":
        data = module.DMatrix(X, counts)
        # XGBoost's own adds max_delta_step to the score of its Hessian.
        scaled = {**XGB, "base_score": 1.0, "objective": "count:poisson", "max_delta_step": 1e-9}
        theirs = module.train(scaled, data, 5)
        ours = module.train(
            {**XGB, "base_score": 0.0, "max_delta_step": 1e-9}, data, 5, obj=objective(poisson, np.exp)
        )
        margins = [model.predict(data, output_margin=True) for model in (ours, theirs)]
        np.testing.assert_allclose(*margins, rtol=1e-4, atol=1e-12)
        return
    params = {**LGB, "poisson_max_delta_step": 0.0, "boost_from_average": False}
    theirs = module.train(
        {**params, "objective": "poisson", "poisson_max_delta_step": 1e-12}, module.Dataset(X, counts), 5
    )
    ours = module.train({**LGB, "objective": objective(poisson_of_score)}, module.Dataset(X, counts), 5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X, raw_score=True), atol=1e-5)


# -- losses that the packages lack -----------------------------------------------------------------------


def focal(score, label, gamma=2.0):
    q = np.where(label > 0, score, -score)
    log_p = -np.logaddexp(0.0, -q)
    return -((1.0 - np.exp(log_p)) ** gamma) * log_p


def quantile_huber(score, label, level=0.8, delta=0.1):
    r = label - score
    size = np.where(np.abs(r) < delta, 0.5 * r * r / delta, np.abs(r) - 0.5 * delta)
    return np.where(r > 0, level, 1.0 - level) * size


def accelerated_failure_time(score, label):
    """A censored time, of a negative label, is known to be longer: the logarithm of times is normal."""
    z = (np.log(np.abs(label)) - score) / 0.5
    return np.where(label > 0, 0.5 * z * z, -log_ndtr(-z))


def tweedie(mean, label, power=1.5):
    return mean ** (2 - power) / (2 - power) - label * mean ** (1 - power) / (1 - power)


def zero_inflated_poisson(scores, count):
    """Two scores: of the odds of a zero, and of the mean."""
    log_zero, log_not = -np.logaddexp(0.0, -scores[0]), -np.logaddexp(0.0, scores[0])
    mean = np.exp(scores[1])
    return np.where(count > 0, -(log_not - mean + count * scores[1]), -np.logaddexp(log_zero, log_not - mean))


times = np.exp(0.3 * signal + 0.5 * _rng.normal(size=N))
ends = np.where(_rng.random(N) < 0.3, -times * _rng.random(N), times)
LOSSES = {
    "focal": (objective(focal, hessian="absolute", floor=1e-3), binary, metric(focal)),
    "quantile Huber": (objective(quantile_huber, floor=1e-2), signal, metric(quantile_huber)),
    "accelerated failure time": (objective(accelerated_failure_time), ends, metric(accelerated_failure_time)),
    "Tweedie": (objective(tweedie, np.exp), counts, metric(tweedie, np.exp)),
    "expected Tweedie": (objective(tweedie, np.exp, hessian="expected"), counts, metric(tweedie, np.exp)),
}


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_fall(name, package):
    loss, labels, measure = LOSSES[name]
    module = pytest.importorskip(package)
    if package == "xgboost":
        data = module.DMatrix(X, labels)
        model = module.train({**XGB, "base_score": 0.0}, data, 30, obj=loss)
        scores = model.predict(data, output_margin=True)
    else:
        scores = module.train({**LGB, "objective": loss}, module.Dataset(X, labels), 30).predict(X)
    value = measure(labels, scores)
    constant = min(measure(labels, np.full(N, s)) for s in np.linspace(-2, 2, 41))
    assert value < constant


def test_two_scores_of_a_zero_inflated_count():
    xgb = pytest.importorskip("xgboost")
    zeros = np.where(_rng.random(N) < 0.4, 0.0, counts)
    data = xgb.DMatrix(X, zeros)
    loss = objective(zero_inflated_poisson, hessian="bound", floor=1e-3)
    model = xgb.train({**XGB, "num_class": 2, "base_score": 0.0, "eta": 0.1}, data, 40, obj=loss)
    scores = model.predict(data, output_margin=True)
    measure = metric(zero_inflated_poisson)
    assert measure(zeros, scores) < measure(zeros, np.tile([-0.4, 0.0], (N, 1)))


def test_intervals_by_a_target_of_the_data_set():
    xgb = pytest.importorskip("xgboost")
    lower = np.abs(ends)
    upper = np.where(ends > 0, lower, np.inf)
    data = xgb.DMatrix(X)
    data.set_float_info("label_lower_bound", lower)
    data.set_float_info("label_upper_bound", upper)

    def loss(score, interval):
        low, high = interval
        z = (np.log(low) - score) / 0.5
        exact = 0.5 * z * z + np.log(low * 0.5 * np.sqrt(2 * np.pi))
        return np.where(np.isfinite(high), exact, -log_ndtr(-z))

    def intervals(data):
        return data.get_float_info("label_lower_bound"), data.get_float_info("label_upper_bound")

    params = {**XGB, "max_bin": 64}
    ours = xgb.train({**params, "base_score": 0.0}, data, 10, obj=objective(loss, target=intervals))
    own = {"objective": "survival:aft", "aft_loss_distribution": "normal", "aft_loss_distribution_scale": 0.5}
    theirs = xgb.train({**params, **own, "base_score": 1.0}, data, 10)
    np.testing.assert_allclose(
        ours.predict(data, output_margin=True), theirs.predict(data, output_margin=True), atol=2e-4
    )


def test_a_ranking_loss_of_groups():
    def pairs(scores, relevance):
        better = relevance[:, None] > relevance[None, :]
        return np.sum(np.where(better, np.logaddexp(0.0, scores[None, :] - scores[:, None]), 0.0))

    groups = np.array([10, 20, 10, 20, 15, 5] * 10)
    relevance = np.clip(np.round(signal + 1), 0, 4)
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    loss = objective(pairs, groups=True, floor=1e-6)
    measure = metric(pairs, groups=True)
    before = measure(relevance, np.zeros(N), None, groups)[1]
    model = lgb.train({**LGB, "objective": loss}, lgb.Dataset(X, relevance, group=groups), 10)
    assert measure(relevance, model.predict(X), None, groups)[1] < 0.8 * before
    data = xgb.DMatrix(X, relevance)
    data.set_group(groups)
    model = xgb.train({**XGB, "base_score": 0.0}, data, 10, obj=loss)
    assert measure(relevance, model.predict(data), None, groups)[1] < 0.8 * before
    ranker = lgb.LGBMRanker(objective=loss, n_estimators=5, verbose=-1).fit(X, relevance, group=groups)
    assert np.all(np.isfinite(ranker.predict(X)))


def test_a_loss_without_a_derivative_is_an_error_of_the_training():
    xgb = pytest.importorskip("xgboost")
    with pytest.raises(
        wg.errors.RangeError, match=r"must be finite; got .* for the score 0.0 and the label 0.0"
    ):
        xgb.train({"base_score": 0.0}, xgb.DMatrix(X, counts), 2, obj=objective(lambda s, y: s * np.log(y)))


def test_histogram_boosting_of_scikit_learn_takes_names_alone():
    ensemble = pytest.importorskip("sklearn.ensemble")
    with pytest.raises(ValueError, match="'loss' parameter"):
        ensemble.HistGradientBoostingRegressor(loss=objective(logistic)).fit(X, binary)


def test_the_example_of_censored_times(capsys):
    pytest.importorskip("xgboost")
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "censored_times.py"), run_name="__main__")
    printed = capsys.readouterr().out
    medians = [float(line.split()[-1]) for line in printed.splitlines()[1:]]
    assert medians[0] < 0.6
    assert 0.9 < medians[1] < 1.1
