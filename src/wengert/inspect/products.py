"""Contractions written as people write them: ``x @ w``, ``np.outer``, subscripts."""

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


def one_axis(text: str) -> str:
    """Write a single axis without the brackets of a tuple.

    Example:
        >>> one_axis("np.sum(x, axis=(1,))")
        'np.sum(x, axis=1)'
    """
    return re.sub(r"axis=\((\d+),\)", r"axis=\1", text)
