"""`scipy.stats` for values inside transforms: families of distributions, and statistics of samples.

A family has the functions and parameters that SciPy gives it, ``loc`` and ``scale`` among them, and is called to put in
the parameters: ``norm(1.0, 2.0).logpdf(x)``. Draws take a key of `wengert.random` as ``random_state``. The families
that `dir` does not list follow SciPy's own formulas, ``skewnorm`` or ``genextreme`` for example; SciPy loads with them.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> data = np.array([1.0, 2.0, 4.0])
    >>> wg.grad(lambda mu: np.sum(norm.logpdf(data, mu, 2.0)))(2.0)
    0.25
"""

from __future__ import annotations

from typing import Any as _Any

from wengert.engine.array.substitutes import LOADERS as _LOADERS
from wengert.engine.array.substitutes import substitute_for as _substitute_for
from wengert.scipy.registry import others_of as _others_of
from wengert.scipy.stats.circular import vonmises
from wengert.scipy.stats.discrete import bernoulli, binom, geom, nbinom, poisson
from wengert.scipy.stats.elementary import (
    cauchy,
    expon,
    gumbel_l,
    gumbel_r,
    halfnorm,
    laplace,
    logistic,
    lognorm,
    norm,
    pareto,
    rayleigh,
    uniform,
    weibull_min,
)
from wengert.scipy.stats.formulas import enter as _enter_families
from wengert.scipy.stats.gammas import beta, chi2, f, gamma, invgamma, t
from wengert.scipy.stats.kernels import gaussian_kde
from wengert.scipy.stats.multivariate import (
    dirichlet,
    invwishart,
    multinomial,
    multivariate_normal,
    multivariate_t,
    wishart,
)
from wengert.scipy.stats.samples import (
    circmean,
    circstd,
    circvar,
    describe,
    entropy,
    gmean,
    hmean,
    kurtosis,
    linregress,
    pearsonr,
    sem,
    skew,
    variation,
    zscore,
)
from wengert.scipy.stats.truncated import truncnorm

__all__ = [
    "bernoulli", "beta", "binom", "cauchy", "chi2", "circmean", "circstd", "circvar", "describe", "dirichlet",
    "entropy", "expon", "f", "gamma", "gaussian_kde", "geom", "gmean", "gumbel_l", "gumbel_r", "halfnorm",
    "hmean", "invgamma", "invwishart", "kurtosis", "laplace", "linregress", "logistic", "lognorm", "multinomial",
    "multivariate_normal", "multivariate_t", "nbinom", "norm", "pareto", "pearsonr", "poisson", "rayleigh",
    "sem", "skew", "t", "truncnorm", "uniform", "variation", "vonmises", "weibull_min", "wishart", "zscore",
]  # fmt: skip
__dir__ = __all__.copy
_others = _others_of(__name__)
_LOADERS.append(_enter_families)


def __getattr__(name: str) -> _Any:
    theirs = _others(name)
    return _substitute_for(theirs) or theirs
