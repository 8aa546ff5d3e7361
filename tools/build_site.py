"""Build the documentation site into ``build/site``: a folder of each version, and a start page that leads to one.

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
SITE = ROOT / "build" / "site"
START = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Wengert</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">The documentation of Wengert</a></html>
"""


def order(version: str) -> tuple[bool, list[int]]:
    """Return a key that sorts the newest release first, and the version in work last."""
    return version == "dev", [-int(part) for part in version.split(".") if part.isdecimal()]


def build(version: str) -> Path:
    """Build the pages of a version, list it beside the others, and return its start page."""
    folder = SITE / version
    run = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "auto"]
    subprocess.run(
        [*run, "-d", str(ROOT / "build" / "doctrees"), str(ROOT / "docs"), str(folder)], check=True
    )
    versions = sorted((page.parent.name for page in SITE.glob("*/index.html")), key=order)
    (SITE / "versions.js").write_text(f"window.VERSIONS = {json.dumps(versions)};\n", "utf-8")
    (SITE / "index.html").write_text(START.format(version=versions[0]), "utf-8")
    return folder / "index.html"


def main() -> None:
    """Build the site that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--version", default="dev", help="the folder: dev, or a release such as 0.2 [default: dev]"
    )
    parser.add_argument("--open", action="store_true", help="show the start page in a browser")
    arguments = parser.parse_args()
    page = build(arguments.version)
    print(page)
    if arguments.open:
        webbrowser.open(page.as_uri())


if __name__ == "__main__":
    main()
