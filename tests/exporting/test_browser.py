"""The page that trains in a browser: it learns, is silent, and fits a phone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.browsers import browser as browser  # a fixture
from wengert.exporting import wasm_files

BUILD = Path(__file__).parents[2] / "examples" / "browser" / "build.py"


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Build the page, with a fifth of its digits."""
    if not wasm_files.linker():
        pytest.skip("wasm-ld is not installed")
    spec = importlib.util.spec_from_file_location("build", BUILD)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.TRAINING, build.TESTING = 600, 100
    path = tmp_path_factory.mktemp("page") / "index.html"
    build.main(path)
    return path


def wait(browser, condition: str, seconds: float = 120) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, seconds).until(lambda browser: browser.execute_script(f"return {condition}"))


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), pytest.param(375, "dark", marks=pytest.mark.slow)]
)
def test_the_page_learns(browser, page, width, scheme) -> None:
    emulated = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", emulated)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.ready === 'yes'")
    browser.find_element("id", "train").click()
    wait(browser, "Number(document.getElementById('steps').textContent) >= 100")
    wait(browser, "parseFloat(document.getElementById('accuracy').textContent) > 90")
    browser.find_element("id", "train").click()
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")

    from selenium.webdriver import ActionChains

    pad = browser.find_element("id", "pad")  # a stroke from top to bottom is a one
    ActionChains(browser).move_to_element_with_offset(pad, 5, -70).click_and_hold().move_by_offset(
        -5, 70
    ).move_by_offset(-5, 70).release().perform()
    wait(browser, "document.querySelectorAll('.bar span:last-child')[1].textContent.replace(' %', '') > 50")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
