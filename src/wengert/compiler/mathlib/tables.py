"""Minimax polynomials, lowest power first, and constants; tools/elementary_coefficients.py writes tables.json.

A polynomial is kept for each precision of the result, in bits: 24 for float32 arithmetic, with float32 coefficients, 36
for float32 results of float64 arithmetic, and 53. Constants in several parts, whose sum they are, are kept for 24 and
53 bits.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


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
    return json.loads(Path(__file__).with_name("tables.json").read_text("utf-8"))
