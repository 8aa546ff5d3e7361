"""A headless browser for the tests of pages."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    """Return a headless browser; with CI=1, only a missing browser skips these tests."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("Chromium and its driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver") if os.environ.get("CI") != "1" else None
    if webdriver is None:
        from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield started
    started.quit()
