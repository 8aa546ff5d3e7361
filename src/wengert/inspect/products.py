"""Contractions and indices written as people write them: ``x @ w``, ``np.outer``, ``x[1:, ::-1]``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wengert.ops.contraction import as_subscripts

#: Subscripts, with letters in the order in which they appear.
_KNOWN = {
    "ab,bc->ac": "{0} @ {1}",
    "ab,cb->ac": "{0} @ {1}.T",
    "ab,ac->bc": "{0}.T @ {1}",
    "ab,b->a": "{0} @ {1}",
    "ab,a->b": "{1} @ {0}",
    "a,ab->b": "{0} @ {1}",
    "a,ba->b": "{1} @ {0}",
    "a,a->": "{0} @ {1}",
    "ab,bc->ca": "({0} @ {1}).T",
    "ab,ca->bc": "({1} @ {0}).T",
    "ab,ca->cb": "{1} @ {0}",
    "ab,cb->ca": "{1} @ {0}.T",
    "ab,ac->cb": "{1}.T @ {0}",
    "abc,acd->abd": "{0} @ {1}",
    "a,b->ab": "np.outer({0}, {1})",
    "a,b->ba": "np.outer({1}, {0})",
    "ab->ba": "{0}.T",
}


def as_product(operands: Sequence[str], extents: Any, accesses: Any, out: Any, shape: Any) -> str:
    """Write a contraction with ``@`` where it is a matrix product; empty where it is none.

    Example:
        >>> from wengert.ops.contraction import product_params
        >>> as_product(["x", "w"], **product_params("ij,jk->ik", (2, 3), (3, 4)))
        'x @ w'
    """
    subscripts = as_subscripts(extents, accesses, out)
    if subscripts is None:
        return ""
    letters = dict.fromkeys(subscripts.replace(",", "").replace("->", ""))
    renamed = subscripts.translate(
        {ord(one): chr(ord("a") + position) for position, one in enumerate(letters)}
    )
    return _KNOWN.get(renamed, "").format(*operands)


def as_sum(operands: Sequence[str], extents: Any, accesses: Any, out: Any, shape: Any) -> str:
    """Write any contraction as a call of the helper ``contract``, with the places that it reads and writes.

    Example:
        >>> window, tap, position = ((0, ((0, 2), (1, 1))),), ((0, ((1, 1),)),), ((1, ((0, 1),)),)
        >>> as_sum(["x", "w"], (3, 2), (window, tap), position, (4,))
        'contract([x, w], lambda a, b: ((2 * a + b,), (b,), (1 + a,)), (3, 2), (4,))'
    """
    names = [chr(ord("a") + n) if len(extents) <= 26 else f"i{n}" for n in range(len(extents))]
    places = ", ".join(_tuple([_affine(axis, names) for axis in access]) for access in (*accesses, out))
    return f"contract([{', '.join(operands)}], lambda {', '.join(names)}: ({places}), {extents}, {shape})"


def _affine(axis: Any, names: Sequence[str]) -> str:
    offset, terms = axis
    parts = [str(offset)] if offset or not terms else []
    for dim, factor in terms:
        name = names[int(dim)]
        parts.append(name if factor == 1 else f"{factor} * {name}")
    return " + ".join(parts)


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def as_index(index: Any, shape: Any) -> str:
    """Write a basic index into an array of a shape.

    Example:
        >>> as_index(((1, 3, 1), (2, 3, -1), 0, (0, 2, 1), (0, 5, 1)), (4, 3, 2, 8, 5))
        '1:, ::-1, 0, :2'
    """
    entries = [_entry(*pair) for pair in zip(index, shape, strict=True)]
    while entries and entries[-1] == ":":
        entries.pop()
    return ", ".join(entries) or "..."


def _entry(entry: Any, extent: int) -> str:
    if isinstance(entry, int):
        return str(entry)
    start, count, step = entry
    if not count:
        return ":0"
    stop = start + count * step
    first = "" if start == (extent - 1 if step < 0 else 0) else str(start)
    last = "" if (stop < 0 if step < 0 else stop >= extent) else str(stop)
    return f"{first}:{last}" if step == 1 else f"{first}:{last}:{step}"


def one_axis(text: str) -> str:
    """Write a single axis without the brackets of a tuple.

    Example:
        >>> one_axis("np.sum(x, axis=(1,))")
        'np.sum(x, axis=1)'
    """
    return re.sub(r"axis=\((\d+),\)", r"axis=\1", text)
