"""Pictures of graphs and tapes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError
from wengert.inspect import GraphvizError, draw_tape

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def paper(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def drawn(listing: Any, folder: Path, **options: Any) -> str:
    listing.draw(folder / "picture.dot", **options)
    return (folder / "picture.dot").read_text("utf-8")


def label(line: str) -> str:
    return line.split('label="')[1].split('"')[0]


def test_variables_constants_and_operations_are_told_apart(tmp_path: Path) -> None:
    lines = drawn(wg.trace(lambda x1, x2: paper(x1, x2) * 3)(2.0, 5.0), tmp_path).splitlines()
    nodes = {label(line): line for line in lines if "fillcolor" in line}
    assert set(nodes) == {
        "x1 = 2",
        "x2 = 5",
        r"log\nv1 = 0.693",
        r"multiply\nv3 = 10",
        r"add\nv4 = 10.693",
        r"sin\nv5 = -0.959",
        r"subtract\nv7 = 11.652",
        "3",
        r"multiply\nv8 = 34.956",
        "y",
    }
    looks = [nodes[key].split("shape=")[1] for key in ("x1 = 2", "3", r"log\nv1 = 0.693", "y")]
    assert len(set(looks)) == 4
    edges = [line for line in lines if "->" in line]
    assert len(edges) == 11
    assert {label(edge) for edge in edges} == {"f64[]", "f64*[]", "i64*[]"}


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (drawn(wg.trace(wg.grad(paper))(2.0, 5.0), tmp_path) for _ in range(2))
    assert first == second


def test_values_can_be_left_out(tmp_path: Path) -> None:
    assert "0.693" not in drawn(wg.trace(paper)(2.0, 5.0), tmp_path, values=False)


def test_programs_inside_are_clusters(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return wg.cond(x > 0, lambda x: wg.fori_loop(0, 3, lambda _, v: v * v, x), np.cos, x)

    text = drawn(wg.trace(f)(2.0), tmp_path)
    assert [label(line) for line in text.splitlines() if line.strip().startswith("label=")] == [
        "on_true of cond v2",
        "body of scan v1",
        "on_false of cond v2",
    ]
    assert text.count("{") == text.count("}")
    assert text.count("style=dashed, arrowhead=none") == 3


def test_names_are_escaped(tmp_path: Path) -> None:
    text = drawn(wg.trace(lambda x: {'a"\\b': x['k"\\'] * 2})({'k"\\': 1.5}), tmp_path)
    assert r'label="x[\'k\"' not in text
    assert r"""[label="x['k\"\\\\'] = 1.5",""" in text
    assert r"""[label="y['a\"\\\\b']",""" in text


@needs_graphviz
@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_graphviz_draws(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"picture{suffix}"
    nested = wg.trace(lambda d: wg.cond(d['k"\\'] > 0, np.sin, np.cos, d['k"\\']))({'k"\\': 1.5})
    for listing in (wg.trace(paper)(2.0, 5.0), nested):
        listing.draw(str(path))
        assert path.read_bytes().startswith(start)


@needs_graphviz
def test_graphviz_failures_are_told(tmp_path: Path) -> None:
    with pytest.raises(GraphvizError, match="Graphviz failed"):
        wg.trace(paper)(2.0, 5.0).draw(tmp_path / "no" / "folder.svg")


def test_without_graphviz_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraphvizError, match=r"install Graphviz.*or draw to a \.dot file"):
        wg.trace(paper)(2.0, 5.0).draw(tmp_path / "picture.svg")
    with pytest.raises(ArgumentError, match=r"must end in one of \.dot"):
        wg.trace(paper)(2.0, 5.0).draw(tmp_path / "picture.jpg")
    wg.trace(paper)(2.0, 5.0).draw(tmp_path / "picture.gv")


def test_a_tape_is_drawn(tmp_path: Path) -> None:
    x, w = wg.Variable(2.0), wg.Variable(np.array([1.0, 3.0]))
    y = np.sum(np.sin(w) * x + 4.0)
    draw_tape(y, tmp_path / "tape.dot")
    lines = (tmp_path / "tape.dot").read_text("utf-8").splitlines()
    assert [label(line) for line in lines if "fillcolor" in line] == [
        "v₋₁ = 2",
        "v₀ = [1, 3]",
        r"sin\nv₁ = [0.841, 0.141]",
        r"multiply\nv₂ = [1.683, 0.282]",
        r"add\nv₃ = [5.683, 4.282]",
        "4",
        r"reduce_sum\nv₄ = 9.965",
        "y",
    ]


def test_a_tape_with_several_results_is_drawn(tmp_path: Path) -> None:
    x = wg.Variable(2.0)
    last, rows = wg.scan(lambda c, r: (c * x + r, c), x, np.arange(3.0))
    draw_tape(last + np.sum(rows), tmp_path / "tape.dot")
    text = (tmp_path / "tape.dot").read_text("utf-8")
    assert text.count("->") >= 4
    assert "v₀ = 2" in text
