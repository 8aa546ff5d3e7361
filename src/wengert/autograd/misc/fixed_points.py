"""Fixed points of functions, with the derivatives of the implicit function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.autograd.operators import make_vjp
from wengert.autograd.primitives import defvjp, primitive
from wengert.autograd.spaces import vspace


@primitive
def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """Return x with ``f(a)(x) = x``, by iteration from x0 until two values have a ``distance`` of at most ``tol``.

    Example:
        >>> from wengert.autograd import grad
        >>> newton = lambda a: lambda x: 0.5 * (x + a / x)
        >>> root = lambda a: fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)
        >>> print(round(grad(root)(4.0), 6))
        0.25
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _adjoint_step(f: Any, parameters: Any) -> Callable[[Any], Any]:
    a, x, g = parameters
    pull, space = make_vjp(f(a))(x)[0], vspace(x)
    return lambda cotangent: space.add(pull(cotangent), g)


def _rule(ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Callable[[Any], Any]:
    def pull(g: Any) -> Any:
        start = vspace(x0).zeros()
        cotangent = fixed_point(functools.partial(_adjoint_step, f), (a, ans, g), start, distance, tol)
        return make_vjp(lambda parameters, x: f(parameters)(x))(a, ans)[0](cotangent)

    return pull


defvjp(fixed_point, None, _rule, None)
