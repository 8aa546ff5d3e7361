"""The order in which Sphinx reads pages, and the menu that pages of a folder share."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"
sys.path.append(str(EXTENSIONS))

import navigation  # noqa: E402
import notebooks_apart  # noqa: E402


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_notebooks_are_far_apart_and_no_page_is_lost(count: int):
    pages = [f"a{number}" for number in range(20)]
    notebooks = [f"notebooks/{number}" for number in range(count)]
    order = notebooks_apart.apart([*pages[:8], *notebooks, *pages[8:]])
    assert [name for name in order if name in pages] == pages
    places = [order.index(name) for name in notebooks]
    assert places == sorted(places)
    assert len(order) == 20 + count
    assert all(later - earlier > 20 // count for earlier, later in itertools.pairwise(places))


def test_pages_outside_of_the_menu_share_it_in_their_folder():
    includes = {"index": ["guide", "reference/index"], "reference/index": ["reference/a"]}
    app: Any = SimpleNamespace(
        env=SimpleNamespace(toctree_includes=includes), config=SimpleNamespace(root_doc="index"), outdir="out"
    )
    made: list[str] = []

    def shown(page: str, **options: Any) -> str:
        context: dict[str, Any] = {"toctree": lambda **_: made.append(page) or f"menu of {page}"}
        navigation.share(app, page, "page.html", context, None)
        return context["toctree"](**options)

    names = ["reference/b", "reference/c", "search", "reference/a", "index", "guide"]
    assert [shown(name, depth=2).removeprefix("menu of ") for name in names] == [
        *("reference/b", "reference/b", "search", "reference/a", "index", "guide")
    ]
    assert shown("reference/c", depth=3) == "menu of reference/c"
    navigation._made.clear()
