"""Lead links to files of the repository that are not pages of the site to the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
#: Pages of the repository's root, and the pages of the site that show them.
SHOWN = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
}
#: A fenced block of code, which holds no links, or the target of a link.
_LINK = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ ]*$|(?<=\]\()(?!\w+:|#)(?P<target>[^)#\s]+)", re.M | re.S
)


def led(text: str, file: Path, page: Path, repository: str, branch: str = "main") -> str:
    """Return the text of a Markdown file with links that are right on a page of the site.

    Args:
        text: the Markdown.
        file: the file that the links are relative to.
        page: the page of the site that shows it, as a path below ``docs``.
        repository: the address of the repository.
        branch: its branch, or the tag of a release.
    """

    def link(match: re.Match[str]) -> str:
        if match["target"] is None:
            return match[0]
        path = Path(os.path.normpath(file.parent / match["target"]))
        name = path.relative_to(ROOT).as_posix()
        if name in SHOWN:
            path = PAGES / SHOWN[name]
        elif path.is_dir() or not path.is_relative_to(PAGES):
            return f"{repository}{'tree' if path.is_dir() else 'blob'}/{branch}/{name}"
        return Path(os.path.relpath(path, page.parent)).as_posix()

    return _LINK.sub(link, text)


def place(app: Sphinx) -> tuple[str, str]:
    """Return the address of the repository, and the branch or tag that the pages describe."""
    options = app.config.html_theme_options
    return options["source_repository"], options["source_branch"]


def lead(app: Sphinx, name: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and not name.startswith(("project/", "reference/")):
        source[0] = led(source[0], path, path, *place(app))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
