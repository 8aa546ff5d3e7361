"""The ufuncs of `scipy.special` that have derivatives, where SciPy looks for a library's own special functions.

The standard has no such extension yet. With ``SCIPY_ARRAY_API=1`` SciPy asks the namespace of its arguments for the
module `special`, and calls a function that it has.

Example:
    >>> import wengert as wg
    >>> from wengert.array_api import special
    >>> print(f"{wg.grad(lambda x: special.gammaln(x))(1.0):.6f}")
    -0.577216
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array_api.standard import of_arrays
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME


def _polygamma(n: Any, x: Any) -> Any:
    """Return the derivative of order ``n`` of `digamma`, ``(-1)^(n+1) n! zeta(n + 1, x)`` for n > 0."""
    if dtype_of(n).kind not in "biu":
        raise DtypeError(message("polygamma", "the order must be an integer", show(n)))
    digamma, zeta, gamma = BY_NAME["psi"], BY_NAME["zeta"], BY_NAME["gamma"]
    order: Any = np.maximum(n, 1)
    sign = np.where(order % 2 == 0, -1.0, 1.0)
    higher: Any = sign * gamma(order + 1.0) * zeta(order + 1.0, x)
    choose: Any = np.where
    return choose(np.equal(n, 0), digamma(x), choose(np.less(n, 0), np.nan, higher))


def _multigammaln(a: Any, d: int) -> Any:
    """Return ``ln(pi) d (d - 1) / 4 + sum_j gammaln(a - j / 2)``, the logarithm of the gamma function of matrices."""
    total: Any = d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        total = total + BY_NAME["gammaln"](a - j / 2)
    return total


#: Functions of SciPy that are not its ufuncs.
_OTHERS: dict[str, Callable[..., Any]] = {
    "multigammaln": _multigammaln,
    "polygamma": _polygamma,
    "sinc": np.sinc,
}


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        implementation = _OTHERS[name]
    elif name in BY_NAME:
        from scipy.special import _ufuncs  # pyright: ignore[reportPrivateUsage]

        implementation = getattr(_ufuncs, name, BY_NAME[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = function = of_arrays(implementation)
    return function


def __dir__() -> list[str]:
    return sorted({*BY_NAME, *_OTHERS})
