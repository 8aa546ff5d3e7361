"""Optimisers and samplers of other packages with compiled functions and exact gradients."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

_rng = np.random.default_rng(3)
t = np.linspace(0.0, 5.0, 60)
y = 2.0 * np.exp(-0.7 * t) + 0.3 + 0.05 * _rng.normal(size=60)
TRUE = np.array([2.0, 0.7, 0.3])


def model(p):
    return p[0] * np.exp(-p[1] * t) + p[2]


def residual(p):
    return (y - model(p)) / 0.05


def log_posterior(p):
    return -0.5 * np.sum(residual(p) ** 2)


def test_iminuit_fits_with_the_gradient():
    iminuit = pytest.importorskip("iminuit")
    cost = wg.jit(lambda p: np.sum(residual(p) ** 2))
    fit = iminuit.Minuit(cost, np.ones(3), grad=wg.jit(wg.grad(cost)))
    fit.errordef = iminuit.Minuit.LEAST_SQUARES
    fit.migrad().hesse()
    assert fit.valid
    assert fit.ngrad > 0
    covariance = 2 * np.linalg.inv(wg.hessian(cost)(np.array(fit.values)))
    np.testing.assert_allclose(np.array(fit.errors), np.sqrt(np.diag(covariance)), rtol=1e-2)


def test_lmfit_takes_the_jacobian():
    lmfit = pytest.importorskip("lmfit")
    names = ["a", "rate", "base"]
    parameters = lmfit.create_params(a=1.0, rate=1.0, base=0.0)

    def at(function):
        return lambda parameters: function(np.array([parameters[name].value for name in names]))

    exact = at(wg.jit(wg.jacobian(residual)))
    fit = lmfit.minimize(at(wg.jit(residual)), parameters, Dfun=exact, col_deriv=False)
    plain = lmfit.minimize(at(residual), parameters)
    assert fit.nfev < plain.nfev
    np.testing.assert_allclose(
        [*fit.params.valuesdict().values()], [*plain.params.valuesdict().values()], rtol=1e-6
    )


def test_emcee_calls_all_walkers_at_once():
    emcee = pytest.importorskip("emcee")
    start = TRUE + 0.01 * _rng.normal(size=(16, 3))
    together = emcee.EnsembleSampler(16, 3, wg.jit(wg.vmap(log_posterior)), vectorize=True)
    together.random_state = np.random.RandomState(0).get_state()
    together.run_mcmc(start, 50)
    single = emcee.EnsembleSampler(16, 3, log_posterior)
    single.random_state = np.random.RandomState(0).get_state()
    single.run_mcmc(start, 50)
    np.testing.assert_allclose(together.get_chain(), single.get_chain(), rtol=1e-6)


def test_dynesty_calls_the_compiled_likelihood():
    dynesty = pytest.importorskip("dynesty")

    def run(likelihood):
        sampler = dynesty.NestedSampler(
            likelihood, lambda u: 4.0 * u, 3, nlive=40, rstate=np.random.default_rng(1)
        )
        sampler.run_nested(print_progress=False, maxiter=200)
        return sampler.results

    ours, plain = run(wg.jit(log_posterior)), run(log_posterior)
    np.testing.assert_allclose(ours.samples, plain.samples, rtol=1e-6)


def test_pymoo_evaluates_the_population_at_once():
    pytest.importorskip("pymoo")
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    def objectives(x):
        return np.stack([np.sum(x**2), np.sum((x - 2.0) ** 2)])

    def constraint(x):
        return x[0] - 1.5

    evaluate = wg.jit(wg.vmap(lambda x: (objectives(x), constraint(x))))

    class Two(Problem):
        def __init__(self):
            super().__init__(n_var=2, n_obj=2, n_ieq_constr=1, xl=-3.0, xu=3.0)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"], out["G"] = evaluate(x)

    front = minimize(Two(), NSGA2(pop_size=20), ("n_gen", 30), seed=1)
    assert len(front.F) > 5
    assert np.all(front.X[:, 0] <= 1.5)
    np.testing.assert_allclose(
        np.sqrt(front.F).sum(axis=1), np.sqrt(8.0), atol=0.2
    )  # the segment between the minima
