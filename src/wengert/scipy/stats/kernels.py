"""Kernel estimates of densities: derivatives in the points, in the data, in their weights and in the bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.exponential import exp, log
from wengert.engine.ops.linalg import square
from wengert.engine.ops.special.scipy_functions import ndtr
from wengert.numpy.registry import rank_of
from wengert.scipy.linalg import solve_triangular
from wengert.scipy.registry import doubles
from wengert.scipy.stats.elementary import LOG_TWO_PI
from wengert.special import logsumexp

#: What the class of SciPy has besides.
_LEFT_OUT = (
    "integrate_box",
    "integrate_gaussian",
    "integrate_kde",
    "inv_cov",
    "log_det",
    "marginal",
    "resample",
)


@substitutes("scipy.stats.gaussian_kde")
class gaussian_kde:  # noqa: N801
    """The density of a sum of equal normal distributions around data.

    Raises:
        ShapeError: the weights or the points do not fit the data.
        ArgumentError: there are fewer data than dimensions, or the bandwidth is none of SciPy's kinds.
        LinAlgError: the data lie in a space of fewer dimensions.
        UnsupportedError: another method of SciPy's is called.

    Example:
        >>> density = gaussian_kde(np.array([-1.0, 0.0, 2.0]), bw_method=1.0)
        >>> print(density(0.0).round(4), f"{density.integrate_box_1d(-9.0, 9.0):.4f}")
        [0.1943] 1.0000
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.dataset: Any = np.atleast_2d(doubles(dataset))
        self.d, self.n = shape_of(self.dataset)
        if size(shape_of(self.dataset)) < 2 or self.d > self.n:
            requirement = "at least two numbers, and no fewer columns than rows, are required"
            raise ArgumentError(message("gaussian_kde", requirement, show(self.dataset)))
        weights = np.full(self.n, 1.0 / self.n) if weights is None else np.atleast_1d(doubles(weights))
        if shape_of(weights) != (self.n,):
            requirement = "a weight for each column of the data is required"
            raise ShapeError(message("gaussian_kde", requirement, show(weights)))
        plain = concrete(weights)
        if plain is not None and not np.all(np.asarray(plain) >= 0):
            raise ArgumentError(message("gaussian_kde", "the weights must be 0 or above", show(weights)))
        self.weights: Any = weights / np.sum(weights)
        self.neff: Any = 1.0 / np.sum(self.weights**2)
        self._bandwidth: Any = None
        self.set_bandwidth(bw_method)

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the estimate of an object of SciPy's."""
        return cls(theirs.dataset, theirs.factor, theirs.weights)

    def scotts_factor(self) -> Any:
        """Return Scott's bandwidth."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Return Silverman's bandwidth."""
        return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))

    def covariance_factor(self) -> Any:
        """Return the bandwidth, in units of the standard deviation of the data."""
        chosen: Any = self._bandwidth
        return chosen(self) if callable(chosen) else chosen

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Choose the bandwidth: "scott", "silverman", a number, or a function of the estimate; None for the last."""
        kinds: dict[str, Any] = {
            "scott": gaussian_kde.scotts_factor,
            "silverman": gaussian_kde.silverman_factor,
        }
        chosen = (self._bandwidth or "scott") if bw_method is None else bw_method
        chosen = kinds.get(chosen, chosen) if isinstance(chosen, str) else chosen
        if isinstance(chosen, str) or not (callable(chosen) or np.ndim(chosen) == 0):
            requirement = "bw_method must be 'scott', 'silverman', a number or a function"
            raise ArgumentError(message("gaussian_kde", requirement, repr(chosen)))
        self._bandwidth = chosen if callable(chosen) else doubles(chosen)
        self.factor: Any = self.covariance_factor()
        deviations = self.dataset - np.sum(self.weights * self.dataset, -1, keepdims=True)
        unbiased = 1.0 - np.sum(self.weights**2)
        self.covariance: Any = (self.weights * deviations) @ deviations.T / unbiased * self.factor**2
        self.cho_cov: Any = square.cholesky(self.covariance)

    def __getattr__(self, name: str) -> Any:
        """Refuse what SciPy's class has besides: integrals of several dimensions and draws have no derivative here."""
        operation = f"scipy.stats.gaussian_kde.{name}"
        if name not in (
            "integrate_box",
            "integrate_gaussian",
            "integrate_kde",
            "inv_cov",
            "marginal",
            "resample",
        ):
            raise AttributeError(f"'gaussian_kde' object has no attribute {name!r}", name=name, obj=self)
        hint = "write it with logpdf, dataset, weights and covariance"
        raise UnsupportedError(message(operation, "this is not followed", hint=hint))

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at the columns of an array; a vector may be one point."""
        points = np.atleast_2d(doubles(x))
        if shape_of(points) == (1, self.d):
            points = np.reshape(points, (self.d, 1))
        if rank_of(points) != 2 or shape_of(points)[0] != self.d:
            requirement = f"points of {self.d} dimensions are required"
            raise ShapeError(message("gaussian_kde", requirement, show(points)))
        at, of = (solve_triangular(self.cho_cov, x, lower=True) for x in (points, self.dataset))
        distances = np.sum((at[:, :, None] - of[:, None, :]) ** 2, 0)
        volume = np.sum(log(np.diagonal(self.cho_cov))) + 0.5 * self.d * LOG_TWO_PI
        return logsumexp(-0.5 * distances, -1, self.weights) - volume

    def evaluate(self, points: Any) -> Any:
        """Return the density at the columns of an array; a vector may be one point."""
        return exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the integral between two bounds, of an estimate of one dimension."""
        operation = "gaussian_kde.integrate_box_1d"
        if self.d != 1:
            raise ShapeError(message(operation, "an estimate of one dimension is required", str(self.d)))
        low, high = ((doubles(bound) - self.dataset[0]) / self.cho_cov[0, 0] for bound in (low, high))
        return np.sum(self.weights * (ndtr(high) - ndtr(low)))
