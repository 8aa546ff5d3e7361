"""`minimize`: SciPy's minimiser with the derivatives that each method uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, TypeVar

from wengert.engine.boxes import inside_transform
from wengert.engine.core.calls import advising
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.optimize.constrained_minima import followed_minimum
from wengert.optimize.searches import search

#: The variables: an array, a number, or any container of them.
XT = TypeVar("XT")


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
    multipliers: Any = None,
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
            SLSQP; or "ipopt", with the extra of this name: an interior-point method for sparse problems. SLSQP's time
            grows as the cube of the number of variables: with constraints and more than 200 variables the default is
            ipopt, or trust-constr where it is not installed.
        jac: None for the exact gradient; otherwise as in SciPy, of containers.
        hess: None for the exact Hessian; otherwise as in SciPy.
        hessp: None for exact products; otherwise as in SciPy, of containers.
        bounds: as for `problem`.
        constraints: as for `problem`.
        tol: as in SciPy.
        callback: as in SciPy; it gets containers.
        options: as in SciPy. For ipopt, IPOPT's by name, ``maxiter`` and ``disp``; and ``obj_scaling``, ``x_scaling``
            (a number or a container like ``x0``) and ``g_scaling`` (numbers or arrays, one for each constraint):
            factors by which the objective, the variables and the values of the constraints are multiplied.
        sparse: as for `problem`; trust-constr and ipopt take sparse matrices.
        multipliers: those of an earlier result, for a warm start of ipopt.

    Returns:
        SciPy's `OptimizeResult`; ``x`` and ``jac`` are containers like ``x0``. Whether the method has converged is in
        ``success``, and why not, in ``message``; a gradient method has no success where gradients around x say that no
        minimum is near, or where constraints do not hold. With bounds or constraints it has ``constr_violation``,
        relative to limits or to 1, and ``multipliers``: ``constraints``, those of each constraint in the container of
        its values, and ``bounds``, a container like ``x0``. The gradient of ``L = f(x) + sum(v * g(x)) + sum(z * x)``
        is zero: a multiplier is positive at an upper limit, and negative at a lower one, and the least value changes by
        ``-v`` for each unit of a limit (the multipliers of SciPy's SLSQP have the other sign).

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
    given = {
        "method": method,
        "jac": jac,
        "hess": hess,
        "hessp": hessp,
        "bounds": bounds,
        "constraints": constraints,
    }
    given |= {
        "tol": tol,
        "callback": callback,
        "options": options,
        "sparse": sparse,
        "multipliers": multipliers,
    }
    if inside_transform():
        found = followed_minimum(fun, x0, args, **given)
        if found is not None:
            return found
    return search(fun, x0, args, **given)
