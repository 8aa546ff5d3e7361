"""The draws of Markov chains, with their diagnostics and a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.errors import MissingExtraError, message
from wengert.engine.core.lazy import lazy
from wengert.engine.core.markup import element, in_notebook, short_table
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.callbacks import followed
from wengert.fit.diagnostics import bulk_ess, mean_ess, r_hat, tail_ess
from wengert.fit.tables import element_names, leaf_names, number, table, written_names
from wengert.optimize.flat import Flat
from wengert.optimize.passes import Pass

_LARGEST_REDUCTION, _LEAST_SIZE = 1.01, 100
"""Of R-hat, and of the effective sample size for each chain (Vehtari and others, 2021)."""


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
        names: a name for each element of the parameters, in the order in which the start has them.
        logdensity: of each draw, of shape (chains, draws).
        acceptance: the mean probability to accept the points of each trajectory.
        divergent: whether each trajectory ended where the error of its energy was above 1000, or the density failed.
        leaps: the number of leapfrog steps of each trajectory.
        depth: the number of doublings of each trajectory; 0 for `hmc`.
        energy: the energy at the beginning of each trajectory.
        warmup_leaps: the number of leapfrog steps in the warm-up of each chain.
        step_size: of each chain.
        inverse_mass: the variances of the parameters in each chain's warm-up, of shape (chains, size), or with
            ``dense`` their covariances, of shape (chains, size, size), in the order in which the start has them.
    """

    def __init__(self, flat: Flat, vectors: Any, statistics: dict[str, Any], limit: int) -> None:
        self._flat, self._statistics, self._limit = flat, statistics, limit
        self._vectors, self._order = vectors, flat.written_order
        self.vectors = vectors[:, :, self._order]
        self.names = written_names(flat)
        self.logdensity = statistics["logdensity"]
        self.acceptance = statistics["acceptance"]
        self.divergent = statistics["divergent"]
        self.leaps = statistics["leaps"]
        self.depth = statistics["depth"]
        self.energy = statistics["energy"]
        self.warmup_leaps = statistics["warmup_leaps"]
        self.step_size = statistics["step_size"]
        self.inverse_mass = statistics["inverse_mass"]

    @property
    def draws(self) -> Any:
        """The draws in the container of the parameters, each leaf with the leading axes (chains, draws)."""
        return with_leading_axes(self._flat, self._vectors)

    @property
    def divergences(self) -> int:
        """The number of divergent trajectories."""
        return int(np.sum(self.divergent))

    @property
    def rhat(self) -> Any:
        """The split, rank-normalised R-hat of each parameter: near 1 where the chains agree."""
        return self._flat.users(self._reductions)

    @property
    def ess(self) -> Any:
        """The effective sample size of each parameter for the centre of its distribution."""
        return self._flat.users(self._sizes)

    @lazy
    def _reductions(self) -> Any:
        return self._numbers(r_hat)

    @lazy
    def _sizes(self) -> Any:
        return self._numbers(bulk_ess)

    def _numbers(self, function: Callable[[Any], float]) -> Any:
        return np.array([function(self._vectors[:, :, k]) for k in range(self._flat.size)])

    @property
    def warnings(self) -> list[str]:
        """Sentences on what makes the draws doubtful, and what to change; the table ends with them."""
        doubts, names = list[str](), element_names(self._flat)
        count = self.divergent.size
        if self.divergences:
            advice = "raise target, or write the density in other parameters"
            doubts.append(f"{self.divergences} of {count} trajectories diverged: {advice}.")
        full = int(np.sum(self.depth >= self._limit))
        if full and np.any(self.depth):
            advice = "try dense=True, raise max_depth, or see whether the integral of the density is finite"
            doubts.append(f"{full} of {count} trajectories reached max_depth={self._limit}: {advice}.")
        worst = int(np.argmax(np.where(np.isnan(self._reductions), np.inf, self._reductions)))
        if not self._reductions[worst] <= _LARGEST_REDUCTION:
            got = (
                f"r-hat of {names[worst]} is {self._reductions[worst]:.3f}, not at most {_LARGEST_REDUCTION}"
            )
            doubts.append(f"{got}: the chains disagree; take more draws and warmup.")
        worst, least = int(np.argmin(self._sizes)), _LEAST_SIZE * self.vectors.shape[0]
        if self._sizes[worst] < least:
            got = f"ess bulk of {names[worst]} is {self._sizes[worst]:.0f}, not at least {least}"
            doubts.append(f"{got}: its diagnostics are uncertain; take more draws.")
        return doubts

    def map(self, function: Callable[[Any], Any]) -> Samples:
        """Return the draws of a function of the parameters, with their own diagnostics.

        Args:
            function: takes the parameters of one draw, and returns a number, an array, or a container of them; the mean
                of a truth value is a probability.

        Returns:
            The `Samples` of the function's results, with the statistics of these trajectories.

        Example:
            >>> from wengert.fit import nuts
            >>> from wengert.random import key
            >>> samples = nuts(lambda z: -0.5 * np.sum(z**2), np.zeros(2), key(0), draws=200, warmup=200)
            >>> radius = samples.map(lambda z: {"radius": np.sqrt(np.sum(z**2))})
            >>> radius.draws["radius"].shape, radius.names
            ((4, 200), ['radius'])
        """

        def numbers(draw: Any) -> Any:
            result = followed(function)(self._flat.container(draw))
            return tree.map_tree(lambda leaf: 1.0 * leaf, result)

        draws = self._vectors.reshape(-1, self._flat.size)
        flat = Flat("map", numbers(draws[0]), "output")
        program = Pass(vmap(lambda draw: flat.vector(numbers(draw), "output")))
        vectors = np.asarray(program(draws)).reshape(*self.vectors.shape[:2], flat.size)
        return Samples(flat, vectors, self._statistics, self._limit)

    def _parts(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the title, the names of the columns, and the rows."""
        chains, count, _ = self.vectors.shape
        title = (
            f"{chains} chains of {count} draws, {self.divergences} divergent; acceptance "
            f"{np.mean(self.acceptance):.2f}, {np.mean(self.leaps):.1f} leapfrog steps a draw"
        )
        pooled = self.vectors.reshape(-1, self._flat.size)
        deviations = np.std(pooled, axis=0, ddof=1)
        errors = deviations / np.sqrt(self._numbers(mean_ess)[self._order])
        quantiles = np.quantile(pooled, [0.05, 0.5, 0.95], axis=0)
        numbers = [np.mean(pooled, axis=0), deviations, errors, *quantiles]
        digits = [errors, errors, np.full(errors.shape, np.inf), *[deviations] * 3]
        columns = ["parameter", "mean", "sd", "mc error", "5%", "50%", "95%", "ess bulk", "ess tail", "r-hat"]
        cells = [
            self.names,
            *[
                [number(float(value), float(error)) for value, error in zip(column, errors, strict=True)]
                for column, errors in zip(numbers, digits, strict=True)
            ],
            *[
                [f"{size:.0f}" for size in sizes[self._order]]
                for sizes in (self._sizes, self._numbers(tail_ess))
            ],
            [f"{reduction:.3f}" for reduction in self._reductions[self._order]],
        ]
        return title, columns, [list(row) for row in zip(*cells, strict=True)]

    def summary(self) -> str:
        """Return a table of means, standard deviations, Monte Carlo errors, quantiles, and diagnostics.

        Returns:
            The text, with a row for each element of the parameters, and the `warnings`.

        Example:
            >>> from wengert.fit import nuts
            >>> from wengert.random import key
            >>> print(
            ...     nuts(lambda x: -0.5 * x**2, 0.0, key(0), draws=200, warmup=200).summary()
            ... )  # doctest: +ELLIPSIS
            4 chains of 200 draws, ...
        """
        title, columns, rows = self._parts()
        return "\n\n".join(filter(None, [title, table(columns, rows), "\n".join(self.warnings)]))

    __str__ = __repr__ = summary

    def _repr_html_(self) -> str:
        return in_notebook(short_table(*self._parts()), *(element("p", text) for text in self.warnings))

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
