"""autograd's checks of derivatives against differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from wengert import testing
from wengert.autograd.operators import unary_to_nary


def _check(fun: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    testing.check_grads(fun, (x,), order, modes)


def check_grads(
    fun: Callable[..., Any], argnum: Any = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """Return a function of the arguments that checks the derivatives: see `wengert.check_grads`.

    Example:
        >>> import numpy as np
        >>> check_grads(np.sin)(1.0)
    """
    return unary_to_nary(_check)(fun, argnum, modes, order)


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the first derivative of a function of one argument in reverse mode.

    Example:
        >>> check_vjp(lambda x: x**2, 1.0)
    """
    _check(f, x, ("rev",), 1)


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the first derivative of a function of one argument in forward mode.

    Example:
        >>> check_jvp(lambda x: x**2, 1.0)
    """
    _check(f, x, ("fwd",), 1)


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return a function that checks derivatives for all combinations of some values of the arguments.

    Example:
        >>> import numpy as np
        >>> combo_check(np.sum, modes=["rev"])([np.ones(2), np.ones((2, 3))], axis=[None, 0])
    """

    def check(*values: Any, **named: Any) -> None:
        for point in itertools.product(*values):
            for options in itertools.product(*named.values()):
                check_grads(fun, *args, **kwargs)(*point, **dict(zip(named, options, strict=True)))

    return check
