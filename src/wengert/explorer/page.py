"""The page of an explored function: one HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import functools
import html
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wengert.engine.core.calls import advising
from wengert.explorer.encoding import script
from wengert.explorer.record import record

_HEIGHT = 820
"""Of the frame in a notebook, in pixels."""


class Page:
    """A page about a function and its derivatives at some arguments.

    A notebook shows it; `save` writes it to a file.

    Args:
        name: the name of the function.
        recorded: what the page shows, from `record`.
    """

    def __init__(self, name: str, recorded: dict[str, Any]) -> None:
        self.name = name
        self.recorded = recorded

    @functools.cached_property
    def html(self) -> str:
        """The HTML."""
        written = json.dumps(self.recorded, allow_nan=False, separators=(",", ":"))
        parts = {
            "title": html.escape(self.name),
            "data": written.replace("<", "\\u003c"),
            "style": script("style.css"),
            "evaluate": script("evaluate.js"),
            "values": script("values.js"),
            "layout": script("layout.js"),
            "keyboard": script("keyboard.js"),
            "script": script("script.js"),
            "graph": script("graph.js"),
        }
        return re.sub(r"@(\w+)@", lambda match: parts[match[1]], script("page.html"))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to an HTML file, and return its path."""
        file = Path(path)
        file.write_text(self.html, "utf-8")
        return file

    def _repr_html_(self) -> str:
        frame = f'style="width:100%;height:{_HEIGHT}px;border:0" title="{html.escape(self.name)}, explored"'
        return f'<iframe srcdoc="{html.escape(self.html)}" {frame}></iframe>'

    def __repr__(self) -> str:
        count = len(self.recorded["steps"])
        return f"<page of {self.name}: {count:,} operation{'' if count == 1 else 's'}; save(path) writes it>"


@advising("wg.explore(f)(x)")
def explore(fun: Callable[..., Any]) -> Callable[..., Page]:
    """Return a function that makes a page on which ``fun`` and its derivatives are followed step by step.

    The page shows the source beside the graph, and for each operation its value, its tangent, its adjoint, the local
    partial derivatives and the line of code, as Table 1 of Harrison's report does. Inputs can be changed in the page:
    it evaluates the recorded path, and its derivatives, in float64.

    Python's ``if`` and ``while`` are followed as they run at the arguments; the page says so where other inputs would
    take another path.

    Args:
        fun: a function of arrays, numbers and containers of them.

    Returns:
        A function with the arguments of ``fun`` that returns a `Page`: a notebook shows it, and ``save(path)`` writes
        one HTML file that loads nothing from elsewhere.

    Raises:
        ArgumentError: no argument or no result is a floating-point number.

    Source:
        K. A. Harrison, "A Brief Introduction to Automatic Differentiation for Machine Learning" (2019), Table 1.

    Example:
        >>> import wengert as wg
        >>> page = wg.explore(lambda x, y, z: (x + y) * z)(2.0, 3.0, 4.0)
        >>> page
        <page of <lambda>: 2 operations; save(path) writes it>
    """

    def explored(*arguments: Any, **options: Any) -> Page:
        recorded = record(fun, arguments, options)
        return Page(recorded["name"], recorded)

    return explored
