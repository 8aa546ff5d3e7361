"""Make the menu at the side once for all pages of a folder that are not in it, such as those of public names.

It differs between pages only in their own entries, and Sphinx would need most of its time for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_made: dict[tuple[Any, ...], str] = {}


def outside(app: Sphinx, page: str) -> bool:
    """Tell whether no table of contents names a page."""
    inside = {name for table in app.env.toctree_includes.values() for name in table}
    return page != app.config.root_doc and page not in inside


def shared(of_page: Callable[..., str], *place: str) -> Callable[..., str]:
    """Return a function that makes a menu, or takes the one of another page at the same place."""

    def menu(**options: Any) -> str:
        key = *place, *sorted(options.items())
        if key not in _made:
            _made[key] = of_page(**options)
        return _made[key]

    return menu


def share(app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    if "toctree" in context and outside(app, page):
        folder = page.rpartition("/")[0]
        context["toctree"] = shared(context["toctree"], str(app.outdir), folder)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", share, priority=100)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
