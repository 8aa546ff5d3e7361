"""The cells of each notebook run as one plain program; their hidden cells assert what the text claims."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest

from tests.optional import Package

matplotlib = Package("matplotlib")
pytest.importorskip("scipy")

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
CELL = re.compile(r"^```\{code-cell\}\n(?:(?::[^\n]*\n)+\n?)?(?P<program>.*?)^```$", re.M | re.S)
#: The longer run has these: they train, integrate or compile for seconds.
LONG = {"cnn", "numpy_program", "kalman", "orbit"}


def cells(text: str) -> list[tuple[int, str]]:
    """Return the programs of a notebook with the numbers of their first lines."""
    return [(text.count("\n", 0, cell.start("program")), cell["program"]) for cell in CELL.finditer(text)]


def notebooks() -> list[Any]:
    paths = sorted(NOTEBOOKS.glob("*.md"))
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in LONG)) for path in paths
    ]


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("path", notebooks())
def test_cells(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    programs = cells(path.read_text("utf-8"))
    for line, program in programs:
        name = f"{path.stem}:{line}"
        linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
        exec(compile(program, name, "exec"), namespace)
    matplotlib.pyplot.close("all")
    assert any("assert " in program for _, program in programs), "no hidden cell checks the text"


def test_options_of_a_cell_are_no_program():
    text = "```{code-cell}\n:tags: [remove-cell]\n\nx = 1\n```\n\n```{code-cell}\ny = 2\n```\n"
    assert cells(text) == [(3, "x = 1\n"), (7, "y = 2\n")]
