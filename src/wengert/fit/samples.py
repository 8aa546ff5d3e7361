"""The draws of Markov chains, with their diagnostics and a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.core import tree
from wengert.core.errors import MissingExtraError, message
from wengert.core.lazy import lazy
from wengert.fit.diagnostics import bulk_ess, mean_ess, r_hat, tail_ess
from wengert.fit.tables import element_names, leaf_names, number, table
from wengert.optimize.flat import Flat


def with_leading_axes(flat: Flat, vectors: Any) -> Any:
    """Return the container that an array of vectors holds; its axes before the last lead the leaves' own."""
    parts = np.split(vectors, flat.ends[:-1], axis=-1)
    rows = zip(parts, flat.shapes, strict=True)
    leading = vectors.shape[:-1]
    return tree.unflatten(flat.structure, [np.reshape(part, (*leading, *shape)) for part, shape in rows])


class Samples:
    """Draws of Markov chains. Made by `nuts` and `hmc`; print it as a table.

    Attributes:
        vectors: the draws, of shape (chains, draws, size), in the order of ``names``.
        names: a name for each element of the parameters.
        logdensity: of each draw, of shape (chains, draws).
        acceptance: the mean probability to accept the points of each trajectory.
        divergent: whether each trajectory ended where the error of its energy was above 1000.
        leaps: the number of leapfrog steps of each trajectory.
        depth: the number of doublings of each trajectory; 0 for `hmc`.
        energy: the energy at the beginning of each trajectory.
        step_size: of each chain.
        variances: the variances of the parameters in each chain's warm-up, of shape (chains, size): the inverse masses.
    """

    def __init__(
        self, flat: Flat, vectors: Any, statistics: dict[str, Any], step_size: Any, variances: Any
    ) -> None:
        self._flat = flat
        self.vectors = vectors
        self.names = element_names(flat)
        self.logdensity = statistics["logdensity"]
        self.acceptance = statistics["acceptance"]
        self.divergent = statistics["divergent"]
        self.leaps = statistics["leaps"]
        self.depth = statistics["depth"]
        self.energy = statistics["energy"]
        self.step_size = step_size
        self.variances = variances

    @property
    def draws(self) -> Any:
        """The draws in the container of the parameters, each leaf with the leading axes (chains, draws)."""
        return with_leading_axes(self._flat, self.vectors)

    @property
    def divergences(self) -> int:
        """The number of divergent trajectories."""
        return int(np.sum(self.divergent))

    @lazy
    def rhat(self) -> Any:
        """The split, rank-normalised R-hat of each parameter: near 1 where the chains agree."""
        return self._each(r_hat)

    @lazy
    def ess(self) -> Any:
        """The effective sample size of each parameter for the centre of its distribution."""
        return self._each(bulk_ess)

    def _each(self, function: Callable[[Any], float]) -> Any:
        return self._flat.users(self._numbers(function))

    def _numbers(self, function: Callable[[Any], float]) -> Any:
        return np.array([function(self.vectors[:, :, k]) for k in range(self._flat.size)])

    def summary(self) -> str:
        """Return a table of means, standard deviations, Monte Carlo errors, quantiles, and diagnostics.

        Returns:
            The text, with a row for each element of the parameters.

        Example:
            >>> from wengert.fit import nuts
            >>> from wengert.random import key
            >>> print(
            ...     nuts(lambda x: -0.5 * x**2, 0.0, key(0), draws=200, warmup=200).summary()
            ... )  # doctest: +ELLIPSIS
            4 chains of 200 draws, ...
        """
        chains, count, _ = self.vectors.shape
        title = (
            f"{chains} chains of {count} draws, {self.divergences} divergent; acceptance "
            f"{np.mean(self.acceptance):.2f}, {np.mean(self.leaps):.1f} leapfrog steps a draw"
        )
        columns = ["parameter", "mean", "sd", "mc error", "5%", "50%", "95%", "ess bulk", "ess tail", "r-hat"]
        pooled = self.vectors.reshape(-1, self._flat.size)
        deviations = np.std(pooled, axis=0, ddof=1)
        errors = deviations / np.sqrt(self._numbers(mean_ess))
        numbers = [
            np.mean(pooled, axis=0),
            deviations,
            errors,
            *np.quantile(pooled, [0.05, 0.5, 0.95], axis=0),
        ]
        sizes, reductions = [self._numbers(bulk_ess), self._numbers(tail_ess)], self._numbers(r_hat)
        rows = [
            [
                name,
                *[number(float(column[k])) for column in numbers],
                *[f"{column[k]:.0f}" for column in sizes],
                f"{reductions[k]:.3f}",
            ]
            for k, name in enumerate(self.names)
        ]
        return f"{title}\n\n{table(columns, rows)}"

    __str__ = __repr__ = summary

    def to_arviz(self) -> Any:
        """Return the draws as ArviZ's data, with the statistics of the trajectories under ArviZ's names.

        Returns:
            ArviZ's `InferenceData`; from ArviZ 1 on, xarray's `DataTree`.

        Raises:
            MissingExtraError: ArviZ is not installed.
        """
        try:
            import arviz  # pyright: ignore[reportMissingImports]
        except ImportError:
            hint = "pip install 'wengert[arviz]'"
            raise MissingExtraError(message("to_arviz", "ArviZ is needed", hint=hint)) from None
        posterior = dict(zip(leaf_names(self._flat), tree.leaves(self.draws), strict=True))
        statistics = {
            "acceptance_rate": self.acceptance,
            "diverging": self.divergent,
            "energy": self.energy,
            "lp": self.logdensity,
            "n_steps": self.leaps,
            "tree_depth": self.depth,
        }
        groups = {"posterior": posterior, "sample_stats": statistics}
        make, version = cast("Any", arviz.from_dict), str(arviz.__version__)
        return make(**groups) if version.startswith("0.") else make(groups)
