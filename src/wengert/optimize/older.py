"""SciPy's other solvers inside a followed program: those of its older interfaces, in terms of those of `followed`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from wengert import implicit
from wengert.engine.array.substitutes import as_tuple, enter_caller, holds_box, in_place_of, is_followed
from wengert.engine.core.errors import ArgumentError, message
from wengert.numpy.creation import asarray
from wengert.numpy.linear_algebra import norm
from wengert.optimize import global_minima
from wengert.optimize.followed import least_squares, minimize
from wengert.optimize.scipys import part_of, scipy_optimize

Given = Mapping[str, Any]


def _standing_for(name: str, solve: Callable[[Any, Given], Any], start: Callable[[Given], Any]) -> None:
    """Enter a solver in the place of SciPy's, for calls whose function, the first argument, is followed.

    Args:
        name: SciPy's name.
        solve: returns the result, of the function of the variables alone and the arguments by their names.
        start: returns where the function is evaluated to decide.
    """

    @in_place_of(f"scipy.optimize.{name}")
    def _(call: Any) -> Any:
        given = cast("dict[str, Any]", vars(call))
        function, args = next(iter(given.values())), given.get("args", ())
        if not is_followed(function, start(given), *args) and not holds_box(*given.values()):
            return NotImplemented
        if given.get("full_output") or given.get("retall"):
            requirement = "a followed solution has no full_output and no retall"
            raise ArgumentError(message(f"scipy.optimize.{name}", requirement))
        return solve(lambda x: function(x, *args), given)


# -- minima ----------------------------------------------------------------------------------------------

#: The kinds of constraints by SciPy's names.
_CONSTRAINTS = {"cons": "ineq", "ieqcons": "ineq", "f_ieqcons": "ineq", "eqcons": "eq", "f_eqcons": "eq"}


def _minimum(function: Callable[[Any], Any], given: Given) -> Any:
    has_slope = given.get("fprime", function) is None and not given.get("approx_grad", True)
    objective = part_of(function, 0) if has_slope else function
    args = as_tuple(given.get("args", ()) if given.get("consargs") is None else given["consargs"])
    constraints = [
        {"type": kind, "fun": constraint, "args": args}
        for name, kind in _CONSTRAINTS.items()
        for constraint in _listed(given.get(name))
    ]
    found = minimize(objective, given["x0"], bounds=given.get("bounds") or None, constraints=constraints)
    return found.x, found.fun


def _listed(constraints: Any) -> Any:
    return () if constraints is None else (constraints,) if callable(constraints) else constraints


def _scalar_minimum(name: str, function: Callable[[Any], Any], given: Given) -> Any:
    low, high = given.get("x1"), given.get("x2")
    if given.get("bounds") is not None:
        low, high = given["bounds"]
    if low is None or high is None:
        x = implicit.minimum(function, _inside(given))
    else:
        x = minimize(lambda x: function(x[0]), np.array([_inside(given)]), bounds=[(low, high)]).x[0]
    if name != "minimize_scalar":
        return x
    result = scipy_optimize(name).OptimizeResult
    return result(x=x, fun=function(x), success=True, message="the minimum of the program")


def _inside(given: Given) -> Any:
    """Return where a search for a minimum of one variable begins."""
    ends = given.get("bounds") or given.get("brack") or given.get("bracket")
    ends = (given["x1"], given["x2"]) if "x1" in given else ends or (0.0, 1.0)
    return ends[1] if len(ends) == 3 else 0.5 * (ends[0] + ends[1])


# -- equations -------------------------------------------------------------------------------------------


_NONLINEAR = (
    *("anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing", "linearmixing", "newton_krylov"),
)


def _root(function: Callable[[Any], Any], given: Given) -> Any:
    return implicit.root(function, np.asarray(given["xin"]) * 1.0)


def _fixed_point(function: Callable[[Any], Any], given: Given) -> Any:
    return implicit.root(lambda x: function(x) - x, np.asarray(given["x0"]) * 1.0)


def _enter_linear() -> None:
    """Enter the linear fits, whose bounds may hold."""

    def fitted(name: str, A: Any, b: Any, bounds: Any) -> Any:
        matrix = A.toarray() if hasattr(A, "toarray") else A
        start = np.ones(np.shape(matrix)[1])
        found = least_squares(lambda x: matrix @ x - b, start, bounds=bounds)
        return found if name == "lsq_linear" else (found.x, norm(found.fun))

    def nnls(A: Any, b: Any, *options: Any, **others: Any) -> Any:
        """Return x >= 0 of the least squares, and the norm of the residuals; followed by Wengert's fit."""
        if not holds_box(A, b):
            return scipy_optimize("nnls").nnls(A, b, *options, **others)
        return fitted("nnls", A, b, (0.0, np.inf))

    def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), *options: Any, **others: Any) -> Any:
        """Return x of the least squares between bounds; followed by Wengert's fit."""
        if not holds_box(A, b, bounds):
            return scipy_optimize("lsq_linear").lsq_linear(A, b, bounds, *options, **others)
        return fitted("lsq_linear", A, b, bounds)

    for function in (nnls, lsq_linear):
        enter_caller(f"scipy.optimize.{function.__name__}", function)


@in_place_of("scipy.optimize.approx_fprime")
def _approx_fprime(call: Any) -> Any:
    """Return SciPy's differences, of which a transform takes the derivative."""
    x = np.ravel(asarray(call.xk) * 1.0)
    if not is_followed(call.f, x, *call.args):
        return NotImplemented
    steps, value = (x + call.epsilon) - x, call.f(x, *call.args)
    moved = [x + steps * (np.arange(len(x)) == place) for place in range(len(x))]
    return np.stack([call.f(one, *call.args) - value for one in moved], axis=-1) / steps


@in_place_of("scipy.optimize.isotonic_regression")
def _isotonic_regression(call: Any) -> Any:
    """Return SciPy's result with x alone, the greatest of the least means over the intervals about each place."""
    if not holds_box(call.y, call.weights):
        return NotImplemented
    order = slice(None, None, 1 if call.increasing else -1)
    y = asarray(call.y)[order] * 1.0
    weights = np.ones(len(y)) if call.weights is None else asarray(call.weights)[order] * 1.0
    is_before = np.tri(len(y), dtype=bool).T  # the first place, and the last one
    sums = [np.cumsum(np.where(is_before, part, 0.0), axis=1) for part in (weights * y, weights)]
    means = np.where(is_before, sums[0], np.inf) / np.where(is_before, sums[1], 1.0)
    least = np.flip(np.minimum.accumulate(np.flip(means, 1), axis=1), 1)
    x = np.max(np.where(is_before, least, -np.inf), axis=0)
    return scipy_optimize("isotonic_regression").OptimizeResult(x=x[order])


def enter() -> None:
    """Enter the solvers in SciPy's place."""

    def at(given: Given) -> Any:
        return np.ravel(np.asarray(given["x0"]) * 1.0)

    first = cast("Any", lambda *given: _minimum(*given)[0])
    for name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_ncg", "fmin_powell", "fmin_slsqp", "fmin_cobyla"):
        _standing_for(name, first, at)
    _standing_for("fmin_l_bfgs_b", lambda *given: (*_minimum(*given), {"warnflag": 0}), at)
    _standing_for("fmin_tnc", lambda *given: (_minimum(*given)[0], np.nan, 0), at)
    for name in ("brent", "golden", "fminbound", "minimize_scalar"):
        _standing_for(name, functools.partial(_scalar_minimum, name), _inside)
    for name in _NONLINEAR:
        _standing_for(name, _root, lambda given: np.asarray(given["xin"]) * 1.0)
    _standing_for("fixed_point", _fixed_point, lambda given: np.asarray(given["x0"]) * 1.0)
    searches = {"brute": global_minima.brute, "basinhopping": global_minima.basinhopping}
    for name in global_minima.BETWEEN_BOUNDS:
        searches[name] = functools.partial(global_minima.searched, name)
    for name, search in searches.items():
        _standing_for(name, search, functools.partial(global_minima.middle, name))
    _enter_linear()
