"""`nuts` and `hmc`: Hamiltonian Monte Carlo, with all chains in one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.scan import scan
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.progress import Bar
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.fit.adaptation import Adapted, adapted, begun, phases
from wengert.fit.metrics import Dense, Diagonal
from wengert.fit.mode import TRIAL_ERRORS
from wengert.fit.samples import Samples
from wengert.fit.tables import element_names
from wengert.fit.trajectories import Moved, Place, Slope, Transition, no_u_turn_transition, static_transition
from wengert.optimize.flat import Flat
from wengert.optimize.passes import Passes, passes_of
from wengert.optimize.scipys import as_tuple
from wengert.random.keys import fold_in, split
from wengert.random.sampling import uniform

_CHUNK = 100
"""The most draws of one call of the program, between which progress shows."""
_TRIES = 20
"""The number of starts that are tried; the last is the user's."""
_STATISTICS = ("logdensity", "acceptance", "divergent", "leaps", "depth", "energy")
"""The statistics of a draw, in the order of `_row`."""


class _Chain(NamedTuple):
    """The state of a chain between two draws."""

    place: Place
    adapted: Adapted


@with_callbacks
def nuts(
    logdensity: Callable[..., Any],
    start: Any,
    key: Any,
    *,
    args: Any = (),
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 1000,
    target: float = 0.8,
    dense: bool = False,
    max_depth: int = 10,
    jitter: float = 1.0,
    progress: bool | None = None,
) -> Samples:
    """Draw from a density by the No-U-Turn sampler.

    A trajectory of Hamilton's equations doubles until it turns back, and a point of it, chosen with the weights
    ``exp(-energy)``, is the next draw (Hoffman and Gelman, 2014; Betancourt, 2017). In the warm-up dual averaging finds
    the step size, and growing windows find the variances of the parameters, which are the inverse masses, as in Stan.
    All chains run in one compiled program, in float64. A point where the log density is not a number, or
    raises an error of its values (a singular matrix, a domain, a loop that does not end), is never drawn, and its
    trajectory counts as divergent.

    Args:
        logdensity: takes the parameters and ``args``, and returns the logarithm of the density, which need not be
            normalised, as one number; for all real numbers, so draw a restricted parameter by `positive`, `bounded`,
            `ordered` or `simplex`.
        start: parameters near which all chains start: a number, an array, or any container of them.
        key: of `wengert.random`. The same key gives the same draws.
        args: further arguments of ``logdensity``, a tuple.
        chains: the number of chains.
        draws: the number of draws of each chain.
        warmup: the number of draws before these, for the adaptation.
        target: the mean probability of acceptance that the step size aims at; nearer 1 it is smaller.
        dense: whether the inverse masses are the covariance matrix of the parameters and not their variances alone;
            for parameters with strong correlations. A leap then costs two products with this matrix more.
        max_depth: the most doublings of a trajectory.
        jitter: the largest distance of a chain's start from ``start`` in each element, drawn uniformly; nearer where
            the density is not finite.
        progress: whether to show a bar once the work takes a second; by default in a terminal or a notebook.

    Returns:
        `Samples`: ``draws``, ``rhat``, ``ess``, ``divergences``, ``map``, ``summary``, ``to_arviz``; print it as a
        table, with what the chains warn of.

    Raises:
        ArgumentError: the log density or its gradient is not finite at the start, or a number is out of range.
        ConcreteError: the log density needs known numbers, for example for Python's ``if``.
        DtypeError: a parameter is not a real number.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> banana = lambda p: -0.5 * p["x"] ** 2 - 0.5 * (p["y"] - p["x"] ** 2) ** 2
        >>> samples = nuts(banana, {"x": 0.0, "y": 0.0}, key(0))
        >>> samples.draws["x"].shape, bool(abs(np.mean(samples.draws["y"]) - 1.0) < 0.2)
        ((4, 1000), True)
    """
    max_depth = _count("nuts", "max_depth", max_depth)
    transition = no_u_turn_transition(max_depth)
    sampler = _Sampler("nuts", logdensity, start, args, transition, max_depth, target, dense)
    return sampler.draw(key, chains, draws, warmup, jitter, progress)


@with_callbacks
def hmc(
    logdensity: Callable[..., Any],
    start: Any,
    key: Any,
    *,
    args: Any = (),
    leaps: int = 20,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 1000,
    target: float = 0.8,
    dense: bool = False,
    jitter: float = 1.0,
    progress: bool | None = None,
) -> Samples:
    """Draw from a density by Hamiltonian Monte Carlo with trajectories of 1, 2, ... or ``leaps`` steps.

    The number of steps is drawn anew each time, which keeps chains from periodic orbits (Neal, "MCMC using Hamiltonian
    dynamics", 2011). All else is as in `nuts`, which needs no number of steps.

    Args:
        logdensity: as for `nuts`, and so are the other arguments.
        start: the parameters.
        key: of `wengert.random`.
        args: further arguments of ``logdensity``.
        leaps: the most leapfrog steps of a trajectory.
        chains: the number of chains.
        draws: the number of draws of each chain.
        warmup: the number of draws before these.
        target: the mean probability of acceptance.
        dense: whether the inverse masses are a matrix.
        jitter: the largest distance of a chain's start from ``start``.
        progress: whether to show a bar.

    Returns:
        `Samples`.

    Raises:
        WengertError: as `nuts` does.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> samples = hmc(lambda x: -0.5 * np.sum(x**2), np.zeros(2), key(1), draws=500)
        >>> samples.draws.shape
        (4, 500, 2)
    """
    leaps = _count("hmc", "leaps", leaps)
    sampler = _Sampler("hmc", logdensity, start, args, static_transition(leaps), leaps, target, dense)
    return sampler.draw(key, chains, draws, warmup, jitter, progress)


class _Sampler:
    """Chains of one transition for one density, as compiled programs; for a function that the user compiled, once.

    Args:
        operation: the name for messages.
        logdensity: takes the parameters and ``args``.
        start: a container of parameters.
        args: further arguments.
        transition: the step of a chain.
        limit: of the transition: the most doublings of `nuts`, the most leaps of `hmc`.
        target: of the mean acceptance.
        dense: whether the masses are a matrix.
    """

    def __init__(
        self,
        operation: str,
        logdensity: Callable[..., Any],
        start: Any,
        args: Any,
        transition: Transition,
        limit: int,
        target: float,
        dense: bool,
    ) -> None:
        if not 0.0 < target < 1.0:
            raise ArgumentError(message(operation, "target must be between 0 and 1", str(target)))
        self._operation, self._limit = operation, limit
        self._flat = Flat(operation, start, "start")
        self._metric = (Dense if dense else Diagonal).unit(self._flat.size)
        passes, self._arrays = passes_of(operation, logdensity, self._flat, as_tuple(args))
        self._slopes = passes.get(f"{operation}: slopes", lambda: _slopes(passes))
        name = f"{operation}: {limit} {target} {type(self._metric).__name__}"
        self._run = passes.get(name, lambda: _chunk(passes, transition, target))
        self._transition, self._target = transition, target

    def draw(
        self, key: Any, chains: int, draws: int, warmup: int, jitter: float, progress: bool | None
    ) -> Samples:
        """Return the draws of all chains."""
        chains = _count(self._operation, "chains", chains)
        draws, warmup = (
            _count(self._operation, "draws", draws, 4),
            _count(self._operation, "warmup", warmup, 0),
        )
        for_starts, for_chains = split(key)
        states = self._starts(for_starts, chains, jitter)
        keys, total = split(for_chains, chains), warmup + draws
        chunks = -(-total // _CHUNK)
        length = -(-total // chunks)  # of each chunk; the draws beyond the last are left out
        plan, pieces = phases(warmup, draws + length), []
        with Bar(self._operation, total, progress) as bar:
            for first in range(0, total, length):
                numbers = np.arange(first, first + length)
                phase = plan[first : first + length]
                states, piece = self._drawn(states, keys, numbers, phase)
                pieces.append(piece)
                bar.show(min(first + length, total))
        moved = [np.concatenate(parts)[:total] for parts in zip(*pieces, strict=True)]
        vectors, *figures = [np.swapaxes(part, 0, 1)[:, warmup:].copy() for part in moved]
        statistics: dict[str, Any] = dict(zip(_STATISTICS, figures, strict=True))
        statistics["warmup_leaps"] = np.sum(moved[1 + _STATISTICS.index("leaps")][:warmup], axis=0)
        statistics["step_size"] = states.adapted.step
        inverse_mass, order = states.adapted.metric.inverse_mass, self._flat.written_order
        is_dense = inverse_mass.ndim == 3
        statistics["inverse_mass"] = inverse_mass[(..., *np.ix_(*[order] * (1 + is_dense)))]
        return Samples(self._flat, vectors, statistics, self._limit)

    def _drawn(self, states: _Chain, keys: Any, numbers: Any, plan: Any) -> tuple[_Chain, Any]:
        """Return the states after some draws, and the draws.

        An error at a trial point ends the compiled program. Then each draw of each chain is one program, and that of
        the draw with the error is its Python, where such a point has the density 0.
        """
        try:
            return self._run(states, keys, numbers, plan, self._arrays)
        except TRIAL_ERRORS:
            pass
        pieces = list[Any]()
        if len(keys) > 1:
            chains = list[_Chain]()
            for k in range(len(keys)):
                chain = _each(lambda part, k=k: part[k : k + 1], states)
                chain, piece = self._drawn(chain, keys[k : k + 1], numbers, plan)
                chains.append(chain)
                pieces.append(piece)
            return _joined(chains, 0), _joined(pieces, 1)
        if len(numbers) > 1:
            for k in range(len(numbers)):
                states, piece = self._drawn(states, keys, numbers[k : k + 1], plan[k : k + 1])
                pieces.append(piece)
            return states, _joined(pieces, 0)
        alone = _each(lambda part: part[0], states)
        with np.errstate(all="ignore"):
            moved, row = _advanced(
                self._transition, self._target, self._tried, alone, keys[0], numbers[0], plan[0]
            )
        moved = _each(lambda part: np.asarray(part)[None], moved)
        return moved, _each(lambda part: np.asarray(part)[None, None], row)

    def _tried(self, position: Any) -> tuple[Any, Any]:
        """Return the log density and its gradient at one point; minus infinity where there is an error."""
        try:
            with np.errstate(all="ignore"):
                values, gradients = self._slopes(position[None], self._arrays)
        except TRIAL_ERRORS:
            return np.float64(-np.inf), np.zeros(position.shape)
        return values[0], gradients[0]

    def _slopes_at(self, positions: Any, *, is_last: bool) -> tuple[Any, Any]:
        """Return log densities and gradients at the starts; the user's own start, which comes last, may raise."""
        try:
            with np.errstate(all="ignore"):
                return self._slopes(positions, self._arrays)
        except TRIAL_ERRORS:
            if is_last:
                raise
        values, gradients = zip(*map(self._tried, positions), strict=True)
        return np.stack(values), np.stack(gradients)

    def _starts(self, key: Any, chains: int, jitter: float) -> _Chain:
        """Return the first states, around the user's start; a half as far from it where the density is not finite."""
        flat, distance, waiting = self._flat, float(jitter), np.full(chains, True)
        centre = flat.start
        positions, values, gradients = np.zeros((chains, flat.size)), np.full(chains, np.nan), np.empty(0)
        for trial in range(_TRIES):
            moves = distance * uniform(fold_in(key, trial), positions.shape, -1.0, 1.0)
            positions = np.where(waiting[:, None], centre + moves, positions)
            values, gradients = self._slopes_at(positions, is_last=trial == _TRIES - 1)
            waiting = ~(np.isfinite(values) & np.all(np.isfinite(gradients), axis=1))
            if not np.any(waiting):
                first = tree.map_tree(
                    lambda part: np.broadcast_to(part, (chains, *np.shape(part))).copy(), begun(self._metric)
                )
                return _Chain(Place(positions, values, gradients), first)
            distance = distance / 2.0 if trial < _TRIES - 2 else 0.0
        raise self._not_finite(values[waiting][0], gradients[waiting][0])

    def _not_finite(self, value: Any, gradient: Any) -> ArgumentError:
        requirement, got = "the log density and its gradient must be finite at the start", f"{value:g}"
        if np.isfinite(value):
            worst = int(np.flatnonzero(~np.isfinite(gradient))[0])
            got = f"a gradient of {gradient[worst]:g} for {element_names(self._flat)[worst]}"
        hint = "start elsewhere, or see whether the data hold NaN"
        return ArgumentError(message(self._operation, requirement, got, hint))


def _chunk(passes: Passes, transition: Transition, target: float) -> Callable[..., Any]:
    """Return the function from the states of all chains to those after some draws, and the draws."""

    def run(states: _Chain, keys: Any, numbers: Any, plan: Any, arrays: Any) -> Any:
        slope = _slope(passes, arrays)

        def draw(states: _Chain, row: Any) -> Any:
            number, phase = row

            def advance(state: _Chain, key: Any) -> Any:
                return _advanced(transition, target, slope, state, key, number, phase)

            return vmap(advance)(states, keys)

        return scan(draw, states, (numbers, plan))

    return run


def _advanced(
    transition: Transition, target: float, slope: Slope, state: _Chain, key: Any, number: Any, phase: Any
) -> tuple[_Chain, Any]:
    """Return the state of a chain after a draw, and the draw."""
    now = state.adapted
    moved = transition(slope, fold_in(key, number), state.place, now.step, now.metric)
    following = adapted(now, phase, moved.place.position, moved.acceptance, target)
    return _Chain(moved.place, following), _row(moved)


def _each(function: Callable[[Any], Any], parts: Any) -> Any:
    return tree.map_tree(function, parts)


def _joined(parts: Any, axis: int) -> Any:
    return tree.map_tree(lambda *leaves: np.concatenate(leaves, axis), *parts)


def _slopes(passes: Passes) -> Callable[..., Any]:
    def slopes(positions: Any, arrays: Any) -> Any:
        return vmap(_slope(passes, arrays))(positions)

    return slopes


def _slope(passes: Passes, arrays: Any) -> Slope:
    return value_and_grad(lambda position: passes.scalar(position, arrays))


def _row(moved: Moved) -> tuple[Any, ...]:
    return moved.place.position, moved.place.logdensity, *moved[1:]


def _count(operation: str, name: str, count: Any, least: int = 1) -> int:
    """Return a count as an integer.

    Raises:
        ArgumentError: the count is not an integer, or too small.
    """
    try:
        number = index(count)
    except TypeError:
        number = None
    if number is None or number < least:
        raise ArgumentError(message(operation, f"{name} must be an integer of at least {least}", str(count)))
    return number
