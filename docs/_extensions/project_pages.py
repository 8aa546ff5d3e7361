"""Show pages of the repository's root, such as the changelog, on the site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from repository_links import PAGES, ROOT, SHOWN, led, place

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def write_if_new(path: Path, text: str) -> None:
    """Write a file unless it has this text already: Sphinx reads files anew by their times."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def show(app: Sphinx) -> None:
    for name, shown in SHOWN.items():
        page = PAGES / shown
        if page.parent.name == "project":
            write_if_new(page, led((ROOT / name).read_text("utf-8"), ROOT / name, page, *place(app)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
