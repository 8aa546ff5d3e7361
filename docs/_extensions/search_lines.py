"""Give the search a line of text for each page: its first sentence. A page from a disk may read scripts, not pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_FEW, _LONGEST = 2, 160
"""Words of what is only a name, and characters of a line."""


def line_of(page: nodes.document) -> str:
    """Return the first sentence of a page that says something, which ends at a word if it is long."""
    paragraphs = (" ".join(paragraph.astext().split()) for paragraph in page.findall(nodes.paragraph))
    sentences = (re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0] for text in paragraphs)
    sentence = next((sentence for sentence in sentences if len(sentence.split()) > _FEW), "")
    return sentence if len(sentence) <= _LONGEST else sentence[:_LONGEST].rpartition(" ")[0] + " ..."


def write(app: Sphinx, failure: Exception | None) -> None:
    if failure is None:
        lines = {name: line_of(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        script = f"window.LINES = {json.dumps(lines)};\n"
        (Path(app.outdir) / "_static" / "lines.js").write_text(script, "utf-8")


def load(app: Sphinx, page: str, _template: str, _context: dict[str, Any], _tree: object) -> None:
    if page == "search":
        for name in ("lines.js", "search_lines.js"):
            app.add_js_file(name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
