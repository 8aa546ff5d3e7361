"""`least_squares` and `curve_fit`: SciPy's fits with exact Jacobians, over containers of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.jacobians import jacobian
from wengert.optimize.confirmation import confirmed_minimum
from wengert.optimize.fits_of_data import check_followed, check_known_data, fit_of_data
from wengert.optimize.flat import Flat, as_tree
from wengert.optimize.limits import lower_and_upper
from wengert.optimize.normal_equations import Settings, minimise_squares
from wengert.optimize.passes import Passes, passes_of
from wengert.optimize.scipys import as_tuple, callback_for, in_containers, scipy_optimize
from wengert.optimize.systems import System


@with_callbacks
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = None,
    method: str = "trf",
    *,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    sparse: Any = "auto",
    **options: Any,
) -> Any:
    """Minimise half the sum of squares of residuals as `scipy.optimize.least_squares` does, with the exact Jacobian.

    Args:
        fun: takes the variables, ``args`` and ``kwargs``, and returns the residuals: numbers in any container.
        x0: the start: an array, a number, or any container of them. A list of numbers is an array.
        jac: None for the exact Jacobian; otherwise as in SciPy.
        bounds: a pair of lower and upper bounds, which are numbers, arrays or containers like ``x0``, or
            `scipy.optimize.Bounds`; None for no bound.
        method: a method of SciPy's: "trf", "dogbox" or "lm". With a sparse Jacobian "lm" is not MINPACK's: it
            factorises the damped normal equations ``(JᵀJ + μ D) p = -Jᵀ r`` by SuperLU. Its steps are exact, so it
            needs fewer of them than "trf", which solves them by LSMR; it has losses, and no bounds.
        args: further arguments of ``fun``.
        kwargs: arguments of ``fun`` by name.
        sparse: whether the Jacobian is a sparse matrix. With "auto" it is if there are at least 200 variables and at
            most a tenth of its elements may differ from 0, unless ``tr_solver`` is "exact".
        **options: SciPy's other arguments, by name: ``ftol xtol gtol x_scale loss f_scale max_nfev`` and others.
            ``x_scale`` may be a container like ``x0``.

    Returns:
        SciPy's `OptimizeResult`; ``x`` and ``grad`` are containers like ``x0``. Without bounds and losses there is no
        success where gradients around x say that no minimum is near.

    Raises:
        ArgumentError: a residual or the sum of their squares is not finite at the start, bounds do not fit, a setting
            has no meaning, or a row of the Jacobian is too full for normal equations.
        DtypeError: a variable is not a real number.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> t, y = np.arange(4.0), np.array([2.0, 1.0, 0.5, 0.25])
        >>> found = least_squares(lambda p: p["a"] * np.exp(-p["k"] * t) - y, {"a": 1.0, "k": 1.0})
        >>> {name: round(value, 6) for name, value in found.x.items()}
        {'a': 2.0, 'k': 0.693147}
    """
    optimize, args = scipy_optimize("least_squares"), as_tuple(args)
    if kwargs:
        fun = functools.partial(fun, **kwargs)
        jac = functools.partial(jac, **kwargs) if callable(jac) else jac
    factorises = method == "lm" and sparse is not False and _fits_normal_equations(sparse, bounds, options)
    if sparse == "auto" and (options.get("tr_solver") == "exact" or (method == "lm" and not factorises)):
        sparse = False
    squared = factorises or method != "lm"  # MINPACK scales before it squares
    system = System("least_squares", fun, x0, args, sparse, squared=squared)
    flat = system.flat
    scale = options.get("x_scale")
    if not (scale is None or isinstance(scale, str) or np.isscalar(scale)):
        options["x_scale"] = flat.vector(scale, "x_scale")
    if "callback" in options:
        options["callback"] = callback_for(options["callback"], flat)
    derivative = system.jac_or_users(jac, args)
    if factorises and (system.is_sparse if jac is None else sparse is True and callable(jac)):
        solution = minimise_squares(system.fun, derivative, system.x0, Settings(**options))
        result = optimize.OptimizeResult(solution)
    else:
        result = optimize.least_squares(
            system.fun,
            system.x0,
            jac=derivative,
            bounds=lower_and_upper(optimize, flat, bounds),
            method=method,
            **options,
        )
    if bounds is None and options.get("loss", "linear") == "linear":
        confirmed_minimum(result, lambda x: system.jac(x).T @ system.fun(x))
    return in_containers(result, flat, "x", "grad")


def _fits_normal_equations(sparse: Any, bounds: Any, options: dict[str, Any]) -> bool:
    """Return whether the normal equations serve a call, or raise `ArgumentError` if the user insists on them."""
    excess = ["bounds"] * (bounds is not None) + sorted(set(options) - set(Settings._fields))
    if excess and sparse is True:
        requirement = 'method="lm" with a sparse Jacobian must have no bounds, and only ' + " ".join(
            Settings._fields
        )
        raise ArgumentError(message("least_squares", requirement, ", ".join(excess), 'use method="trf"'))
    return not excess


@with_callbacks
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = None,
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """Fit a function to data by least squares as `scipy.optimize.curve_fit` does, with the exact Jacobian.

    In a derivative by the data, by their errors or by what ``f`` closes over, the parameters and their covariance move
    as the least sum of squares does: by the implicit function theorem (see `wengert.implicit`), in any order.

    Args:
        f: takes ``xdata`` and the parameters, one argument each; or, where ``p0`` is a container other than a sequence
            of numbers, ``xdata`` and this container.
        xdata: where the data were taken.
        ydata: the data.
        p0: the start; by default ones, for each argument of ``f``.
        sigma: as in SciPy: standard errors or the covariance of the data.
        absolute_sigma: as in SciPy.
        check_finite: as in SciPy.
        bounds: a pair of lower and upper bounds: numbers, arrays, or containers like ``p0``; None for no bound.
        method: "lm", "trf" or "dogbox".
        jac: None for the exact Jacobian; otherwise as in SciPy.
        full_output: as in SciPy.
        nan_policy: as in SciPy.
        **kwargs: as in SciPy.

    Returns:
        ``(popt, pcov)``, and with ``full_output`` what SciPy adds: the parameters, in the container of ``p0``, and the
        covariance matrix of their elements, in the order in which ``p0`` was written.

    Raises:
        ArgumentError: bounds do not fit, or the start is not finite; the data have derivatives with ``full_output``,
            with ``nan_policy="omit"`` or with bounds without ``p0``.
        LimitError: a derivative by the data is asked for, and the end is not a certified minimum, as at a bound.
        RuntimeError: the fit does not converge, as in SciPy.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> t = np.arange(4.0)
        >>> popt, pcov = curve_fit(
        ...     lambda t, a, k: a * np.exp(-k * t), t, np.array([2.0, 1.0, 0.5, 0.25]), [1.0, 1.0]
        ... )
        >>> popt.round(6)
        array([2.      , 0.693147])
    """
    optimize = scipy_optimize("curve_fit")
    start = as_tree(p0)
    is_container = p0 is not None and tree.flatten(start)[1] != tree.LEAF
    flat = None if p0 is None else Flat("curve_fit", start, "p0")
    bounds = lower_and_upper(optimize, flat, bounds) if flat is not None and is_container else bounds
    options = {**kwargs} if nan_policy is None else {**kwargs, "nan_policy": nan_policy}
    limits = absolute_sigma, check_finite, (-np.inf, np.inf) if bounds is None else bounds, method
    followed = None if flat is None else start if is_container else flat.start
    fit = fit_of_data(f, xdata, ydata, followed, sigma, is_container=is_container)
    if fit is not None:
        check_followed(bounds, p0, full_output, nan_policy)

        def solve(residuals: Callable[[Any], Any], x0: Any) -> Any:
            check_known_data(residuals(x0))
            model, zeros = _Model(lambda _, p: residuals(p), True, x0, fit.data), np.zeros(fit.data)
            optimum = optimize.curve_fit(
                model.function, zeros, zeros, x0, None, *limits, jac=model.jacobian, **options
            )
            return optimum[0]

        optimum, covariance = fit.solved(solve, absolute_sigma)
        result = (optimum if flat is None else flat.vector(optimum, "the parameters")), covariance
    else:
        model = _Model(f, is_container, start, np.size(ydata))
        operands = xdata, ydata, None if flat is None else flat.known_start, sigma, *limits
        jac = model.jacobian if jac is None else jac
        result = optimize.curve_fit(model.function, *operands, jac=jac, full_output=full_output, **options)
    if flat is None or not is_container:
        return result
    order: Any = flat.written_order
    return (flat.users(result[0]), result[1][np.ix_(order, order)], *result[2:])


class _Model:
    """A function of data and parameters, and its Jacobian in the parameters.

    Args:
        f: the user's function.
        is_container: whether its parameters are one container.
        start: this container.
        count: the number of data.
    """

    def __init__(self, f: Callable[..., Any], is_container: bool, start: Any, count: int) -> None:
        self._f = f
        self._is_container = is_container
        self._start = start
        self._count = count
        self._made: tuple[Passes, Any, Any] | None = None

        def function(xdata: Any, *parameters: Any) -> Any:
            return self._run("values", xdata, parameters)

        if not is_container:  # SciPy counts the parameters
            function.__signature__ = inspect.signature(f)  # pyright: ignore[reportFunctionMemberAccess]
        self.function = function

    def jacobian(self, xdata: Any, *parameters: Any) -> Any:
        """Return the Jacobian matrix: a row for each value, a column for each parameter."""
        matrix = self._run("jacobian", xdata, parameters)
        return (
            np.repeat(matrix, self._count, axis=0) if len(matrix) == 1 else matrix
        )  # one value for all data

    def _run(self, name: str, xdata: Any, parameters: tuple[Any, ...]) -> Any:
        vector = np.array(parameters, np.float64)
        made = self._made
        if made is None or made[2] is not xdata:
            made = self._made = (*self._passes_for(xdata, vector), xdata)
        passes, arrays, _ = made
        values = passes.values
        return passes.get(name, lambda: values if name == "values" else jacobian(values))(vector, arrays)

    def _passes_for(self, xdata: Any, vector: Any) -> tuple[Passes, Any]:
        """Return the passes of the function of the parameters, and the arrays of the data."""
        flat = Flat("curve_fit", self._start if self._is_container else vector, "p0")

        def with_parameters(p: Any, xdata: Any) -> Any:
            return self._f(xdata, *([p] if self._is_container else [p[n] for n in range(flat.size)]))

        return passes_of("curve_fit", with_parameters, flat, (xdata,), owner=self._f)
