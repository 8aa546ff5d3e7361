"""Pages in a browser: desktop and phone, light and dark, without console messages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.browsers import browser as browser  # a fixture
from wengert.report import comparison_report, run_report
from wengert.train import Run

DESKTOP, PHONE = 1280, 375
PAGES = ("cnn", "rnn", "autoencoder", "named", "comparison")

CONTRASTS = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [r, g, b] = numbers(colour).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const paper = light(getComputedStyle(document.body).backgroundColor);
const contrast = (colour) => {
  const text = light(colour);
  return (Math.max(text, paper) + 0.05) / (Math.min(text, paper) + 0.05);
};
const written = [...document.querySelectorAll("body *:not(script)")].filter(
  (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && one.checkVisibility()
);
return written.filter((one) => !one.matches("title, .none, .right, .wrong")).map((one) => {
  const style = getComputedStyle(one);
  return [one.textContent, contrast(one instanceof SVGElement ? style.fill : style.color)];
}).filter(([_, value]) => value < 4.5);
"""
SIZES = """
return [...document.querySelectorAll("main *")].filter(
  (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && one.checkVisibility()
).filter((one) => !one.closest(".graph, title")).map((one) => {
  const drawn = one.closest("figure > svg");
  const scale = drawn ? drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width : 1;
  return [one.textContent, scale * parseFloat(getComputedStyle(one).fontSize)];
}).filter(([_, size]) => size < 9);
"""


class Pages(dict[str, Path]):
    """A page for each run, and one for all; they are written when they are first asked for."""

    def __init__(self, runs: Path, folder: Path) -> None:
        self.folder = folder
        self.opened = {network: Run.open(runs / network) for network in PAGES[:3]}
        named = self.opened["rnn"].settings._replace(data="fashion-mnist")  # its classes have long names
        self.opened["named"] = dataclasses.replace(self.opened["rnn"], settings=named)

    def __missing__(self, name: str) -> Path:
        together = name == "comparison"
        page = comparison_report(list(self.opened.values())) if together else run_report(self.opened[name])
        self[name] = self.folder / f"{name}.html"
        self[name].write_text(page, "utf-8")
        return self[name]


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory):
    return Pages(runs, tmp_path_factory.mktemp("pages"))


def show(browser, page, width, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    browser.get(page.as_uri())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_shown(browser, pages, name, width, scheme):
    show(browser, pages[name], width, scheme)
    run = browser.execute_script
    assert browser.get_log("browser") == []
    assert run("return innerWidth") == width
    assert run("return document.documentElement.scrollWidth") == width  # nothing overflows to the right
    assert (
        run("return performance.getEntriesByType('resource').filter((one) => !one.name.startsWith('data:'))")
        == []
    )
    assert run("return [...document.images].filter((one) => !one.complete || !one.naturalWidth).length") == 0
    paper = run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert run(CONTRASTS) == []
    assert run(SIZES) == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_graph_is_enlarged(browser, pages, width):
    show(browser, pages["cnn"], width)

    def press(name):
        browser.find_element("css selector", f"[data-zoom={name}]").click()
        return browser.execute_script(
            "const view = document.querySelector('.view'), svg = view.querySelector('svg');"
            "return [svg.getBoundingClientRect().width, view.clientWidth]"
        )

    fitting, room = press("fit")
    assert fitting <= room
    assert press("in")[0] == pytest.approx(1.4 * fitting, rel=0.01)
    assert press("in")[0] == pytest.approx(1.96 * fitting, rel=0.01)
    assert press("out")[0] == pytest.approx(1.4 * fitting, rel=0.01)
    assert press("fit")[0] == pytest.approx(fitting, rel=0.01)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert browser.get_log("browser") == []


def test_it_is_moved_and_enlarged_by_keys(browser, pages):
    show(browser, pages["cnn"], DESKTOP)
    view = browser.find_element("css selector", ".view")
    width = "return document.querySelector('.view svg').getBoundingClientRect().width"
    before = browser.execute_script(width)
    view.send_keys("+")
    assert browser.execute_script(width) > before
    view.send_keys("0")
    top = "return document.querySelector('.view').scrollTop"
    assert browser.execute_script(top) == 0
    view.send_keys("\ue00f")  # page down
    assert browser.execute_async_script(f"setTimeout(() => arguments[0]((() => {{ {top} }})()), 600)") > 0


def test_it_is_moved_and_enlarged_by_the_mouse(browser, pages):
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    show(browser, pages["cnn"], DESKTOP)
    view = browser.find_element("css selector", ".view")
    places = (
        "const view = document.querySelector('.view'); return [view.scrollTop, view.firstChild.clientHeight]"
    )
    assert browser.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", view) is None
    ActionChains(browser).move_to_element(view).click_and_hold().move_by_offset(0, -120).release().perform()
    top, height = browser.execute_script(places)
    assert top == pytest.approx(120, abs=2)
    wheel = ActionChains(browser).key_down(Keys.CONTROL)
    wheel.scroll_from_origin(ScrollOrigin.from_element(view), 0, -100).key_up(Keys.CONTROL).perform()
    assert browser.execute_script(places)[1] > 1.2 * height
    assert browser.execute_script("return innerWidth") == DESKTOP  # the page was not
