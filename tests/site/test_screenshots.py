"""Screenshots of the site, on a phone and on a desk, light and dark, beside those that a person has looked at.

The colours of eight columns of the first screen are compared, so that the fonts of the machine hardly matter: another
font, or one larger by a twentieth, changes a column by up to 6 of 255, a side bar that is missing by 8 and more, a
style sheet by 16. ``WENGERT_SCREENSHOTS=write`` makes the pictures anew: then look at what has changed.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browsers import browser as browser
from tests.site.test_pages import SITE
from tests.site.test_pages import pytestmark as pytestmark

FOLDER = Path(__file__).parent / "screenshots"
PAGES = ("index", "start", "control", "performance", "reference/wengert.fit")
SIZES = ((360, 780), (1400, 900))
CELL = 20
"""The width of a cell of the pictures that are kept, in pixels."""
LARGEST = 7.0
"""The largest difference of a column."""


def _shown(browser: Any, page: str, size: tuple[int, int], scheme: str) -> Any:
    """Return a coarse picture of the first screen of a page."""
    image = pytest.importorskip("PIL.Image")
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    path = SITE / f"{page}.html"
    assert path.is_file()
    browser.get(path.as_uri())
    browser.execute_async_script("const [done] = arguments; document.fonts.ready.then(() => done())")
    picture = image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    assert picture.size == size
    return picture.resize((size[0] // CELL, size[1] // CELL), image.BOX)


def _columns(picture: Any) -> Any:
    image = pytest.importorskip("PIL.Image")
    return np.asarray(picture.convert("RGB").resize((8, 1), image.BOX), float)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: size[0])
@pytest.mark.parametrize("page", PAGES)
def test_pages_look_as_they_did(browser: Any, page: str, size: tuple[int, int], scheme: str) -> None:
    image = pytest.importorskip("PIL.Image")
    shown = _shown(browser, page, size, scheme)
    path = FOLDER / f"{re.sub(r'[^a-z]', '_', page)}-{size[0]}-{scheme}.png"
    if os.environ.get("WENGERT_SCREENSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        shown.save(path, optimize=True)
    difference = float(np.max(np.abs(_columns(shown) - _columns(image.open(path)))))
    assert difference <= LARGEST, f"a column of {path.name} differs by {difference:.0f} of 255"
