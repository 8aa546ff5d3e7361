"""The special functions that NumPy lacks, for scalars and arrays, in NumPy alone.

The error bounds hold where NumPy's own ``exp`` and ``log`` are within one ulp. Where a function has a zero, its
polynomial approximates the quotient by the factor of that zero, so the result keeps its relative accuracy there. The
remainder of x after the nearest integer is exact, and so is the reflection of a pole.

Each function is a program of NumPy's operations, which a trace follows too: so it is exported.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import unwrap
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import FLOAT64, NUMPY_VALUE, check_known, dtype_of, is_float
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.kernels.tables import DIGAMMA_SERIES, LGAMMA_SERIES, MID, NEAR, STIRLING, table

__all__ = ["digamma", "erf", "erfc", "erfinv", "expit", "lgamma", "polygamma"]

Array: TypeAlias = np.ndarray[Any, Any]

_RUN = 1 << 14  # elements at a time: intermediate results stay in the cache
_described = documented(
    x="a number or an array.", Returns="A number or an array of the shape of ``x``; integers give float64."
)


def pointwise(function: Callable[..., Array]) -> Callable[..., Any]:
    """Extend a function of a one-dimensional float64 array to the operands of a ufunc.

    Floats keep their dtype, rounded once from the result in float64; integers and booleans give float64. A
    scalar or 0-d array gives a NumPy scalar. It does not warn: the value itself is infinite, NaN or 0.

    Raises:
        DtypeError: The operand is complex or not numeric.

    Example:
        >>> pointwise(lambda x: 1 / x)([[1, 2], [4, 0]])
        array([[1.  , 0.5 ],
               [0.25,  inf]])
    """

    @wraps(function)
    def evaluate(x: Any, *parameters: Any) -> Any:
        operand = np.asarray(x)
        dtype = check_known(function.__name__.strip("_"), operand.dtype, real=True)
        flat = operand.reshape(-1)
        result = np.empty(flat.size, dtype if is_float(dtype) else FLOAT64)
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, _RUN):
                run = slice(start, start + _RUN)
                result[run] = function(flat[run].astype(FLOAT64), *parameters)
        return result.reshape(operand.shape)[()]

    return evaluate


def narrow(function: Callable[..., Array]) -> Callable[..., Any]:
    """Extend a function of floats, which it computes in their own dtype, to other numbers; without warnings."""

    @wraps(function)
    def evaluate(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(x if dtype_of(x).kind == "f" else 1.0 * x)

    return evaluate


def by_range(x: Array, edges: Sequence[float], functions: Sequence[Callable[[Array], Array]]) -> Array:
    """Evaluate each of ``functions`` on its own range: ``functions[i]`` on ``edges[i - 1] <= x < edges[i]``.

    The last function also gets NaN. In a trace each function gets all of ``x``.
    """
    if not isinstance(x, NUMPY_VALUE):
        result = functions[-1](x)
        for edge, function in zip(reversed(edges), reversed(functions[:-1]), strict=True):
            result = np.where(x < edge, function(x), result)
        return result
    places = np.searchsorted(edges, x, side="right")
    first = int(places[0])
    if np.all(places == first):
        return functions[first](x)
    result = np.empty(x.size)
    for place, function in enumerate(functions):
        here = places == place
        if here.any():
            result[here] = function(x[here])
    return result


def polynomial(coefficients: Sequence[float], x: Array) -> Any:
    """Sum ``coefficients[k] * x**k`` by Horner's rule."""
    # A Python float is much faster than an array of one element.
    variable = x.item() if isinstance(x, NUMPY_VALUE) and x.size == 1 else x
    *lower, total = coefficients
    for coefficient in reversed(lower):
        total = total * variable + coefficient
    return total


def fitted(name: str, x: Array, constant: float = 0.0) -> Any:
    """Return a constant and a polynomial of `table`."""
    total = polynomial(table(name, 53), x)
    return total + constant if constant else total


def ratio(x: Array, centre: float) -> Array:
    """Return (x - centre) / (x + centre), the variable of polynomials over a wide range of positive x."""
    return (x - centre) / (x + centre)


# -- error functions -------------------------------------------------------------------------------------


@pointwise
@_described
def erf(x: Array) -> Array:
    """Return the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    For |x| < 1 a polynomial in x**2 times x, else 1 - erfc |x| with the sign of x. Within 2 ulp in float64.

    Example:
        >>> erf([0.5, -np.inf])
        array([ 0.52049988, -1.        ])
    """
    size = np.abs(x)
    return np.copysign(by_range(size, (1.0,), (_erf_near_0, _erf_tail)), x)


@pointwise
@_described
def erfc(x: Array) -> Array:
    """Return 1 - erf x, to full relative accuracy where erf x is nearly 1.

    Within 4 ulp in float64, as far as 26.5, where the result underflows.

    Example:
        >>> erfc([0.0, 10.0])
        array([1.00000000e+00, 2.08848758e-45])
    """
    return by_range(x, (-1.0, 0.7), (lambda x: 2 - _erfc_tail(-x), lambda x: 1 - _erf_near_0(x), _erfc_tail))


@pointwise
def erfinv(y: Array) -> Array:
    """Return the x for which erf x = y: infinite at +-1, where the derivative is infinite too, and NaN beyond.

    As in Giles, "Approximating the erfinv function" (2010), x / y is a polynomial in w = -ln(1 - y**2), and
    in the tails |x| / sqrt(w) one in sqrt(w). Within 4 ulp in float64.

    Args:
        y: a number or an array.

    Returns:
        A number or an array of the shape of ``y``; integers give float64.

    Example:
        >>> erfinv([0.5, -1.0, 2.0])
        array([0.47693628,       -inf,        nan])
    """
    w = -np.log((1 - y) * (1 + y))
    x = y * by_range(w, (6.0,), (lambda w: fitted("ERFINV", w - 3, 23 / 16), _erfinv_tail))
    return np.where(np.abs(y) == 1, np.copysign(np.inf, y), x)


def _erf_near_0(x: Array) -> Array:
    return x + x * fitted("ERF", x * x)


def _erf_tail(x: Array) -> Array:
    x = np.minimum(x, 6.0)  # where the result is 1
    inverse = 1 / (x + 3)
    return 1 - np.exp(-x * x) * (fitted("ERFC_NEAR", 1 - 6 * inverse) * inverse)


def _erfc_tail(x: Array) -> Array:
    """Return erfc for x >= 0.7, from exp(-x**2) with a correction for the rounding error of the square."""
    x = np.minimum(x, 28.0)  # where the result is 0
    scaled = fitted("ERFC", ratio(x, 3.0), 39 / 64) / (x + 0.5)
    high = x.astype(np.float32).astype(np.float64)  # so few bits that the square is exact
    return np.exp(-high * high) * (scaled + scaled * np.expm1((high - x) * (high + x)))


def _erfinv_tail(w: Array) -> Array:
    root = np.sqrt(w)
    return root * fitted("ERFINV_TAIL", root - 4.2) / np.sqrt(1 - np.exp(-w))  # |y|


# -- the logarithm of the gamma function and its derivatives ---------------------------------------------

_DIRECT = 12  # terms of the series for polygamma, after which seven of the Euler-Maclaurin formula are enough


@pointwise
@_described
def lgamma(x: Array) -> Array:
    """Return ln |Gamma(x)|, infinite at 0, -1, -2, ...

    A polynomial times (x - 1) (x - 2) up to 12.5, then Stirling's series; left of 0.5 the recurrence, and
    far left the reflection formula. In float64 within 4 ulp, or 1e-15 near the zeros left of 0.

    Example:
        >>> lgamma([0.5, 1.0, 101.0, -2.0])
        array([  0.57236494,   0.        , 363.73937556,          inf])
    """
    return by_range(
        x,
        (-24.5, 0.5, 2.5, 12.5),
        (_lgamma_left, _lgamma_by_product, _lgamma_near, _lgamma_mid, _lgamma_tail),
    )


@pointwise
@_described
def digamma(x: Array) -> Array:
    """Return the derivative of ln Gamma(x), NaN at -1, -2, ... and -+inf at +-0.

    A polynomial times (x - 1.4616...) up to 2.5, another up to 12.5, then Stirling's series; the reflection
    formula left of 0.5.
    In float64 within 6 ulp; near the zeros left of 0 within 1e-15 as far as -30, then 2 ulp of ln |x|.

    Example:
        >>> digamma([1.0, 0.0, -3.0])
        array([-0.57721566,        -inf,         nan])
    """
    return by_range(x, (0.5, *_EDGES), (_digamma_left, *_PIECES))


def polygamma(n: int, x: Any) -> Any:
    """Return the derivative of digamma of an order from 0 to 150, infinite at 0, -1, -2, ...

        psi_n(x) = (-1)^(n+1) n! sum_k 1 / (x + k)^(n+1),   k = 0, 1, 2, ...

    Some terms are summed, the Euler-Maclaurin formula gives the rest. As in SciPy, a pole has the sign that
    the function has to its right. In float64 the relative error is below 1e-13, left of 0 that of the
    largest term. Beyond order 150, terms that cancel may overflow.

    Raises:
        ArgumentError: ``n`` is not an integer in this range.

    Example:
        >>> polygamma(1, [1.0, -0.5])
        array([1.64493407, 8.9348022 ])
    """
    try:
        order = operator.index(n)
    except TypeError:
        order = -1
    if not 0 <= order <= 150:
        raise ArgumentError(message("polygamma", "the order must be an integer from 0 to 150", repr(n)))
    return _polygamma(x, order)


def _lgamma_near(x: Array) -> Array:
    return (x - 1) * (x - 2) * fitted("LGAMMA", ratio(x, NEAR), 9 / 16) + 0.0  # 0, not -0, at 1


def _lgamma_mid(x: Array) -> Array:
    return (x - 1) * (x - 2) * fitted("LGAMMA_MID", ratio(x, MID), 17 / 64)


def _lgamma_tail(x: Array) -> Array:
    inverse = 1 / x
    correction = inverse * polynomial(LGAMMA_SERIES, inverse * inverse)
    return (x - 0.5) * (np.log(x) - 1) + (correction + STIRLING)


def _lgamma_by_product(x: Array) -> Array:
    """Return ln Gamma(x + n) - ln |x (x + 1) ... (x + n - 1)| with x + n in [0.5, 1.5).

    Summing logarithms would lose the zeros that lie close to the poles.
    """
    count = np.ceil(0.5 - x)
    product = x.copy()
    for k in range(1, int(count.max()) if isinstance(x, NUMPY_VALUE) else 25):
        product *= np.where(k < count, x + k, 1.0)
    return _lgamma_near(x + count) - np.log(np.abs(product))


def _lgamma_left(x: Array) -> Array:
    """Return ln |pi / (x sin(pi x))| - ln Gamma(-x)."""
    fraction = x - np.rint(x)
    reflected = np.log(np.pi / np.abs(x * np.sin(np.pi * fraction))) - _lgamma_tail(-x)
    return np.where(x == np.rint(x), np.inf, reflected)


def _digamma_left(x: Array) -> Array:
    """Return psi(1 - x) - pi cot(pi x)."""
    fraction = x - np.rint(x)
    reflected = (
        by_range(1 - x, _EDGES, _PIECES) - 1 / fraction + fraction * fitted("COTANGENT", fraction * fraction)
    )
    poles = np.where(x < 0, np.nan, np.copysign(np.inf, -x))
    return np.where(fraction == 0, poles, reflected)


def _digamma_near(x: Array) -> Array:
    high, low = table("DIGAMMA_ROOT")
    return ((x - high) - low) * fitted("DIGAMMA", ratio(x, NEAR), 9 / 8)


def _digamma_mid(x: Array) -> Array:
    return fitted("DIGAMMA_MID", ratio(x, MID), 3 / 2)


def _digamma_tail(x: Array) -> Array:
    inverse = 1 / x
    square = inverse * inverse
    return np.log(x) - (0.5 * inverse + square * polynomial(DIGAMMA_SERIES, square))


#: The ranges of digamma from 0.5 on.
_EDGES, _PIECES = (2.5, 12.5), (_digamma_near, _digamma_mid, _digamma_tail)


@pointwise
def _polygamma(x: Array, order: int) -> Array:
    if not order:
        return unwrap(digamma)(x)
    series = by_range(x, (0.0,), (lambda x: _series_left(x, order), lambda x: _series(x, order)))
    return series if order % 2 else -series


def _term(x: Array, order: int, exponent: int) -> Array:
    """Return order! / x**exponent for x > 0, by halves: the power alone might underflow."""
    half = x ** (-exponent / 2)
    return float(math.factorial(order)) * half * half


def _series(x: Array, order: int) -> Array:
    """Return order! times the sum of 1 / (x + k)**(order + 1) for x >= 0."""
    direct = _term(x + np.arange(_DIRECT).reshape(-1, *[1] * x.ndim), order, order + 1).sum(axis=0)
    shifted = x + _DIRECT
    inverse = 1 / shifted
    terms = enumerate(DIGAMMA_SERIES)
    bernoulli = [term * math.comb(order + 1 + 2 * j, 2 * j + 1) for j, term in terms]
    correction = inverse * (0.5 + inverse * polynomial(bernoulli, inverse * inverse))
    return direct + _term(shifted, order, order) * (1 / order + correction)


def _series_left(x: Array, order: int) -> Array:
    """Return the sum over all integers k, which is periodic in x, less that over k < 0; for x < 0."""
    fraction = x - np.rint(x)
    size = np.abs(fraction)
    parity = 1 if order % 2 else -1
    everywhere = _series(size, order) + parity * _series(1 - size, order)
    result = np.where(fraction < 0, parity, 1) * everywhere - parity * _series(1 - x, order)
    return np.where(x == np.rint(x), np.inf, result)


# -- the logistic function, and the slopes of it and of tanh ---------------------------------------------


@pointwise
@_described
def expit(x: Array) -> Array:
    """Return the logistic function 1 / (1 + exp(-x)), to full relative accuracy where it is nearly 0.

    Within 3 ulp in float64.

    Example:
        >>> expit([0.0, -100.0, np.inf])
        array([5.00000000e-01, 3.72007598e-44, 1.00000000e+00])
    """
    decay = np.exp(-np.abs(x))
    return np.where(x < 0, decay, 1.0) / (1 + decay)


@narrow
def expit_slope(x: Array) -> Array:
    """Return the derivative of the logistic function, ``e^-x / (1 + e^-x)^2``.

    Example:
        >>> print(round(expit_slope(40.0) * 1e18, 4))
        4.2484
    """
    decay = np.exp(-np.abs(x))
    return decay / np.square(1 + decay)


@narrow
def tanh_slope(x: Array) -> Array:
    """Return the derivative of the hyperbolic tangent, ``1 / cosh^2 x``.

    Example:
        >>> print(round(tanh_slope(20.0) * 1e17, 4))
        1.6993
    """
    decay = np.exp(-2 * np.abs(x))
    return 4 * decay / np.square(1 + decay)


def _rounded_once(program: Callable[..., Any]) -> Callable[..., Any]:
    def in_float64(x: Any, **params: Any) -> Any:
        return program(x.astype(FLOAT64), **params).astype(x.dtype)

    return in_float64


_IN_OWN_DTYPE, _IN_FLOAT64 = (
    (expit, expit_slope, tanh_slope),
    (digamma, erf, erfc, erfinv, lgamma, _polygamma),
)
#: The program of each function for a trace of floats, by the name of its primitive.
PROGRAMS = {function.__name__: unwrap(function) for function in _IN_OWN_DTYPE} | {
    function.__name__.strip("_"): _rounded_once(unwrap(function)) for function in _IN_FLOAT64
}
