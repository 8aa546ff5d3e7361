"""The ufuncs of `scipy.special` that have derivatives, where SciPy looks for a library's own special functions.

The standard has no such extension yet. With ``SCIPY_ARRAY_API=1`` SciPy asks the namespace of its arguments for the
module `special`, and calls a function that it has.

Example:
    >>> import wengert as wg
    >>> from wengert.array_api import special
    >>> round(wg.grad(lambda x: special.gammaln(x))(1.0), 6)
    -0.577216
"""

from __future__ import annotations

from typing import Any

from wengert.array_api.standard import of_arrays
from wengert.ops.scipy_special import BY_NAME


def __getattr__(name: str) -> Any:
    if name not in BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from scipy.special import _ufuncs  # pyright: ignore[reportPrivateUsage]

    globals()[name] = function = of_arrays(getattr(_ufuncs, name))
    return function


def __dir__() -> list[str]:
    return sorted(BY_NAME)
