"""The page of a report: one file that loads nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from wengert.engine.core.markup import Markup, element

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The browser may load only the content of the page."""
_GENERATOR = "wengert report"
"""Marks our pages."""


def terms(pairs: list[tuple[str, str]], class_: str) -> Markup:
    """Return a list of names with their values."""
    written = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *written, class_=class_)


def note(text: str) -> Markup:
    """Return a paragraph of explanation."""
    return element("p", text, class_="note")


# -- the page --------------------------------------------------------------------------------------------


class Section:
    """A part of a page with a heading, and the target of links, ``#name``; content that is None is left out."""

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
