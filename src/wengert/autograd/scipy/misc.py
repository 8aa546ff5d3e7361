"""The module in which early versions of SciPy had `logsumexp`; SciPy loads with it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "logsumexp":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from wengert.autograd.scipy.special import logsumexp

    return logsumexp
