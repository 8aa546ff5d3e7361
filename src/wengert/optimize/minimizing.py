"""`minimize`: SciPy's minimiser with the derivatives that each method uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, TypeVar

from wengert.engine.core.calls import advising
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.optimize.confirmation import confirmed_minimum
from wengert.optimize.limits import checked_options
from wengert.optimize.problems import Problem
from wengert.optimize.scipys import as_tuple, callback_for, part_of, scipy_optimize

#: The variables: an array, a number, or any container of them.
XT = TypeVar("XT")
_GRADIENT = ("jac",)
_PRODUCTS = ("jac", "hessp")
_MATRIX = ("jac", "hess")
_USES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("nelder-mead", "powell", "cobyla", "cobyqa"), ()),
    **dict.fromkeys(("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"), _GRADIENT),
    **dict.fromkeys(("newton-cg", "trust-ncg", "trust-krylov"), _PRODUCTS),
    **dict.fromkeys(("dogleg", "trust-exact"), _MATRIX),
}
"""The derivatives that each method of SciPy's uses."""
MOST_DENSE = 100
"""The most variables for which trust-constr gets the Hessian as a matrix; beyond, it gets products."""


@advising("wg.optimize.minimize(f, x0)")
@with_callbacks
def minimize(
    fun: Callable[Concatenate[XT, ...], Any],
    x0: XT | Sequence[float],
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    sparse: Any = "auto",
) -> Any:
    """Minimise a function as `scipy.optimize.minimize` does, with exact derivatives, over any container of arrays.

    Each method gets the derivatives that it uses: none, the gradient, and the Hessian as a matrix or as products.
    `problem` says how functions are compiled. A function that was compiled with `wengert.jit` is compiled once for many
    calls; any other one anew in each call, because it may read what has changed.

    Args:
        fun: takes the variables and ``args``, and returns one number.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        args: further arguments of ``fun``.
        method: a method of SciPy's, by default the one that SciPy chooses: BFGS, with bounds L-BFGS-B, with constraints
            SLSQP.
        jac: None for the exact gradient; otherwise as in SciPy, of containers.
        hess: None for the exact Hessian; otherwise as in SciPy.
        hessp: None for exact products; otherwise as in SciPy, of containers.
        bounds: as for `problem`.
        constraints: as for `problem`.
        tol: as in SciPy.
        callback: as in SciPy; it gets containers.
        options: as in SciPy.
        sparse: as for `problem`; trust-constr takes sparse matrices.

    Returns:
        SciPy's `OptimizeResult`; ``x`` and ``jac`` are containers like ``x0``. Whether the method has converged is in
        ``success``, and why not, in ``message``; without bounds and constraints, a gradient method has no success
        where gradients around x say that no minimum is near.

    Raises:
        ArgumentError: the objective does not return one number, or is NaN at the start; bounds or limits do not fit; a
            tolerance is NaN.
        DtypeError: a variable is not a real number.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> result = minimize(
        ...     lambda x: (x["a"] - 1.0) ** 2 + np.sum((x["b"] - x["a"]) ** 2), {"a": 3.0, "b": np.zeros(2)}
        ... )
        >>> round(result.x["a"], 6), result.success
        (1.0, True)
    """
    optimize, args = scipy_optimize("minimize"), as_tuple(args)
    objective = part_of(fun, 0) if jac is True else fun
    problem = Problem(objective, x0, constraints, bounds, args, sparse=sparse, operation="minimize")
    name = method if isinstance(method, str) else ""
    name = name.lower() or ("slsqp" if problem.constraints else "")
    uses = _used(method, name, problem)
    derivatives = _first_derivatives(problem, fun, args, uses, jac) | _second_derivatives(
        problem, args, uses, hess, hessp
    )
    result = optimize.minimize(
        x0=problem.x0,
        method=method,
        bounds=problem.bounds,
        constraints=problem.constraints_for(name),
        tol=tol,
        callback=callback_for(callback, problem.flat),
        options=checked_options("minimize", tol, options),
        **derivatives,
    )
    if bounds is None and not problem.constraints and derivatives.get("jac") == problem.jac:
        confirmed_minimum(result, problem.jac, problem.uncompiled_hess)
    return problem.solution(result)


def _used(method: Any, name: str, problem: Problem) -> tuple[str, ...]:
    """Return the derivatives that a method uses; a method of the user's gets all."""
    if callable(method):
        return ("jac", "hess", "hessp")
    if name == "trust-constr":
        if problem.sparse_hess is not None:
            return ("jac", "sparse_hess")
        return _MATRIX if problem.flat.size <= MOST_DENSE else _PRODUCTS
    return _USES.get(name, _GRADIENT)


def _first_derivatives(
    problem: Problem, fun: Callable[..., Any], args: tuple[Any, ...], uses: tuple[str, ...], jac: Any
) -> dict[str, Any]:
    """Return the objective and its gradient, the user's if there is one."""
    flat = problem.flat
    if jac is None and "jac" in uses:
        return {"fun": problem.fun, "jac": problem.jac}
    if jac is True:

        def pair(x: Any) -> tuple[Any, Any]:
            value, gradient = fun(flat.container(x), *args)
            return value, flat.vector(gradient, "the gradient")

        return {"fun": pair, "jac": True}
    if callable(jac):
        return {
            "fun": problem.value,
            "jac": lambda x: flat.vector(jac(flat.container(x), *args), "the gradient"),
        }
    return {"fun": problem.value, "jac": jac}


def _second_derivatives(
    problem: Problem, args: tuple[Any, ...], uses: tuple[str, ...], hess: Any, hessp: Any
) -> dict[str, Any]:
    """Return the Hessian as a matrix or as products, the user's if there is one."""
    flat = problem.flat
    if hess is None and hessp is None:
        derivatives = {name: getattr(problem, name) for name in ("hess", "hessp") if name in uses}
        return {"hess": problem.sparse_hess} if "sparse_hess" in uses else derivatives
    derivatives = {"hess": hess}
    if callable(hess):
        derivatives["hess"] = lambda x: hess(flat.container(x), *args)
    if hessp is not None:

        def product(x: Any, p: Any) -> Any:
            return flat.vector(hessp(flat.container(x), flat.container(p), *args), "the product")

        derivatives["hessp"] = product
    return derivatives
