"""SciPy's private functions of polynomials, for coefficients that only a run knows.

SciPy drops leading zeros, and looks at the roots for their dtype and multiplicity. Where the numbers are not known, the
types are those of general position, and the program raises an error where the numbers are not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import is_complex
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.ir.types import show
from wengert.engine.transforms.math_errors import guarded
from wengert.engine.transforms.substitution import of_library
from wengert.numpy import asarray, polydiv, polyval, trim_zeros
from wengert.numpy import poly as coefficients


def _known(*values: Any) -> bool:
    return all(concrete(value) is not None for value in values)


def _in_general(operation: str, p: Any, side: str = "f", least: float = 0.0) -> Any:
    """Return polynomials along the last axis, of which only a run knows that one has a first or last coefficient.

    Args:
        operation: the name of the function.
        p: one polynomial, or a row for each.
        side: "f" for the first coefficient, "b" for the last one.
        least: what counts as 0.
    """
    place, end = ("first", 0) if side == "f" else ("last", -1)
    requirement = f"the {place} coefficient must not be 0 where only a run knows it: leave it out"
    return guarded(p, np.any(np.abs(p[..., end]) > least), ValueError(message(operation, requirement)))


def _trimmed(p: Any, trim: str = "fb") -> Any:
    """Return a polynomial without zeros at its ends."""
    if _known(p):
        return trim_zeros(p, trim)
    for side in trim.lower():
        p = _in_general("trim_zeros", p, side)
    return p


def poly(seq_of_zeros: Any, *, xp: Any = None) -> Any:
    """Return the coefficients of a polynomial with given zeros: real ones if the zeros are conjugate pairs."""
    zeros = np.atleast_1d(asarray(seq_of_zeros))
    found = coefficients(zeros) if zeros.size else asarray(1.0)
    if not is_complex(found.dtype):
        return found
    parts = np.sort(np.imag(zeros))
    excess = np.abs(parts + parts[::-1])
    if _known(zeros):
        return np.real(found) if not np.any(concrete(excess)) else found
    pairs = np.all(excess <= 100 * np.finfo(float).eps * np.max(np.abs(zeros)))
    requirement = "zeros that only a run knows must be real or conjugate pairs"
    return guarded(np.real(found), pairs, ValueError(message("poly", requirement, hint="use output='zpk'")))


def normalize(b: Any, a: Any) -> Any:
    """Return numerators and the denominator without leading zeros, over the first coefficient of the latter."""
    from scipy import signal

    den = np.atleast_1d(asarray(a))
    try:
        b = asarray(b)
        num = np.atleast_2d(b)
    except (ShapeError, ValueError):  # of several lengths
        width = max(np.size(row) for row in b)
        rows = [np.atleast_1d(asarray(row)) for row in b]
        b = num = np.stack([np.concatenate([np.zeros(width - row.size), row]) for row in rows])
    if _known(num, den):
        return of_library(signal.normalize)(b, den)
    if den.ndim != 1 or num.ndim != 2:
        raise ShapeError(message("normalize", "vectors of coefficients are required", show(num, den)))
    den = _trimmed(den, "f")
    if not den.size:
        raise ValueError("Denominator must have at least on nonzero element.")
    if _known(num):
        zeros = np.all(concrete(num) == 0, axis=0)
        num = num[:, min(int(np.argmin([*zeros, False])), len(zeros) - 1) :]
    num = num / den[0]
    num = num if _known(num) else _in_general("normalize", num, least=1e-14)
    return (num[0] if len(num) == 1 else num), den / den[0]


def _partial_fractions(name: str, b: Any, a: Any, tol: float, rtype: str) -> tuple[Any, Any, Any]:
    """Return residues, poles and polynomial in z or 1 / z: by a formula if the poles are simple, else by SciPy's."""
    from scipy import signal

    b, a = (np.atleast_1d(asarray(x)) for x in (b, a))
    in_z = name == "residue"
    denominator = _trimmed(a, "f" if in_z else "bf")
    poles = np.roots(denominator)
    poles = poles[np.argsort(np.abs(poles))]
    spread = np.where(np.eye(len(poles), dtype=bool), 1.0, poles[:, None] - poles)
    are_simple = np.all((np.abs(spread) > tol) | np.eye(len(poles), dtype=bool))
    if _known(are_simple) and not (concrete(are_simple) and len(poles)):
        return of_library(getattr(signal, name))(b, a, tol, rtype)
    requirement = "poles that only a run knows must be simple"
    poles = guarded(poles, are_simple, ValueError(message(name, requirement, hint=f"tol is {tol}")))
    numerator = _trimmed(b, "f" if in_z else "b")
    if not in_z:
        numerator, denominator = numerator[::-1], denominator[::-1]
    direct: Any = np.empty(0)
    if len(numerator) >= len(denominator):
        direct, numerator = polydiv(numerator, denominator)
    if in_z:
        residues = polyval(numerator, poles) / np.prod(spread, 1)
    else:
        reciprocal = np.where(np.eye(len(poles), dtype=bool), 1.0, 1.0 / poles[:, None] - 1.0 / poles)
        residues = polyval(numerator, 1.0 / poles) / np.prod(reciprocal, 1) * -poles
    return residues / denominator[0], poles, direct if in_z else direct[::-1]


def residue(b: Any, a: Any, tol: float = 1e-3, rtype: str = "avg") -> Any:
    """Return the residues, the poles and the polynomial of a rational function of z."""
    return _partial_fractions("residue", b, a, tol, rtype)


def residuez(b: Any, a: Any, tol: float = 1e-3, rtype: str = "avg") -> Any:
    """Return the residues, the poles and the polynomial of a rational function of 1 / z."""
    return _partial_fractions("residuez", b, a, tol, rtype)


SUBSTITUTES.update(
    {
        "scipy.signal._trim_zeros": _trimmed,
        "scipy.signal.normalize": normalize,
        "scipy.signal.poly": poly,
        "scipy.signal.residue": residue,
        "scipy.signal.residuez": residuez,
    }
)
