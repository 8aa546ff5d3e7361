"""HTML and SVG as nested calls, tables, and what notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_VOID = frozenset({"br", "col", "img", "link", "meta"})
_STYLE = """
.wengert table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wengert caption { caption-side: top; text-align: left; white-space: nowrap; }
.wengert p { margin: 0.3em 0; }
.wengert .text { text-align: left; white-space: pre; }
.wengert .number { text-align: right; white-space: nowrap; }
.wengert th, .wengert td { padding: 0.15em 0.7em; vertical-align: top; }
.wengert .wide { overflow-x: auto; }
"""
"""Alignment alone: colours and letters are those of the notebook, light or dark."""
_MOST_ROWS = 500
"""Of a table in a notebook."""


class Markup(str):
    """Text in HTML."""

    __slots__ = ()


def element(name: str, /, *content: str | None, **attributes: Any) -> Markup:
    """Return an element. Text is escaped unless it is markup; None is left out.

    The attribute ``class_`` is class, ``aria_label`` is aria-label; None and False are left out, True has no value.

    Example:
        >>> print(element("p", "1 < 2 ", element("b", "&"), class_="note", hidden=True, title=None))
        <p class="note" hidden>1 &lt; 2 <b>&amp;</b></p>
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    end = "" if name in _VOID else f"</{name}>"
    return Markup(f"<{name}{written}>{joined(*content)}{end}")


def joined(*content: str | None) -> Markup:
    """Return pieces of content, one after the other.

    Example:
        >>> print(joined("a < b", element("br"), None))
        a &lt; b<br>
    """
    return Markup("".join(text if isinstance(text, Markup) else _escaped(text or "") for text in content))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{_escaped(text)}"'


def _escaped(text: str) -> str:
    import html  # its table of entities takes a millisecond to load

    return html.escape(text)


def scrollable(content: Markup, label: str, class_: str = "wide") -> Markup:
    """Return content that can be scrolled, with its name for screen readers."""
    return element("div", content, class_=class_, tabindex="0", role="region", aria_label=label)


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1, **attributes: Any
) -> Markup:
    """Return a table with a caption; the first ``texts`` columns hold text, the others numbers."""
    kinds = ["text" if column < texts else "number" for column in range(len(head))]
    titles = (element("th", title, scope="col", class_=kind) for title, kind in zip(head, kinds, strict=True))
    body: list[Markup] = []
    for first, *values in rows:
        cells = (element("td", cell, class_=kind) for cell, kind in zip(values, kinds[1:], strict=True))
        body.append(element("tr", element("th", first, scope="row", class_=kinds[0]), *cells))
    parts = element("thead", element("tr", *titles)), element("tbody", *body)
    return scrollable(element("table", element("caption", caption), *parts, **attributes), caption)


def in_notebook(*content: str | None) -> str:
    """Return content as what ``_repr_html_`` gives a notebook: styled by itself, without a request.

    Example:
        >>> in_notebook(element("p", "a < b")).endswith("<p>a &lt; b</p></div>")
        True
    """
    return element("div", element("style", Markup(_STYLE)), *content, class_="wengert")


def short_table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1
) -> Markup:
    """Return a `table` of the first 500 rows, whose caption says how many are left out."""
    left = len(rows) - _MOST_ROWS
    if left > 0:
        caption = f"{caption}; {left:,} more rows are left out: print it to see all"
    return table(caption, head, rows[:_MOST_ROWS], texts=texts)


def folded(title: str, *content: str | None) -> Markup:
    """Return content below a title that opens it."""
    return element("details", element("summary", title), *content)


class TableText(str):
    """A text that a notebook shows as a table.

    Args:
        caption: of the table.
        head: the names of the columns.
        rows: the cells.
        texts: the number of columns, from the left, that hold text; the others hold numbers.
    """

    def __new__(  # noqa: D102
        cls, text: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1
    ) -> TableText:
        made = super().__new__(cls, text)
        made._table = caption, head, rows, texts
        return made

    _table: tuple[str, Sequence[str], Sequence[Sequence[str]], int]

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), *self._table

    def _repr_html_(self) -> str:
        caption, head, rows, texts = self._table
        return in_notebook(short_table(caption, head, rows, texts=texts))
