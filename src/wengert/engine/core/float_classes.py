"""The classes of floating-point numbers (IEEE 754) for which programs can be checked, eager and compiled ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, WengertError, message

#: The class of floats for which each operation is checked.
VARIABLE = "WENGERT_CHECK"
# CPython's dict behind `os.environ`: a look into it takes a tenth of the time, and each eager transform looks.
_ENVIRONMENT: Any = getattr(os.environ, "_data", os.environ)
_KEY: Any = VARIABLE if _ENVIRONMENT is os.environ else os.environ.encodekey(VARIABLE)


class NanError(WengertError, FloatingPointError):
    """An operation made a NaN, under ``WENGERT_CHECK=nan``."""


class SubnormalError(WengertError, FloatingPointError):
    """An operation made a subnormal number, under ``WENGERT_CHECK=subnormal``."""


def is_nan(value: Any) -> Any:
    """Return where a value is NaN."""
    return np.isnan(value) if np.asarray(value).dtype.kind == "f" else np.False_


def is_subnormal(value: Any) -> Any:
    """Return where a value is subnormal: not zero, and closer to zero than all normal numbers.

    Example:
        >>> is_subnormal(np.array([0.0, 1e-310, 1e-300]))
        array([False,  True, False])
    """
    dtype = np.asarray(value).dtype
    if dtype.kind != "f":
        return np.False_
    return (value != 0) & (np.abs(value) < np.finfo(dtype).smallest_normal)


CLASSES: dict[str, Callable[[Any], Any]] = {"nan": is_nan, "subnormal": is_subnormal}
"""The tests, by the names that ``WENGERT_CHECK`` knows."""


_KINK = "kink"
_ERRORS: dict[str, tuple[str, type[WengertError]]] = {
    "nan": ("NaN", NanError),
    "subnormal": ("subnormal", SubnormalError),
}


def asked() -> str:
    """Return the class for which ``WENGERT_CHECK`` asks, or an empty string."""
    if _KEY not in _ENVIRONMENT:
        return ""
    text = os.environ.get(VARIABLE, "").strip()
    if text and text not in CLASSES and text != _KINK:
        raise ArgumentError(message(VARIABLE, "must be 'nan', 'subnormal', 'kink' or unset", repr(text)))
    return "" if text == _KINK else text


def kinks_asked() -> bool:
    """Return whether ``WENGERT_CHECK=kink`` is set."""
    return _KEY in _ENVIRONMENT and os.environ.get(VARIABLE, "").strip() == _KINK


def is_made(kind: str, elementwise: bool, operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Return whether a result is a NaN, say, where no operand was; if not elementwise, whether no operand had one."""
    is_of_kind = CLASSES[kind]
    had: Any = np.False_
    for operand in operands:
        had = had | (is_of_kind(operand) if elementwise else np.any(is_of_kind(operand)))
    return any(np.any(is_of_kind(result) & ~had) for result in results)


def error_of(kind: str) -> type[WengertError]:
    """Return the class of the error for an operation that made such a number."""
    return _ERRORS[kind][1]


def requirement_of(kind: str) -> str:
    """Return what such an error says."""
    return f"the result must not be {_ERRORS[kind][0]} while {VARIABLE}={kind} is set"
