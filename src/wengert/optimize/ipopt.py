"""`minimize(method="ipopt")`: IPOPT, an interior-point method for sparse nonlinear programs, with exact derivatives.

Source: Waechter and Biegler, "On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming" (2006). The package `ipyopt` holds IPOPT and a linear solver.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, MissingExtraError, message
from wengert.optimize.confirmation import withdraw
from wengert.optimize.flat import Flat
from wengert.optimize.multipliers import as_vectors, confirm, in_forms
from wengert.optimize.programs import Program
from wengert.optimize.scipys import scipy_optimize

_NONE = 2e19
"""What IPOPT takes for an infinite limit."""
_MOST_VIOLATED, _MOST_INEXACT = 1e-6, 1e-4
_NAMES = {"maxiter": "max_iter", "max_iter": "max_iter"}
_SCALES = ("obj_scaling", "x_scaling", "g_scaling")
_SILENT = {"print_level": 0, "sb": "yes"}
_WARM: dict[str, Any] = {
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-9,
    "warm_start_bound_frac": 1e-9,
    "warm_start_slack_bound_push": 1e-9,
    "warm_start_slack_bound_frac": 1e-9,
    "warm_start_mult_bound_push": 1e-9,
    "mu_init": 1e-7,
}
_MESSAGES = {
    0: "Optimal solution found.",
    1: "Solved to the acceptable level of tolerance.",
    2: "Converged to a point of local infeasibility: the problem may be infeasible.",
    3: "The search direction becomes too small.",
    4: "The iterates diverge: the problem may be unbounded.",
    5: "Stopped by the user.",
    6: "A feasible point was found, but the method was asked for no minimum.",
    -1: "Maximum number of iterations has been exceeded.",
    -2: "The restoration phase failed: no point near satisfies the constraints better.",
    -3: "A step could not be computed.",
    -4: "Maximum CPU time has been exceeded.",
    -5: "Maximum wall-clock time has been exceeded.",
    -10: "There are fewer free variables than equations.",
    -11: "The problem is not well defined.",
    -12: "An option is not valid.",
    -13: "A function or a derivative is NaN or infinite.",
    -102: "There is not enough memory.",
}


def ipopt(operation: str) -> Any:
    """Return the module `ipyopt`, or raise `MissingExtraError`."""
    try:
        import ipyopt
    except ImportError:
        hint = "pip install 'wengert[ipopt]'"
        raise MissingExtraError(
            message(operation, "ipyopt is needed for the method ipopt", hint=hint)
        ) from None
    return ipyopt


def has_ipopt() -> bool:
    """Return whether IPOPT is installed."""
    try:
        ipopt("minimize")
    except MissingExtraError:
        return False
    return True


class _Calls:
    """The functions that IPOPT calls, which write into its arrays; the first exception ends the search."""

    def __init__(self, program: Program, callback: Callable[[Any, float], Any] | None) -> None:
        self.program = program
        self.problem: Exception | None = None
        self.iterations = 0
        self._callback = callback
        self._x = program.problem.x0

    def _called(self, function: Callable[[], Any], absent: Any) -> Any:
        if self.problem is not None:
            return absent
        try:
            with np.errstate(all="ignore"):
                return function()
        except Exception as problem:
            self.problem = problem
            return absent

    def value(self, x: Any) -> float:
        """Return the objective."""
        return float(self._called(lambda: self.program.fun(x), np.nan))

    def gradient(self, x: Any, out: Any) -> None:
        """Write the gradient."""
        self._x = np.array(x)
        out[...] = self._called(lambda: self.program.jac(x), np.nan)

    def values(self, x: Any, out: Any) -> None:
        """Write the values of the constraints."""
        out[...] = self._called(lambda: self.program.values(x), np.nan)

    def jacobian(self, x: Any, out: Any) -> None:
        """Write the elements of the Jacobian."""
        out[...] = self._called(lambda: self.program.jacobian.at(x), np.nan)

    def hessian(self, x: Any, multipliers: Any, scale: float, out: Any) -> None:
        """Write the elements of the lower half of the Hessian of the Lagrangian."""
        made: Any = self.program.hessian
        out[...] = self._called(lambda: made.at(x, multipliers, scale), np.nan)

    def iteration(self, mode: int, number: int, value: float, *state: Any) -> bool:
        """Return whether to go on after an iteration."""
        self.iterations = number
        if self._callback is not None and self.problem is None and number:
            try:
                self._callback(self._x, value)
            except StopIteration:
                return False
            except Exception as problem:
                self.problem = problem
        return self.problem is None


def minimise_by_ipopt(
    program: Program,
    tol: float | None,
    callback: Callable[[Any, float], Any] | None,
    options: Any,
    multipliers: Any,
) -> Any:
    """Return SciPy's result of a search by IPOPT.

    Args:
        program: the problem.
        tol: IPOPT's tolerance of the scaled conditions of a minimum.
        callback: takes the vector and the value; StopIteration ends the search.
        options: IPOPT's by name, and scales.
        multipliers: to begin with; None for IPOPT's own estimates.

    Raises:
        ArgumentError: an option has no such name or value, or multipliers do not fit.
    """
    package, problem, flat = ipopt("minimize"), program.problem, program.problem.flat
    chosen, scales = _options(package, flat, program, tol, options)
    v, z = np.zeros(len(program.lower)), np.zeros(program.size)
    if multipliers is not None:
        v, z = map(np.array, as_vectors(program, multipliers))
        chosen = _WARM | chosen
    program.fun(problem.x0)  # raises where the start has no value
    calls, hessian = _Calls(program, callback), program.hessian
    if hessian is None:
        chosen.setdefault("hessian_approximation", "limited-memory")
    empty = np.zeros(0, np.int64), np.zeros(0, np.int64)
    search = package.Problem(
        program.size,
        np.clip(program.low, -_NONE, _NONE),
        np.clip(program.high, -_NONE, _NONE),
        len(program.lower),
        np.clip(program.lower, -_NONE, _NONE),
        np.clip(program.upper, -_NONE, _NONE),
        _places(program.jacobian.pattern),
        empty if hessian is None else _places(hessian.pattern),
        calls.value,
        calls.gradient,
        calls.values,
        calls.jacobian,
        None if hessian is None else calls.hessian,
        calls.iteration,
        ipopt_options=_SILENT,
        **scales,
    )
    for name, option in chosen.items():
        _set(search, name, option)
    x, low, high = np.array(problem.x0), np.maximum(-z, 0.0), np.maximum(z, 0.0)
    x, value, status = search.solve(x, mult_g=v, mult_x_L=low, mult_x_U=high)
    if calls.problem is not None:
        raise calls.problem
    result = _result(program, np.array(x), float(value), int(status), v, high - low)
    names = {"nit": "n_iter", "nfev": "n_eval_f", "njev": "n_eval_grad_f", "nhev": "n_eval_h"}
    result.update({name: search.stats[given] for name, given in names.items()})
    return result


def _result(program: Program, x: Any, value: float, status: int, v: Any, z: Any) -> Any:
    """Return the result; there is success where IPOPT says so, and the conditions of a minimum hold at x."""
    values = program.values(x)
    with np.errstate(all="ignore"):
        slope, matrix = program.jac(x), program.matrix(program.jacobian, x)
    residual = slope + matrix.T @ v
    z = cast("Any", np).where(program.low == program.high, -residual, z)  # IPOPT takes such variables out
    residual = residual + z
    sizes = np.abs(slope) + abs(matrix).T @ np.abs(v) + np.abs(z)
    optimality, violation = float(np.max(np.abs(residual))), program.violation(x, values)
    result = scipy_optimize("minimize").OptimizeResult(
        x=x,
        fun=value,
        jac=slope,
        success=status in (0, 1),
        status=status,
        message=_MESSAGES.get(status, f"IPOPT ends with the status {status}."),
        optimality=optimality,
        constr_violation=violation,
        multipliers=in_forms(program, v, z),
    )
    if result.success:
        scale = max(1.0, float(np.max(sizes)))
        if not violation <= _MOST_VIOLATED:
            withdraw(result, f"A constraint is violated by {violation:.2g}, relative to its limit or to 1.")
        elif not optimality <= _MOST_INEXACT * scale:
            withdraw(result, f"The gradient of the Lagrangian is {optimality:.2g}, its terms {scale:.2g}.")
        else:
            confirm(result, program, v, z)
    return result


def _places(pattern: Any) -> tuple[Any, Any]:
    """Return the rows and the columns of the elements of a pattern, row by row."""
    rows = np.repeat(np.arange(pattern.shape[0], dtype=np.int64), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def _options(
    package: Any, flat: Flat, program: Program, tol: float | None, options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return IPOPT's options, and its scales."""
    names = _names(package)
    chosen: dict[str, Any] = {"honor_original_bounds": "yes"}
    scales: dict[str, Any] = {}
    if tol is not None:
        chosen["tol"] = float(tol)
    named: dict[str, Any] = dict(options or {})
    for given, value in named.items():
        name = _NAMES.get(given, given)
        if name == "disp":
            chosen["print_level"] = 5 if value else 0
        elif name in _SCALES:
            scales[name] = _scale(flat, program, name, value)
            chosen.setdefault("nlp_scaling_method", "user-scaling")
        elif name in names:
            chosen[name] = value
        else:
            near: list[str] = difflib.get_close_matches(name, [*names, *_NAMES, *_SCALES, "disp"], 3)
            hint = f"IPOPT has {', '.join(near)}" if near else "see IPOPT's list of options"
            raise ArgumentError(
                message("minimize", "an option of ipopt must be one of IPOPT's", repr(name), hint)
            )
    return chosen, scales


@functools.cache
def _names(package: Any) -> frozenset[str]:
    """Return the names of IPOPT's options."""
    return frozenset(option["name"] for option in package.get_ipopt_options())


def _set(search: Any, name: str, value: Any) -> None:
    """Set an option, in the type that IPOPT has for it; ipyopt does not tell it."""
    tries: list[Any] = [value]
    if isinstance(value, (bool, np.bool_)):
        tries = ["yes" if value else "no"]
    elif isinstance(value, (int, float, np.number)):
        tries = [float(value)] + [int(value)] * (value == int(value) if np.isfinite(value) else False)
        tries = tries[::-1] if isinstance(value, (int, np.integer)) else tries
    for option in tries:
        try:
            return search.set(**{name: option})
        except (TypeError, ValueError):
            continue
    raise ArgumentError(message("minimize", f"IPOPT must take the value of the option {name}", repr(value)))


def _scale(flat: Flat, program: Program, name: str, value: Any) -> Any:
    """Return factors by which IPOPT multiplies the objective, the variables, or the values of the constraints."""
    if name == "x_scaling" and np.ndim(value) == 0 and not isinstance(value, dict):
        value = np.full(program.size, float(value))
    elif name == "x_scaling":
        value = flat.vector(value, name)
    elif name == "g_scaling":
        parts: list[Any] = list(cast("Any", value)) if isinstance(value, (list, tuple)) else [value]
        if len(parts) != len(program.constraints):
            requirement = (
                f"g_scaling must have an entry for each of the {len(program.constraints)} constraints"
            )
            raise ArgumentError(message("minimize", requirement, f"{len(parts)}"))
        rows = [
            np.broadcast_to(part, g.lower.shape) for part, g in zip(parts, program.constraints, strict=True)
        ]
        value = np.concatenate([np.zeros(0), *rows])
    factors = np.asarray(value, np.float64)
    if not np.all((factors > 0) & np.isfinite(factors)) and name != "obj_scaling":
        raise ArgumentError(message("minimize", f"{name} must be positive numbers", repr(value)))
    return float(factors) if name == "obj_scaling" else factors
