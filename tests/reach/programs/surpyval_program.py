"""Fits of SurPyval: families, censoring, truncation, offsets, mixtures and regressions."""

from typing import Any

import numpy as np
import surpyval

RESULTS: dict[str, Any] = {}
rng = np.random.default_rng(0)
x = 10.0 * rng.weibull(2.0, 60)
c = (rng.random(60) < 0.3).astype(int)
for name in ("Weibull", "Gamma", "LogNormal", "Normal", "Logistic", "LogLogistic", "Gumbel", "Rayleigh"):
    model = getattr(surpyval, name).fit(x, c=c)
    bounds = model.cb(np.quantile(x, [0.2, 0.5, 0.8]), on="R")
    RESULTS[name] = [model.params, [model.neg_ll()], bounds, model.covariance()]
RESULTS["Beta"] = [surpyval.Beta.fit(rng.beta(2.0, 3.0, 50)).params]
RESULTS["truncated"] = [surpyval.Weibull.fit(x + 1.0, tl=1.0).params]
RESULTS["offset"] = [surpyval.Weibull.fit(x + 5.0, offset=True).params]
RESULTS["mixture"] = [
    np.sort(np.ravel(surpyval.MixtureModel.fit(x=np.append(x, 4 * x), dist=surpyval.Weibull, m=2).params))
]
for how in ("MPS", "MSE", "MOM"):
    RESULTS[how] = [surpyval.Weibull.fit(x, how=how).params]
Z = rng.normal(size=(60, 2))
for name in ("CoxPH", "WeibullPH", "WeibullAFT", "LogNormalAFT", "WeibullPO", "WeibullAH"):
    RESULTS[name] = [getattr(surpyval, name).fit(x * np.exp(-0.3 * Z[:, 0]), Z, c=c).params]
