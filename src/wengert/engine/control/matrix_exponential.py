"""The exponential of matrices as a program: five products for a polynomial, and as many squarings as a matrix needs.

All stacked matrices take the squarings that one of them needs most, and the others keep their values. The derivative in
a direction is that of these steps, with the squarings that the matrix alone asks for.

Source: Bader, Blanes and Casas, "Computing the matrix exponential with an optimized Taylor polynomial approximation"
(2019), the polynomial of degree 18. The number of squarings follows Al-Mohy and Higham, "A new scaling and squaring
algorithm for the matrix exponential" (2009), the derivative their "Computing the Fréchet derivative of the matrix
exponential" (2009).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.control.scan import scan
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.dtypes import FLOAT64, INT64
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import absolute, ceil, maximum
from wengert.engine.ops.comparison import equal, isfinite, less, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import ldexp, log2
from wengert.engine.ops.linalg.square import multiply
from wengert.engine.ops.reduction import reduce_all, reduce_max, reduce_sum
from wengert.engine.ops.shape import broadcast_to
from wengert.engine.passes.native_linalg import WITH_LOOPS
from wengert.engine.transforms.forward_mode import jvp

_DEGREE = 18
_LIMIT = 1.090863719290036
"""The norm up to which the polynomial has the backward error of double precision."""
_ROUNDING = 2.0**-53
# Of 1, A, A^2, A^3 and A^6 in B1 to B5; with Q = B1 B5 + B4 the polynomial is B2 + (B3 + Q) Q.
_B1 = 0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0
_B2 = (
    *(0.0, 3.97849749499645077844e-01, 1.36783778460411720168e00, 4.98289622525382669416e-01),
    -6.37898194594723280150e-04,
)
_B3 = (
    *(-1.09676396052962061844e01, 1.68015813878906206114e00, 5.71779846478865511061e-02),
    *(-6.98210122488052056106e-03, 3.34975017086070470649e-05),
)
_B4 = (
    *(-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02),
    *(2.95552570429315521194e-02, -1.39180257516060693404e-05),
)
_B5 = 0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05


def exponential(a: Any) -> Any:
    """Return the exponentials of stacked real square matrices, computed in double precision."""
    rows, dtype = shape_of(a)[-1], a.dtype
    a = cast(a, dtype=FLOAT64)
    square = multiply(a, a)
    cube = multiply(square, a)
    is_finite, halvings = _halvings(*map(stop_gradient, (a, square, cube)))
    a, square, cube = (ldexp(x, -k * halvings) for k, x in ((1, a), (2, square), (3, cube)))
    result = _polynomial(np.eye(rows), a, square, cube, multiply(cube, cube))

    def squared(state: Any) -> Any:
        number, value = state
        return number + 1, where(less(number, halvings), multiply(value, value), value)

    most = reduce_max(halvings, axes=tuple(range(len(shape_of(a)))))
    _, result = while_loop(lambda state: less(state[0], most), squared, (np.int64(0), result))
    return cast(where(is_finite, result, np.nan), dtype=dtype)


def exponential_tangent(a: Any, e: Any) -> Any:
    """Return the derivatives of the exponentials at ``a`` in the directions ``e``; leading axes broadcast."""
    dtype = np.result_type(a.dtype, e.dtype)
    shape = np.broadcast_shapes(shape_of(a), shape_of(e))
    a, e = (broadcast_to(cast(x, dtype=FLOAT64), shape=shape) for x in (a, e))
    return cast(jvp(exponential, (a,), (e,))[1], dtype=dtype)


def _polynomial(*powers: Any) -> Any:
    """Return the sum of ``A^k / k!`` for k up to 18 at matrices, given 1, A, A^2, A^3 and A^6."""
    b1, b2, b3, b4, b5 = (
        sum(factor * power for factor, power in zip(row, powers, strict=True) if factor)
        for row in (_B1, _B2, _B3, _B4, _B5)
    )
    inner = multiply(b1, b5) + b4
    return b2 + multiply(b3 + inner, inner)


def _log2_norm(a: Any) -> Any:
    """Return the logarithm of the largest sum of a column of magnitudes in each matrix."""
    rank = len(shape_of(a))
    sums = reduce_sum(absolute(a), axes=(rank - 2,))
    return log2(reduce_max(sums, axes=(rank - 2,)))


def _count(logarithm: Any) -> Any:
    """Return the least whole number, from 0, of halvings that bring 2 to a power below 1; 0 where it is not finite."""
    return cast(ceil(maximum(where(isfinite(logarithm), logarithm, 0.0), 0.0)), dtype=INT64)


def _halvings(a: Any, square: Any, cube: Any) -> tuple[Any, Any]:
    """Return whether each matrix is finite, and how often to halve it such that the polynomial is accurate."""
    axes = len(shape_of(a)) - 2
    is_finite = reduce_all(isfinite(a), axes=(axes, axes + 1))
    size = maximum(_log2_norm(square) / 2, _log2_norm(cube) / 3)
    size = where(equal(size, np.inf), _log2_norm(a), size)  # a power is too large for a number
    count = _count(size - math.log2(_LIMIT))[..., None, None]
    more = _more_halvings(absolute(ldexp(a, -count)))
    return is_finite[..., None, None], count + more[..., None, None]


def _more_halvings(magnitude: Any) -> Any:
    """Return how many more halvings bound the first term of the error, by the matrices of magnitudes."""
    lead, rows = shape_of(magnitude)[:-2], shape_of(magnitude)[-1]
    row = broadcast_to(np.ones(()), shape=(*lead, 1, rows))
    row, _ = scan(lambda row, _: (multiply(row, magnitude), None), row, None, length=_DEGREE + 1)
    term = log2(reduce_max(row[..., 0, :], axes=(len(lead),)))
    least = math.log2(math.factorial(_DEGREE + 1) * _ROUNDING)
    return _count((term - _log2_norm(magnitude) - least) / _DEGREE)


WITH_LOOPS["expm"] = exponential
WITH_LOOPS["expm_tangent"] = exponential_tangent
