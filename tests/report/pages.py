"""A parser and checker of pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"br", "col", "img", "link", "meta"}


class Page(HTMLParser):
    """The elements and the text of a page; every element must be closed."""

    def __init__(self, source):
        super().__init__()
        self.source, self.elements, self.words = source, [], []
        self._open = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if not self._open or self._open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def titles(self):
        return [section["aria-labelledby"].removesuffix("-title") for section in self.all("section")]

    def check(self):
        """Check the rules for every page."""
        ids = [attributes["id"] for _, attributes in self.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert {link["href"][1:] for link in self.all("a")} <= set(ids)
        assert all(
            image["alt"] and image["src"].startswith("data:image/png;base64,") for image in self.all("img")
        )
        assert all(drawing.get("aria-label") for drawing in self.all("svg") if drawing.get("role") == "img")
        assert len(self.all("caption")) == len(self.all("table"))
        addresses = (attributes.get(name, "") for _, attributes in self.elements for name in ("src", "href"))
        assert all(not address or address.startswith(("data:", "#")) for address in addresses)
        assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|https?://(?!www\.w3\.org)", self.source)
        assert not re.search(
            r"\bnan\b", " ".join(str(value) for _, actual in self.elements for value in actual.values())
        )
        return self
