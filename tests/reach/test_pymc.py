"""Programs as operations of PyTensor's graphs, and PyMC's sampler with them."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import wengert as wg
from wengert.interop import as_op

pytensor = pytest.importorskip("pytensor")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
pt = pytensor.tensor

_rng = np.random.default_rng(0)
X = _rng.normal(size=(50, 3))
y = X @ [1.0, 2.0, -1.0] + 0.5 * _rng.normal(size=50)


def log_likelihood(beta, log_sigma, X, y):
    residual = (y - X @ beta) * np.exp(-log_sigma)
    return -0.5 * np.sum(residual * residual) - len(y) * log_sigma


def of_pytensor(beta, log_sigma, X, y):
    residual = (y - X @ beta) * pt.exp(-log_sigma)
    return -0.5 * pt.sum(residual * residual) - y.shape[0] * log_sigma


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_graphs_with_shared_data(mode):
    beta, sigma, t = pt.dvector("beta"), pt.dscalar("sigma"), pt.dvector("t")
    shared = pytensor.shared(X), pytensor.shared(y)

    def compiled(likelihood, mode):
        value = likelihood(beta, sigma, *shared)
        slopes = pytensor.grad(value, [beta, sigma])
        along = pytensor.gradient.Rop(value, beta, t)
        second = [pytensor.gradient.hessian(value, beta)] if mode == "FAST_COMPILE" else []
        return pytensor.function([beta, sigma, t], [value, *slopes, along, *second], mode=mode)

    ours, theirs = compiled(as_op(log_likelihood, [pt.dscalar]), mode), compiled(of_pytensor, "FAST_COMPILE")
    point = np.ones(3), 0.3, np.array([1.0, -1.0, 2.0])
    for rows in (50, 20):
        shared[0].set_value(X[:rows])
        shared[1].set_value(y[:rows])
        for got, expected in zip(ours(*point), theirs(*point), strict=False):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_containers_dtypes_and_inferred_types():
    p = {"w": pt.matrix("w", shape=(3, 2), dtype="float32"), "k": pt.lvector("k")}
    result = as_op(lambda p, s: {"out": np.tanh(p["w"] * s)[p["k"]], "n": np.argmax(p["w"])})(p, 0.5)
    assert result["out"].type.dtype == "float32"
    assert result["out"].type.shape == (None, None)
    assert result["n"].type == pt.lscalar
    values = {p["w"]: np.ones((3, 2), np.float32), p["k"]: np.array([0, 2, 2])}
    slope = pytensor.grad(result["out"].sum(), p["w"]).eval(values, mode="FAST_COMPILE")
    expected = pytensor.grad(pt.tanh(p["w"] * np.float32(0.5))[p["k"]].sum(), p["w"])
    np.testing.assert_allclose(slope, expected.eval(values, mode="FAST_COMPILE"), rtol=1e-6)
    pytensor.gradient.verify_grad(
        lambda b, s: as_op(log_likelihood)(b, s, X, y),
        [np.ones(3), np.array(0.3)],
        rng=_rng,
        mode="FAST_COMPILE",
    )


def test_errors_name_what_is_wrong():
    with pytest.raises(wg.errors.ArgumentError, match=r"types of the results.*otypes"):
        as_op(lambda x: X @ x)(pt.dvector())
    vector = as_op(lambda x: X @ x, [pt.dvector])(pt.dvector("x"))
    assert vector.type.ndim == 1
    wrong = as_op(np.sum, [pt.fscalar])(pt.as_tensor_variable(np.ones(3)))
    with pytest.raises(wg.errors.DtypeError, match=r"must have the types.*float32.*got f64"):
        wrong.eval(mode="FAST_COMPILE")
    with pytest.raises(wg.errors.DtypeError, match="must be real"):
        as_op(np.abs)(pt.zvector())


def test_nuts_draws_what_it_draws_from_the_model_in_plain_pymc():
    pm = pytest.importorskip("pymc")
    logging.getLogger("pymc").setLevel(logging.ERROR)
    likelihood = as_op(log_likelihood)

    def draws(ours):
        with pm.Model(coords={"feature": range(3)}):
            beta, sigma = pm.Normal("beta", 0, 2, dims="feature"), pm.Normal("sigma", 0, 1)
            data = pm.Data("X", X), pm.Data("y", y)
            if ours:
                pm.Potential("likelihood", likelihood(beta, sigma, *data))
            else:
                pm.Normal("y_", data[0] @ beta, pt.exp(sigma), observed=data[1])
            options = {"progressbar": False, "compute_convergence_checks": False, "cores": 1, "chains": 1}
            mode = {"compile_kwargs": {"mode": "FAST_COMPILE"}}
            return pm.sample(100, tune=200, random_seed=1, **options, **mode).posterior

    ours, theirs = draws(True), draws(False)
    np.testing.assert_allclose(ours.beta.values[:, :20], theirs.beta.values[:, :20], rtol=1e-3)
    np.testing.assert_allclose(ours.beta.mean(("chain", "draw")), [1.0, 2.0, -1.0], atol=0.2)
