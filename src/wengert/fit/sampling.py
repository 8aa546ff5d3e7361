"""`nuts` and `hmc`: Hamiltonian Monte Carlo, with all chains in one compiled program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from wengert.control.scan import scan
from wengert.core.errors import ArgumentError, message
from wengert.fit.adaptation import Adapted, adapted, begun, phases
from wengert.fit.samples import Samples
from wengert.fit.trajectories import Moved, Place, Slope, Transition, no_u_turn_transition, static_transition
from wengert.optimize.flat import Flat
from wengert.optimize.passes import Passes, passes_of
from wengert.random.keys import fold_in, split
from wengert.random.sampling import uniform
from wengert.transforms.batching import vmap
from wengert.transforms.reverse_mode import value_and_grad

_CHUNK = 100
"""The most draws of one call of the program, between which progress shows."""
_TRIES = 20
"""How often a start is drawn anew; the last is the user's."""
_STATISTICS = ("logdensity", "acceptance", "divergent", "leaps", "depth", "energy")
"""What a draw comes with, in the order of `_row`."""


class _Chain(NamedTuple):
    """The state of a chain between two draws."""

    place: Place
    adapted: Adapted


def nuts(
    logdensity: Callable[..., Any],
    start: Any,
    key: Any,
    *,
    args: tuple[Any, ...] = (),
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 1000,
    target: float = 0.8,
    max_depth: int = 10,
    jitter: float = 1.0,
    progress: bool | None = None,
) -> Samples:
    """Draw from a density by the No-U-Turn sampler.

    A trajectory of Hamilton's equations doubles until it turns back, and a point of it, chosen with the weights
    ``exp(-energy)``, is the next draw (Hoffman and Gelman, 2014; Betancourt, 2017). In the warm-up dual averaging finds
    the step size, and growing windows find the variances of the parameters, which are the inverse masses, as in Stan.
    All chains run in one compiled program. All computation is in float64.

    Args:
        logdensity: takes the parameters and ``args``, and returns the logarithm of the density, which need not be
            normalised, as one number; for all real numbers, so write a positive parameter as an exponential, and add
            its logarithm to the density.
        start: parameters near which all chains start: a number, an array, or any container of them.
        key: of `wengert.random`. The same key gives the same draws.
        args: further arguments of ``logdensity``.
        chains: the number of chains.
        draws: the number of draws of each chain.
        warmup: the number of draws before these, for the adaptation.
        target: the mean probability of acceptance that the step size aims at; nearer 1 it is smaller.
        max_depth: the most doublings of a trajectory.
        jitter: the largest distance of a chain's start from ``start`` in each element, drawn uniformly; nearer where
            the density is not finite.
        progress: whether to show a bar; by default on a terminal.

    Returns:
        `Samples`: ``draws``, ``rhat``, ``ess``, ``divergences``, ``step_size``, ``acceptance``, ``summary``,
        ``to_arviz``.

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
    _check_count("nuts", "max_depth", max_depth)
    sampler = _Sampler("nuts", logdensity, start, args, no_u_turn_transition, max_depth, target)
    return sampler.draw(key, chains, draws, warmup, jitter, progress)


def hmc(
    logdensity: Callable[..., Any],
    start: Any,
    key: Any,
    *,
    args: tuple[Any, ...] = (),
    leaps: int = 20,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 1000,
    target: float = 0.8,
    jitter: float = 1.0,
    progress: bool | None = None,
) -> Samples:
    """Draw from a density by Hamiltonian Monte Carlo with trajectories of 1, 2, ... or ``leaps`` steps.

    The number of steps is drawn anew each time, which keeps chains from periodic orbits (Neal, "MCMC using Hamiltonian
    dynamics", 2011). The adaptation is that of `nuts`, which needs no number of steps.

    Args:
        logdensity: as for `nuts`.
        start: as for `nuts`.
        key: of `wengert.random`. The same key gives the same draws.
        args: further arguments of ``logdensity``.
        leaps: the most leapfrog steps of a trajectory.
        chains: the number of chains.
        draws: the number of draws of each chain.
        warmup: the number of draws before these, for the adaptation.
        target: the mean probability of acceptance that the step size aims at.
        jitter: as for `nuts`.
        progress: whether to show a bar; by default on a terminal.

    Returns:
        `Samples`.

    Raises:
        ArgumentError: the log density or its gradient is not finite at the start, or a number is out of range.
        ConcreteError: the log density needs known numbers, for example for Python's ``if``.
        DtypeError: a parameter is not a real number.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> samples = hmc(lambda x: -0.5 * np.sum(x**2), np.zeros(2), key(1), draws=500)
        >>> samples.draws.shape
        (4, 500, 2)
    """
    _check_count("hmc", "leaps", leaps)
    sampler = _Sampler("hmc", logdensity, start, args, static_transition, leaps, target)
    return sampler.draw(key, chains, draws, warmup, jitter, progress)


class _Sampler:
    """Chains of one transition for one density, as compiled programs; for a function that the user compiled, once.

    Args:
        operation: the name for messages.
        logdensity: takes the parameters and ``args``.
        start: a container of parameters.
        args: further arguments.
        transition: the step of a chain.
        setting: of the transition.
        target: of the mean acceptance.
    """

    def __init__(
        self,
        operation: str,
        logdensity: Callable[..., Any],
        start: Any,
        args: tuple[Any, ...],
        transition: Callable[[int], Transition],
        setting: int,
        target: float,
    ) -> None:
        if not 0.0 < target < 1.0:
            raise ArgumentError(message(operation, "target must be between 0 and 1", str(target)))
        self._operation = operation
        self._flat = Flat(operation, start, "start")
        passes, self._arrays = passes_of(operation, logdensity, self._flat, args)
        self._slopes = passes.get(f"{operation}: slopes", lambda: _slopes(passes))
        name = f"{operation}: {setting} {target}"
        self._run = passes.get(name, lambda: _chunk(passes, transition(setting), target))

    def draw(
        self, key: Any, chains: int, draws: int, warmup: int, jitter: float, progress: bool | None
    ) -> Samples:
        """Return the draws of all chains."""
        for name, count, least in (("chains", chains, 1), ("draws", draws, 4), ("warmup", warmup, 0)):
            _check_count(self._operation, name, count, least)
        for_starts, for_chains = split(key)
        states = self._starts(for_starts, chains, jitter)
        keys, total = split(for_chains, chains), warmup + draws
        length = -(
            -total // -(-total // _CHUNK)
        )  # chunks of one length; the draws beyond the last are left out
        plan, pieces = phases(warmup, draws + length), []
        with _bar(self._operation, total, progress) as show:
            for first in range(0, total, length):
                numbers = np.arange(first, first + length)
                phase = plan[first : first + length]
                states, piece = self._run(states, keys, numbers, phase, self._arrays)
                pieces.append(piece)
                show(min(first + length, total))
        moved = [np.concatenate(parts)[warmup:total] for parts in zip(*pieces, strict=True)]
        vectors, *rest = [np.swapaxes(part, 0, 1).copy() for part in moved]
        statistics: dict[str, Any] = dict(zip(_STATISTICS, rest, strict=True))
        return Samples(self._flat, vectors, statistics, states.adapted.step, states.adapted.variances)

    def _starts(self, key: Any, chains: int, jitter: float) -> _Chain:
        """Return the first states, around the user's start; a half as far from it where the density is not finite."""
        flat, distance, waiting = self._flat, float(jitter), np.full(chains, True)
        centre = flat.start
        positions, values = np.zeros((chains, flat.size)), np.full(chains, np.nan)
        for trial in range(_TRIES):
            moves = distance * uniform(fold_in(key, trial), positions.shape, -1.0, 1.0)
            positions = np.where(waiting[:, None], centre + moves, positions)
            with np.errstate(all="ignore"):
                values, gradients = self._slopes(positions, self._arrays)
            waiting = ~(np.isfinite(values) & np.all(np.isfinite(gradients), axis=1))
            if not np.any(waiting):
                first = [np.broadcast_to(part, (chains, *np.shape(part))).copy() for part in begun(flat.size)]
                return _Chain(Place(positions, values, gradients), Adapted(*first))
            distance = distance / 2.0 if trial < _TRIES - 2 else 0.0
        requirement = "the log density and its gradient must be finite at the start"
        got = f"{values[waiting][0]:g}"
        raise ArgumentError(message(self._operation, requirement, got, "start elsewhere"))


def _chunk(passes: Passes, transition: Transition, target: float) -> Callable[..., Any]:
    """Return the function from the states of all chains to those after some draws, and the draws."""

    def run(states: _Chain, keys: Any, numbers: Any, plan: Any, arrays: Any) -> Any:
        slope = _slope(passes, arrays)

        def draw(states: _Chain, row: Any) -> Any:
            number, phase = row

            def advance(state: _Chain, key: Any) -> Any:
                now = state.adapted
                moved = transition(slope, fold_in(key, number), state.place, now.step, now.variances)
                following = adapted(now, phase, moved.place.position, moved.acceptance, target)
                return _Chain(moved.place, following), _row(moved)

            return vmap(advance)(states, keys)

        return scan(draw, states, (numbers, plan))

    return run


def _slopes(passes: Passes) -> Callable[..., Any]:
    def slopes(positions: Any, arrays: Any) -> Any:
        return vmap(_slope(passes, arrays))(positions)

    return slopes


def _slope(passes: Passes, arrays: Any) -> Slope:
    return value_and_grad(lambda position: passes.scalar(position, arrays))


def _row(moved: Moved) -> tuple[Any, ...]:
    return moved.place.position, moved.place.logdensity, *moved[1:]


def _check_count(operation: str, name: str, count: int, least: int = 1) -> None:
    if count < least:
        raise ArgumentError(message(operation, f"{name} must be at least {least}", str(count)))


@contextmanager
def _bar(operation: str, total: int, progress: bool | None) -> Generator[Callable[[int], None], None, None]:
    """Show a bar on stderr: if asked for, or by default if this is a terminal."""
    if not (progress or (progress is None and sys.stderr and sys.stderr.isatty())):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=progress is None) as bars:
        task = bars.add_task(operation, total=total)
        yield lambda done: bars.update(task, completed=done)
