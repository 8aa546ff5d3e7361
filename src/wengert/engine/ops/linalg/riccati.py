"""Riccati's algebraic equations: SciPy solves them, and their derivatives solve Lyapunov's equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, dtype_of, is_inexact
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, promote, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.linalg import matrix_functions, square
from wengert.engine.ops.linalg.square import adjoint, multiply
from wengert.engine.primitive import Explicit, primitive


def _type(*types: TensorType, discrete: bool) -> TensorType:
    dtype = promote(*types)[0]
    lead = np.broadcast_shapes(*(t.shape[:-2] for t in types))
    return TensorType(dtype if is_inexact(dtype) else FLOAT64, (*lead, *types[0].shape[-2:]))


def _evaluate(*operands: Any, discrete: bool) -> Any:
    from scipy import linalg

    solve = getattr(linalg, f"solve_{'discrete' if discrete else 'continuous'}_are")
    signature = "(m,m),(m,n),(m,m),(n,n),(m,m),(m,n)->(m,m)"
    dtype = _type(*map(type_of, operands), discrete=discrete).dtype
    wide = np.result_type(dtype, FLOAT64)  # LAPACK's
    a, b, q, r, e, s = (np.asarray(x, wide) for x in operands)

    def solved(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
        # SciPy's balanced equations (1.17) miss the scales of e: it fails, or returns what is no solution.
        return solve(a, b, q, r, e, s, balanced=np.array_equal(e, np.eye(len(e))))

    return np.vectorize(solved, [dtype], signature=signature)(a, b, _hermitian(q), _hermitian(r), e, s)


def _hermitian(matrix: Any) -> Any:
    return 0.5 * (matrix + adjoint(matrix))


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], x: Any, *, discrete: bool) -> Any:
    """Differentiate ``F(x) = 0`` at x: with the closed loop ``m = (a - b k) e^-1`` it is Lyapunov's equation.

    F is ``a'xe + e'xa - g'k + q`` with ``g = b'xe + s', k = r^-1 g``; of discrete time ``a'xa - e'xe - g'k + q`` with
    ``g = b'xa + s', k = (r + b'xb)^-1 g``.
    """
    a, b, _, r, e, s = primals
    da, db, dq, dr, de, ds = (
        np.zeros_like(p) if t is None else t for p, t in zip(primals, tangents, strict=True)
    )
    r, dq, dr = map(_hermitian, (r, dq, dr))

    def product(left: Any, right: Any) -> Any:
        return multiply(multiply(adjoint(left), x), right)

    last, dlast = (a, da) if discrete else (e, de)
    weight = r + product(b, b) if discrete else r
    k = square.solve(weight, product(b, last) + adjoint(s))
    change = product(a, da) - product(e, de) if discrete else product(e, da) + product(a, de)
    of_weight = dr + product(db, b) + product(b, db) if discrete else dr
    crossed = multiply(adjoint(product(db, last) + product(b, dlast) + adjoint(ds)), k)
    change = change + adjoint(change) - crossed - adjoint(crossed) + dq
    change = change + multiply(adjoint(k), multiply(of_weight, k))
    # m = y^H for e^H y = (a - b k)^H, and c = e^-H change e^-1
    loop = square.solve(adjoint(e), adjoint(a - multiply(b, k)))
    c = square.solve(adjoint(e), adjoint(square.solve(adjoint(e), adjoint(change))))
    if not discrete:
        return matrix_functions.solve_sylvester(loop, adjoint(loop), -c)
    # By the Cayley transform, as the equations of Lyapunov in discrete time.
    unit = np.eye(shape_of(a)[-1], dtype=dtype_of(a))
    behind = square.inverse(adjoint(loop) + unit)
    turned = multiply(adjoint(loop) - unit, behind)
    right = multiply(square.solve(loop + unit, c), behind) * -2.0
    return matrix_functions.solve_sylvester(adjoint(turned), turned, right)


riccati = primitive(
    name="riccati",
    doc="the stabilising solution of Riccati's equation of continuous or of discrete time",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Explicit(_tangent),
    batch=batch_elementwise,
    lowering=OnHost("SciPy solves it"),
    source=lambda *x, discrete: (
        f"scipy.linalg.solve_{'discrete' if discrete else 'continuous'}_are({', '.join(x)}, balanced=False)"
    ),
    samples=None,
)
