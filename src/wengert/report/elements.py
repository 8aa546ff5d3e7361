"""HTML and SVG as nested calls; text is escaped unless it is markup already."""

from __future__ import annotations

import html
from typing import Any

_VOID = frozenset({"br", "col", "img", "link", "meta"})


class Markup(str):
    """Text in HTML's language."""

    __slots__ = ()


def element(name: str, /, *content: str | None, **attributes: Any) -> Markup:
    """Write an element.

    Args:
        name: such as ``p``.
        content: markup as it is, other text escaped, None left out.
        attributes: ``class_`` is class, ``aria_label`` is aria-label; None and False are left out, True has no value.

    Example:
        >>> print(element("p", "1 < 2 ", element("b", "&"), class_="note", hidden=True, title=None))
        <p class="note" hidden>1 &lt; 2 <b>&amp;</b></p>
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    end = "" if name in _VOID else f"</{name}>"
    return Markup(f"<{name}{written}>{joined(*content)}{end}")


def joined(*content: str | None) -> Markup:
    """Write one piece of content after the other.

    Example:
        >>> print(joined("a < b", element("br"), None))
        a &lt; b<br>
    """
    return Markup("".join(text if isinstance(text, Markup) else html.escape(text or "") for text in content))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(text)}"'


def table(
    caption: str, head: list[str], rows: list[list[str]], *, texts: int = 1, **attributes: Any
) -> Markup:
    """Write a table with a caption, whose first ``texts`` columns hold text and the others numbers."""
    kinds = ["text" if column < texts else "number" for column in range(len(head))]
    titles = (element("th", title, scope="col", class_=kind) for title, kind in zip(head, kinds, strict=True))
    body: list[Markup] = []
    for first, *rest in rows:
        cells = (element("td", cell, class_=kind) for cell, kind in zip(rest, kinds[1:], strict=True))
        body.append(element("tr", element("th", first, scope="row", class_=kinds[0]), *cells))
    parts = element("thead", element("tr", *titles)), element("tbody", *body)
    whole = element("table", element("caption", caption), *parts, **attributes)
    return element("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption)


def terms(pairs: list[tuple[str, str]], class_: str) -> Markup:
    """Write names and what they stand for."""
    written = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *written, class_=class_)
