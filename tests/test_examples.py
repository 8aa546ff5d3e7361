"""The papers' worked examples print the papers' numbers."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path
from unittest import mock

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    """Run an example as a program, in this process: what it prints."""
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", [name, *arguments]), contextlib.redirect_stdout(printed):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return printed.getvalue()


def test_product():
    printed = run("product.py")
    assert "q = 3, f = -12" in printed
    assert "df/dx = -4, df/dy = -4, df/dz = 3" in printed


def test_dual_numbers():
    printed = run("dual_numbers.py")
    assert "partial x: 381.14 + 126.01ε" in printed
    assert "partial y: 381.14 + 225.0ε" in printed


def test_evaluation_trace():
    printed = run("evaluation_trace.py")
    # Harrison's Table 1: the forward values, then the adjoints.
    for number in ("0.693", "10", "-0.959", "11.652", "5.5", "1.716", "-0.284"):
        assert number in printed, number
    assert "gradient: (5.5, 1.7163378145367738)" in printed


def test_autoencoder_gradient():
    printed = run("autoencoder_gradient.py")
    assert "[(300, 784), (100, 300), (784, 100), (300,), (100,)]" in printed
    first, last = map(float, re.findall(r"([\d.]+) in the", printed))
    assert last < first / 2


def test_parabola(tmp_path: Path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "parabola.png"
    printed = run("parabola.py", str(picture))
    assert "at x = 5: value 25, derivative 10" in printed
    assert "largest error of the derivative: 0.0" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_transformer():
    printed = run("transformer.py")
    answers = re.findall(r"(\d{5}) backwards is (\d{5})", printed)
    assert len(answers) == 3
    assert all(question[::-1] == written for question, written in answers)
