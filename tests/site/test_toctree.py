"""Every page is in a table of contents, without which the site's build fails."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.M | re.S)


def listed(page: Path) -> set[Path]:
    """Return the pages, without suffixes, that the tables of contents of a page name."""
    lines = [line for table in TOCTREE.findall(page.read_text("utf-8")) for line in table.split("\n")]
    return {page.parent / line for line in lines if line and not line.startswith(":")}


def test_every_page_is_in_a_table_of_contents():
    pages = {path for path in DOCS.rglob("*.md") if path.name != "README.md"}
    named = set().union(*(listed(page) for page in pages))
    written = {path.with_suffix("") for path in pages} - {DOCS / "index"}
    assert not {path.relative_to(DOCS).as_posix() for path in written - named}
