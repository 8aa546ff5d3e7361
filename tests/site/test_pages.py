"""The built site in a browser: search, dark mode, phones, and no request to another host.

``WENGERT_SITE`` names the folder of a version that ``tools/build_site.py`` has built; without it no test runs.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browsers import browser as browser

SITE = Path(os.environ.get("WENGERT_SITE", "nowhere"))
pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(not SITE.is_dir(), reason="WENGERT_SITE names no built site"),
]


class Links(HTMLParser):
    """The addresses of a page that a reader follows, that the page loads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.followed: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.followed.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("search", "index", "next", "prev", "genindex"):
            self.loaded.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def pages() -> dict[Path, Links]:
    return {page: Links(page) for page in SITE.rglob("*.html") if "_static" not in page.parts}


def test_links_resolve(pages: dict[Path, Links]):
    broken = []
    for page, links in pages.items():
        for address in links.followed + links.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = pages[target].anchors if target in pages else {""}
            if not target.exists() or (parts.fragment and anchors.isdisjoint({unquote(parts.fragment), ""})):
                broken.append((page.name, address))
    assert not broken, broken[:20]


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Links]):
    loaded = {(page.name, address) for page, links in pages.items() for address in links.loaded}
    assert not {(page, address) for page, address in loaded if urlsplit(address).netloc}
    styles = "".join(style.read_text("utf-8") for style in SITE.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import\s)[\"']?(?:https?:)?//[^)]*", styles)


def test_every_public_name_is_described_once():
    from tests.site import test_reference

    lines = zlib.decompress((SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    described = Counter(line.split(" ")[0] for line in lines if " py:" in line)
    homes = {entry.home for entry in test_reference.reference.entries()}
    assert {name: described[name] for name in homes if described[name] != 1} == {}


def errors(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def requests(browser: Any) -> list[str]:
    return browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")


def test_search_finds_a_function_offline(browser: Any):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((SITE / "search.html").as_uri() + "?q=sparse_jacobian")
    found = "return [...document.querySelectorAll('#search-results li a')].map(link => link.textContent)"
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(found))
    assert any("sparse_jacobian" in text for text in browser.execute_script(found))
    complete = "return document.querySelector('.search-summary').textContent"
    WebDriverWait(browser, 20).until(lambda _: "found" in browser.execute_script(complete))
    lines = "return [...document.querySelectorAll('#search-results li > p')].map(line => line.textContent)"
    shown = browser.execute_script(lines)
    assert len(shown) == len(browser.execute_script(found))
    assert all(len(line.split()) > 2 for line in shown), shown
    assert any("computes the Jacobian as a sparse matrix" in line for line in shown), shown
    assert not errors(browser)


@pytest.mark.parametrize(
    "name", ["index", "guide", "coverage", "complex", "performance", "reference/wengert.fit"]
)
def test_no_page_is_wider_than_a_phone(browser: Any, name: str):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get((SITE / f"{name}.html").as_uri())
    widths = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert widths[0] <= 390, widths
    assert all(address.startswith("file:") for address in requests(browser))
    assert not errors(browser)


def test_the_dark_mode_is_dark(browser: Any):
    grounds = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get((SITE / "index.html").as_uri())
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        grounds.append(sum(int(part) for part in re.findall(r"\d+", colour)[:3]))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert grounds[0] > 3 * 200
    assert grounds[1] < 3 * 60


def test_the_menu_of_versions_leads_to_them(browser: Any):
    browser.get((SITE / "reference" / "index.html").as_uri())
    options = browser.execute_script(
        "return [...document.querySelectorAll('.versions option')].map(o => o.value)"
    )
    assert SITE.name in options
    assert all((SITE.parent / name / "index.html").exists() for name in options)


@pytest.mark.parametrize("width", [360, 1400])
def test_the_front_page(browser: Any, width: int):
    browser.set_window_size(width, 900)
    browser.get((SITE / "index.html").as_uri())
    groups = browser.find_elements("css selector", ".sidebar-tree li.toctree-l1 > a")
    assert len(groups) == 5
    assert len(browser.find_elements("css selector", ".sd-card")) == 4
    loaded = (
        "return [...document.querySelectorAll('article img, .sidebar-logo')].map(i => i.naturalWidth > 0)"
    )
    assert browser.execute_script(loaded) == [True] * 4
    cut = (
        "return [...document.querySelectorAll('.highlight-bash pre')].map(p => p.scrollWidth - p.clientWidth)"
    )
    assert browser.execute_script(cut) == [0]  # the line that installs it is whole
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert not errors(browser)


def test_the_menu_changes_the_version_offline(browser: Any, tmp_path: Path):
    from selenium.webdriver.support.ui import Select, WebDriverWait

    from tests.site.test_versions import build_site

    browser.set_window_size(1400, 900)
    for name in ("0.2", "0.10", "dev"):
        for folder in ("_static", "_images"):
            shutil.copytree(SITE / folder, tmp_path / name / folder)
        shutil.copy(SITE / "index.html", tmp_path / name)
    build_site.list_versions(tmp_path)
    browser.get((tmp_path / "index.html").as_uri())
    newest = (tmp_path / "0.10" / "index.html").as_uri()
    WebDriverWait(browser, 20).until(lambda _: browser.current_url == newest)
    found = WebDriverWait(browser, 20).until(
        lambda _: browser.find_elements("css selector", ".versions select")
    )
    menu = Select(found[0])
    labels = [option.text for option in menu.options]
    assert labels == ["0.10 (newest)", "0.2", "dev (in development)"]
    assert menu.first_selected_option.text == "0.10 (newest)"
    menu.select_by_value("0.2")
    older = (tmp_path / "0.2" / "index.html").as_uri()
    WebDriverWait(browser, 20).until(lambda _: browser.current_url == older)
    assert not errors(browser)
