"""`mle`: estimates of the greatest likelihood, with their standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DoubtfulResultWarning, message
from wengert.engine.transforms.arguments import flatten_output
from wengert.engine.transforms.callbacks import followed, with_callbacks
from wengert.fit.estimates import Fit
from wengert.fit.mode import Point, Potential
from wengert.optimize.passes import passes_of


@with_callbacks
def mle(
    logpdf: Callable[..., Any],
    data: Any,
    start: Any,
    *,
    robust: bool = False,
    observations: int | None = None,
    maxiter: int = 200,
) -> Fit:
    """Estimate parameters by maximum likelihood.

    The estimates maximise ``l(p) = sum(logpdf(p, data))``. Damped Newton steps with exact derivatives end where another
    step would gain 1e-16 in log-likelihood, whatever the scales of the parameters. The covariance is the inverse of
    the observed information, ``H^-1`` with ``H = -l''``; with ``robust`` it is the sandwich ``H^-1 (sum s s^T) H^-1``
    of the scores ``s`` of the observations, which holds where the distribution is wrong but the scores have mean zero
    (Huber, 1967; White, 1982). All computation is in float64.

    Args:
        logpdf: takes the parameters and the data, and returns the log density of each observation, an array; or their
            sum, one number. A parameter that must be positive is best written as an exponential; elsewhere NaN and
            infinities are rejected as steps.
        data: anything that ``logpdf`` takes: an array, or a container of arrays and other objects.
        start: the parameters to start from: a number, an array, or any container of them.
        robust: whether the covariance is the sandwich.
        observations: the number of observations, for the BIC; by default the number of log densities.
        maxiter: the most steps.

    Returns:
        A `Fit`: ``success``, ``warnings``, ``estimates``, ``standard_errors``, ``covariance``, ``loglikelihood``,
        ``aic``, ``bic``, ``interval``, ``profile``, ``delta``; print it as a table. Doubts, such as a maximum at
        infinity of separated data, are in ``warnings``, and a `DoubtfulResultWarning`.

    Raises:
        ArgumentError: the log-likelihood is not finite at the start, there is no observation, or ``robust`` gets one
            number.
        DtypeError: a parameter is not a real number.
        LimitError: the steps do not reach a maximum.
        MatrixError: the data do not determine the parameters; the message names those involved.

    Example:
        >>> import numpy as np
        >>> waits = np.array([0.3, 1.2, 0.4, 2.5, 0.6])
        >>> fit = mle(lambda p, t: p["lograte"] - np.exp(p["lograte"]) * t, waits, {"lograte": 0.0})
        >>> print(fit)
        Maximum likelihood: 5 observations, log-likelihood -5.000, AIC 12.00, BIC 11.61
        <BLANKLINE>
        parameter  estimate  std. error  z  95% from  to
        ...
    """

    def total(parameters: Any, data: Any) -> Any:
        return np.sum(followed(logpdf)(parameters, data))

    potential = Potential("mle", total, start, (data,))
    with np.errstate(all="ignore"):
        first = logpdf(potential.flat.container(potential.flat.start), data)
    densities = _checked_densities(first)
    point = potential.mode(maxiter)
    covariance = potential.covariance(point)
    if robust:
        if not densities:
            requirement = "robust=True needs the log density of each observation"
            hint = "return them as an array, without their sum"
            raise ArgumentError(message("mle", requirement, "one number", hint))
        covariance = _sandwich(logpdf, data, potential, point, covariance)
    if observations is None and densities:
        observations = int(np.prod(densities))
    fit = Fit(potential, point, covariance, observations, robust, maxiter)
    for doubt in fit.warnings:
        warnings.warn(message("mle", doubt), DoubtfulResultWarning, stacklevel=2)
    return fit


def _checked_densities(densities: Any) -> tuple[int, ...]:
    """Return the shape of the log densities at the start.

    Raises:
        ArgumentError: they are not an array, empty, or some are not finite; if all are not, the start is to blame.
    """
    outputs, structure, _ = flatten_output("mle", densities)
    if structure.kind is not None:
        requirement = "logpdf must return an array of log densities, or one number"
        raise ArgumentError(message("mle", requirement, tree.words(structure)))
    values = np.asarray(outputs[0])
    if not values.size:
        hint = "see how the data were selected"
        raise ArgumentError(message("mle", "there must be an observation", f"the shape {values.shape}", hint))
    wrong = np.argwhere(~np.isfinite(values))
    if 0 < len(wrong) < values.size:
        first = tuple(map(int, wrong[0]))
        got = f"{values[first]:g} for {len(wrong)} of {values.size} observations, first at {list(first)}"
        hint = "correct these observations, or start elsewhere"
        raise ArgumentError(message("mle", "the log densities must be finite at the start", got, hint))
    return values.shape


def _sandwich(logpdf: Callable[..., Any], data: Any, potential: Potential, point: Point, inverse: Any) -> Any:
    """Return the covariance ``H^-1 (sum s s^T) H^-1`` of the scores s."""
    passes, arrays = passes_of("mle", logpdf, potential.flat, (data,))
    scores = np.asarray(passes.jacobian()(point.x, arrays))
    half = scores @ inverse
    return half.T @ half
