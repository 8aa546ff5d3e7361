"""A headless browser for the tests of pages."""

from __future__ import annotations

import os

import pytest

from examples.explorer import chromium


@pytest.fixture(scope="module")
def browser():
    """Return a headless browser; with CI=1, only a missing browser skips these tests."""
    if not chromium.is_installed():
        pytest.skip("Chromium and its driver are not installed")
    if os.environ.get("CI") != "1":
        pytest.importorskip("selenium.webdriver")
    started = chromium.start()
    yield started
    started.quit()
