"""A headless browser for the tests of pages."""

from __future__ import annotations

import functools
import os
from collections.abc import Generator
from typing import Any

import pytest

from examples.explorer import chromium


@functools.cache
def started(config: pytest.Config) -> Any:
    """Start the browser of all modules of this process; it ends with the run."""
    driver = chromium.start()
    config.add_cleanup(driver.quit)
    return driver


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Generator[Any]:
    """Return a headless browser; with CI=1, only a missing browser skips these tests."""
    if not chromium.is_installed():
        pytest.skip("Chromium and its driver are not installed")
    if os.environ.get("CI") != "1":
        pytest.importorskip("selenium.webdriver")
    driver = started(pytestconfig)
    yield driver
    driver.get("about:blank")  # the last page computes no more
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.get_log("browser")
