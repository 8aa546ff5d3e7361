"""`least_squares` and `curve_fit`: SciPy's fits with exact Jacobians, over containers of parameters."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.jit import Jitted
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DoubtfulResultWarning, message
from wengert.engine.ops.comparison import require_end
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.jacobians import hessian, jacobian
from wengert.optimize.compiled import levenberg_marquardt
from wengert.optimize.confirmation import confirmed_minimum
from wengert.optimize.fits_of_data import Fit, check_followed, fit_of_data
from wengert.optimize.flat import Flat, as_tree
from wengert.optimize.limits import lower_and_upper
from wengert.optimize.normal_equations import Settings, minimise_squares
from wengert.optimize.passes import Passes, passes_of
from wengert.optimize.refinement import Refined, refined
from wengert.optimize.scipys import as_tuple, callback_for, in_containers, scipy_optimize
from wengert.optimize.systems import System

_MOST_EVALUATIONS = 5_000
"""Of a fit whose first method has found no minimum."""


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
        optimum, covariance = _followed_fit(fit, absolute_sigma, limits, options)
        result = (optimum if flat is None else flat.vector(optimum, "the parameters")), covariance
    else:
        model = _Model(f, is_container, start, np.size(ydata))
        operands = xdata, ydata, None if flat is None else flat.known_start, sigma, *limits
        derivative = model.jacobian if jac is None else jac
        call = functools.partial(
            optimize.curve_fit,
            model.function,
            *operands[:-1],
            jac=derivative,
            full_output=full_output,
            **options,
        )
        ends = None if jac is not None else _Ends.of(model, xdata, ydata, sigma, operands[-2])
        result = _fitted(call, method, kwargs, ends, absolute_sigma)
    if flat is None or not is_container:
        return result
    order: Any = flat.written_order
    return (flat.users(result[0]), result[1][np.ix_(order, order)], *result[2:])


def _followed_fit(fit: Fit, absolute_sigma: bool, limits: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the parameters and the covariance of a fit that a transform follows."""
    optimize, bounds = scipy_optimize("curve_fit"), limits[2]

    def solve(residuals: Callable[[Any], Any], x0: Any) -> Any:
        if isinstance(residuals(x0), Box):  # SciPy needs numbers, which wg.jit and wg.vmap do not have
            found = levenberg_marquardt(
                residuals, x0, bounds=lower_and_upper(optimize, Flat("curve_fit", x0), bounds)
            )
            requirement = "the fit must converge to a minimum; begin nearer"
            return require_end(found.x, found.converged, operation="curve_fit", requirement=requirement)
        model, zeros = _Model(lambda _, p: residuals(p), True, x0, fit.data), np.zeros(fit.data)
        optimum = optimize.curve_fit(
            model.function, zeros, zeros, x0, None, *limits, jac=model.jacobian, **options
        )
        return optimum[0]

    return fit.solved(solve, absolute_sigma)


def _fitted(
    call: Callable[..., Any],
    method: str | None,
    options: dict[str, Any],
    ends: _Ends | None,
    absolute_sigma: bool,
) -> Any:
    """Return SciPy's fit after Newton's last steps; by another method where the default one finds no minimum.

    MINPACK's method may end far from a minimum, where the trust region of "trf", scaled by the Jacobian, does not.
    """
    may_change = method is None and ends is not None and not options
    first, failure = None, None
    try:
        first = call(method)
    except RuntimeError as problem:
        if not may_change:
            raise
        failure = problem
    if ends is None or (first is not None and not np.all(np.isfinite(first[1]))):
        return first
    end = None if first is None else ends.refined(first[0])
    if end is not None and end.is_minimum:
        return ends.completed(first, end.x, absolute_sigma)
    if may_change:
        with contextlib.suppress(RuntimeError):
            second = call("trf", x_scale="jac", max_nfev=_MOST_EVALUATIONS)
            other = ends.refined(second[0])
            if other.is_minimum:
                return ends.completed(second, other.x, absolute_sigma)
    if failure is not None:
        raise failure
    if end is not None and end.is_minimum is False:
        warnings.warn(
            "curve_fit: no minimum is near the parameters: Newton's step there is longer than a hundredth of them. "
            "Begin elsewhere, or scale the parameters",
            DoubtfulResultWarning,
            stacklevel=4,
        )
    return first


class _Ends:
    """The residuals of a fit of known data, as SciPy weighs them, for its last steps."""

    def __init__(self, model: _Model, xdata: Any, ydata: Any, weights: Any, bounds: Any) -> None:
        self._model, self._xdata, self._ydata, self._weights, self._bounds = (
            model,
            xdata,
            ydata,
            weights,
            bounds,
        )

    @classmethod
    def of(cls, model: _Model, xdata: Any, ydata: Any, sigma: Any, bounds: Any) -> _Ends | None:
        """Return them; None for data that SciPy refuses or leaves out."""
        ydata = np.asarray(ydata, np.float64)
        errors = np.ones(1) if sigma is None else np.asarray(sigma, np.float64)
        if ydata.ndim != 1 or not np.all(np.isfinite(ydata)) or not np.all(np.isfinite(errors)):
            return None
        if isinstance(xdata, (list, tuple, np.ndarray)):
            xdata = np.asarray(xdata, np.float64)
        weights = 1 / errors if errors.ndim < 2 else np.linalg.inv(np.linalg.cholesky(errors))
        return cls(model, xdata, ydata, weights, bounds)

    def refined(self, x: Any) -> Refined:
        """Return the minimum next to the parameters."""
        x = np.asarray(x, np.float64)
        bounds = self._bounds
        low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
        low, high = (np.broadcast_to(np.asarray(limit, np.float64), x.shape) for limit in (low, high))
        return refined(self._values, self._jacobian, self._curvature, x, low, high)

    def completed(self, result: Any, x: Any, absolute_sigma: bool) -> Any:
        """Return SciPy's result for the last parameters, with their covariance."""
        matrix, r = self._jacobian(x), self._values(x)
        if not np.all(np.isfinite(result[1])):
            return result
        _, sizes, rows = np.linalg.svd(matrix, full_matrices=False)
        covariance = (rows.T / sizes**2) @ rows
        if not absolute_sigma:
            covariance = covariance * float(r @ r) / (len(r) - len(x))
        if len(result) > 2:
            result[2]["fvec"] = r
        return (x, covariance, *result[2:])

    def _weigh(self, values: Any, *, transposed: bool = False) -> Any:
        weights = self._weights
        if weights.ndim == 2:
            return (weights.T if transposed else weights) @ values
        return (values.T * weights).T

    def _values(self, x: Any) -> Any:
        return self._weigh(np.ravel(self._model.function(self._xdata, *x) - self._ydata))

    def _jacobian(self, x: Any) -> Any:
        return self._weigh(self._model.jacobian(self._xdata, *x))

    def _curvature(self, x: Any, residuals: Any) -> Any:
        return self._model.curvature(self._xdata, x, self._weigh(residuals, transposed=True))


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

    def curvature(self, xdata: Any, vector: Any, weights: Any) -> Any:
        """Return the second derivatives of the weighted sum of the values; compiled where the user compiles them."""
        passes, arrays = self._passes_for(xdata, vector)

        def weighted(x: Any, weights: Any, arrays: Any) -> Any:
            return np.sum(weights * passes.values(x, arrays))

        run: Any = (
            passes.get("curvature", lambda: hessian(weighted))
            if isinstance(self._f, Jitted)
            else hessian(weighted)
        )
        return run(vector, weights, arrays)

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
