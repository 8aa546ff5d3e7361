"""Fits of reliability, and the derivatives of its likelihoods."""

import contextlib
import io
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from autograd import value_and_grad
from reliability import ALT_fitters, Fitters

RESULTS: dict[str, Any] = {}
rng = np.random.default_rng(1)
x = 10.0 * rng.weibull(2.0, 60) + 0.1
fails, censored = x[:45], np.minimum(x[45:], 8.0)
quiet: Any = {"show_probability_plot": False, "print_results": False}
POINTS = {
    "Weibull_2P": [9.0, 1.8],
    "Gamma_2P": [3.0, 3.5],
    "Lognormal_2P": [2.0, 0.6],
    "Loglogistic_2P": [8.0, 2.5],
    "Normal_2P": [9.0, 4.0],
    "Gumbel_2P": [10.0, 4.0],
    "Exponential_1P": [0.1],
}
with contextlib.redirect_stdout(io.StringIO()):
    for name, point in POINTS.items():
        fitter = getattr(Fitters, f"Fit_{name}")
        model = fitter(failures=fails, right_censored=censored, **quiet)
        RESULTS[name] = [model.results["Point Estimate"].to_numpy(float), [model.loglik]]
        likelihood = fitter.LL_ab if name.startswith("Gamma") else fitter.LL
        value, gradient = value_and_grad(likelihood)(np.array(point), fails, censored)
        RESULTS[f"derivatives {name}"] = [[value], gradient]
    stress = np.repeat([300.0, 330.0, 360.0], 20)
    times = np.repeat([100.0, 60.0, 30.0], 20) * rng.weibull(2.0, 60) + 1.0
    for name in ("Weibull_Power", "Lognormal_Exponential", "Normal_Eyring"):
        fitter = getattr(ALT_fitters, f"Fit_{name}")
        model = fitter(failures=times, failure_stress=stress, show_life_stress_plot=False, **quiet)
        RESULTS[name] = [[model.loglik]]
