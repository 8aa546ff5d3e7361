"""Tables in the documentation that benchmarks write."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import date
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def block(text: str, name: str) -> tuple[str, str, str]:
    """Return the text before, between and after ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``."""
    start = text.index("-->", text.index(f"<!-- {name}:")) + len("-->")
    end = text.index(f"<!-- end of {name} -->", start)
    return text[:start], text[start:end], text[end:]


def dated(day: date) -> str:
    """Return the line that ends a table.

    Example:
        >>> dated(date(2026, 11, 26))
        'The table is of 26 November 2026.'
    """
    return f"The table is of {day.day} {day:%B %Y}."


def replace_table(page: str, name: str, table: str) -> None:
    """Replace the table of a name on a page, with its date; the overview of the measurements follows."""
    path = DOCS / page
    before, _, after = block(path.read_text("utf-8"), name)
    path.write_text(f"{before}\n\n{table}\n\n{dated(date.today())}\n\n{after}", "utf-8")
    if page == "measurements.md":
        import overview  # which reads the tables

        overview.write(DOCS)


def write_measurements(description: str | None, name: str, table: Callable[[int], str]) -> None:
    """Make a table of the measurements, given the number of turns, as the command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--turns", type=int, default=15, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/measurements.md")
    arguments = parser.parse_args()
    text = table(arguments.turns)
    if arguments.write:
        replace_table("measurements.md", name, text)
