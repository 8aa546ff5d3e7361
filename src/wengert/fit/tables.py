"""Names of parameters, and tables of text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from wengert.optimize.flat import Flat

_KEY = re.compile(r"\['([^']*)'\]")


def readable(path: str, prefix: str) -> str:
    """Return the path to a leaf without quotes: ``start['a']['b'][2]`` is ``a.b[2]``; the whole start is ``x``.

    Example:
        >>> readable("start['a']['b'][2]", "start"), readable("start[2]", "start")
        ('a.b[2]', 'x[2]')
    """
    name = _KEY.sub(r".\1", path.removeprefix(prefix)).lstrip(".")
    return f"x{name}" if not name or name.startswith("[") else name


def element_names(flat: Flat) -> list[str]:
    """Return a name for each element of the vector of some variables."""
    return [readable(flat.path_of(position), flat.name) for position in range(flat.size)]


def written_names(flat: Flat) -> list[str]:
    """Return the names of the elements in the order in which the user wrote the variables."""
    names = element_names(flat)
    return [names[position] for position in flat.written_order]


def leaf_names(flat: Flat) -> list[str]:
    """Return a name for each leaf of some variables."""
    return [readable(path, flat.name) for path in flat.paths]


def number(value: float, error: float = math.inf) -> str:
    """Write a number with four significant digits, or to the second digit of its error; others with an exponent.

    Example:
        >>> number(12.34567), number(0.000012), number(1234567.0), number(float("inf"))
        ('12.35', '1.2e-05', '1.235e+06', 'inf')
        >>> number(4998.0, 0.025), number(1234567.0, 250.0), number(0.5, 10.0)
        ('4998.000', '1.23457e+06', '0.5000')
    """
    digits = 4
    if value and all(map(math.isfinite, (value, error))) and error > 0.0:
        places = math.floor(math.log10(abs(value))) - math.floor(math.log10(error))
        digits = min(max(digits, places + 2), 17)
    text = f"{value:#.{digits}g}".rstrip(".")
    return f"{value:.{digits}g}" if "e" in text or "n" in text else text


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows under the names of their columns: the first column to the left, the others to the right.

    Example:
        >>> print(table(["", "mean"], [["a", "1.5"], ["rate", "10.25"]]))
               mean
        a       1.5
        rate  10.25
    """
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in (columns, *rows)
    )
