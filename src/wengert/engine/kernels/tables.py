"""The polynomials of the special functions, lowest power first; tools/special_tables.py writes tables.json."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any


@cache
def table(name: str) -> tuple[float, ...]:
    """Return the numbers of a table; the file has the meaning of each.

    Example:
        >>> table("DIGAMMA_ROOT")
        (1.4616321449683622, 9.549995429965697e-17)
    """
    return tuple(_tables()[name]["numbers"])


@cache
def _tables() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "tables.json"), encoding="utf-8") as file:
        return json.load(file)
