"""Fits of lifelines: all univariate families and the regressions."""

from typing import Any

import lifelines
import lifelines.fitters as fitters
import numpy as np
from lifelines.datasets import load_rossi, load_waltons

RESULTS: dict[str, Any] = {}
waltons = load_waltons()
T, E = waltons["T"], waltons["E"]
rossi = load_rossi().iloc[:200]


def add(name: str, model: Any) -> None:
    RESULTS[name] = [model.summary["coef"].to_numpy(float), [model.log_likelihood_]]


for name in ("Weibull", "Exponential", "LogNormal", "LogLogistic", "GeneralizedGamma"):
    model = getattr(lifelines, f"{name}Fitter")().fit(T, E)
    add(name, model)
    RESULTS[name] += [model.summary["se(coef)"].to_numpy(float), model.confidence_interval_.to_numpy(float)]
for name in ("Weibull", "LogLogistic"):
    add(f"{name} left", getattr(lifelines, f"{name}Fitter")().fit_left_censoring(T, E))
    upper = np.where(E, 1.1 * T, np.inf)
    add(f"{name} interval", getattr(lifelines, f"{name}Fitter")().fit_interval_censoring(0.9 * T, upper))
add("piecewise", lifelines.PiecewiseExponentialFitter([20.0, 40.0]).fit(T, E))
add("spline", lifelines.SplineFitter([20.0, 40.0, 60.0]).fit(T, E))
add("cure", lifelines.MixtureCureFitter(lifelines.WeibullFitter()).fit(T, E))
for name in ("WeibullAFT", "LogNormalAFT", "LogLogisticAFT"):
    add(name, getattr(lifelines, f"{name}Fitter")(penalizer=0.01).fit(rossi, "week", "arrest"))
add("Cox", lifelines.CoxPHFitter().fit(rossi, "week", "arrest"))
spline = lifelines.CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=3, penalizer=0.1)
add("Cox spline", spline.fit(rossi, "week", "arrest"))
regression = lifelines.PiecewiseExponentialRegressionFitter(breakpoints=[30.0], penalizer=0.1)
add("piecewise regression", regression.fit(rossi, "week", "arrest"))

# The objective of a regression with incomplete gamma functions, at fixed points.
usual, calls = fitters.minimize, []


def recorded(fun: Any, x0: Any, **options: Any) -> Any:
    calls.append((fun, x0, options["args"]))
    return usual(fun, x0, **options)


fitters.minimize = recorded
lifelines.GeneralizedGammaRegressionFitter(penalizer=1.0).fit(
    rossi[["week", "arrest", "age"]], "week", "arrest"
)
fun, start, arguments = calls[0]
points = [start + 0.02 * np.sin(np.arange(len(start)) + k) for k in range(4)]
RESULTS["derivatives"] = [np.append(*fun(point, *arguments)) for point in points]
