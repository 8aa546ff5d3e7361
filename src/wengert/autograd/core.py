"""autograd's core: the operators on functions of one argument, rules, and vector spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd import operators
from wengert.autograd.extend import JVPNode as JVPNode
from wengert.autograd.extend import SparseObject as SparseObject
from wengert.autograd.extend import VJPNode as VJPNode
from wengert.autograd.extend import VSpace as VSpace
from wengert.autograd.extend import def_linear as def_linear
from wengert.autograd.extend import defjvp as defjvp
from wengert.autograd.extend import defjvp_argnum as defjvp_argnum
from wengert.autograd.extend import defjvp_argnums as defjvp_argnums
from wengert.autograd.extend import defvjp as defvjp
from wengert.autograd.extend import defvjp_argnum as defvjp_argnum
from wengert.autograd.extend import defvjp_argnums as defvjp_argnums
from wengert.autograd.extend import vspace as vspace
from wengert.autograd.tracer import Box as Box
from wengert.autograd.tracer import backward_pass as backward_pass
from wengert.autograd.tracer import getval as getval
from wengert.autograd.tracer import isbox as isbox
from wengert.autograd.tracer import primitive as primitive


def make_vjp(fun: Callable[[Any], Any], x: Any) -> Any:
    """Return ``(vjp, fun(x))``: see `wengert.autograd.make_vjp`.

    Example:
        >>> print(make_vjp(lambda x: x**2, 3.0)[0](1.0))
        6.0
    """
    return operators.make_vjp(fun)(x)


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Any:
    """Return a function of a direction that returns ``(fun(x), tangent)``: see `wengert.autograd.make_jvp`.

    Example:
        >>> print(*make_jvp(lambda x: x**2, 3.0)(1.0))
        9.0 6.0
    """
    return operators.make_jvp(fun)(x)
