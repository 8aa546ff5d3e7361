"""Tables in the documentation that benchmarks write."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def replace_table(page: str, name: str, table: str) -> None:
    """Replace the table between ``<!-- NAME ... -->`` and ``<!-- end of NAME -->`` of a page."""
    path = DOCS / page
    before, rest = path.read_text("utf-8").split(f"<!-- {name}:", 1)
    mark, rest = rest.split("-->", 1)
    after = rest.split(f"<!-- end of {name} -->", 1)[1]
    path.write_text(f"{before}<!-- {name}:{mark}-->\n\n{table}\n\n<!-- end of {name} -->{after}", "utf-8")
