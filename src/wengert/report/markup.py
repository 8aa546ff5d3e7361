"""HTML and SVG as nested calls, and the page: one file that loads nothing from elsewhere."""

from __future__ import annotations

import html
from importlib.resources import files
from pathlib import Path
from typing import Any

_VOID = frozenset({"br", "col", "img", "link", "meta"})
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The browser may load only the content of the page."""
_GENERATOR = "wengert report"
"""Marks our pages."""


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
    return Markup("".join(text if isinstance(text, Markup) else html.escape(text or "") for text in content))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(text)}"'


def scrollable(content: Markup, label: str, class_: str = "wide") -> Markup:
    """Return content that can be scrolled, with its name for screen readers."""
    return element("div", content, class_=class_, tabindex="0", role="region", aria_label=label)


def table(
    caption: str, head: list[str], rows: list[list[str]], *, texts: int = 1, **attributes: Any
) -> Markup:
    """Return a table with a caption; the first ``texts`` columns hold text, the others numbers."""
    kinds = ["text" if column < texts else "number" for column in range(len(head))]
    titles = (element("th", title, scope="col", class_=kind) for title, kind in zip(head, kinds, strict=True))
    body: list[Markup] = []
    for first, *rest in rows:
        cells = (element("td", cell, class_=kind) for cell, kind in zip(rest, kinds[1:], strict=True))
        body.append(element("tr", element("th", first, scope="row", class_=kinds[0]), *cells))
    parts = element("thead", element("tr", *titles)), element("tbody", *body)
    return scrollable(element("table", element("caption", caption), *parts, **attributes), caption)


def terms(pairs: list[tuple[str, str]], class_: str) -> Markup:
    """Return a list of names with their values."""
    written = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *written, class_=class_)


def note(text: str) -> Markup:
    """Return a paragraph of explanation."""
    return element("p", text, class_="note")


# -- the page --------------------------------------------------------------------------------------------


class Section:
    """A part of a page with a heading.

    Args:
        name: the target of links, ``#name``.
        title: the heading, also in the table of contents.
        content: markup; None is left out.
    """

    def __init__(self, name: str, title: str, *content: Markup | None) -> None:
        self.name, self.title = name, title
        self.content = [part for part in content if part is not None]

    def written(self) -> Markup:
        """Return the section as markup."""
        heading = element("h2", self.title, id=f"{self.name}-title")
        return element("section", heading, *self.content, id=self.name, aria_labelledby=f"{self.name}-title")


def is_page(path: Path) -> bool:
    """Return whether `page` made a file."""
    with open(path, "rb") as stream:
        head = stream.read(2000)
    return str(element("meta", name="generator", content=_GENERATOR)).encode() in head


def page(title: str, top: list[Markup], sections: list[Section]) -> str:
    """Return a page as one HTML file, light or dark as the reader's system."""
    shown = [section for section in sections if section.content]
    links = (element("a", section.title, href=f"#{section.name}") for section in shown)
    contents = element("nav", *links, aria_label="Contents")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=_GENERATOR),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", _file("style.css")),
    )
    body = element(
        "body",
        element("header", *top, contents if len(shown) > 2 else None),
        element("main", *(section.written() for section in shown)),
        element("script", _file("script.js")),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _file(name: str) -> Markup:
    return Markup(files("wengert.report").joinpath(name).read_text("utf-8"))
