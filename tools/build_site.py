"""Build the documentation site into ``build/site``: a folder of each version, and a start page that leads to one.

A commit with the tag of its version, such as v0.2.0, is a release: its folder is ``0.2``. The folder of every other
commit is ``dev``. Folders that are already there stay, and all pages offer them.

Needs ``pip install -e '.[docs]'``. Warnings are errors.

Usage: ``python tools/build_site.py [--version NAME] [--open]``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))  # the site describes this tree

from wengert import __version__  # noqa: E402

DEV = "dev"
SITE = ROOT / "build" / "site"
START = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Wengert</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">The documentation of Wengert</a></html>
"""


def tag() -> str | None:
    """Return the tag of this commit that names the version of the package, if it has one."""
    wanted = f"v{__version__}"
    run = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return wanted if wanted in run.stdout.split() else None


def folder_of(version: str) -> str:
    """Return the folder of a release: corrections share it.

    Example:
        >>> folder_of("0.2.1")
        '0.2'
    """
    return ".".join(version.split(".")[:2])


def order(name: str) -> tuple[bool, list[int]]:
    """Return a key that sorts the newest release first, and the version in work last."""
    return name == DEV, [-int(part) for part in name.split(".") if part.isdecimal()]


def settings(name: str) -> dict[str, str]:
    """Return the settings of Sphinx by which the pages of a version differ."""
    if name == DEV:
        return {"html_title": "Wengert (in development)", "html_theme_options.source_branch": "main"}
    return {"html_title": f"Wengert {name}", "html_theme_options.source_branch": f"v{__version__}"}


def list_versions(site: Path) -> None:
    """Write what the menu of all pages shows, and a start page that leads to the newest release."""
    names = sorted((page.parent.name for page in site.glob("*/index.html")), key=order)
    (site / "versions.js").write_text(f"window.VERSIONS = {json.dumps(names)};\n", "utf-8")
    (site / "index.html").write_text(START.format(version=names[0]), "utf-8")


def build(name: str) -> Path:
    """Build the pages of a version, list it beside the others, and return its start page."""
    folder = SITE / name
    run = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "auto"]
    for setting, value in settings(name).items():
        run += ["-D", f"{setting}={value}"]
    run += ["-d", str(ROOT / "build" / "doctrees" / name), str(ROOT / "docs"), str(folder)]
    subprocess.run(run, check=True)
    list_versions(SITE)
    return folder / "index.html"


def main() -> None:
    """Build the site that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--version", help="the folder: dev, or a release such as 0.2 [default: by the tag]")
    parser.add_argument("--open", action="store_true", help="show the start page in a browser")
    arguments = parser.parse_args()
    page = build(arguments.version or (folder_of(__version__) if tag() else DEV))
    print(page)
    if arguments.open:
        webbrowser.open(page.as_uri())


if __name__ == "__main__":
    main()
