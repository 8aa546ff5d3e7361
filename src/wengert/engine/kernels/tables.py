"""Polynomials, lowest power first, and constants, of the kernels and of the compiler's elementary functions.

The polynomials of tables.json, which tools/elementary_coefficients.py writes, are minimax. One is kept for each
precision of the result, in bits: 24 for float32 arithmetic, with float32 coefficients, 36 for float32 results of
float64 arithmetic, and 53. Constants in several parts, whose sum they are, are kept for 24 and 53 bits.
"""

from __future__ import annotations

import io
import json
import math
import os
from functools import cache
from typing import Any

#: The centres, which are geometric means, of the ranges [0.5, 2.5] and [2.5, 12.5] of the gamma functions.
NEAR, MID = math.sqrt(1.25), math.sqrt(31.25)
#: The constant of Stirling's series, ln(2 pi) / 2, less 1/2: ``x - 1/2`` accounts for that.
STIRLING = 0.5 * math.log(2 * math.pi) - 0.5
#: Stirling's series of ln Gamma, in 1 / x^2.
LGAMMA_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: Stirling's series of -digamma, in 1 / x^2.
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


@cache
def table(name: str, precision: int | None = None) -> tuple[float, ...]:
    """Return the numbers of a table, for a precision where it depends on one.

    Example:
        >>> table("CBRT", 53)[:2]
        (2.1283678224132863, -3.0699288697540954)
    """
    numbers = _tables()[name]
    return tuple(numbers if precision is None else numbers[str(precision)])


@cache
def _tables() -> dict[str, Any]:
    # Not by `open`, which is no more where a program is compiled while the interpreter ends.
    with io.FileIO(os.path.join(os.path.dirname(__file__), "tables.json")) as file:
        return json.loads(file.read())
