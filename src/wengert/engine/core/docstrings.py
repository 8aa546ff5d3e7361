"""Docstrings that share descriptions of parameters and whole sections."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_SECTIONS = ("Args", "Returns", "Raises", "Example")
_HEADING = re.compile(rf"\n\n({'|'.join(_SECTIONS)}):\n")


def documented(terms: Mapping[str, str] | None = None, /, **texts: str) -> Callable[[T], T]:
    """Return a decorator that adds descriptions of parameters and sections to a docstring, before its own.

    Args:
        terms: descriptions of parameters by name; the decorator uses those of the parameters that the function has.
        **texts: further descriptions, and the texts of the sections ``Returns`` and ``Raises``.

    Example:
        >>> @documented({"x": "a number.", "y": "not used."}, Returns="A number.")
        ... def double(x):
        ...     '''Return ``2 x``.'''
        >>> double.__doc__.split()
        ['Return', '``2', 'x``.', 'Args:', 'x:', 'a', 'number.', 'Returns:', 'A', 'number.']
    """
    sections = {name: text for name, text in texts.items() if name in _SECTIONS}
    descriptions = {**(terms or {}), **texts}

    def decorate(value: T) -> T:
        if value.__doc__ is None:  # Python omits docstrings under -OO
            return value
        function: Any = getattr(value, "__init__") if isinstance(value, type) else value  # noqa: B009
        code = function.__code__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        parameters = function.__signature__.parameters if hasattr(function, "__signature__") else own
        arguments = [f"{name}: {descriptions[name]}" for name in parameters if name in descriptions]
        shared = {"Args": "\n".join(arguments), **sections} if arguments else sections
        # Python 3.13 removes the indentation of docstrings, earlier versions keep it.
        summary, *parts = _HEADING.split(inspect.cleandoc(value.__doc__))
        merged = dict(zip(parts[::2], parts[1::2], strict=True))
        for name, text in shared.items():
            own = [merged[name]] if name in merged else []
            merged[name] = "\n".join([textwrap.indent(text, " " * 4), *own])
        present = (f"{name}:\n{merged[name]}" for name in _SECTIONS if name in merged)
        value.__doc__ = "\n\n".join([summary, *present])
        return value

    return decorate
