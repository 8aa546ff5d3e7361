"""The page of an explored function in a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import wengert as wg
from examples.explorer import chromium
from tests.browsers import browser as browser  # a fixture
from tests.explorer import programs
from tests.explorer.programs import CASES
from tests.report.test_browser import CONTRASTS
from wengert.engine.core import tree
from wengert.explorer import explore

DESKTOP, PHONE = 1280, 375

# Set all inputs, and return the numbers of results, tangents and adjoints.
NUMBERS = """
const given = JSON.parse(arguments[0]);
data.inputs.forEach((input, n) => {
  const made = zeros(valueOf(input.value).kind);
  made.data.set(given[n]);
  evaluation.set(input.input, made);
});
update();
const list = (atom) => (atom === null ? null : Array.from(valueOf(atom).data));
return JSON.stringify({
  value: list(data.outputs[0].value),
  tangent: list(data.outputs[0].tangent),
  adjoints: data.inputs.map((input) => list(input.adjoint)),
  text: document.querySelector("#results .value").title,
  problems: evaluation.problems,
});
"""


UNNAMED = """
const name = (one) => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim() ||
  one.closest("label")?.textContent.trim();
const silent = "[role=status], [role=tooltip]";
const all = [...document.querySelectorAll("button, input, select, canvas, [role]")];
const named = all.filter((one) => !one.matches(silent));
return named.filter((one) => one.checkVisibility() && !name(one)).map((one) => one.outerHTML);
"""


def show(browser, page, tmp_path, width=DESKTOP, scheme="light"):
    chromium.resize(browser, width, 900, scheme=scheme, phone=width == PHONE)
    browser.get(page.save(tmp_path / "page.html").as_uri())
    assert browser.get_log("browser") == []
    return browser.execute_script


def closed(browser):
    requests = (
        "return performance.getEntriesByType('resource').filter((one) => !one.name.startsWith('data:'))"
    )
    assert browser.execute_script(requests) == []
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("name", CASES)
def test_changed_inputs_give_wengerts_numbers(browser, tmp_path, name):
    fun, arguments, others = CASES[name]
    run = show(browser, explore(fun)(*arguments), tmp_path)
    given = [np.ravel(leaf).tolist() for leaf in tree.leaves(others)]
    found = json.loads(run(NUMBERS, json.dumps(given)))
    assert found["problems"] == []
    first = True

    def direction(leaf):
        nonlocal first
        result = (np.ones_like(leaf) if first else np.zeros_like(leaf))[()]
        first = False
        return result

    # Newton's method takes one turn more or fewer at other inputs: the page follows the recorded turns.
    value, tangent = wg.jvp(fun, others, tree.map_tree(direction, others))
    gradients = wg.grad(fun, argnums=tuple(range(len(others))))(*others)
    near = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(found["value"], [value], **near)
    np.testing.assert_allclose(found["tangent"], [tangent], **near)
    for mine, expected in zip(found["adjoints"], tree.leaves(gradients), strict=True):
        np.testing.assert_allclose(mine, np.ravel(expected), **near)
    assert float(found["text"].replace("−", "-")) == found["value"][0]
    run("for (const mode of Object.keys(MOMENTS)) { choose(mode); [1, 5, Infinity].forEach(go); }")
    closed(browser)


def test_typing_an_input_changes_the_results_and_the_table(browser, tmp_path):
    from selenium.webdriver import Keys

    show(browser, explore(programs.report)(2.0, 5.0), tmp_path)
    field = browser.find_element("css selector", "input[aria-label=x1]")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("3.5")
    result = browser.find_element("css selector", "#results .value").get_attribute("title")
    assert float(result) == pytest.approx(programs.report(3.5, 5.0), rel=1e-15)
    assert "= ln(3.5)" in browser.find_element("id", "trace").text
    field.send_keys("x")
    assert field.get_attribute("aria-invalid") == "true"
    browser.find_element("id", "reset").click()
    result = browser.find_element("css selector", "#results .value").get_attribute("title")
    assert float(result) == programs.report(2.0, 5.0)
    closed(browser)


def test_keys_step_through_every_mode(browser, tmp_path):
    from selenium.webdriver import Keys

    show(browser, explore(programs.report)(2.0, 5.0), tmp_path)
    place = browser.find_element("id", "place")
    body = browser.find_element("tag name", "body")
    assert place.text == "1 / 7"
    body.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert place.text == "2 / 7"
    assert "v₁ = ln(v₋₁)" in browser.find_element("id", "step").text
    assert "v₁ = ln(v₋₁) = 0.693147, tangent 0.5" in browser.find_element("id", "said").get_attribute(
        "textContent"
    )
    body.send_keys(Keys.END)
    assert place.text == "7 / 7"
    tab = browser.find_element("id", "tab-forward")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert browser.switch_to.active_element.get_attribute("id") == "tab-reverse"
    assert browser.switch_to.active_element.get_attribute("aria-selected") == "true"
    browser.find_element("id", "slider").send_keys(Keys.END, Keys.ARROW_LEFT)
    step = browser.find_element("id", "step").text
    assert "back through v₁ = ln(v₋₁)" in step
    assert "v₋₁′ = v₋₁′ + v₁′ ∂v₁/∂v₋₁" in step
    assert "5.5" in step
    browser.find_element("id", "tab-adjoint").click()
    assert "x1_bar = x2 + v2" in browser.find_element("id", "trace").text
    browser.find_element("id", "tab-nests").click()
    assert "nest" in browser.find_element("id", "trace").text
    closed(browser)


def test_a_graph_is_walked_by_arrow_keys(browser, tmp_path):
    from selenium.webdriver import Keys

    run = show(browser, explore(programs.report)(2.0, 5.0), tmp_path)
    stops = "return [...document.querySelectorAll('#graph [tabindex=\"0\"]')].map((node) => node.textContent)"
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert len(run(stops)) == 1  # the graph is one stop in the tab order
    run("choose('forward'); go(1); document.querySelector('#graph [tabindex=\"0\"]').focus()")
    press = lambda *keys: browser.switch_to.active_element.send_keys(*keys)  # noqa: E731
    assert run(focused) == "v₁ = ln(v₋₁): f64*[], 0.693147; from x1; to v₃"
    press(Keys.ARROW_DOWN)
    assert run(focused).startswith("v₃ = v₁ + v₂")
    assert browser.find_element("id", "place").text == "2 / 7"  # the focus moves, the step does not
    press(Keys.ARROW_RIGHT)
    assert run(focused).startswith("v₄ = sin(v₀)")
    assert not browser.find_element("id", "hint").get_attribute("hidden")
    press(Keys.ENTER)
    assert browser.find_element("id", "place").text == "5 / 7"
    assert run(focused).startswith("v₄ = sin(v₀)")
    assert run("return document.activeElement.getAttribute('aria-current')") == "step"
    assert "v₄ = sin(v₀)" in browser.find_element("id", "said").get_attribute("textContent")
    press(Keys.ARROW_UP)
    assert run(focused).startswith("x2 = v₀")
    assert len(run(stops)) == 1
    run("go(2)")
    assert run(focused).startswith("x2 = v₀")  # a step leaves the focus where it was
    closed(browser)


def test_the_trace_and_the_source_are_one_stop_each(browser, tmp_path):
    from selenium.webdriver import Keys

    run = show(browser, explore(programs.kalman)(0.1, 1.0, np.arange(3.0)), tmp_path)
    for panel in ("source", "trace"):
        assert len(run(f"return document.querySelectorAll('#{panel} button[tabindex=\"0\"]')")) == 1
    run("document.querySelector('#trace button[tabindex=\"0\"]').focus()")
    press = lambda *keys: browser.switch_to.active_element.send_keys(*keys)  # noqa: E731
    press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    assert browser.find_element("id", "place").text.startswith("4 /")
    assert run("return document.activeElement.dataset.key") == "forward 2"
    press(Keys.ARROW_RIGHT)  # the page steps, as elsewhere
    assert browser.find_element("id", "place").text.startswith("5 /")
    closed(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("mode", ["forward", "reverse", "adjoint", "nests"])
def test_a_page_fits_and_can_be_read(browser, tmp_path, width, scheme, mode):
    fun, arguments, _ = CASES["loss"]
    run = show(browser, explore(fun)(*arguments), tmp_path, width, scheme)
    run(f"choose('{mode}'); go(4)")
    assert run("return document.documentElement.scrollWidth") == width
    shown = run(CONTRASTS)
    assert [one for one in shown if one[0].strip()] == []
    assert run(UNNAMED) == []
    closed(browser)


def test_another_path_is_noticed(browser, tmp_path):
    show(browser, explore(programs.newton)(2.0), tmp_path)
    notices = browser.find_element("id", "notices")
    assert notices.text == ""
    browser.execute_script("setInput(data.inputs[0], 0, 2e6)")
    assert "Python takes another path" in notices.text
    browser.execute_script("setInput(data.inputs[0], 0, 2.0)")
    assert notices.text == ""


def test_the_place_of_a_nan_is_marked(browser, tmp_path):
    show(browser, explore(programs.not_a_number)(2.0), tmp_path)
    assert "NaN begins at v₂ = √(v₁)" in browser.find_element("id", "notices").text
    marked = browser.find_element("css selector", "#source .nan").text
    assert "np.sqrt(x - 3)" in marked
    browser.find_element("css selector", "#notices button").click()
    assert "v₂ = √(v₁)" in browser.find_element("id", "step").text
    assert "NaN begins here" in browser.find_element("css selector", "#source .nan").get_attribute(
        "aria-label"
    )
    browser.execute_script("setInput(data.inputs[0], 0, 7.0)")
    assert browser.find_element("id", "notices").text == ""
    assert browser.find_elements("css selector", "#source .nan") == []


def test_an_operation_without_an_evaluation_shows_recorded_numbers(browser, tmp_path):
    page = explore(programs.eigenvalue)(3.5)
    assert any("eigvalsh" in reason for reason in page.recorded["recorded"])
    run = show(browser, page, tmp_path)
    assert float(run("return document.querySelector('#results .value').title")) == programs.eigenvalue(3.5)
    run("setInput(data.inputs[0], 0, 4.5)")
    assert "recorded at the original inputs" in browser.find_element("id", "notices").text
    assert browser.find_elements("css selector", "#results .recorded")


def test_large_arrays_are_pictures(browser, tmp_path):
    run = show(browser, explore(lambda x: np.sum(np.sin(x)))(np.ones((600, 600))), tmp_path)
    assert len(explore(lambda x: np.sum(np.sin(x)))(np.ones((600, 600))).html) < 300_000
    assert run("return document.querySelectorAll('#inputs canvas').length") == 1
    assert float(run("return document.querySelector('#results .value').title")) == pytest.approx(
        360000 * np.sin(1)
    )
    closed(browser)


def test_a_large_graph_is_folded(browser, tmp_path):
    def iterated(x):
        for _ in range(100):
            x = np.sin(x) * 1.01
            x = x + 0.1
        return x

    run = show(browser, explore(iterated)(0.3), tmp_path)
    nodes = browser.find_elements("css selector", ".node")
    names = [node.get_attribute("aria-label") for node in nodes]
    assert [re.findall(r"[\d,]+ operations", name) for name in names] == [
        ["200 operations"],
        ["100 operations"],
    ]
    browser.find_element("css selector", "input[value=functions]").click()
    assert len(browser.find_elements("css selector", ".node")) == 1
    browser.find_element("css selector", "input[value=operations]").click()
    assert 20 < len(browser.find_elements("css selector", ".node")) < 60
    run("go(250)")
    assert "Operations" in browser.find_element("id", "graph").text
    assert len(browser.find_elements("css selector", "#trace tbody tr")) == 120
    closed(browser)


def test_a_notebook_shows_the_page():
    page = wg.explore(programs.product)(2.0, 3.0, 4.0)
    html = page._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "<script" not in html
    assert repr(page) == "<page of product: 2 operations; save(path) writes it>"


@pytest.mark.parametrize(
    ("fun", "arguments", "problem"),
    [
        (lambda x: x * 2, (2,), "write 2.0 instead of 2"),
        (lambda x: x > 2, (2.0,), "a result must be a floating-point number"),
    ],
)
def test_what_has_no_derivative_is_refused(fun, arguments, problem):
    with pytest.raises(wg.errors.ArgumentError, match=problem):
        explore(fun)(*arguments)


def test_a_large_graph_shows_the_adjoints_that_the_way_back_has_reached(browser, tmp_path):
    def iterated(x):
        for _ in range(300):
            x = np.sin(x) * 1.01
        return x

    run = show(browser, explore(iterated)(0.3), tmp_path)
    run("state.level = 'operations'; choose('reverse'); go(steps.length + 2 + 300)")
    current = browser.find_element("css selector", ".node.current")
    step = run("return valueOf(moment().n === undefined ? null : steps[moment().n].adjoints[0]).data[0]")
    assert current.find_element("css selector", ".adjoint").text.replace("−", "-") == f"{step:.5g}"
    assert len(browser.find_elements("css selector", ".node .adjoint")) > 5


def shrunk(x):
    for _ in range(40):
        if np.sum(x) > 1.0:
            x = x / 2.0
        x = np.sin(x)
    return np.sum(x)


def test_the_compiled_nests_hold_all_paths_with_the_lines_of_loops_and_branches():
    first = shrunk.__code__.co_firstlineno
    nests = explore(shrunk)(np.ones(3)).recorded["compiled"]["nests"]
    heads = [re.sub(r"test_page\.py:", "", head).strip() for nest in nests for head in nest["heads"]]
    lines = [int(line) - first for head in heads for line in re.findall(r"(\d+)\]$", head)]
    assert lines == [1, 2, 1, 2]
    halves = [nest for nest in nests if "/ 2.0" in nest["text"] or "0.5" in nest["text"]]
    assert {int(nest["location"].rpartition(":")[2]) - first for nest in halves} == {3}


def test_a_function_without_source_shows_the_nests_of_its_path():
    names = {}
    exec("def without_source(x):\n    return 2.0 * x if x > 1.0 else x", names)
    page = explore(names["without_source"])(2.0)
    assert page.recorded["compiled"]["nests"]
