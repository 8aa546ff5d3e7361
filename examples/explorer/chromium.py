"""Chromium without a window, driven by selenium: pictures, tests and times of pages need it."""

import shutil


def is_installed():
    """Return whether Chromium and its driver are there."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def start():
    """Return a driver of a new headless Chromium, which keeps the log of the pages' console."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def resize(browser, width, height, *, scheme="light", phone=False):
    """Set the size of the window in pixels, and the colours that the system prefers: light or dark."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
