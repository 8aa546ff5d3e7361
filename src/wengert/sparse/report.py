"""The description of a structure."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from wengert.engine.core.markup import TableText
from wengert.sparse.structure import Structure

_CALLS = 5
_SIDES = {
    "forward": "colours of columns, products from the right",
    "reverse": "colours of rows, products from the left",
    "both": "colours of columns and of rows, products from both sides",
}


def report(name: str, structure: Structure, leaves: Sequence[Any]) -> TableText:
    """Describe a structure, and measure a few calls."""
    height, width = structure.pattern.shape
    count, colouring = structure.pattern.nnz, structure.colouring
    share = 100 * count / max(height * width, 1)
    first = _measured(structure, leaves)
    usual = statistics.median(_measured(structure, leaves) for _ in range(_CALLS))
    kind = "star colouring, Hessian-vector products" if colouring.symmetric else _SIDES[colouring.direction]
    colours = f"{colouring.column_count} + {colouring.row_count}" if colouring.direction == "both" else ""
    title = f"{name}: {height:,} rows, {width:,} columns"
    rows = [
        ("nonzero elements", f"{count:,} ({share:.3g}%)"),
        ("colours", f"{colours or colouring.count} ({kind})"),
        ("pattern", _text(structure.seconds[0])),
        ("colouring", _text(structure.seconds[1])),
        ("this first call", _text(first)),
        ("a call", _text(usual)),
    ]
    text = "\n".join([title, *(f"{label:<17} {value}" for label, value in rows)])
    return TableText(text, title, ("", "measured"), rows, texts=2)


def _measured(structure: Structure, leaves: Sequence[Any]) -> float:
    start = time.perf_counter()
    structure.elements(leaves)
    return time.perf_counter() - start


def _text(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
