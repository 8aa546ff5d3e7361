"""A reader finds common tasks from the start page in at most three clicks, each with a program."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
START = "index.md"
#: Fenced blocks, which hold no links; the cards of the start page are directives with four colons, which do.
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1 *$", re.M | re.S)
LINK = re.compile(r"\[(?P<label>[^\]]+)\]\((?!\w+:)(?P<page>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
HEADING = re.compile(r"^#{1,4} (.+)$", re.M)


class Place(NamedTuple):
    """A section of a page; the whole page if it names none."""

    page: str
    section: str = ""


def name_of(heading: str) -> str:
    """Return the anchor that the site and GitHub give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections(text: str) -> dict[str, str]:
    """Return the text of each section of a page, by the name of its heading."""
    hidden = FENCE.sub(lambda fence: " " * len(fence[0]), text)  # keeps places
    headings = list(HEADING.finditer(hidden))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        name_of(heading[1]): text[heading.start() : end] for heading, end in zip(headings, ends, strict=True)
    }


@functools.cache
def links(page: str) -> list[tuple[Place, str]]:
    """Return where the links of a page lead, with their words; its list of contents leads to its sections."""
    text = (DOCS / page).read_text("utf-8")
    found = [(Place(page, section), section) for section in sections(text)]
    for link in LINK.finditer(FENCE.sub("", text)):
        target = os.path.normpath(Path(page).parent / link["page"]) if link["page"] else page
        if target.endswith(".md") and (DOCS / target).is_file():
            found.append((Place(target, link["anchor"] or ""), link["label"]))
    return found


def clicks(start: Place, end: Place) -> int:
    """Return the number of links between two places."""
    distances = {start: 0}
    waiting = [start]
    for place in waiting:  # grows
        for target, _ in links(place.page):
            if target not in distances:
                distances[target] = distances[place] + 1
                waiting.append(target)
    return distances[end]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("place", "word", "program"),
    [
        (Place("guide.md", "gradients-grad-value_and_grad"), "dict of arrays", r"wg\.grad\(.*\n(.*\n)*.*\{"),
        (Place("guide.md", "find-the-line-that-makes-a-nan"), "NaN", r"WENGERT_CHECK"),
        (
            Place("performance.md", "the-first-call"),
            "compilation takes",
            r"benchmarks/compiled/first_call\.py",
        ),
        (Place("networks.md", "save-a-model"), "save a model", r"save_model\(.*\n(.*\n)*.*load_model\("),
        (Place("sparse.md"), "sparse Jacobian", r"wg\.sparse_jacobian\("),
        (Place("export.md", "c"), "export to C", r"exported\.c\("),
        (Place("cluster.md"), "MPI", r"wengert train .*--ranks"),
    ],
    ids=lambda value: "-".join(filter(None, value)) if isinstance(value, Place) else "",
)
def test_in_at_most_three_clicks(place: Place, word: str, program: str):
    first = [target for target, label in links(START) if word in label]
    assert first, f"no link of the start page says {word}"
    assert min(1 + clicks(target, place) for target in first) <= 3
    text = (DOCS / place.page).read_text("utf-8")
    assert re.search(program, sections(text)[place.section] if place.section else text)


def test_programs_and_headings_in_them_are_no_links():
    text = "# A\n\n```python\n# B\nx[i](j)\n```\n\n## `c`, d\n[e](f.md#g)\n"
    assert list(sections(text)) == ["a", "c-d"]
    assert [link["page"] for link in LINK.finditer(FENCE.sub("", text))] == ["f.md"]
