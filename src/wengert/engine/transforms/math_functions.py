"""The functions of `math` and `cmath` for values inside a transform.

A function of boxes calls Python's own function first where all its arguments are known: so it raises Python's errors
(`ValueError` outside of the domain, `OverflowError` outside of the range), which a program may catch. Where only a run
knows them, the program raises these errors (`math_errors`).
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import DIVISIONS, Box, concrete
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_complex, is_inexact
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.conversion import python_number
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME
from wengert.engine.transforms.divided import checked_division
from wengert.engine.transforms.math_errors import checked

Function = Callable[..., Any]
_where: Any = np.where
DIVISIONS.append(checked_division)


def _logarithm(x: Any, *base: Any) -> Any:
    return np.log(x) / np.log(*base) if base else np.log(x)


def _hypot(*coordinates: Any) -> Any:
    return functools.reduce(np.hypot, coordinates, 0.0)


def _distance(p: Iterable[Any], q: Iterable[Any]) -> Any:
    return _hypot(*(a - b for a, b in zip(p, q, strict=True)))


def _sum(values: Iterable[Any]) -> Any:
    """Return the sum with the errors of its additions, which are floats themselves (Ogita, Rump and Oishi 2005)."""
    terms: Any = values
    if not isinstance(values, (Box, np.ndarray)):
        terms = np.stack([0.0, *values])
    errors: list[Any] = []
    while (size := shape_of(terms)[0]) > 1:
        half = size // 2
        a, b = terms[:half], terms[half : 2 * half]
        sums = a + b
        rounded = sums - a
        errors.append(np.sum((a - (sums - rounded)) + (b - rounded)))
        terms = sums if size % 2 == 0 else np.concatenate([sums, terms[-1:]])
    total, error = np.sum(terms), sum(errors)
    return total + _where(np.isfinite(error), error, 0.0)


def _product(values: Iterable[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, values, start)


def _remainder(x: Any, y: Any) -> Any:
    """Return ``x - n y`` for the integer n nearest to ``x / y``, the even one of two, without rounding."""
    remainder = np.fmod(x, 2 * y)
    x_sign, y_sign = _where(remainder < 0, -1.0, 1.0), _where(y < 0, -1.0, 1.0)
    remainder, width = remainder * x_sign, y * y_sign
    once = _where(remainder > width / 2, remainder - width, remainder)
    return x_sign * _where(remainder - width >= width / 2, once - width, once)


def _is_close(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    difference, largest = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
    return (a == b) | ((difference <= np.maximum(rel_tol * largest, abs_tol)) & np.isfinite(difference))


def _as_float(x: Any) -> Any:
    """Return a real number as a float of Python's, in which its functions compute."""
    if isinstance(x, Box):
        return python_number(x, float) if not x.shape and x.dtype.kind in "fiub" else x
    return float(x) if isinstance(x, (int, np.floating, np.integer, np.bool_)) else x


def _as_floats(x: Any) -> Any:
    return tree.map_tree(_as_float, x) if isinstance(x, (list, tuple)) else _as_float(x)


def _scaled(x: Any, exponent: Any) -> Any:
    return np.ldexp(_as_float(x), exponent)


def _unit(x: Any) -> Any:
    """Return the distance of two floats at x; the largest float has the one below it as its neighbour."""
    size, most = np.abs(x), sys.float_info.max
    return _where(size == math.inf, size, _where(size == most, math.ulp(most), np.spacing(size)))


def _rounded(function: Function) -> Function:
    def call(x: Any) -> Any:
        return (function(x) if is_inexact(dtype_of(x)) else x).astype(int)

    return call


_ALIKE = """sin cos tan sinh cosh tanh exp exp2 expm1 log2 log10 log1p sqrt cbrt fabs fmod copysign frexp modf
    nextafter isnan isinf isfinite"""
_INVERSE = {f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
#: The functions of boxes for those of `math`; it has no functions of integers.
_REAL: dict[str, Function] = {
    **{name: getattr(np, name) for name in _ALIKE.split()},
    **_INVERSE,
    "atan2": np.arctan2,
    "ceil": _rounded(np.ceil),
    "degrees": lambda x: x * (180.0 / np.pi),
    "dist": _distance,
    "erf": BY_NAME["erf"],
    "erfc": BY_NAME["erfc"],
    "floor": _rounded(np.floor),
    "fma": lambda x, y, z: x * y + z,
    "fsum": _sum,
    "gamma": BY_NAME["gamma"],
    "hypot": _hypot,
    "isclose": _is_close,
    "lgamma": BY_NAME["gammaln"],
    "ldexp": _scaled,
    "log": _logarithm,
    "pow": np.power,
    "prod": _product,
    "radians": lambda x: x * (np.pi / 180.0),
    "remainder": _remainder,
    "trunc": _rounded(np.trunc),
    "ulp": _unit,
}


def _of_complex(function: Function) -> Function:
    def call(*numbers: Any) -> Any:
        return function(*(z if is_complex(dtype_of(z)) else z + 0j for z in numbers))

    return call


def _polar(z: Any) -> tuple[Any, Any]:
    return np.abs(z), np.angle(z)


def _rectangular(r: Any, phi: Any) -> Any:
    return r * np.cos(phi) + 1j * (r * np.sin(phi))


_OF_COMPLEX = "sin cos tan sinh cosh tanh exp log10 sqrt"
#: The functions of boxes for those of `cmath`.
_COMPLEX: dict[str, Function] = {
    **{name: _of_complex(getattr(np, name)) for name in _OF_COMPLEX.split()},
    **{name: _of_complex(function) for name, function in _INVERSE.items()},
    **{name: getattr(np, name) for name in ("isnan", "isinf", "isfinite")},
    "isclose": _is_close,
    "log": _of_complex(_logarithm),
    "phase": np.angle,
    "polar": _polar,
    "rect": _rectangular,
}
#: The functions that are constant between their jumps: known arguments have a plain result.
_CONSTANT = {"isclose", "isnan", "isinf", "isfinite", "floor", "ceil", "trunc", "ulp"}
#: The kinds of numbers that functions return, if not floats and, of `cmath`, complex numbers.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("isclose", "isnan", "isinf", "isfinite"), bool),
    **dict.fromkeys(("floor", "ceil", "trunc"), int),
    **dict.fromkeys(("phase", "polar"), float),
}
#: The functions of `math` that keep integers; the others convert them to floats.
_OF_NUMBERS = {"ceil", "floor", "isclose", "ldexp", "prod", "trunc"}


@functools.cache
def of_math(function: Function) -> Function | None:
    """Return the function of boxes for one of `math` or `cmath`; None for functions of integers.

    Example:
        >>> import math
        >>> of_math(math.gcd) is None
        True
    """
    name, is_complex_one = function.__name__, function.__module__ == cmath.__name__
    on_boxes = (_COMPLEX if is_complex_one else _REAL).get(name)
    if on_boxes is None:
        return None

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        is_known = all(concrete(value) is not None for value in tree.leaves((arguments, options)))
        if is_known:  # Python's function raises its exceptions
            values, named = tree.map_tree(concrete, (arguments, options))
            result = function(*values, **named)
            if name in _CONSTANT:
                return result
        if not (is_complex_one or name in _OF_NUMBERS):
            arguments = tuple(map(_as_floats, arguments))
        with np.errstate(all="ignore"):  # Python's function and the checks raise instead
            result = as_pythons(on_boxes(*arguments, **options))
        return result if is_known else checked(function, result, (arguments, options))

    def as_pythons(result: Any) -> Any:
        """Return the result as Python's numbers."""
        if isinstance(result, tuple):
            parts = cast("tuple[Any, ...]", result)
            kinds = (float, int) if name == "frexp" else (float, float)
            return tuple(map(_as_python, parts, kinds))
        if name == "prod":
            return result
        return _as_python(result, _KINDS.get(name, complex if is_complex_one else float))

    return call


def _as_python(result: Any, kind: type) -> Any:
    return result if shape_of(result) else python_number(result, kind)
