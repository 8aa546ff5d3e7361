"""The command ``wengert explore``."""

from __future__ import annotations

import numpy as np
import pytest

from tests.commands import end, start
from wengert.app.explore import ExplorationError, write_exploration
from wengert.train.settings import SettingsError
from wengert.train.storage import RunError

PROGRAM = """
import numpy as np

def f(x, y):
    return np.sum(x * y)

def of_dict(p):
    return p["a"] * 2 + p["b"]

def fails(x):
    raise KeyError("no such thing")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_the_command_writes_a_page(program, tmp_path):
    ended = end(start("explore", "program.py:f", "-2.0", "[1.0, 2.0]", cwd=tmp_path))
    assert (ended.code, ended.err, ended.out) == (0, "", "page      f.html\n")
    assert "program.py" in (tmp_path / "f.html").read_text("utf-8")


def test_inputs_are_literals_or_files(program, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    np.savez(tmp_path / "p.npz", a=2.0, b=3.0)
    out = tmp_path / "page.html"
    for _ in range(2):  # it replaces a page of its own
        assert (
            write_exploration(f"{program}:f", [str(tmp_path / "x.npy"), "[1.0, 2.0, 3.0]"], str(out)) == out
        )
    write_exploration(f"{program}:of_dict", [str(tmp_path / "p.npz")], str(out))
    write_exploration(f"{program}:of_dict", ["{'a': 1.0, 'b': 2.0}"], str(out))


@pytest.mark.parametrize(
    ("place", "inputs", "kind", "problem"),
    [
        ("absent.py:f", ["1.0"], SettingsError, "absent.py cannot be read: No such file"),
        ("program.py:g", ["1.0"], SettingsError, "has no function g: it has f, of_dict, fails"),
        ("program.py", [], SettingsError, "the function must be FILE.py:NAME"),
        ("program.py:f", ["1.0"], SettingsError, r"f\(x, y\) got 1 inputs: missing a required argument: 'y'"),
        ("program.py:f", ["1.0", "two"], SettingsError, "input 2 must be a Python literal"),
        ("program.py:f", ["1.0", "x.npy"], SettingsError, "input 2: x.npy cannot be read"),
        (
            "program.py:fails",
            ["1.0"],
            ExplorationError,
            r"fails fails: KeyError: 'no such thing' \[program.py:11\]",
        ),
    ],
)
def test_what_is_wrong_is_named(program, tmp_path, monkeypatch, place, inputs, kind, problem):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=problem):
        write_exploration(place, inputs, "page.html")


def test_a_file_of_the_user_is_kept(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.html").write_text("mine")
    with pytest.raises(RunError, match="is not a page of wengert explore"):
        write_exploration("program.py:f", ["1.0", "2.0"], None)
    with pytest.raises(SettingsError, match=r"--out must be named \*.html"):
        write_exploration("program.py:f", ["1.0", "2.0"], "f.txt")
