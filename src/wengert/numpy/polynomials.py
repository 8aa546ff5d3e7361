"""Polynomials, given by their coefficients with the highest first: values, sums, derivatives, integrals, fits."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64, dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.exponential import sqrt
from wengert.engine.ops.shape import reshape
from wengert.numpy.creation import zeros_like
from wengert.numpy.joining import concatenate_, stack
from wengert.numpy.linear_algebra import eigvals, inv, lstsq
from wengert.numpy.products import convolve, matmul, outer
from wengert.numpy.reducing import cumprod, sum_
from wengert.numpy.registry import axes_of, floating, implements, known, rank_of, strong
from wengert.numpy.shaping import flip, ravel, transposed


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    p, x = operand(p), operand(x)
    value = zeros_like(x)
    for coefficient in p:
        value = value * x + coefficient
    return value


@implements(np.roots)
def roots(p: Any) -> Any:
    """The roots are the eigenvalues of the companion matrix. Equal roots have no derivative.

    Where the values are not known, as in `wg.jit`, the first coefficient must not be 0, and the result is complex.
    """
    p = np.atleast_1d(floating(operand(p)))
    if rank_of(p) != 1:
        raise ShapeError(message("roots", "a vector of coefficients is required", show(p)))
    zeros = 0
    if (values := concrete(p)) is not None:
        (places,) = np.nonzero(values)
        if not len(places):
            return np.zeros(0)
        p, zeros = p[places[0] : places[-1] + 1], len(values) - 1 - int(places[-1])
    count = shape_of(p)[0] - 1
    if not count:
        return np.zeros(zeros, dtype_of(p))
    below = np.eye(count, k=-1, dtype=dtype_of(p))[1:]
    eigenvalues = eigvals(concatenate_([reshape(-p[1:] / p[0], shape=(1, count)), below], 0))
    return concatenate_([eigenvalues, np.zeros(zeros, dtype_of(eigenvalues))]) if zeros else eigenvalues


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    x = operand(x)
    if rank_of(x) != 1:
        raise ShapeError(message("vander", "a vector is required", show(x)))
    x = strong(x, np.promote_types(dtype_of(x), int))
    count = shape_of(x)[0] if N is None else operator.index(N)
    if count < 0:
        raise ArgumentError(message("vander", "the number of columns must not be negative", str(count)))
    if not count:
        return np.empty((shape_of(x)[0], 0), dtype=dtype_of(x))
    powers = cumprod(stack([x**0, *[x] * (count - 1)], axis=1), 1)
    return powers if increasing else flip(powers, 1).copy()


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a1, a2 = _of_one_degree(a1, a2)
    return a1 + a2


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    a1, a2 = _of_one_degree(a1, a2)
    return a1 - a2


def _of_one_degree(*polynomials: Any) -> list[Any]:
    """Return coefficients of equal number, with leading zeros."""
    operands = [p if rank_of(p) else reshape(p, shape=(1,)) for p in map(operand, polynomials)]
    count = max(shape_of(p)[0] for p in operands)
    zeros = [np.zeros(count - shape_of(p)[0], dtype_of(p)) for p in operands]
    return [concatenate_([lead, p]) if len(lead) else p for lead, p in zip(zeros, operands, strict=True)]


def trimmed(p: Any) -> Any:
    """Return coefficients without leading zeros; where values are not known, all count as nonzero."""
    p = operand(p)
    p = p if rank_of(p) else reshape(p, shape=(1,))
    values = concrete(p)
    if values is None:
        return p
    places = np.flatnonzero(values)
    return p[places[0] :] if len(places) else np.zeros(1, dtype_of(p))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Without leading zeros, as NumPy's; where values are not known, no coefficient counts as zero."""
    return convolve(trimmed(a1), trimmed(a2))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The remainder has no leading zeros, as NumPy's; where values are not known, it is shorter than the divisor."""
    u, v = (floating(p if rank_of(p) else reshape(p, shape=(1,))) for p in map(operand, (u, v)))
    if not (shape_of(u)[0] and shape_of(v)[0]):
        raise ShapeError(message("polydiv", "polynomials must have coefficients", show(u, v)))
    dtype = np.result_type(dtype_of(u), dtype_of(v))
    degree, remainder = shape_of(v)[0] - 1, strong(u, dtype)
    quotient: list[Any] = []
    scale = 1.0 / v[0]
    for place in range(max(shape_of(u)[0] - degree, 0)):
        factor = scale * remainder[place]
        quotient.append(factor)
        zeros = np.zeros(shape_of(u)[0] - degree - 1 - place, dtype)
        remainder = remainder - concatenate_([np.zeros(place, dtype), strong(factor * v, dtype), zeros])
    first = min(len(quotient), shape_of(remainder)[0] - 1)
    values = concrete(remainder)
    if values is not None:  # as NumPy does, by rounding
        first = 0
        while first < len(values) - 1 and np.allclose(values[first], 0, rtol=1e-14):
            first += 1
    return stack(quotient) if quotient else np.zeros(1, dtype), remainder[first:]


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with given zeros; a matrix stands for its eigenvalues."""
    zeros = operand(seq_of_zeros)
    is_real = not is_complex(dtype_of(zeros))  # then the eigenvalues are conjugate pairs
    if rank_of(zeros) == 2 and len(set(shape_of(zeros))) == 1:
        zeros = operand(np.linalg.eigvals(zeros))
    zeros = zeros if rank_of(zeros) else reshape(zeros, shape=(1,))
    if rank_of(zeros) != 1:
        requirement = "a sequence of zeros or a square matrix is required"
        raise ShapeError(message("poly", requirement, show(zeros)))
    zeros = strong(floating(zeros), FLOAT64 if dtype_of(zeros) == np.float16 else None)
    coefficients: Any = np.ones(1, dtype_of(zeros))
    for zero in zeros:
        coefficients = convolve(coefficients, stack([np.ones((), dtype_of(zeros)), -zero]))
    return np.real(coefficients) if is_real else coefficients


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The values must be concrete, except in `np.poly1d`, where leading coefficients that are not known stay."""
    filt = operand(filt)
    if concrete(filt) is None and _inside_poly1d():
        return filt
    present = np.not_equal(known("trim_zeros", filt), 0)
    axes, sides = axes_of("trim_zeros", axis, rank_of(filt)), trim.lower()
    if not sides or set(sides) - {"f", "b"}:
        raise ArgumentError(message("trim_zeros", 'trim must be "f", "b" or "fb"', repr(trim)))
    index = [slice(None)] * rank_of(filt)
    for dim in axes:
        others = tuple(k for k in range(rank_of(filt)) if k != dim)
        places = np.flatnonzero(np.any(present, axis=others))
        if not len(places):
            index[dim] = slice(0, 0)
        else:
            last = int(places[-1]) + 1 if "b" in sides else None
            index[dim] = slice(int(places[0]) if "f" in sides else None, last)
    return filt[tuple(index)]


def _inside_poly1d() -> bool:
    """Return whether NumPy's class of polynomials called: its values do not depend on leading zeros."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    for _ in range(5):
        if frame is None or frame.f_globals.get("__name__") == np.poly1d.__init__.__module__:
            return frame is not None
        frame = frame.f_back
    return False


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ArgumentError(message("polyder", "the order must not be negative", str(m)))
    p = operand(p)
    for _ in range(m):
        degree = max(shape_of(p)[0] - 1, 0)
        p = p[:-1] * np.arange(degree, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ArgumentError(message("polyint", "the order must not be negative", str(m)))
    p = operand(p)
    if not rank_of(p):
        raise ShapeError(message("polyint", "a sequence of coefficients is required", show(p)))
    constants = np.zeros(m) if k is None else ravel(operand(k))
    if shape_of(constants) == (1,) and m > 1:
        constants = constants * np.ones(m)
    if shape_of(constants)[0] < m:
        requirement = "one constant or one for each of m integrals is required"
        raise ArgumentError(message("polyint", requirement, show(k)))
    for number in range(m):
        powers = np.arange(shape_of(p)[0], 0, -1)
        p = concatenate_([p / powers, constants[number : number + 1]])
    return p


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    x, y = floating(operand(x)), floating(operand(y))
    _check_points(x, y, deg)
    if rcond is None:  # by the precision of x, although the powers are float64
        rcond = shape_of(x)[0] * np.finfo(dtype_of(x)).eps
    powers = vander(x, deg + 1)
    if w is not None:
        weights = _weights(w, x)
        powers, y = powers * _by_row(weights, powers), y * _by_row(weights, y)
    scale = sqrt(sum_(powers * powers, 0))
    scaled = powers / scale
    solution, residuals, rank, values = lstsq(scaled, y, rcond)
    fitted = solution / _by_row(scale, solution)
    if full:
        return fitted, residuals, rank, values, rcond
    if not cov:
        return fitted
    covariance = inv(matmul(transposed(scaled), scaled)) / outer(scale, scale)
    if rank_of(y) == 2:
        covariance = reshape(covariance, shape=(deg + 1, deg + 1, 1))
    return fitted, covariance if cov == "unscaled" else covariance * _variance(residuals, x, deg)


def _check_points(x: Any, y: Any, deg: int) -> None:
    (points,) = shape_of(x) if rank_of(x) == 1 else (0,)
    if deg < 0 or not points or rank_of(y) not in (1, 2) or shape_of(y)[0] != points:
        requirement = (
            "points x, as many values y or rows of them, and a degree that is not negative are required"
        )
        raise ArgumentError(message("polyfit", requirement, f"{show(x, y)}, deg={deg}"))


def _weights(w: Any, x: Any) -> Any:
    weights = floating(operand(w))
    if shape_of(weights) != shape_of(x):
        raise ShapeError(message("polyfit", "one weight for each point is required", show(weights)))
    return weights


def _by_row(numbers: Any, rows: Any) -> Any:
    """Return numbers, one a row, in a shape that broadcasts with the rows."""
    return reshape(numbers, shape=(*shape_of(numbers), *(1,) * (rank_of(rows) - 1)))


def _variance(residuals: Any, x: Any, deg: int) -> Any:
    """Return the variance of the values about the polynomial, from the residuals."""
    freedom = shape_of(x)[0] - deg - 1
    if freedom <= 0:
        requirement = "a covariance needs more points than coefficients"
        raise ArgumentError(message("polyfit", requirement, f"{show(x)}, deg={deg}", 'write cov="unscaled"'))
    return residuals / freedom
