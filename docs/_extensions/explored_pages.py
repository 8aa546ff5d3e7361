"""Write the explorer's pages of the examples into the site, and lead their pictures to them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

EXAMPLES = Path(__file__).parents[2] / "examples" / "explorer"
FOLDER = "explored"
_PICTURE = re.compile(r"^!\[(?P<text>[^\]]*)\]\(explore_(?P<name>\w+)\.png\)$", re.MULTILINE)


def led(text: str) -> str:
    """Return the text of a page whose pictures of the explorer are links to the pages that they show."""
    lines = [
        "```{image} explore_\\g<name>.png",
        ":alt: \\g<text>",
        f":target: {FOLDER}/\\g<name>.html",
        "```",
    ]
    return _PICTURE.sub("\n".join(lines), text)


def lead(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = led(source[0])


def write(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    sys.path.insert(0, str(EXAMPLES))
    import pages

    for _ in pages.write(Path(app.outdir, FOLDER)):
        pass


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", lead)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
