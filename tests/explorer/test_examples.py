"""The pages of the seven programs and the five lessons."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.browsers import browser as browser  # a fixture

PAGES = Path(__file__).parents[2] / "examples" / "explorer" / "pages.py"
LESSONS = ("dual", "reverse", "checkpointed", "nested", "kinks")
NAMES = ("product", "report", "newton", "bouncing", "network", "cnn", "kalman", *LESSONS)
DOCS = Path(__file__).parents[2] / "docs"


def test_each_page_has_a_picture_in_the_documentation():
    texts = [(DOCS / name).read_text("utf-8") for name in ("explore.md", "teaching.md")]
    pictures = [set(re.findall(r"\(explore_(\w+)\.png\)", text)) for text in texts]
    assert pictures == [set(NAMES) - set(LESSONS), set(LESSONS)]
    assert all((DOCS / f"explore_{name}.png").is_file() for name in NAMES)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a folder with the pages, which the program has written in this process."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PAGES.parent)
        patch.setattr(sys, "argv", [str(PAGES), str(folder), "--no-pictures"])
        runpy.run_path(str(PAGES), run_name="__main__")
    for module in ("chromium", "lessons", "programs"):
        del sys.modules[module]
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_of_the_programs_compute_all_their_numbers(browser, written, name):
    text = (written / f"{name}.html").read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    recorded = json.loads(found[1])
    assert recorded["recorded"] == {}  # no operation is left out
    assert "nests" in recorded["compiled"]
    browser.get((written / f"{name}.html").as_uri())
    for mode in ("forward", "reverse", "adjoint", "nests"):
        browser.execute_script(f"choose('{mode}'); [1, 20, Infinity].forEach(go)")
    assert browser.get_log("browser") == []
