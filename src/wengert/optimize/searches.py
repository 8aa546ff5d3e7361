"""Searches for minima by SciPy's methods and IPOPT, each with the derivatives that it uses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from wengert.engine.core.errors import ArgumentError, message
from wengert.optimize.confirmation import confirmed_minimum
from wengert.optimize.ipopt import has_ipopt, minimise_by_ipopt
from wengert.optimize.limits import checked_options
from wengert.optimize.multipliers import complete
from wengert.optimize.problems import Problem
from wengert.optimize.programs import Program
from wengert.optimize.scipys import as_tuple, callback_for, callback_for_iterations, part_of, scipy_optimize
from wengert.optimize.sparsity import LEAST_VARIABLES

_GRADIENT = ("jac",)
_PRODUCTS = ("jac", "hessp")
_MATRIX = ("jac", "hess")
_DENSE = ("slsqp", "cobyla", "cobyqa")
_USES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("nelder-mead", "powell", "cobyla", "cobyqa"), ()),
    **dict.fromkeys(("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"), _GRADIENT),
    **dict.fromkeys(("newton-cg", "trust-ncg", "trust-krylov"), _PRODUCTS),
    **dict.fromkeys(("dogleg", "trust-exact"), _MATRIX),
}
"""The derivatives that each method of SciPy's uses."""
MOST_DENSE = 100
"""The most variables for which trust-constr gets the Hessian as a matrix; beyond, it gets products."""


_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(
        ("method", "jac", "hess", "hessp", "bounds", "tol", "callback", "options", "multipliers")
    ),
    "constraints": (),
    "sparse": "auto",
}


def search(fun: Callable[..., Any], x0: Any, args: Any, **given: Any) -> Any:
    """Return the result of `minimize`, whose arguments these are, of a function of known numbers."""
    return _search(fun, x0, args, **{**_DEFAULTS, **given})


def _search(
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: Any,
    jac: Any,
    hess: Any,
    hessp: Any,
    bounds: Any,
    constraints: Any,
    tol: float | None,
    callback: Callable[..., Any] | None,
    options: Any,
    sparse: Any,
    multipliers: Any,
) -> Any:
    optimize, args = scipy_optimize("minimize"), as_tuple(args)
    objective = part_of(fun, 0) if jac is True else fun
    problem = Problem(objective, x0, constraints, bounds, args, sparse=sparse, operation="minimize")
    if method is None and problem.given_constraints:
        method = _default_method(problem)
    name = method.lower() if isinstance(method, str) else ""
    options = checked_options("minimize", tol, options)
    _check_multipliers(multipliers, name)
    if name == "ipopt":
        program = Program(problem, _users(problem, fun, args, jac, hess))
        called = callback_for_iterations(callback, problem.flat, optimize.OptimizeResult)
        return problem.solution(minimise_by_ipopt(program, tol, called, options, multipliers))
    _warn_of_dense(optimize, name, problem)
    uses = _used(method, name, problem)
    derivatives = _first_derivatives(problem, fun, args, uses, jac)
    derivatives |= _second_derivatives(problem, args, uses, hess, hessp)
    result = optimize.minimize(
        x0=problem.x0,
        method=method,
        bounds=problem.bounds,
        constraints=problem.constraints_for(name),
        tol=tol,
        callback=callback_for(callback, problem.flat),
        options=options,
        **derivatives,
    )
    _judge(
        result,
        problem,
        name,
        is_exact=derivatives.get("jac") == problem.jac,
        is_known=jac is None and not callable(method),
    )
    return problem.solution(result)


def _judge(result: Any, problem: Problem, name: str, *, is_exact: bool, is_known: bool) -> None:
    """Give a result its multipliers, and take its success away where it is no minimum."""
    if problem.bounds is not None or problem.given_constraints:
        if is_known:
            complete(result, Program(problem), name, is_exact=is_exact)
    elif is_exact:
        confirmed_minimum(result, problem.jac, problem.uncompiled_hess)


def _check_multipliers(multipliers: Any, name: str) -> None:
    if multipliers is not None and name != "ipopt":
        requirement = "only the method ipopt takes multipliers"
        raise ArgumentError(message("minimize", requirement, repr(name)))


def _default_method(problem: Problem) -> str:
    """Return the default method for a problem with constraints."""
    if problem.flat.size <= LEAST_VARIABLES:
        return "SLSQP"
    return "ipopt" if has_ipopt() else "trust-constr"


def _warn_of_dense(optimize: Any, name: str, problem: Problem) -> None:
    """Warn of a method that takes time as the cube of many variables."""
    if name in _DENSE and problem.given_constraints and problem.flat.size > LEAST_VARIABLES:
        warnings.warn(
            f"{name} takes memory as the square and time as the cube of {problem.flat.size} variables; "
            'method="ipopt" (pip install \'wengert[ipopt]\') and "trust-constr" use sparse matrices',
            optimize.OptimizeWarning,
            stacklevel=4,
        )


def _users(
    problem: Problem, fun: Callable[..., Any], args: tuple[Any, ...], jac: Any, hess: Any
) -> dict[str, Any]:
    """Return the user's derivatives as functions of vectors."""
    for name, given in (("jac", jac), ("hess", hess)):
        if not (given is None or callable(given) or (name == "jac" and given is True)):
            requirement = f"{name} must be None or a function, for the method ipopt"
            raise ArgumentError(message("minimize", requirement, repr(given)))
    users: dict[str, Any] = {}
    if jac is not None:
        users["fun"] = problem.value
        gradient = part_of(fun, 1) if jac is True else jac
        users["jac"] = lambda x: problem.flat.vector(
            gradient(problem.flat.container(x), *args), "the gradient"
        )
    if hess is not None:
        users["hess"] = lambda x: hess(problem.flat.container(x), *args)
    return users


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
