"""NumPy source of the parts of a statement: numbers, arrays, indices and contractions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64
from wengert.engine.ops.contraction import as_subscripts

#: Arrays up to this many elements are written out.
LISTED = 16
_NAMED = {"0.0": "zeros", "0": "zeros", "False": "zeros", "1.0": "ones", "1": "ones", "True": "ones"}
_SPECIAL = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}
#: Matrix products by their subscripts, with letters in order of appearance.
_PRODUCTS = {
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


def scalar_source(value: Any, exact: bool) -> str:
    """Write a scalar; with ``exact``, a NumPy scalar with its type.

    Example:
        >>> scalar_source(float("inf"), True), scalar_source(np.float32(2.0), True)
        ('np.inf', 'np.float32(2.0)')
    """
    is_numpy = hasattr(value, "dtype")
    text = repr(value.item() if is_numpy else value)
    text = _SPECIAL.get(text, text)
    return f"np.{value.dtype.name}({text})" if is_numpy and exact else text


def array_source(value: Any) -> str:
    """Write a small or a regular array; return an empty text for any other.

    Example:
        >>> array_source(np.zeros((300, 2))), array_source(np.array([0.5, 2.0], np.float32))
        ('np.zeros((300, 2))', 'np.array([0.5, 2.0], np.float32)')
    """
    regular = _regular(value)
    if regular or value.size > LISTED:
        return regular
    dtype = "" if value.dtype in (FLOAT64, INT64, BOOL) else f", np.{value.dtype.name}"
    return f"np.array({_listed(value)}{dtype})"


def _listed(value: Any) -> str:
    return scalar_source(value[()], exact=False) if value.ndim == 0 else f"[{', '.join(map(_listed, value))}]"


def _regular(value: Any) -> str:
    """Write an array of equal elements, a count, or the identity."""
    dtype = "" if value.dtype == FLOAT64 else f", np.{value.dtype.name}"
    if not value.size:
        return f"np.zeros({value.shape}{dtype})"
    if value.size > 2 and value.tobytes() == value.ravel()[:1].tobytes() * value.size:
        first = scalar_source(value[(0,) * value.ndim], exact=False)
        named = _NAMED.get(first)
        return f"np.{named}({value.shape}{dtype})" if named else f"np.full({value.shape}, {first}{dtype})"
    counting = value.size > 2 and value.dtype in (FLOAT64, INT64)
    if counting and _same(value, np.arange(value.size, dtype=value.dtype)):
        count = f"np.arange({scalar_source(value.dtype.type(value.size), exact=False)})"
        return count if value.ndim == 1 else f"{count}.reshape{value.shape}"
    if value.ndim == 2 and value.dtype == FLOAT64 and len(value) > 1 and _same(value, np.eye(len(value))):
        return f"np.eye({len(value)})"
    return ""


def _same(first: Any, second: Any) -> bool:
    return first.tobytes() == second.tobytes()


def as_product(operands: Sequence[str], extents: Any, accesses: Any, out: Any, shape: Any) -> str:
    """Write a matrix product with ``@``; return an empty text for any other contraction.

    Example:
        >>> from wengert.engine.ops.contraction import product_params
        >>> as_product(["x", "w"], **product_params("ij,jk->ik", (2, 3), (3, 4)))
        'x @ w'
    """
    subscripts = as_subscripts(extents, accesses, out)
    if subscripts is None:
        return ""
    letters = dict.fromkeys(subscripts.replace(",", "").replace("->", ""))
    renamed = subscripts.translate({ord(letter): ord("a") + i for i, letter in enumerate(letters)})
    return _PRODUCTS.get(renamed, "").format(*operands)


def as_sum(operands: Sequence[str], extents: Any, accesses: Any, out: Any, shape: Any) -> str:
    """Write any contraction as a call of the helper ``contract``, with the elements that it reads and writes.

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
