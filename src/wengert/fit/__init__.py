"""Statistical fits: maximum likelihood with standard errors, Laplace's approximation, Hamiltonian Monte Carlo.

Example:
    >>> import numpy as np
    >>> fit = mle(
    ...     lambda p, y: -np.log(p["sd"]) - 0.5 * ((y - p["mean"]) / p["sd"]) ** 2,
    ...     np.arange(9.0),
    ...     {"mean": 3.0, "sd": 2.0},
    ... )
    >>> print(round(fit.estimates["mean"], 6), round(fit.standard_errors["mean"], 6))
    4.0 0.860663
"""

from __future__ import annotations

from wengert.fit.approximation import Laplace, laplace
from wengert.fit.estimates import Fit, Interval
from wengert.fit.likelihood import mle
from wengert.fit.samples import Samples
from wengert.fit.sampling import hmc, nuts
from wengert.fit.supports import bounded, ordered, positive, simplex

__all__ = [
    "Fit", "Interval", "Laplace", "Samples", "bounded", "hmc", "laplace", "mle", "nuts", "ordered", "positive",
    "simplex",
]  # fmt: skip
__dir__ = __all__.copy
