"""Checks of a function of this room: against SciPy's, in all modes, and its derivatives against differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.core import tree


def flat(result: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in tree.leaves(result)]


def close(actual: Any, expected: Any, rtol: float, dtypes: bool = True) -> None:
    """Compare values, shapes and dtypes, leaf by leaf; the scale of the absolute error is that of the values."""
    actual, expected = flat(actual), flat(expected)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == other.dtype or not dtypes, f"{one.dtype}, expected {other.dtype}"
        scale = float(np.max(np.abs(other), initial=1.0, where=np.isfinite(other)))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


def check(
    own: Callable[..., Any],
    theirs: Callable[..., Any] | None,
    *arguments: Any,
    rtol: float = 1e-12,
    order: int = 1,
    compiled: bool = True,
    batched: bool = True,
) -> None:
    """Check a function of floating-point arrays: the value is SciPy's, and all modes agree."""
    value = own(*arguments)
    if theirs is not None:
        close(value, theirs(*arguments), rtol)
    close(wg.vjp(own, *arguments)[0], value, rtol)
    if order:
        wg.check_grads(own, arguments, order=order)
    if compiled:
        close(wg.jit(own)(*arguments), value, rtol)
    if batched:
        rows = [np.stack([x, x * 1.01]) for x in map(np.asarray, arguments)]
        looped = [flat(own(*(row[k] for row in rows))) for k in range(2)]
        stacked = [np.stack(pair) for pair in zip(*looped, strict=True)]
        close(flat(wg.vmap(own)(*rows)), stacked, max(rtol, 1e-11))


def check_signatures(own: Any, theirs: Any) -> None:
    """Check that arguments mean the same at the same position; SciPy may have more of them, which are deprecated."""
    mine, others = (inspect.signature(function).parameters for function in (own, theirs))
    both = [parameter for parameter in others if parameter in mine]
    assert [parameter for parameter in mine if parameter in others] == both
    assert list(mine)[:1] == list(others)[:1]
