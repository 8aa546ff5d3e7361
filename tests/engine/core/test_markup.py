"""What notebooks show as HTML: the numbers of the text, in accessible tables that load nothing."""

from __future__ import annotations

import copy
import pickle
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from wengert import nn
from wengert.engine.core.markup import TableText, element, in_notebook, short_table
from wengert.fit import laplace, mle, nuts
from wengert.random import key
from wengert.report import Comparison

WAITS = np.array([0.3, 1.2, 0.4, 2.5, 0.6])

measurements = benchmark("harness.measurements")


def energy(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p["w"]) ** 2)


def looped(x: Any) -> Any:
    return wg.fori_loop(0, 3, lambda i, carry: np.sin(carry) * x, x)


MODEL = nn.Chain(nn.Dense(3, 2, seed=0), nn.relu, nn.LSTM(2, 3, seed=0), nn.LayerNorm(3))
ARGUMENTS = {"w": np.ones((3, 2))}, np.ones((4, 3))
SHOWN: dict[str, Any] = {
    "trace": lambda: wg.trace(energy)(*ARGUMENTS),
    "trace of a loop": lambda: wg.trace(looped)(2.0),
    "evaluation trace": lambda: wg.trace(lambda a, b: a * np.exp(b))(2.0, 3.0).table(),
    "compiler": lambda: wg.jit(wg.grad(energy)).report(*ARGUMENTS),
    "host": lambda: wg.jit(lambda a: np.linalg.eigvals(a)).report(np.ones((3, 3))),
    "sparse": lambda: wg.sparse_jacobian(lambda x: x[1:] * x[:-1]).report(np.ones(50)),
    "mle": lambda: mle(lambda p, t: np.log(p["a<b>"]) - p["a<b>"] * t, WAITS, {"a<b>": 1.0}),
    "laplace": lambda: laplace(lambda x: 10 * np.log(x) - x, 5.0),
    "nuts": lambda: nuts(lambda x: -0.5 * x**2, 0.0, key(0), draws=50, warmup=50),
    "summary": lambda: nn.summary(nn.Chain(nn.Dense(3, 2, seed=0), nn.relu), np.ones((4, 3), "f4")),
    "bench": lambda: measurements.table([]),
}


class Page(HTMLParser):
    """The text, the tags, and the addresses of a fragment; every element must be closed."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.text, self.headers, self.cells = "", list[dict[str, str | None]](), 0
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(fragment)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "th":
            self.headers.append(dict(attrs))
        self.cells += tag == "td"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += f" {data} "


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,.]*", text)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n == "nuts" else []) for n in SHOWN]
)
def test_the_numbers_of_the_text_are_in_the_table(name: str) -> None:
    shown = SHOWN[name]()
    text, page = str(shown), Page(shown._repr_html_())
    missing = [number for number in numbers(text) if number.rstrip(".,:") not in page.text]
    assert not missing
    assert page.addresses == []
    assert all(header.get("scope") in ("col", "row", "colgroup") for header in page.headers)
    assert page.headers


def test_a_layer_shows_its_arrays() -> None:
    page = Page(MODEL._repr_html_())
    total = sum(np.size(leaf) for leaf in wg.tree.leaves(MODEL))
    assert f"Chain: {total} numbers, {4 * total} bytes" in page.text
    assert "layers[0].weight" in page.text
    assert "f32[3,2]" in page.text
    assert repr(MODEL).startswith("Chain(layers=(Dense(weight=array(")


def test_names_of_the_user_are_escaped() -> None:
    fit = SHOWN["mle"]()
    assert "a<b>" in str(fit)
    assert "a&lt;b&gt;" in fit._repr_html_()
    assert "<b>" not in fit._repr_html_()


def test_a_comparison_of_runs_is_a_table() -> None:
    results = Comparison(["run", "lr", "test loss"], [["one", "0.1", "0.25"], ["two", "0.2", "0.125"]], 2)
    page = Page(results._repr_html_())
    assert all(cell in page.text for row in [results.head, *results.rows] for cell in row)
    assert [header["scope"] for header in page.headers] == ["col", "col", "col", "row", "row"]


def test_a_long_table_is_cut_and_says_so() -> None:
    page = Page(in_notebook(short_table("all", ("n", "square"), [(str(n), str(n * n)) for n in range(700)])))
    assert page.cells == 500
    assert "200 more rows are left out" in page.text


def test_a_text_with_a_table_stays_a_text() -> None:
    text = TableText("a 1", "letters", ("letter", "number"), [("a", "1")])
    assert text == "a 1"
    assert repr(text) == "'a 1'"
    assert "letters" in Page(text._repr_html_()).text
    for other in (copy.copy(text), copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert other == text
        assert other._repr_html_() == text._repr_html_()


def test_content_is_escaped_once() -> None:
    assert Page(in_notebook(element("p", "a < b & c"))).text.strip() == "a < b & c"
