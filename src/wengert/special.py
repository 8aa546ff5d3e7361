"""Special functions that NumPy lacks, under SciPy's names: error, gamma and logistic functions, stable logarithms.

They work in every transform, on boxes and on plain arrays; float32 stays float32, integers become float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.substitutes import substitutes
from wengert.engine.array.suggestions import INSTEAD
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import INT64, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import drop_axes, shape_of, size
from wengert.engine.ops.arithmetic import absolute, negative, sign
from wengert.engine.ops.comparison import (
    equal,
    greater,
    isfinite,
    isnan,
    less,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, expit, log, log1p, logaddexp
from wengert.engine.ops.reduction import reduce_max, reduce_sum
from wengert.engine.ops.special import error_and_gamma as functions
from wengert.engine.ops.special.bessel import i0, i1
from wengert.engine.ops.special.densities import kl_divergence, rel_entropy, times_log
from wengert.engine.ops.special.error_and_gamma import digamma, erf, erfc, erfinv, lgamma
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.numpy.reducing import kept, reduce_over
from wengert.numpy.registry import axes_of, floating, rank_of, strong
from wengert.numpy.ufunc_methods import combined, reduces

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "expit", "gammaln", "i0", "i1", "lgamma", "log_expit", "log_softmax",
    "logit", "logsumexp", "polygamma", "softmax", "softplus", "sph_harm_y", "spherical_in", "spherical_jn",
    "spherical_kn", "spherical_yn", "xlog1py", "xlogy",
]  # fmt: skip
__dir__ = __all__.copy


gammaln = lgamma
INSTEAD.update({name: f"wengert.special.{name}" for name in __all__})
INSTEAD.update(
    psi="wengert.special.digamma",
    loggamma="wengert.special.gammaln",
    convolve="np.convolve, or wengert.nn.convolve for images",
)


@substitutes("scipy.special.polygamma")
def polygamma(n: int, x: Any) -> Any:
    """Return the derivative of order ``n`` of digamma.

    Args:
        n: the order, 0 for digamma itself.
        x: an array or a number, floating-point.

    Returns:
        An array of the shape of ``x``.

    Raises:
        ArgumentError: the order is negative.

    Example:
        >>> print(round(polygamma(1, 1.0), 6))  # pi^2 / 6
        1.644934
    """
    if n < 0:
        raise ArgumentError(message("polygamma", "the order must not be negative", str(n)))
    x = operand(x)
    return functions.polygamma(x, order=int(n)) if n else digamma(x)


_elementwise = documented(
    x="an array or a number, floating-point.", Returns="An array of the shape of ``x``."
)
_times_logarithm = documented(
    x="the factors.",
    y="the operands of the logarithm; both broadcast.",
    Returns="An array of their common shape.",
)
_of_orders = documented(
    n="orders, integers from 0; they have no derivative.",
    x="a real array or number.",
    derivative="return the derivative by ``x`` in its place.",
    Returns="An array of the broadcast shape of ``n`` and ``x``.",
)


def _spherical(kind: str, n: Any, x: Any, derivative: bool, parity: int) -> Any:
    """Return a spherical Bessel function that is even or odd, as its order and ``parity`` say, or its derivative."""
    n, x = cast(operand(n), dtype=INT64), floating(operand(x))
    value = BY_NAME[f"_spherical_{kind}{'_d' if derivative else ''}"](n, where(less(x, 0), negative(x), x))
    reflected = where(equal(n % 2, parity ^ derivative), value, negative(value))
    return where(less(x, 0), reflected, value)


@substitutes("scipy.special.spherical_jn")
@_of_orders
def spherical_jn(n: Any, x: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the first kind, ``j_n(x) = sqrt(pi / 2x) J_(n+1/2)(x)``.

    Example:
        >>> import scipy.special
        >>> print(spherical_jn(0, 0.5).round(6))  # sin x / x
        0.958851
    """
    return _spherical("jn", n, x, derivative, 0)


@substitutes("scipy.special.spherical_yn")
@_of_orders
def spherical_yn(n: Any, x: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the second kind, ``y_n(x) = sqrt(pi / 2x) Y_(n+1/2)(x)``.

    Example:
        >>> import scipy.special
        >>> print(spherical_yn(0, 0.5).round(6))  # -cos x / x
        -1.755165
    """
    return _spherical("yn", n, x, derivative, 1)


@substitutes("scipy.special.spherical_in")
@_of_orders
def spherical_in(n: Any, x: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the first kind, ``i_n(x) = sqrt(pi / 2x) I_(n+1/2)(x)``.

    Example:
        >>> import scipy.special
        >>> print(spherical_in(0, 0.5).round(6))  # sinh x / x
        1.042191
    """
    return _spherical("in", n, x, derivative, 0)


@substitutes("scipy.special.spherical_kn")
@_of_orders
def spherical_kn(n: Any, x: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the second kind, ``k_n(x) = sqrt(pi / 2x) K_(n+1/2)(x)``.

    Of negative arguments ``k_n(-x) = -(pi i_n(x) + (-1)^n k_n(x))`` (DLMF 10.47).

    Example:
        >>> import scipy.special
        >>> print(spherical_kn(0, 0.5).round(6))  # pi e^-x / 2x
        1.905472
    """
    x = floating(operand(x))
    value = _spherical("kn", n, x, derivative, 0)
    inside = where(less(x, 0), x, 0.0)
    sign_of_order = where(equal(cast(operand(n), dtype=INT64) % 2, 0), 1.0, -1.0)
    odd = np.pi * sign_of_order * spherical_in(n, inside, derivative)
    return where(less(x, 0), -odd - value, value)


@substitutes("scipy.special.sph_harm_y")
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return spherical harmonics, ``Y_n^m = sqrt((2n + 1)/(4 pi) (n - m)!/(n + m)!) P_n^m(cos theta) e^(i m phi)``.

    Of Jacobi polynomials, ``P_n^m(cos theta) = (-sin(theta) / 2)^m (n + m)!/n! P_(n-m)^(m,m)(cos theta)`` for m >= 0
    (DLMF 18.11), which have derivatives at the poles, too.

    Args:
        n: degrees, integers from 0; they have no derivative.
        m: orders, integers; they have no derivative.
        theta: polar angles.
        phi: azimuths.
        diff_n: must be 0: transforms give derivatives.

    Returns:
        A complex array of the broadcast shape.

    Raises:
        ArgumentError: ``diff_n`` is not 0.

    Example:
        >>> import scipy.special
        >>> print(sph_harm_y(1, 0, 0.0, 0.0).real.round(6))  # sqrt(3 / (4 pi))
        0.488603
    """
    _check_order("sph_harm_y", diff_n)
    n, m = (cast(operand(value), dtype=INT64) for value in (n, m))
    theta, phi = (floating(operand(value)) for value in (theta, phi))
    order = absolute(m)
    is_outside = greater(order, n)
    k = where(is_outside, 0, order)
    factorials = 0.5 * (lgamma(n + k + 1.0) + lgamma(n - k + 1.0)) - lgamma(n + 1.0) - k * float(np.log(2.0))
    scale = np.sqrt((2 * n + 1) / (4.0 * np.pi)) * exp(factorials)
    odd = logical_and(greater(m, 0), equal(k % 2, 1))
    scale = where(is_outside, 0.0, where(odd, negative(scale), scale))
    polynomial = BY_NAME["eval_jacobi"](n - k, k * 1.0, k * 1.0, np.cos(theta))
    sine = np.sin(theta)
    sine = where(less(sine, 0), negative(sine), sine)  # not its magnitude, whose slope at a pole is 0
    return scale * sine**k * polynomial * (np.cos(m * phi) + 1j * np.sin(m * phi))


def _check_order(operation: str, diff_n: int) -> None:
    if diff_n:
        raise ArgumentError(message(operation, "diff_n must be 0; take derivatives by wg.jvp", str(diff_n)))


def _of_all(function: Callable[..., Any], n: int, m: int | None, *variables: Any) -> Any:
    """Return the values for all degrees up to n and, with m, all orders: from 0 to m, and from -m to -1."""
    ranks = (1,) * max(map(rank_of, variables))
    degrees = np.arange(n + 1).reshape(-1, *(() if m is None else (1,)), *ranks)
    if m is None:
        return function(degrees, *variables)
    return function(degrees, np.r_[: m + 1, -m:0].reshape(-1, *ranks), *variables)


def _legendre(operation: str, function: Callable[..., Any], has_order: bool, doc: str) -> None:
    """Enter a function of whole degrees, and orders, and the one of all up to some, which have a first axis of 1."""

    def check(options: dict[str, Any]) -> dict[str, Any]:
        _check_order(operation, options.pop("diff_n", 0))
        if options.pop("branch_cut", 2) != 2:
            raise ArgumentError(message(operation, "branch_cut must be 2, for numbers from -1 to 1"))
        return options

    def one(*operands: Any, **options: Any) -> Any:
        return function(*operands, **check(options))[None]

    def every(n: int, *operands: Any, **options: Any) -> Any:
        own = functools.partial(function, **check(options))
        m, *variables = operands if has_order else (None, *operands)
        return _of_all(own, n, None if m is None else abs(m), *variables)[None]

    for call, name in ((one, operation), (every, f"{operation}_all")):
        call.__doc__ = f"Return {doc}."
        substitutes(f"scipy.special.{name}")(call)


def _associated(n: Any, m: Any, z: Any, norm: bool = False) -> Any:
    n, m = np.asarray(n), np.asarray(m)
    is_beyond = np.abs(m) > n
    size = np.where(is_beyond, 0, np.abs(m))
    value = BY_NAME["lpmv"](np.where(is_beyond, 0, m), n, floating(operand(z))) * ~is_beyond
    ratio = np.sign(m) * (lgamma(n - size + 1.0) - lgamma(n + size + 1.0))
    return value * np.exp(0.5 * (ratio + np.log(n + 0.5))) if norm else value


def _spherical_legendre(n: Any, m: Any, theta: Any) -> Any:
    return np.real(sph_harm_y(n, m, theta, 0.0))


_legendre(
    "legendre_p",
    lambda n, z: BY_NAME["eval_legendre"](n, floating(operand(z))),
    False,
    "Legendre polynomials",
)
_legendre("assoc_legendre_p", _associated, True, "Legendre's associated functions")
_legendre("sph_legendre_p", _spherical_legendre, True, "the spherical Legendre polynomials")


@substitutes("scipy.special.sph_harm_y_all")
def sph_harm_y_all(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return `sph_harm_y` of all degrees up to n, and all orders: from 0 to m, and from -m to -1.

    Example:
        >>> print(abs(sph_harm_y_all(1, 1, 0.0, 0.0)).round(6))
        [[0.282095 0.       0.      ]
         [0.488603 0.       0.      ]]
    """
    _check_order("sph_harm_y_all", diff_n)
    return _of_all(sph_harm_y, n, abs(m), theta, phi)


@substitutes("scipy.special._gen_roots_and_weights")
def gauss_rule(
    n: int, mu0: Any, an_func: Any, bn_func: Any, f: Any, df: Any, symmetrize: bool, mu: bool
) -> Any:
    """Return nodes and weights of Gauss's rule, by eigenvectors of a tridiagonal matrix (Golub and Welsch, 1969)."""
    k = np.arange(n, dtype=float)
    beside = bn_func(k[1:])
    nodes, vectors = np.linalg.eigh(np.diag(an_func(k) + 0.0 * k) + np.diag(beside, -1) + np.diag(beside, 1))
    weights = mu0 * vectors[0] ** 2
    if symmetrize:
        nodes, weights = 0.5 * (nodes - nodes[::-1]), 0.5 * (weights + weights[::-1])
    return (nodes, weights, mu0) if mu else (nodes, weights)


@substitutes("scipy.special.roots_jacobi")
def roots_jacobi(n: int, alpha: Any, beta: Any, mu: bool = False) -> Any:
    """Return nodes and weights of Gauss and Jacobi's rule, by one formula for all parameters above -1.

    Raises:
        ArgumentError: ``n`` is no positive whole number.

    Example:
        >>> roots_jacobi(2, 0.0, 0.0)[0].round(6)
        array([-0.57735,  0.57735])
    """
    if n != int(n) or n < 1:
        raise ArgumentError(message("roots_jacobi", "n must be a positive whole number", str(n)))
    a, b = floating(operand(alpha)), floating(operand(beta))
    total = a + b

    def diagonal(k: Any) -> Any:
        whole = 2.0 * np.maximum(k, 1.0) + total
        return where(equal(k, 0.0), (b - a) / (2.0 + total), (b - a) * total / (whole * (whole + 2.0)))

    def beside(k: Any) -> Any:
        whole, later = 2.0 * k + total, np.maximum(k, 2.0)
        factor = where(equal(k, 1.0), 1.0, later * (later + total) / (2.0 * later + total - 1.0))
        return 2.0 / whole * np.sqrt((k + a) * (k + b) / (whole + 1.0) * factor)

    mu0 = exp((total + 1.0) * float(np.log(2.0)) + BY_NAME["betaln"](a + 1.0, b + 1.0))
    return gauss_rule(int(n), mu0, diagonal, beside, None, None, False, mu)


def logit(p: Any) -> Any:
    """Return ``ln(p / (1 - p))``, the inverse of `expit`; infinite at 0 and 1.

    Args:
        p: probabilities.

    Returns:
        An array of the shape of ``p``.

    Example:
        >>> float(logit(0.5))
        0.0
    """
    p = floating(operand(p))
    return log(p) - log1p(negative(p))


@_elementwise
def softplus(x: Any) -> Any:
    """Return ``ln(1 + e^x)`` without overflow; its derivative is `expit`.

    Example:
        >>> float(softplus(1e4))
        10000.0
    """
    return logaddexp(operand(x), 0.0)


@_elementwise
def log_expit(x: Any) -> Any:
    """Return ``ln(1 / (1 + e^-x))`` without overflow.

    Example:
        >>> float(log_expit(-1e4))
        -10000.0
    """
    return negative(softplus(negative(floating(operand(x)))))


# -- products with logarithms ----------------------------------------------------------------------------


def _times_log(x: Any, y: Any, log_: Any, edge: float) -> Any:
    """Return ``x log(y)``, 0 where x = 0 unless y is NaN; the derivative in x is ``log(y)`` where that is finite."""
    inside = logical_and(greater(y, edge), less(y, np.inf))
    zero = logical_and(equal(x, 0), logical_not(logical_or(inside, isnan(y))))
    y = where(zero, 1.0 + edge, y)
    is_real = log_ is log and not is_complex(dtype_of(x)) and not is_complex(dtype_of(y))
    return times_log(x, y) if is_real else x * log_(y)


@_times_logarithm
def xlogy(x: Any, y: Any) -> Any:
    """Return ``x ln y``, and 0 at x = 0 unless y is NaN.

    The derivatives are ln y and x / y, also at x = 0. At x = y = 0, where ln y is infinite, both are 0.

    Example:
        >>> float(xlogy(0.0, 0.0))
        0.0
    """
    x, y = floating(operand(x)), floating(operand(y))
    return _times_log(x, y, log, 0.0)


@_times_logarithm
def xlog1py(x: Any, y: Any) -> Any:
    """Return ``x ln(1 + y)``, and 0 at x = 0 unless y is NaN; derivatives as for `xlogy`.

    Example:
        >>> float(xlog1py(0.0, -1.0))
        0.0
    """
    x, y = floating(operand(x)), floating(operand(y))
    return _times_log(x, y, log1p, -1.0)


@_elementwise
def entr(x: Any) -> Any:
    """Return ``-x ln x``, 0 at x = 0 and -inf below; the derivative at 0, which is infinite, is taken as 0.

    Example:
        >>> float(entr(1.0))
        -0.0
    """
    x = floating(operand(x))
    below = less(x, 0)
    inside = where(below, 1.0, x)
    return where(below, -np.inf, negative(xlogy(inside, inside)))


# -- sums of exponentials --------------------------------------------------------------------------------


def _shift(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the largest element over axes as a constant, 0 where it is infinite, with the axes kept."""
    largest = reduce_over(reduce_max, "logsumexp", stop_gradient(x), None, True, axes)
    return where(isfinite(largest), largest, dtype_of(largest).type(0))


@substitutes("scipy.special.logsumexp")
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return ``ln sum_i b_i e^(a_i)`` over axes without overflow.

    Exact for any finite input, such as +-1e4, and for -inf (an absent term). Its derivative in ``a`` is the softmax,
    and 0 where all terms are -inf.

    Args:
        a: the exponents.
        axis: an axis, a tuple of axes, or None for all.
        b: factors of the terms, which broadcast with ``a``.
        keepdims: keep the reduced axes, with extent one.
        return_sign: return ``(ln |sum|, sign of the sum)``; otherwise a negative sum gives NaN.

    Returns:
        An array of the shape of ``a`` without the reduced axes.

    Example:
        >>> import numpy as np
        >>> print(round(logsumexp(np.array([1000.0, 1000.0])) - 1000, 6))  # ln 2
        0.693147
    """
    a = floating(operand(a))
    if b is not None:
        a, b = np.broadcast_arrays(a, operand(b))
        a = where(equal(b, 0), -np.inf, a)
    shape = shape_of(a)
    axes = axes_of("logsumexp", axis, len(shape))
    if not size(shape):
        return np.log(reduce_over(reduce_sum, "logsumexp", exp(a), axis, keepdims))
    shift = _shift(real(a), axes)
    terms = exp(a - shift)
    total = reduce_over(reduce_sum, "logsumexp", terms if b is None else b * terms, None, True, axes)
    empty = equal(total, 0)
    signs = total / where(empty, 1.0, absolute(total)) if is_complex(dtype_of(total)) else sign(total)
    safe = where(empty, 1.0, absolute(total) if return_sign else total)
    result = where(empty, -np.inf, log(safe) + shift)
    if not keepdims:
        result, signs = (np.reshape(x, drop_axes(shape, axes)) for x in (result, signs))
    return (result, signs) if return_sign else result


def softmax(x: Any, axis: Any = -1) -> Any:
    """Return ``e^(x_i) / sum_j e^(x_j)`` along an axis without overflow.

    Args:
        x: the logits.
        axis: an axis, a tuple of axes, or None for all.

    Returns:
        An array of the shape of ``x`` that sums to one along the axis.

    Example:
        >>> import numpy as np
        >>> softmax(np.array([1e4, 1e4]))
        array([0.5, 0.5])
    """
    x = floating(operand(x))
    axes = axes_of("softmax", axis, rank_of(x))
    if not size(shape_of(x)):
        return x
    terms = exp(x - _shift(x, axes))
    return terms / reduce_over(reduce_sum, "softmax", terms, None, True, axes)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """Return ``x_i - ln sum_j e^(x_j)`` along an axis: the logarithm of `softmax`, exact for any finite logits.

    Args:
        x: the logits.
        axis: an axis, a tuple of axes, or None for all.

    Returns:
        An array of the shape of ``x``.

    Example:
        >>> import numpy as np
        >>> log_softmax(np.array([1e4, -1e4]))
        array([     0., -20000.])
    """
    x = floating(operand(x))
    axes = axes_of("log_softmax", axis, rank_of(x))
    if not size(shape_of(x)):
        return x
    centred = x - _shift(x, axes)
    return centred - log(reduce_over(reduce_sum, "log_softmax", exp(centred), None, True, axes))


@substitutes("scipy.special.softmax")
def _softmax(x: Any, axis: Any = None) -> Any:
    return softmax(x, axis)


@substitutes("scipy.special.log_softmax")
def _log_softmax(x: Any, axis: Any = None) -> Any:
    return log_softmax(x, axis)


def _sum_of_exponentials(
    x: Any, axis: Any, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    total = logsumexp(kept(combined(np.logaddexp, x), where, -np.inf), axis, keepdims=keepdims)
    return total if initial is None else logaddexp(total, strong(operand(initial), dtype_of(total)))


reduces(np.logaddexp, _sum_of_exponentials)


def _entropy_of(x: Any, y: Any, inside: Callable[..., Any]) -> Any:
    """Return a function of positive x and y, 0 (or y) at x = 0; infinity where it is not defined, NaN for NaN.

    The derivative in x at 0, which is infinite, is taken as 0, as that of `entr`.
    """
    is_zero = equal(x, 0)
    is_inside = logical_and(greater(x, 0), greater(y, 0))
    is_undefined = logical_or(not_equal(x, x), not_equal(y, y))
    value = inside(where(is_inside, x, 1.0), where(is_inside, y, 1.0))
    at_zero = y if inside is kl_divergence else 0.0
    edge = where(logical_and(is_zero, logical_not(less(y, 0))), at_zero, np.inf)
    return where(is_undefined, np.nan, where(is_inside, value, edge))


def _kl_div(x: Any, y: Any) -> Any:
    return _entropy_of(x, y, kl_divergence)


BY_NAME.update(entr=entr, log_expit=log_expit, logit=logit, xlog1py=xlog1py, xlogy=xlogy)
BY_NAME.update(rel_entr=lambda x, y: _entropy_of(x, y, rel_entropy), kl_div=_kl_div)
