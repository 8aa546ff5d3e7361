"""Carlson's symmetric integrals with any exponents: derivatives of elliptic integrals of every order."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The step h of the rule in ln t. The integrand is analytic in a strip of width 2 pi, so errors are e^(-2 pi^2 / h).
_STEP = 0.5


def carlson(x: Any, y: Any, z: Any, p: Any, exponents: tuple[float, ...], power: int) -> Any:
    """Return ``int_0^inf t^power prod_i (t + x_i)^(-exponents_i) dt`` for x from 0, by the trapezoidal rule in ln t.

    It is infinite where the integral diverges, 0 of an infinite operand, and NaN where an operand is negative.
    """
    operands = np.stack(np.broadcast_arrays(*(np.asarray(value, np.float64) for value in (x, y, z, p))), -1)
    values, weights = operands.reshape(-1, 4), np.array(exponents)
    at_zero = power + 1 - (values == 0) @ weights
    at_infinity = weights.sum() - power - 1
    is_inner = np.all((values >= 0) & np.isfinite(values), -1) & (at_zero > 0)
    result = np.where(np.any(np.isinf(values), -1), 0.0, np.inf)
    result[~np.all(values >= 0, -1)] = np.nan
    if at_infinity > 0 and is_inner.any():
        values = values[is_inner]
        sizes = np.log(np.where(values > 0, values, np.nan))
        low = np.nanmin(sizes, -1) - 40 / at_zero[is_inner]
        high = np.nanmax(sizes, -1) + 40 / at_infinity
        count = int(np.ceil(np.max(high - low) / _STEP))
        steps = (high - low) / count
        u = (low + steps * np.arange(count + 1)[:, None])[..., None]
        with np.errstate(divide="ignore", under="ignore"):
            logarithms = np.logaddexp(u, np.log(values)) @ weights
            result[is_inner] = steps * np.exp((power + 1) * u[..., 0] - logarithms).sum(0)
    dtype = np.result_type(x, y, z, p)
    return result.reshape(operands.shape[:-1]).astype(dtype if dtype.kind == "f" else np.float64)
