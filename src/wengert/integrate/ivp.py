"""`solve_ivp`: initial value problems of ordinary differential equations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete, constant, inside_transform
from wengert.engine.control.scan import scan
from wengert.engine.control.values import strong
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import FLOAT64, dtype_of
from wengert.engine.core.errors import (
    ArgumentError,
    DoubtfulResultWarning,
    ShapeError,
    UnsupportedError,
    message,
)
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.staging import evaluate, stage
from wengert.integrate.adjoint import states_by_adjoint
from wengert.integrate.arguments import arguments_of, count_of
from wengert.integrate.bdf import BDF
from wengert.integrate.controlled_steps import ControlledSteps
from wengert.integrate.events import Found, find
from wengert.integrate.jacobians import equations_of, holomorphic
from wengert.integrate.masses import mass_of
from wengert.integrate.problem import (
    OPERATION,
    Problem,
    Tolerances,
    events_of,
    is_end,
    problem_of,
    problem_without_events,
    times_of,
    tolerances_of,
)
from wengert.integrate.radau import RADAU
from wengert.integrate.solution import DenseOutput, OdeResult, Rows, require_step
from wengert.integrate.starts import consistent_start
from wengert.integrate.steps import LEAPFROG, Method, System, rosenbrock, runge_kutta
from wengert.integrate.tableaux import DOP853, RK4, RK23, RK45, RODAS5P, TSIT5

METHODS: dict[str, Method] = {
    "RK23": runge_kutta(RK23),
    "RK45": runge_kutta(RK45),
    "Tsit5": runge_kutta(TSIT5),
    "DOP853": runge_kutta(DOP853),
    "Rodas5P": rosenbrock(RODAS5P),
    "Radau": RADAU,
    "BDF": BDF,
    "RK4": runge_kutta(RK4),
    "leapfrog": LEAPFROG,
}


@advising("wg.integrate.solve_ivp(fun, (t0, t1), y0) with fun(t, y)")
@with_callbacks
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    *,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    first_step: Any = None,
    max_step: Any = np.inf,
    max_steps: int = 10_000,
    steps: int | None = None,
    jac: Any = None,
    jac_sparsity: Any = None,
    mass: Any = None,
    adjoint: str = "discrete",
) -> OdeResult:
    """Solve ``mass dy/dt = fun(t, y, *args)``, ``y(t0) = y0`` from t0 to t1, as `scipy.integrate.solve_ivp`.

    The step size follows an estimate of the error, as in SciPy. The derivatives are those of the steps taken, whose
    sizes count as constants: with respect to y0, args, both times, t_eval and whatever ``fun`` closes over. In a
    compiled function the whole solution is one loop, and under `vmap` each example has steps of its own.

    Args:
        fun: ``(t, y, *args) -> dy/dt``, of the shape of y.
        t_span: t0 and t1.
        y0: the state at t0, of shape (n,); or an array of another shape, a number, or a container (a dict, a dataclass,
            a tuple or list of arrays and containers), which ``fun``, events and ``jac`` take, and ``fun`` returns. A
            list of numbers is a vector.
        method: "RK23", "RK45", "Tsit5" or "DOP853"; for stiff and differential-algebraic problems "Rodas5P",
            "Radau" and "BDF", which take the Jacobian of ``fun``; with as many steps of one size as ``steps`` says
            "RK4" or the symplectic "leapfrog", for which y holds positions and then momenta, and each half's
            derivative depends on the other half alone.
        t_eval: the times of the results; by default the ends of the steps, which only a call knows.
        dense_output: whether ``sol`` of the result is a function of time.
        events: a function ``(t, y, *args) -> number`` or several, whose zeros are found; their times and states are
            differentiated as implicit functions. A function's attribute ``terminal`` says after how many crossings it
            ends the integration (True: one), ``direction`` whether only crossings upward (1) or downward (-1) count.
            In a traced graph each event must end the integration at the first crossing; its time is NaN if there is
            none, and so are states behind it.
        vectorized: for SciPy's signature; ``fun`` is always called with one state.
        args: more arguments of ``fun``.
        rtol: relative tolerance of each component in each step; the error is kept below ``atol + rtol * abs(y)``.
        atol: absolute tolerance, one number or one for each component.
        first_step: the first step size; by default it is chosen (Hairer, Norsett and Wanner, section II.4).
        max_step: the largest step size.
        max_steps: the largest number of steps, those that were tried in vain included.
        steps: the number of steps of "RK4" and "leapfrog".
        jac: for implicit methods the Jacobian of ``fun``: a function ``(t, y, *args)`` that returns an array of shape
            (n, n), or a constant one, which may be a sparse matrix; by default the derivative of ``fun``, which the
            continuous adjoint, derivatives of "Radau" and "BDF", and transforms in the place of a constant take in any
            case. Of a complex state ``fun`` must be holomorphic, as in SciPy.
        jac_sparsity: where the Jacobian may be other than zero, an array or a sparse matrix of shape (n, n); by default
            this follows from the program of ``fun``. Both have a row and a column for each number of a container, in
            the order of `wengert.tree.leaves`.
        mass: the constant matrix M of ``M y' = f(t, y)``, for implicit methods: of shape (n, n), or its diagonal,
            a vector or as ``y0`` is written. A singular M makes equations without a derivative, as ``0 = f`` where a
            row is zero. These must determine the components that M does not (index 1). Newton's method then changes
            ``y0`` to consistent values near it with the same ``M y0``; derivatives are those of the changed values.
        adjoint: "discrete" differentiates the steps; "continuous" solves the adjoint equation back from t1 to t0, in
            memory for the solution alone, with errors of the size of the tolerances, in reverse mode only.

    Returns:
        The fields of SciPy's result: t of shape (m,), y of shape (n, m), sol, t_events, y_events, nfev, njev, nlu,
        status, message, success. Leaves of a container have the times as their last axis, those of y_events the
        crossings as their first. In a compiled function a failure raises.

    Raises:
        LimitError: ``max_steps`` steps do not reach t1, or the step size falls below the distance of numbers where the
            values are not known.
        ShapeError: y0 or the result of ``fun`` has the wrong shape.
        ArgumentError: the method is unknown, or t_eval lies outside of t_span; the index is not 1 at t0, or Newton's
            method finds no consistent values.
        UnsupportedError: a traced graph has no t_eval, or does not know ``mass``.

    Example:
        >>> import wengert as wg
        >>> decay = lambda rate: solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], t_eval=[1.0], rtol=1e-8).y[
        ...     0, 0
        ... ]
        >>> print(round(decay(2.0), 6), round(wg.grad(decay)(2.0), 6))
        0.135335 -0.135335
    """
    chosen = _method(method, adjoint)
    most = count_of(OPERATION, "max_steps", max_steps)
    watched = events_of(events)
    if watched and not chosen.error_order:
        raise ArgumentError(message(OPERATION, "events need a method that controls its steps", method))
    constants = arguments_of(OPERATION, args)
    problem = problem_of(fun, t_span, y0, constants, watched)
    tolerances = tolerances_of(problem, rtol, atol, first_step, max_step)
    _check_mass(mass, chosen, method, adjoint)
    if chosen.is_implicit:
        problem = _with_equations(problem, chosen, tolerances, jac, jac_sparsity, constants, mass)
    times = None if t_eval is None else times_of(problem, t_eval)
    asks_for_end = not (dense_output or watched) and is_end(problem, times)
    interpolates = (times is not None and not asks_for_end) or dense_output or bool(watched)
    if adjoint == "continuous":
        return _by_adjoint(problem, chosen, times, tolerances, most, dense_output, jac_sparsity)
    if chosen.error_order:
        if steps is not None:
            raise ArgumentError(message(OPERATION, "steps is for RK4 and leapfrog", method, "use max_step"))
        rows, last = ControlledSteps(problem, chosen, tolerances, interpolates).solve(most)
        calls = 2 if first_step is None else 1
    else:
        rows, calls = _fixed(problem, chosen, steps, method, interpolates), 1
        last = dict[str, Any](is_small=False, has_ended=False, y=rows.afters[-1], work=chosen.begun)
    work = chosen.work(rows.turns, last["work"], interpolates)
    solved = _as_given(problem, _result(problem, rows, times, last, dense_output, asks_for_end))
    return solved._replace(nfev=calls + work.calls, njev=work.jacobians, nlu=work.factors)


def _method(method: str, adjoint: str) -> Method:
    """Return the integrator of a name."""
    if method not in tuple(METHODS):
        hint = 'for stiff problems use "Rodas5P"' if method == "LSODA" else ""
        raise ArgumentError(
            message(OPERATION, f"the method must be one of {', '.join(METHODS)}", repr(method), hint)
        )
    if adjoint not in ("discrete", "continuous"):
        requirement = 'adjoint must be "discrete" or "continuous"'
        raise ArgumentError(message(OPERATION, requirement, repr(adjoint)))
    return METHODS[method]


def _check_mass(mass: Any, method: Method, name: str, adjoint: str) -> None:
    """Raise an error where a method takes no mass matrix."""
    if mass is None:
        return
    if not method.is_implicit:
        requirement = "a mass matrix needs an implicit method"
        raise ArgumentError(message(OPERATION, requirement, name, 'take method="Radau" or "Rodas5P"'))
    if adjoint == "continuous":
        requirement = "the continuous adjoint takes no mass matrix"
        raise UnsupportedError(message(OPERATION, requirement, hint='take adjoint="discrete"'))


def _as_given(problem: Problem, solved: OdeResult) -> OdeResult:
    """Return a result whose states are as the user writes them."""
    form = problem.form
    return solved._replace(
        y=form.results(solved.y),
        sol=None if solved.sol is None else form.function(solved.sol),
        y_events=None if solved.y_events is None else list(map(form.of_events, solved.y_events)),
    )


def _by_adjoint(
    problem: Problem,
    method: Method,
    times: Any,
    tolerances: Tolerances,
    most: int,
    dense_output: bool,
    jac_sparsity: Any,
) -> OdeResult:
    """Return the solution whose derivatives come from the adjoint equation."""
    if not method.error_order:
        raise ArgumentError(
            message(OPERATION, "the continuous adjoint needs a method that controls its steps")
        )
    if times is None or dense_output or problem.events.functions:
        requirement = "the continuous adjoint needs t_eval, and has neither events nor dense_output"
        raise ArgumentError(message(OPERATION, requirement, hint='take adjoint="discrete"'))

    def integrate(rhs: Any, span: Any, y: Any, tolerances: Tolerances, interpolates: bool) -> Any:
        part = problem_without_events(rhs, span[0], span[1], y)
        if method.is_implicit:
            pattern = jac_sparsity if interpolates else None
            part = _with_equations(part, method, tolerances, None, pattern, ())
        rows, last = ControlledSteps(part, method, tolerances, interpolates).solve(most)
        return rows.required(np.logical_not(last["is_small"])), last

    y, turns, work = states_by_adjoint(problem, times, tolerances, integrate)
    work = method.work(turns, work, True)
    counts = 2 + work.calls, work.jacobians, work.factors
    return _as_given(problem, OdeResult(times, y, None, None, None, *counts, 0, _MESSAGES[0], True))


def _with_equations(
    problem: Problem,
    method: Method,
    tolerances: Tolerances,
    jac: Any,
    jac_sparsity: Any,
    args: Sequence[Any],
    mass: Any = None,
) -> Problem:
    """Return the problem with the equations of an implicit method, and with a consistent start."""
    start, y, form, plain = problem.start, problem.y, problem.form, problem.system.rhs
    if dtype_of(y).kind == "c" and (jac is None or inside_transform()):
        y = holomorphic(OPERATION, plain, start, y)
        problem = problem._replace(y=y)
    weights = None if mass is None else mass_of(OPERATION, form.setting("mass", mass), y)

    def rhs(t: Any, y: Any) -> Any:
        return plain(t, y) if weights is None else weights.combined(plain(t, y))

    system = System(rhs, has_mass=mass is not None, allowed=tolerances.allowed)
    if (method.iterates or mass is not None) and inside_transform():
        # What iterates has no derivatives, so that the equations are a function of all that they read.
        graph, constants = stage(
            lambda t, y: [rhs(t, y)], [TensorType(FLOAT64, ()), strong(type_of(y))], OPERATION
        )
        system = system._replace(explicit=lambda *values: evaluate(graph, *values)[0]).of(constants)  # pyright: ignore
    equations = equations_of(
        OPERATION, system.rhs, start, y, jac, jac_sparsity, args, weights, form.container
    )
    if jac is not None and not callable(jac) and constant(jac) is not None and inside_transform():
        equations = equations.of(system.rhs)  # the constant does not move with what ``fun`` closes over
    system = system._replace(equations=equations)
    if weights is None:
        return problem._replace(system=system)
    y, slope = consistent_start(system, weights, start, y)
    return problem._replace(system=system, y=y, slope=slope, right=system.rhs(start, y))


# -- steps of one size -----------------------------------------------------------------------------------


def _fixed(problem: Problem, method: Method, steps: int | None, name: str, interpolates: bool) -> Rows:
    if steps is None:
        raise ArgumentError(message(OPERATION, f"{name} needs the number of steps, steps=N"))
    steps = count_of(OPERATION, "steps", steps)
    if name == "leapfrog" and shape_of(problem.y)[0] % 2:
        raise ShapeError(message(OPERATION, "leapfrog needs as many momenta as positions", show(problem.y)))
    h = (problem.stop - problem.start) / steps

    def step(state: Any, number: Any) -> Any:
        y, slope = state
        t = problem.start + number * h
        tried = method.step(problem.system, t, y, slope, h, interpolates)
        return (tried.y, tried.memory), (t, t + h, y, tried.y, tried.powers, np.zeros(0, bool))

    _, rows = scan(step, (problem.y, problem.slope), np.arange(float(steps)))
    return Rows(steps, *rows)


# -- results ---------------------------------------------------------------------------------------------


_MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}


def _result(
    problem: Problem, rows: Rows, times: Any, last: dict[str, Any], dense_output: bool, asks_for_end: bool
) -> OdeResult:
    failed = concrete(last["is_small"])
    if failed is None:
        rows = rows.required(np.logical_not(last["is_small"]))
    sol = _dense_output(problem, rows)
    ending = find(problem.events, rows, last["has_ended"], problem.direction)
    if asks_for_end:
        t, y = _at_end(problem, rows, times, last)
    elif times is None:
        t, y = _ends(problem, rows, ending)
    else:
        t, y = _at(problem, sol, times, ending, bool(failed))
    has_ended = concrete(last["has_ended"])
    status: Any = -1 if failed else where(last["has_ended"], 1, 0) if has_ended is None else int(has_ended)
    code = status if has_ended is not None else 0
    if failed or (code == 1 and times is not None and len(t) < len(times)):
        _warn_of_derivatives(problem, y, rows, code)
    return OdeResult(
        t=t,
        y=y,
        sol=sol if dense_output else None,
        t_events=ending.times if problem.events.functions else None,
        y_events=ending.states if problem.events.functions else None,
        nfev=0,
        njev=0,
        nlu=0,
        status=status,
        message=_MESSAGES[code],
        success=code >= 0,
    )


def _warn_of_derivatives(problem: Problem, y: Any, rows: Rows, status: int) -> None:
    """Warn if states are differentiated that are not all those that were asked for.

    In a traced graph a step that fails raises, and states behind an event are NaN.
    """
    if constant(y) is None:
        requirement = (
            f"the derivative is that of a run that ended before t1 (status {status}: {_MESSAGES[status]})"
        )
        reached = concrete(_dense_output(problem, rows).end)
        hint = 'look at the status before the states; where a step failed, try method="Rodas5P"'
        warnings.warn(
            message(OPERATION, requirement, f"an end at t={reached}", hint),
            DoubtfulResultWarning,
            stacklevel=2,
        )


def _dense_output(problem: Problem, rows: Rows) -> DenseOutput:
    return DenseOutput(problem.start, problem.y, problem.slope, problem.direction, rows)


def _at_stop(problem: Problem) -> Any:
    """Return the state at the end where it is the start, so that there is no step: it moves with both times."""
    return problem.y + (problem.stop - problem.start) * problem.slope


def _at_end(problem: Problem, rows: Rows, times: Any, last: dict[str, Any]) -> tuple[Any, Any]:
    """Return the state at the end for each time; where the steps are known to have failed, none."""
    failed = concrete(last["is_small"])
    last = last | {"y": where(rows.turns == 0, _at_stop(problem), last["y"])}
    if failed is None:
        y = require_step(last["y"], np.logical_not(last["is_small"]))
    else:
        y, times = last["y"], times[:0] if failed else times
    return times, np.broadcast_to(y[:, None], (*shape_of(y), len(times)))


def _at(problem: Problem, sol: DenseOutput, times: Any, ending: Found, failed: bool) -> tuple[Any, Any]:
    """Return the times of the results up to the end of the integration, and the states."""
    end = sol.end if failed else ending.end
    if end is None:
        return times, sol(times)
    limit, plain, direction = concrete(end), concrete(times), concrete(problem.direction)
    if limit is not None and plain is not None and direction is not None:
        times = times[np.asarray(plain) * direction <= limit * direction]
        return times, sol(times)
    is_late = np.logical_and(ending.has_ended, problem.direction * (times - end) > 0)
    return times, where(is_late, np.nan, sol(times))


def _ends(problem: Problem, rows: Rows, ending: Found) -> tuple[Any, Any]:
    """Return the ends of the steps that were taken, after the start; the last one is the event that ended them."""
    before, after, turns = concrete(rows.starts), concrete(rows.ends), concrete(rows.turns)
    if before is None or after is None or turns is None:
        requirement = "a traced graph, and vmap, need the times of the results"
        raise UnsupportedError(message(OPERATION, requirement, hint="give t_eval, such as t_eval=[t1]"))
    taken = np.flatnonzero(np.asarray(before)[:turns] != np.asarray(after)[:turns])
    ends, states = rows.ends[taken], rows.afters[taken]
    if not turns:
        ends, states = np.reshape(problem.stop, (1,)), np.reshape(_at_stop(problem), (1, -1))
    times = [np.reshape(problem.start, (1,)), ends]
    values = [np.reshape(problem.y, (1, -1)), states]
    if ending.end is not None:
        at_end = _dense_output(problem, rows)(ending.end)
        times = [times[0], ends[:-1], np.reshape(ending.end, (1,))]
        values = [values[0], states[:-1], np.reshape(at_end, (1, -1))]
    return np.concatenate(times), np.concatenate(values).T
