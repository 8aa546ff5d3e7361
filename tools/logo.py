"""Draw the logo of the site: the Wengert list of log x1 + x1 x2 - sin x2, as Wengert traces it.

Usage: ``python tools/logo.py``, which writes ``docs/_static/logo.svg``
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import wengert as wg  # noqa: E402

OUT = ROOT / "docs" / "_static" / "logo.svg"
#: Wide steps between the depths of the graph, and between the values of one depth.
ACROSS, DOWN, RADIUS = 64, 52, 17
SIGNS = {"log": "ln", "multiply": "×", "add": "+", "sin": "sin", "subtract": "−"}
COLOURS = {"line": "#b45309", "value": "#fff7ed", "text": "#7c2d12"}


def f(x1: Any, x2: Any) -> Any:
    """Return the program of the README."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def graph() -> tuple[dict[Any, str], dict[Any, list[Any]]]:
    """Return the sign of each value of the list, and its operands; conversions stand for what they convert."""
    traced = wg.trace(f)(2.0, 5.0)
    signs = {var: f"x{number}" for number, var in enumerate(traced.inputs, 1)}
    operands: dict[Any, list[Any]] = {var: [] for var in traced.inputs}
    same: dict[Any, Any] = {}
    for equation in traced.equations:
        var, read = equation.outputs[0], [same.get(x, x) for x in equation.operands]
        if equation.primitive == "cast":
            same[var] = read[0]
        else:
            signs[var], operands[var] = SIGNS[equation.primitive], read
    return signs, operands


def places(operands: dict[Any, list[Any]]) -> dict[Any, tuple[float, float]]:
    """Return the centre of each value: the longest way to it from an input, and its place among those as deep."""
    depth: dict[Any, int] = {}
    for var, read in operands.items():
        depth[var] = max((depth[x] + 1 for x in read), default=0)
    columns = [[var for var in depth if depth[var] == d] for d in range(max(depth.values()) + 1)]
    tallest = max(map(len, columns))
    return {
        var: (RADIUS + 3 + d * ACROSS, RADIUS + 3 + DOWN * (row + (tallest - len(column)) / 2))
        for d, column in enumerate(columns)
        for row, var in enumerate(column)
    }


def drawn() -> str:
    """Return the logo as SVG."""
    signs, operands = graph()
    at = places(operands)
    width, height = (max(place[axis] for place in at.values()) + RADIUS + 3 for axis in (0, 1))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">']
    parts.append("<title>Wengert</title>")
    for var, read in operands.items():
        x, y = at[var]
        for a, b in (at[one] for one in read):
            bend = (x - a) / 2
            curve = f"M{a:g},{b:g} C{a + bend:g},{b:g} {x - bend:g},{y:g} {x:g},{y:g}"
            parts.append(f'<path d="{curve}" fill="none" stroke="{COLOURS["line"]}" stroke-width="3"/>')
    for var, (x, y) in at.items():
        ring = f'fill="{COLOURS["value"]}" stroke="{COLOURS["line"]}" stroke-width="3"'
        parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}" {ring}/>')
        font = f'font-family="Georgia, serif" font-size="15" fill="{COLOURS["text"]}" text-anchor="middle"'
        parts.append(f'<text x="{x:g}" y="{y + 5:g}" {font}>{signs[var]}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    OUT.write_text(drawn(), "utf-8")
    print(f"{OUT.relative_to(ROOT)}: {len(drawn())} bytes")
