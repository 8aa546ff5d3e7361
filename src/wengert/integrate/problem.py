"""The initial value problem that the arguments of `solve_ivp` define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete, constant
from wengert.engine.control.checkpoint import stop_gradient
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.integrate.arguments import (
    called,
    check_callable,
    number_of,
    real_of,
    required,
)
from wengert.integrate.events import Events
from wengert.integrate.states import Form, state_of
from wengert.integrate.steps import Rhs, System

OPERATION = "solve_ivp"
_EPSILON = float(np.finfo(np.float64).eps)
_LEAST_RTOL = 100 * _EPSILON
"""SciPy's smallest relative tolerance."""
_SLACK = 4 * _EPSILON
"""The largest distance of a time of a result behind the ends by rounding, relative to them."""


class Problem(NamedTuple):
    """An initial value problem."""

    system: System
    start: Any
    stop: Any
    y: Any
    slope: Any
    """The derivative at the start."""
    direction: Any
    """1 or -1."""
    events: Events
    form: Form = Form(OPERATION)
    """How the user writes states."""
    right: Any = None
    """The right-hand side at the start, where that is not the derivative."""

    @property
    def value(self) -> Any:
        """The right-hand side at the start."""
        return self.slope if self.right is None else self.right


class Tolerances(NamedTuple):
    """The bounds of the errors and sizes of steps."""

    rtol: Any
    atol: Any
    first_step: Any
    """None where the problem chooses it."""
    max_step: Any

    def allowed(self, size: Any) -> Any:
        """Return the error that is allowed for each component of a state of a size."""
        return self.atol + self.rtol * size


def problem_without_events(rhs: Rhs, start: Any, stop: Any, y: Any) -> Problem:
    """Return the problem of equations that need no checks."""
    direction = direction_of(start, stop)
    return Problem(System(rhs), start, stop, y, rhs(start, y), direction, Events(OPERATION, [], ()))


def problem_of(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    args: Sequence[Any],
    events: Sequence[Callable[..., Any]],
) -> Problem:
    """Return the problem."""
    check_callable(OPERATION, "fun", fun, "(t, y, *args) -> dy/dt")
    start, stop = _span(t_span)
    y, form = state_of(OPERATION, y0)

    def rhs(t: Any, y: Any) -> Any:
        return form.slope(called(OPERATION, "fun", fun, t, form.container(y), *args), y)

    slope = rhs(start, y)
    hint = "look at fun(t0, y0)"
    slope = required(
        OPERATION, slope, np.isfinite(slope), "fun must return finite numbers at the start", hint=hint
    )
    watched = Events(OPERATION, events, args, form.container)
    return Problem(System(rhs), start, stop, y, slope, direction_of(start, stop), watched, form)


def direction_of(start: Any, stop: Any) -> Any:
    """Return 1 or -1, the sign of the step sizes."""
    sign = stop_gradient(np.sign(stop - start))
    return where(sign == 0, 1.0, sign)


def _span(t_span: Any) -> tuple[Any, Any]:
    try:
        start, stop = t_span
    except (TypeError, ValueError):
        raise ShapeError(
            message(OPERATION, "t_span must be a pair of times, (t0, t1)", repr(t_span))
        ) from None
    start, stop = (
        required(OPERATION, t, np.isfinite(t), f"{name} of t_span must be finite")
        for name, t in (
            (name, number_of(OPERATION, f"{name} of t_span", t)) for name, t in (("t0", start), ("t1", stop))
        )
    )
    return start, stop


def events_of(events: Any) -> list[Callable[..., Any]]:
    """Return the event functions."""
    watched: list[Any] = [] if events is None else [events] if callable(events) else _listed(events)
    for event in watched:
        check_callable(OPERATION, "each event", event, "(t, y, *args) -> number")
    return watched


def _listed(events: Any) -> list[Any]:
    return list(events) if isinstance(events, (list, tuple)) else [events]


def times_of(problem: Problem, t_eval: Any) -> Any:
    """Return the times of the results."""
    times = real_of(OPERATION, "t_eval", t_eval)
    if len(shape_of(times)) != 1:
        raise ShapeError(
            message(OPERATION, "t_eval must have one axis", show(times), "write [t] for one time")
        )
    start, stop, direction = problem.start, problem.stop, problem.direction
    slack = _SLACK * np.maximum(np.abs(start), np.abs(stop))
    is_inside = np.logical_and((times - start) * direction >= -slack, (stop - times) * direction >= -slack)
    plain = concrete(times)
    got = "" if plain is None or not np.size(plain) else f"{np.min(plain)} to {np.max(plain)}"
    ends = concrete(start), concrete(stop)
    between = "within t_span" if None in ends else f"between {ends[0]} and {ends[1]}"
    times = required(OPERATION, times, is_inside, f"t_eval must lie {between}", got)
    is_sorted = np.diff(stop_gradient(times)) * direction >= 0
    return required(OPERATION, times, is_sorted, "t_eval must be sorted from t0 to t1", hint="use np.sort")


def is_end(problem: Problem, times: Any) -> bool:
    """Return whether all times are known to be the end, also in each derivative: no step is then interpolated."""
    plain, stop = constant(times), constant(problem.stop)
    return not (plain is None or stop is None) and bool(np.all(plain == stop))


def tolerances_of(problem: Problem, rtol: Any, atol: Any, first_step: Any, max_step: Any) -> Tolerances:
    """Return the tolerances; the relative one is at least SciPy's smallest."""
    checked: list[Any] = []
    for name, value in (("rtol", rtol), ("atol", atol)):
        tolerance = real_of(OPERATION, name, problem.form.setting(name, value))
        if shape_of(tolerance) not in ((), shape_of(problem.y)):
            requirement = f"{name} must be one number, or one for each component of y"
            raise ShapeError(message(OPERATION, requirement, f"{show(tolerance)} for y of {show(problem.y)}"))
        checked.append(required(OPERATION, tolerance, tolerance >= 0, f"{name} must be 0 or above"))
    sizes: list[Any] = []
    for name, value in (("first_step", first_step), ("max_step", max_step)):
        size = None if value is None and name == "first_step" else number_of(OPERATION, name, value)
        sizes.append(size if size is None else required(OPERATION, size, size > 0, f"{name} must be above 0"))
    rtol, atol = stop_gradient((np.maximum(checked[0], _LEAST_RTOL), checked[1]))
    return Tolerances(rtol, atol, *sizes)
