"""`solve_ivp`: initial value problems of ordinary differential equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.boxes import concrete
from wengert.control.checkpoint import stop_gradient
from wengert.control.scan import scan
from wengert.control.scan_while import scan_while
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.core.shapes import shape_of
from wengert.integrate.events import Events, Found, find
from wengert.integrate.solution import DenseOutput, OdeResult, Rows
from wengert.integrate.steps import LEAPFROG, Method, Rhs, rosenbrock, runge_kutta
from wengert.integrate.tableaux import DOP853, RK4, RK23, RK45, RODAS5P, TSIT5
from wengert.ir.types import show
from wengert.numpy.creation import asarray
from wengert.ops.comparison import where

METHODS: dict[str, Method] = {
    "RK23": runge_kutta(RK23),
    "RK45": runge_kutta(RK45),
    "Tsit5": runge_kutta(TSIT5),
    "DOP853": runge_kutta(DOP853),
    "Rodas5P": rosenbrock(RODAS5P),
    "RK4": runge_kutta(RK4),
    "leapfrog": LEAPFROG,
}
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0
"""The share of the step size that the estimate allows, and the least and the largest factor of its change."""


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
) -> OdeResult:
    """Solve ``dy/dt = fun(t, y, *args)``, ``y(t0) = y0`` from t0 to t1, as `scipy.integrate.solve_ivp`.

    The step size follows an estimate of the error, as in SciPy. The derivatives are those of the steps taken, whose
    sizes count as constants: with respect to y0, args, both times, t_eval and whatever ``fun`` closes over. In a
    compiled function the whole solution is one loop, and under `vmap` each example has steps of its own.

    Args:
        fun: ``(t, y, *args) -> dy/dt``, of the shape of y.
        t_span: t0 and t1.
        y0: the state at t0, of shape (n,).
        method: "RK23", "RK45", "Tsit5" or "DOP853"; for stiff problems "Rodas5P", which takes the Jacobian of ``fun``;
            with as many steps of one size as ``steps`` says "RK4" or the symplectic "leapfrog", for which y holds
            positions and then momenta, and each half's derivative depends on the other half alone.
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

    Returns:
        The fields of SciPy's result: t of shape (m,), y of shape (n, m), sol, t_events, y_events, nfev, njev, nlu,
        status, message, success. In a compiled function a failure raises.

    Raises:
        LimitError: ``max_steps`` steps do not reach t1, or the step size falls below the distance of numbers where the
            values are not known.
        ShapeError: y0 or the result of ``fun`` has the wrong shape.
        ArgumentError: the method is unknown, or t_eval lies outside of t_span.
        UnsupportedError: a traced graph has no t_eval.

    Example:
        >>> import wengert as wg
        >>> decay = lambda rate: solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], t_eval=[1.0], rtol=1e-8).y[
        ...     0, 0
        ... ]
        >>> print(round(decay(2.0), 6), round(wg.grad(decay)(2.0), 6))
        0.135335 -0.135335
    """
    if method not in METHODS:
        raise ArgumentError(
            message("solve_ivp", f"the method must be one of {', '.join(METHODS)}", repr(method))
        )
    chosen = METHODS[method]
    given = () if args is None else args
    watched = [] if events is None else [events] if callable(events) else list(events)
    if watched and not chosen.error_order:
        raise ArgumentError(message("solve_ivp", "events need a method that controls its steps", method))
    problem = _problem(fun, t_span, y0, given, watched)
    times = None if t_eval is None else _times(problem, t_eval)
    interpolates = times is not None or dense_output or bool(watched)
    if chosen.error_order:
        control = _Control(problem, chosen, rtol, atol, first_step, max_step, interpolates)
        rows, last = control.solve(max_steps)
        calls = 2 if first_step is None else 1
    else:
        rows, calls = _fixed(problem, chosen, steps, method, interpolates), 1
        last = {"is_small": False, "has_ended": False}
    nfev = calls + rows.turns * chosen.evaluations(interpolates)
    stiff = rows.turns if chosen.is_implicit else 0
    solved = _result(problem, rows, times, last, dense_output)
    return solved._replace(nfev=nfev, njev=stiff, nlu=stiff)


class _Problem(NamedTuple):
    rhs: Rhs
    start: Any
    stop: Any
    y: Any
    slope: Any
    """The derivative at the start."""
    direction: Any
    """1 or -1."""
    events: Events


def _problem(
    fun: Callable[..., Any], t_span: Sequence[Any], y0: Any, args: Sequence[Any], events: Sequence[Any]
) -> _Problem:
    y = asarray(y0)
    if len(shape_of(y)) != 1:
        raise ShapeError(message("solve_ivp", "y0 must have one axis", show(y)))
    if dtype_of(y).kind in "iub":
        y = y * 1.0
    start, stop = (t * 1.0 for t in t_span)

    def rhs(t: Any, y: Any) -> Any:
        slope = asarray(fun(t, y, *args))
        if shape_of(slope) != shape_of(y):
            raise ShapeError(message("solve_ivp", "fun must return the shape of y", show(slope, y)))
        return slope * 1.0 if dtype_of(slope).kind in "iub" else slope

    direction = stop_gradient(np.sign(stop - start))
    direction = where(direction == 0, 1.0, direction)
    return _Problem(rhs, start, stop, y, rhs(start, y), direction, Events(events, args))


def _times(problem: _Problem, t_eval: Any) -> Any:
    times = asarray(t_eval) * 1.0
    if len(shape_of(times)) != 1:
        raise ShapeError(message("solve_ivp", "t_eval must have one axis", show(times)))
    known, start, stop = (concrete(x) for x in (times, problem.start, problem.stop))
    if known is not None and start is not None and stop is not None and np.size(known):
        if np.any(known < min(start, stop)) or np.any(known > max(start, stop)):
            got = f"{np.min(known)} to {np.max(known)}"
            raise ArgumentError(message("solve_ivp", f"t_eval must lie between {start} and {stop}", got))
        if np.any(np.diff(known) * (stop - start) < 0):
            raise ArgumentError(message("solve_ivp", "t_eval must be sorted", str(known)))
    return times


# -- steps of one size -----------------------------------------------------------------------------------


def _fixed(problem: _Problem, method: Method, steps: int | None, name: str, interpolates: bool) -> Rows:
    if steps is None or steps < 1:
        raise ArgumentError(message("solve_ivp", f"{name} needs the number of steps, steps=N", repr(steps)))
    if name == "leapfrog" and shape_of(problem.y)[0] % 2:
        raise ShapeError(message("solve_ivp", "leapfrog needs as many momenta as positions", show(problem.y)))
    h = (problem.stop - problem.start) / steps

    def step(state: Any, number: Any) -> Any:
        y, slope = state
        t = problem.start + number * h
        tried = method.step(problem.rhs, t, y, slope, h, interpolates)
        return (tried.y, tried.slope), (t, t + h, y, tried.y, tried.powers, np.zeros(0, bool))

    _, rows = scan(step, (problem.y, problem.slope), np.arange(float(steps)))
    return Rows(steps, *rows)


# -- steps that the error controls -----------------------------------------------------------------------


class _Control:
    """Steps whose size follows an estimate of their error, as SciPy's."""

    def __init__(
        self,
        problem: _Problem,
        method: Method,
        rtol: Any,
        atol: Any,
        first_step: Any,
        max_step: Any,
        interpolates: bool,
    ) -> None:
        self.problem = problem
        self.method = method
        self.rtol = rtol
        self.atol = atol
        self.first_step = first_step
        self.max_step = max_step
        self.interpolates = interpolates

    def solve(self, max_steps: int) -> tuple[Rows, dict[str, Any]]:
        """Return the steps, and the last state."""
        problem = self.problem
        size = self._first() if self.first_step is None else self.first_step * 1.0
        state = {
            "t": problem.start,
            "y": problem.y,
            "slope": problem.slope,
            "size": stop_gradient(size),
            "is_rejected": np.False_,
            "is_small": np.False_,
            "has_ended": np.False_,
            "watched": problem.events.values(problem.start, problem.y),
            "counts": np.zeros(len(problem.events.functions), np.int64),
        }

        def goes_on(state: dict[str, Any]) -> Any:
            before_end = problem.direction * (problem.stop - state["t"]) > 0
            return np.logical_and(
                before_end, np.logical_not(np.logical_or(state["is_small"], state["has_ended"]))
            )

        names = {"operation": "solve_ivp", "limit": "max_steps"}
        last, turns, rows = scan_while(goes_on, self._turn, state, most=max_steps, **names)
        return Rows(turns, *rows), last

    def _turn(self, state: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Try one step."""
        problem, t, y = self.problem, state["t"], state["y"]
        least: Any = 10 * np.finfo(np.float64).eps * np.abs(stop_gradient(t))
        size = where(state["is_rejected"], state["size"], np.maximum(state["size"], least))
        is_small: Any = size < least
        size = np.minimum(size, self.max_step)
        end = t + size * problem.direction
        end = where(problem.direction * (end - problem.stop) >= 0, problem.stop, end)
        h: Any = end - t
        tried = self.method.step(problem.rhs, t, y, state["slope"], h, self.interpolates)
        error = self._norm(stop_gradient(y), stop_gradient(tried.y), tried.errors)
        is_accepted = np.logical_and(error < 1, np.logical_not(is_small))
        taken: dict[str, Any] = {"t": end, "y": tried.y, "slope": tried.slope}
        following: dict[str, Any] = {name: where(is_accepted, x, state[name]) for name, x in taken.items()}
        following["size"] = np.abs(stop_gradient(h)) * self._factor(error, is_accepted, state["is_rejected"])
        following["is_rejected"], following["is_small"] = np.logical_not(is_accepted), is_small
        crossed = self._watch(state, following, is_accepted)
        return following, (t, following["t"], y, following["y"], tried.powers, crossed)

    def _watch(self, state: dict[str, Any], following: dict[str, Any], is_accepted: Any) -> Any:
        """Return which events cross zero in a step, and note them in the state that follows."""
        events = self.problem.events
        values = events.values(following["t"], following["y"])
        crossed = np.logical_and(is_accepted, events.crossed(state["watched"], values))
        counts = state["counts"] + crossed
        following.update(watched=values, counts=counts, has_ended=events.ends(counts))
        return crossed

    def _norm(self, before: Any, after: Any, errors: Sequence[Any]) -> Any:
        """Return the norm of the error, relative to what is allowed."""
        scale = self.atol + self.rtol * np.maximum(np.abs(before), np.abs(after))
        first, *others = (np.sum(np.abs(stop_gradient(error) / scale) ** 2) for error in errors)
        count = shape_of(before)[0]
        if not others:
            return np.sqrt(first / count)
        whole = first + 0.01 * others[0]
        return first / np.sqrt(where(whole > 0, whole, 1.0) * count)

    def _factor(self, error: Any, is_accepted: Any, was_rejected: Any) -> Any:
        exponent = -1 / (self.method.error_order + 1)
        known = np.logical_and(error > 0, np.isfinite(error))
        factor = _SAFETY * where(known, error, 1.0) ** exponent
        factor = where(known, factor, where(error == 0, _MOST, _LEAST))
        most = where(was_rejected, 1.0, _MOST)
        return where(is_accepted, np.minimum(factor, most), np.maximum(factor, _LEAST))

    def _first(self) -> Any:
        """Return a first step size (Hairer, Norsett and Wanner, section II.4)."""
        problem = self.problem
        start, y, slope = stop_gradient((problem.start, problem.y, problem.slope))
        length = np.abs(stop_gradient(problem.stop) - start)
        scale = self.atol + np.abs(y) * self.rtol
        d0, d1 = _root_mean_square(y / scale), _root_mean_square(slope / scale)
        is_tiny = np.logical_or(d0 < 1e-5, d1 < 1e-5)
        h0 = where(is_tiny, 1e-6, 0.01 * d0 / where(is_tiny, 1.0, d1))
        h0 = np.minimum(h0, length)
        step = h0 * problem.direction
        after = stop_gradient(problem.rhs(start + step, y + step * slope))
        d2 = _root_mean_square((after - slope) / scale) / where(h0 > 0, h0, 1.0)
        largest = np.maximum(d1, d2)
        is_flat = largest <= 1e-15
        h1 = (0.01 / where(is_flat, 1.0, largest)) ** (1 / (self.method.error_order + 1))
        h1 = where(is_flat, np.maximum(1e-6, h0 * 1e-3), h1)
        return np.minimum(np.minimum(100 * h0, h1), np.minimum(length, self.max_step))


def _root_mean_square(x: Any) -> Any:
    return np.sqrt(np.sum(np.abs(x) ** 2) / shape_of(x)[0])


# -- results ---------------------------------------------------------------------------------------------


_MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}


def _result(problem: _Problem, rows: Rows, times: Any, last: dict[str, Any], dense_output: bool) -> OdeResult:
    failed = concrete(last["is_small"])
    if failed is None:
        rows = rows.required(np.logical_not(last["is_small"]))
    sol = DenseOutput(problem.start, problem.y, problem.direction, rows)
    found = find(problem.events, rows, last["has_ended"], problem.direction)
    t, y = _ends(problem, rows, found) if times is None else _at(problem, sol, times, found, bool(failed))
    has_ended = concrete(last["has_ended"])
    status: Any = -1 if failed else where(last["has_ended"], 1, 0) if has_ended is None else int(has_ended)
    known = status if has_ended is not None else 0
    return OdeResult(
        t=t,
        y=y,
        sol=sol if dense_output else None,
        t_events=found.times if problem.events.functions else None,
        y_events=found.states if problem.events.functions else None,
        nfev=0,
        njev=0,
        nlu=0,
        status=status,
        message=_MESSAGES[known],
        success=known >= 0,
    )


def _at(problem: _Problem, sol: DenseOutput, times: Any, found: Found, failed: bool) -> tuple[Any, Any]:
    """Return the times of the results up to the end of the integration, and the states."""
    end = sol.end if failed else found.end
    if end is None:
        return times, sol(times)
    limit, given, direction = concrete(end), concrete(times), concrete(problem.direction)
    if limit is not None and given is not None and direction is not None:
        times = times[np.asarray(given) * direction <= limit * direction]
        return times, sol(times)
    is_late = np.logical_and(found.has_ended, problem.direction * (times - end) > 0)
    return times, where(is_late, np.nan, sol(times))


def _ends(problem: _Problem, rows: Rows, found: Found) -> tuple[Any, Any]:
    """Return the ends of the steps that were taken, after the start; the last one is the event that ended them."""
    before, after, turns = concrete(rows.starts), concrete(rows.ends), concrete(rows.turns)
    if before is None or after is None or turns is None:
        requirement = "a traced graph, and vmap, need the times of the results"
        raise UnsupportedError(message("solve_ivp", requirement, hint="give t_eval, such as t_eval=[t1]"))
    taken = np.flatnonzero(np.asarray(before)[:turns] != np.asarray(after)[:turns])
    ends, states = rows.ends[taken], rows.afters[taken]
    times = [np.reshape(problem.start, (1,)), ends]
    values = [np.reshape(problem.y, (1, -1)), states]
    if found.end is not None:
        at_end = DenseOutput(problem.start, problem.y, problem.direction, rows)(found.end)
        times = [times[0], ends[:-1], np.reshape(found.end, (1,))]
        values = [values[0], states[:-1], np.reshape(at_end, (1, -1))]
    return np.concatenate(times), np.concatenate(values).T
