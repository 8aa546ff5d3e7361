"""Inverse mass matrices, and their estimates from the positions of a window: diagonal or dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.engine.ops.comparison import where


class Diagonal(NamedTuple):
    """The inverse masses of parameters that move on their own."""

    inverse_mass: Any
    """A vector: the variances of the parameters."""

    @classmethod
    def unit(cls, size: int) -> Diagonal:
        """Return unit masses."""
        return cls(np.ones(size))

    def velocity(self, momentum: Any) -> Any:
        """Return the product of the inverse masses and a momentum."""
        return self.inverse_mass * momentum

    def momentum(self, draw: Any) -> Any:
        """Return a momentum of the masses' covariance from a standard normal draw."""
        return draw / np.sqrt(self.inverse_mass)

    @staticmethod
    def product(first: Any, second: Any) -> Any:
        """Return the products of the elements whose mean is a variance."""
        return first * second

    @staticmethod
    def estimated(variances: Any, floor: Any, count: Any) -> Diagonal:
        """Return the metric for the variances of some positions, raised by a floor."""
        return Diagonal(variances + floor)


class Dense(NamedTuple):
    """The inverse mass matrix of parameters that move together."""

    inverse_mass: Any
    """A matrix: the covariance of the parameters."""
    factor: Any
    """``factor @ factor.T`` is the mass matrix."""

    @classmethod
    def unit(cls, size: int) -> Dense:
        """Return unit masses."""
        return cls(np.eye(size), np.eye(size))

    def velocity(self, momentum: Any) -> Any:
        """Return the product of the inverse mass matrix and a momentum."""
        return self.inverse_mass @ momentum

    def momentum(self, draw: Any) -> Any:
        """Return a momentum of the masses' covariance from a standard normal draw."""
        return self.factor @ draw

    @staticmethod
    def product(first: Any, second: Any) -> Any:
        """Return the products of the elements whose mean is a covariance."""
        return first[:, None] * second

    @staticmethod
    def estimated(covariance: Any, floor: Any, count: Any) -> Dense:
        """Return the metric for the covariance of some positions, its diagonal raised by a floor.

        Of fewer positions than twice the parameters only the variances count: the matrix would be almost singular, and
        trajectories as long as they may be.
        """
        size = covariance.shape[0]
        is_estimated = np.eye(size, dtype=bool) | (count >= 2 * size)
        raised = where(is_estimated, covariance, 0.0) + floor * np.eye(size)
        return Dense(raised, np.linalg.inv(np.linalg.cholesky(raised)).T)


Metric = Diagonal | Dense


class Window(NamedTuple):
    """The sums of some positions, from which a metric is estimated (Welford, 1962)."""

    count: Any
    mean: Any
    products: Any
    """The sum of the products of the differences to the mean."""

    @classmethod
    def empty(cls, metric: Metric) -> Window:
        """Return the window of no position."""
        matrix = metric.inverse_mass
        return cls(np.float64(0.0), np.zeros(matrix.shape[-1]), np.zeros(matrix.shape))

    def with_position(self, metric: Metric, position: Any) -> Window:
        """Return the window with one more position."""
        count, difference = self.count + 1.0, position - self.mean
        mean = self.mean + difference / count
        return Window(count, mean, self.products + metric.product(difference, position - mean))

    def metric(self, kind: type[Metric]) -> Metric:
        """Return the metric of the covariance, which shrinks to 1e-3 times the unit matrix as Stan's does."""
        weight = self.count / ((self.count + 5.0) * np.maximum(self.count - 1.0, 1.0))
        return kind.estimated(weight * self.products, 5e-3 / (self.count + 5.0), self.count)
