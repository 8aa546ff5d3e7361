"""One step of an integrator: from the state at a time to the state a step later, with an estimate of the error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.forward_mode import jvp
from wengert.integrate.tableaux import RosenbrockTableau, Tableau

Rhs = Callable[[Any, Any], Any]


class System(NamedTuple):
    """The equations ``M dy/dt = rhs(t, y)``."""

    rhs: Rhs
    equations: Any = None
    """The linear equations of an implicit step, None for explicit methods: `integrate.jacobians.Equations`."""
    has_mass: bool = False
    """Whether M is other than the identity."""
    explicit: Callable[..., Any] | None = None
    """``(*constants, t, y)``: the right-hand side as a function of all that it reads, where that is known."""
    constants: Sequence[Any] = ()
    allowed: Callable[[Any], Any] = np.ones_like
    """The error that is allowed for each component of a state of a size."""
    rtol: Any = 1e-3

    def of(self, constants: Sequence[Any]) -> System:
        """Return the equations for other constants."""
        explicit = self.explicit
        if explicit is None:
            return self

        def rhs(t: Any, y: Any) -> Any:
            return explicit(*constants, t, y)

        equations = self.equations
        if equations is not None and equations.rhs is not None:
            equations = equations.of(rhs)
        return self._replace(rhs=rhs, constants=constants, equations=equations)

    def stopped(self) -> System:
        """Return the equations for constants without derivatives, for values that have none."""
        return self.of([stop_gradient(x) for x in self.constants])


class Work(NamedTuple):
    """What iterations have taken."""

    calls: Any
    """How often they have called the right-hand side."""
    jacobians: Any
    factors: Any
    """The number of matrices that were factorised."""


class Step(NamedTuple):
    """A step that was tried."""

    y: Any
    """The state at its end."""
    memory: Any
    """What the next step knows of this one: the right-hand side at its end, unless the method says more."""
    errors: list[Any]
    """Estimates of the error."""
    powers: Any
    """``y(t + x h) = y(t) + sum_m powers[:, m] x**(m + 1)``; without interpolation an array without columns."""
    is_solved: Any = True
    """Whether the equations of the step were solved."""
    work: Work = Work(0, 0, 0)
    """Of a method that iterates."""


class Controller:
    """The rule for the size of the next step: SciPy's for explicit methods.

    Args:
        order: that of the solution from which the error is estimated.
    """

    safety, least, most = 0.9, 0.2, 10.0
    """The share of the step size that the estimate allows, and the least and the largest factor of its change."""

    def __init__(self, order: int) -> None:
        self.order = order

    def error(self, squares: Sequence[Any], count: int, was_rejected: Any) -> Any:
        """Return the norm of the error of a step, of two estimates as DOP853 has it; below 1 it is allowed.

        ``squares``: the sums of squares of the estimates, relative to what is allowed for each of ``count`` components.
        """
        first, *others = squares
        if not others:
            return np.sqrt(first / count)
        whole = first + 0.01 * others[0]
        return first / np.sqrt(where(whole > 0, whole, 1.0) * count)

    def factor(
        self, tried: Step, error: Any, is_accepted: Any, was_rejected: Any, size: Any, memory: Any
    ) -> tuple[Any, Any]:
        """Return what the next step knows of this one, and how its size changes."""
        is_usable = np.logical_and(error > 0, np.isfinite(error))
        factor = self.safety * where(is_usable, error, 1.0) ** (-1 / (self.order + 1))
        factor = where(is_usable, factor, where(error == 0, self.most, self.least))
        most = where(was_rejected, 1.0, self.most)
        return tried.memory, where(is_accepted, np.minimum(factor, most), np.maximum(factor, self.least))


class Method(NamedTuple):
    """An integrator."""

    order: int
    error_order: int
    evaluations: Callable[[bool], int]
    """``interpolates -> count``: how often a step calls the right-hand side."""
    step: Callable[[System, Any, Any, Any, Any, bool], Step]
    """``(system, t, y, memory, h, interpolates) -> Step``"""
    is_implicit: bool = False
    """Whether a step factorises a matrix with the Jacobian."""
    controller: Controller = Controller(0)
    iterates: bool = False
    """Whether a step calls the right-hand side as often as an iteration needs."""
    remember: Callable[[Any], Any] = lambda problem: problem.value
    """``Problem -> memory`` at the start: what a step knows of those before it."""
    begun: Work = Work(0, 0, 0)
    """What this takes of a method that iterates."""

    def work(self, turns: Any, iterations: Work, interpolates: bool) -> Work:
        """Return what steps have taken."""
        if not self.iterates:
            iterations = Work(0, turns * self.is_implicit, turns * self.is_implicit)
        return iterations._replace(calls=iterations.calls + turns * self.evaluations(interpolates))


def _sum(terms: Iterable[Any]) -> Any:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total


def _weighted(weights: Iterable[tuple[int, float]], stages: list[Any]) -> Any:
    return _sum(weight * stages[number] for number, weight in weights if weight)


def _without_columns(y: Any) -> Any:
    return np.zeros((*shape_of(y), 0))


def runge_kutta(tableau: Tableau) -> Method:
    """Return the integrator of a tableau."""

    def step(system: System, t: Any, y: Any, slope: Any, h: Any, interpolates: bool) -> Step:
        stages = [slope]
        count = len(tableau.nodes) if interpolates else tableau.count
        reached = y
        for node, weights in zip(tableau.nodes[1:count], tableau.stages[1:count], strict=True):
            reached_here = y + h * _weighted(weights.items(), stages)
            if len(stages) == tableau.count - 1:
                reached = reached_here
            stages.append(system.rhs(t + node * h, reached_here))
        errors = [h * _weighted(weights.items(), stages) for weights in tableau.errors]
        powers = _without_columns(y)
        if interpolates:
            columns = [_weighted(enumerate(column), stages) for column in tableau.dense.T.tolist()]
            powers = h * np.stack(columns, axis=-1)
        return Step(reached, stages[tableau.count - 1], errors, powers)

    def evaluations(interpolates: bool) -> int:
        return (len(tableau.nodes) if interpolates else tableau.count) - 1

    return Method(
        tableau.order, tableau.error_order, evaluations, step, controller=Controller(tableau.error_order)
    )


def rosenbrock(tableau: RosenbrockTableau) -> Method:
    """Return the integrator of a tableau, which linearises the right-hand side in each step."""

    def step(system: System, t: Any, y: Any, slope: Any, h: Any, interpolates: bool) -> Step:
        # An example of `vmap` that has ended does not move, so that its values, which nothing reads, stay finite.
        has_ended = h == 0
        h, moves = where(has_ended, 1.0, h), where(has_ended, 0.0, 1.0)
        equations = system.equations
        elements = equations.elements(t, y)
        solve, weighed = equations.form.solver(1 / (tableau.gamma * h), elements), equations.form.weighed
        _, in_time = jvp(lambda t: system.rhs(t, y), (t,), (1.0,))
        stages: list[Any] = []
        slopes: list[Any] = []
        rows = zip(tableau.nodes, tableau.slopes, tableau.stages, tableau.couplings, strict=True)
        for node, change, weights, couplings in rows:
            if stages:
                slope = system.rhs(t + node * h, y + _weighted(enumerate(weights), stages))
            slopes.append(slope + change * h * in_time)
            coupled = _weighted(enumerate(couplings), stages) / h if stages else 0.0
            stages.append(moves * solve(slopes[-1] + (weighed(coupled) if couplings else coupled)))
        change = _weighted(enumerate(tableau.weights), stages)
        # The step is also this quadrature, which keeps what the right-hand side keeps, such as a sum of reactants, to
        # rounding errors of the slopes; the stages keep it to those of the Jacobian, which may be far larger.
        if not system.has_mass:
            product = equations.product(t, y, elements)
            mean, moved = (_weighted(enumerate(tableau.quadrature), terms) for terms in (slopes, stages))
            change = change + moves * solve((h * (mean + product(moved)) - change) / (tableau.gamma * h))
        powers = _without_columns(y)
        if interpolates:
            first, second, third = (_weighted(enumerate(weights), stages) for weights in tableau.dense)
            powers = np.stack([change + first, second - first, third - second, -third], axis=-1)
        return Step(y + change, system.rhs(t + h, y + change), [stages[-1]], powers)

    order, control = tableau.error_order, Controller(tableau.error_order)
    return Method(
        tableau.order, order, lambda _: len(tableau.nodes), step, is_implicit=True, controller=control
    )


def _leapfrog(system: System, t: Any, y: Any, slope: Any, h: Any, interpolates: bool) -> Step:
    """Kick, drift, kick: for y = (q, p), where q' depends on p alone and p' on q alone (Störmer, Verlet)."""
    half = shape_of(y)[0] // 2
    q, p = y[:half], y[half:]
    p_middle = p + 0.5 * h * slope[half:]
    drift = system.rhs(t + 0.5 * h, np.concatenate([q, p_middle]))[:half]
    q = q + h * drift
    kick = system.rhs(t + h, np.concatenate([q, p_middle]))[half:]
    reached = np.concatenate([q, p_middle + 0.5 * h * kick])
    at_end = system.rhs(t + h, reached)
    powers = _without_columns(y)
    if interpolates:
        change, first, last = reached - y, h * slope, h * at_end
        powers = np.stack([first, 3 * change - 2 * first - last, first + last - 2 * change], axis=-1)
    return Step(reached, at_end, [], powers)


LEAPFROG = Method(2, 0, lambda _: 3, _leapfrog)
