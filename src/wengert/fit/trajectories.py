"""Hamiltonian trajectories: the leapfrog, the No-U-Turn sampler's tree as one loop, and paths of fixed length.

The energy of a position q with the momentum p is ``-log density(q) + p . v / 2`` with the velocity ``v = M^-1 p``
for the mass matrix M.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.while_loop import while_loop
from wengert.engine.ops.comparison import where
from wengert.fit.metrics import Metric
from wengert.random.keys import fold_in, split
from wengert.random.sampling import normal, randint, uniform

_DIVERGENT = 1000.0
"""The error of the energy behind which a trajectory counts as divergent (Stan's)."""


class Place(NamedTuple):
    """A position with the log density and its gradient there."""

    position: Any
    logdensity: Any
    gradient: Any


class Phase(NamedTuple):
    """A place with a momentum and the velocity."""

    place: Place
    momentum: Any
    velocity: Any


class Moved(NamedTuple):
    """The end of a transition of a Markov chain, and its statistics."""

    place: Place
    acceptance: Any
    """The mean probability to accept the points of the trajectory."""
    is_divergent: Any
    leaps: Any
    depth: Any
    energy: Any


Slope = Callable[[Any], tuple[Any, Any]]
"""A log density with its gradient."""
Transition = Callable[[Slope, Any, Place, Any, Metric], Moved]
"""Takes a slope, a key, a place, the step size and the masses."""


def phase_of(place: Place, momentum: Any, metric: Metric) -> Phase:
    """Return a place with a momentum."""
    return Phase(place, momentum, metric.velocity(momentum))


def drawn_phase(key: Any, place: Place, metric: Metric) -> Phase:
    """Return a place with a momentum from the normal distribution of the masses."""
    return phase_of(place, metric.momentum(normal(key, place.position.shape)), metric)


def leapfrog(slope: Slope, phase: Phase, step: Any, metric: Metric) -> Phase:
    """Return a point of phase space after one step of the leapfrog; the step may be negative."""
    half = phase.momentum + 0.5 * step * phase.place.gradient
    position = phase.place.position + step * metric.velocity(half)
    logdensity, gradient = slope(position)
    return phase_of(Place(position, logdensity, gradient), half + 0.5 * step * gradient, metric)


def energy_of(phase: Phase) -> Any:
    """Return the energy; infinite where it is not a number, or the density is infinite."""
    energy = 0.5 * np.sum(phase.velocity * phase.momentum) - phase.place.logdensity
    return where(np.isfinite(energy), energy, np.inf)


# -- trajectories of fixed length ------------------------------------------------------------------------


def static_transition(most: int) -> Transition:
    """Return the transition of Hamiltonian Monte Carlo with 1, 2, ... or ``most`` leaps, drawn anew each time.

    A random number of leaps keeps the chain from periodic orbits (Neal, "MCMC using Hamiltonian dynamics", 2011).
    """

    def transition(slope: Slope, key: Any, place: Place, step: Any, metric: Metric) -> Moved:
        for_momentum, for_length, for_choice = split(key, 3)
        first = drawn_phase(for_momentum, place, metric)
        start, count = energy_of(first), randint(for_length, (), 1, most + 1)

        def onward(state: tuple[Any, Phase]) -> Any:
            done, phase = state
            return done + 1, leapfrog(slope, phase, step, metric)

        _, last = while_loop(lambda state: state[0] < count, onward, (np.int64(0), first))
        error = energy_of(last) - start
        acceptance = np.exp(np.minimum(0.0, -error))
        accepted = uniform(for_choice, ()) < acceptance
        chosen = chosen_place(accepted, last.place, place)
        return Moved(chosen, acceptance, error > _DIVERGENT, count, np.int64(0), start)

    return transition


def chosen_place(condition: Any, first: Place, second: Place) -> Place:
    """Return one of two places."""
    return Place(*[where(condition, here, there) for here, there in zip(first, second, strict=True)])


def _chosen_phase(condition: Any, first: Phase, second: Phase) -> Phase:
    place = chosen_place(condition, first.place, second.place)
    return Phase(place, *[where(condition, *pair) for pair in zip(first[1:], second[1:], strict=True)])


# -- the No-U-Turn sampler -------------------------------------------------------------------------------


class _Tree(NamedTuple):
    """A trajectory that doubles until it turns back: the state after each leap.

    A doubling adds a subtree of as many points as there are, forward or backward in time. Row k of
    ``velocities`` and ``sums`` belongs to the newest of the subtree's own subtrees with 2^(k + 1) points: the velocity
    of its first point, and the sum of the momenta up to the middle of this point.
    """

    backward: Phase
    forward: Phase
    chosen: Place
    log_weight: Any
    momenta: Any
    """The sum of all momenta."""
    depth: Any
    leaps: Any
    acceptance: Any
    """The sum of the probabilities to accept each point."""
    is_divergent: Any
    ended: Any
    goes_forward: Any
    point: Phase
    """The subtree's newest point."""
    new_chosen: Place
    new_weight: Any
    new_momenta: Any
    new_count: Any
    velocities: Any
    sums: Any


def no_u_turn_transition(most_depth: int) -> Transition:
    """Return the transition of the No-U-Turn sampler, with at most ``2^most_depth - 1`` leaps.

    The sampler of Hoffman and Gelman (2014), with multinomial choice of the point and the criterion of Betancourt ("A
    conceptual introduction to Hamiltonian Monte Carlo", 2017, appendix A). The recursion is a loop over leaps that
    keeps one row for each level of the tree (Lao and Dillon, "Unrolled implementation of no-U-turn sampler", 2019).
    """
    periods = 2 ** np.arange(1, max(most_depth, 2))

    def transition(slope: Slope, key: Any, place: Place, step: Any, metric: Metric) -> Moved:
        for_momentum, for_tree = split(key)
        first = drawn_phase(for_momentum, place, metric)
        energy = energy_of(first)

        def grow(tree: _Tree) -> _Tree:
            draws = uniform(fold_in(for_tree, tree.leaps + 1), (3,))
            signed = where(tree.goes_forward, step, -step)
            point = leapfrog(slope, tree.point, signed, metric)
            tree = _with_point(tree, point, energy_of(point) - energy, draws[0])
            turned, tree = _with_rows(tree, periods)
            return _merged(tree, turned, draws[1:], most_depth)

        last = while_loop(lambda tree: ~tree.ended, grow, _planted(first, len(periods), for_tree))
        mean = last.acceptance / last.leaps
        return Moved(last.chosen, mean, last.is_divergent, last.leaps, last.depth, energy)

    return transition


def _planted(first: Phase, levels: int, key: Any) -> _Tree:
    """Return the tree of one point."""
    zero, count, false = np.float64(0.0), np.int64(0), np.bool_(False)
    rows = np.zeros((levels, *first.momentum.shape))
    return _Tree(
        backward=first,
        forward=first,
        chosen=first.place,
        log_weight=zero,
        momenta=first.momentum,
        depth=count,
        leaps=count,
        acceptance=zero,
        is_divergent=false,
        ended=false,
        goes_forward=uniform(fold_in(key, 0), ()) < 0.5,
        point=first,
        new_chosen=first.place,
        new_weight=np.float64(-np.inf),
        new_momenta=0.0 * first.momentum,
        new_count=count,
        velocities=rows,
        sums=rows,
    )


def _with_point(tree: _Tree, point: Phase, error: Any, draw: Any) -> _Tree:
    """Return the tree after a leap; the subtree chooses the new point with its share of the weight."""
    weight = np.logaddexp(tree.new_weight, -error)
    share = where(np.isfinite(error), np.exp(-error - weight), 0.0)
    return tree._replace(
        point=point,
        new_chosen=chosen_place(draw < share, point.place, tree.new_chosen),
        new_weight=weight,
        leaps=tree.leaps + 1,
        acceptance=tree.acceptance + np.exp(np.minimum(0.0, -error)),
        is_divergent=error > _DIVERGENT,
    )


def _with_rows(tree: _Tree, periods: Any) -> tuple[Any, _Tree]:
    """Return whether one of the subtrees that the new point completes turns back, and the tree after this point."""
    momentum, velocity = tree.point.momentum, tree.point.velocity
    begins = (tree.new_count % periods == 0)[:, None]
    middle = tree.new_momenta + 0.5 * momentum
    velocities, sums = where(begins, velocity, tree.velocities), where(begins, middle, tree.sums)
    count = tree.new_count + 1
    turned = np.any((count % periods == 0) & _turns(middle - sums, velocities, velocity))
    after = tree.new_momenta + momentum
    return turned, tree._replace(velocities=velocities, sums=sums, new_momenta=after, new_count=count)


def _turns(momenta: Any, first: Any, last: Any) -> Any:
    """Return whether a trajectory turns back at one of its ends, from the sum of its momenta and its end velocities.

    The sum has half of each end momentum, as in the trapezoidal rule.
    """
    return (np.sum(momenta * first, axis=-1) <= 0.0) | (np.sum(momenta * last, axis=-1) <= 0.0)


def _merged(tree: _Tree, turned: Any, draws: Any, most_depth: int) -> _Tree:
    """Return the tree with its subtree, if this is complete, and a new direction; a subtree that turned is dropped."""
    fails = turned | tree.is_divergent
    merges = (tree.new_count == np.left_shift(1, tree.depth)) & ~fails
    accepted = merges & (draws[0] < np.exp(np.minimum(0.0, tree.new_weight - tree.log_weight)))
    backward = _chosen_phase(merges & ~tree.goes_forward, tree.point, tree.backward)
    forward = _chosen_phase(merges & tree.goes_forward, tree.point, tree.forward)
    momenta = where(merges, tree.momenta + tree.new_momenta, tree.momenta)
    depth = tree.depth + where(merges, 1, 0)
    middle = momenta - 0.5 * (backward.momentum + forward.momentum)
    returns = _turns(middle, backward.velocity, forward.velocity)
    goes_forward = where(merges, draws[1] < 0.5, tree.goes_forward)
    return tree._replace(
        backward=backward,
        forward=forward,
        chosen=chosen_place(accepted, tree.new_chosen, tree.chosen),
        log_weight=where(merges, np.logaddexp(tree.log_weight, tree.new_weight), tree.log_weight),
        momenta=momenta,
        depth=depth,
        ended=fails | (merges & (returns | (depth >= most_depth))),
        goes_forward=goes_forward,
        point=_chosen_phase(merges, _chosen_phase(goes_forward, forward, backward), tree.point),
        new_weight=where(merges, -np.inf, tree.new_weight),
        new_momenta=where(merges, 0.0, tree.new_momenta),
        new_count=where(merges, 0, tree.new_count),
    )
