"""Saved functions changed at random, with the digest recomputed: refused, or run inside of their arrays."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.exporting.mutations import PROGRAMS, file, members
from wengert.exporting.saved import SavedFunctionError

ROOT = Path(__file__).resolve().parents[2]
SEED = 43


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("mutants")
    for name, (fun, arguments) in PROGRAMS.items():
        wg.export(fun, *arguments).save(place / f"{name}.wg")
    return place


def outcomes(folder: Path, first: int, last: int) -> dict[str, int]:
    """Load and run mutants in processes of their own, and return how many had each outcome; a crash fails the test."""
    command = [sys.executable, "-m", "tests.exporting.mutants", *map(str, (SEED, first, last)), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=6000)
    place = (folder / f"place{first}").read_text().strip()
    assert done.returncode == 0, f"mutant {place} of seed {SEED}: {done.returncode} {done.stderr[-2000:]}"
    found = json.loads(done.stdout)
    assert not found["wrong"], found["wrong"]
    return found["found"]


@pytest.mark.skipif(sys.platform == "win32", reason="the guards are pages of POSIX")
def test_a_share_of_the_mutants(folder) -> None:
    found = outcomes(folder, 0, 84)
    assert found["refused"] > 40
    assert found["ran"] > 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the guards are pages of POSIX")
@pytest.mark.parametrize("first", range(0, 100_000, 1_000))
def test_mutants(folder, first) -> None:
    outcomes(folder, first, first + 1_000)


# -- claims of the graph, each of which was once believed ------------------------------------------------


def changed(path: Path, pattern: str, other: str, member: str = "1/graph.txt") -> Path:
    """Write a file in which a pattern of a member's text is replaced; it must occur."""
    parts = members(path.read_bytes())
    text, count = re.subn(pattern, other, parts[member].decode())
    assert count, parts[member].decode()
    place = path.with_name("changed.wg")
    place.write_bytes(file({**parts, member: text.encode()}))
    return place


@pytest.mark.parametrize("extent", [0, 3, 5, 64, 10**7, 2**62])
@pytest.mark.parametrize(
    "name", ["turns", "scanned", "slope_of_turns", "slope_of_scan", "budget", "checkpoint"]
)
def test_inner_graphs_have_the_types_of_their_operands(folder, name, extent) -> None:
    parts = members((folder / f"{name}.wg").read_bytes())
    head, _, rest = parts["1/graph.txt"].decode().partition("graph(")[2].partition("graph(")
    inner = re.sub(r"f64\[4\]", f"f64[{extent}]", rest)
    assert inner != rest
    path = folder / "inner.wg"
    path.write_bytes(file({**parts, "1/graph.txt": f"graph({head}graph({inner}".encode()}))
    with pytest.raises(SavedFunctionError):
        wg.load(path)


@pytest.mark.parametrize(
    ("name", "pattern", "other"),
    [
        ("selected", r"axis=0\]", "axis=-1]"),
        ("selected", r"axis=0\]", "axis=2]"),
        ("selected", r"axis=0\]", "axis=0.0]"),
        ("selected", r"axis=0\]", "axis=0, most=3]"),
        ("numbers", r"integer_power\[exponent=3\]\(\w+\)", "lu_factors(x1)"),
        ("rules", r"-2\)", "2)"),
        ("rules", r"extents=\(3, 4\)", "extents=(3, 5)"),
        ("rules", r"shape=\(7,\)", "shape=(70,)"),
        ("spectrum", r"half='L'", "half='X'"),
    ],
)
def test_parameters_are_those_of_the_rules(folder, name, pattern, other) -> None:
    with pytest.raises(SavedFunctionError):
        wg.load(changed(folder / f"{name}.wg", pattern, other))


@pytest.mark.parametrize("turns", [4, 10**6, 2**62, -(2**40)])
@pytest.mark.parametrize("reverse", ["True", "False"])
def test_a_bounded_loop_ends_with_its_rows(folder, turns, reverse) -> None:
    def f(x: Any, n: Any) -> Any:
        return wg.grad(
            lambda x: np.sum(wg.while_loop(lambda c: c[0] < n, lambda c: np.sin(c) + 1.0, x, most=3))
        )(x)

    path = wg.export(f, x := np.full(64, 0.5), 0.0).save(folder / "bounded.wg")
    path = changed(path, "length=3, reverse=True", f"length=3, reverse={reverse}")

    def of_turns(number: int) -> Any:
        """Return the slope if the backward loop is said to take so many turns."""
        place = changed(
            path, r"constants=0, carries=1\]\((v\d+|i64\S+),", f"constants=0, carries=1](i64({number}),"
        )
        return wg.load(place)(x, 9.0)

    np.testing.assert_array_equal(of_turns(turns), of_turns(3 if turns > 0 else 0))


# -- sizes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "member", ["functions.json", "1/graph.txt", "1/arguments/0.npy", "1/constants/0.npy"]
)
def test_no_member_unpacks_to_more_than_it_promises(folder, member) -> None:
    parts = members((folder / "constants.wg").read_bytes())
    path = folder / "long.wg"
    path.write_bytes(file({**parts, member: parts[member] + b" " * 200_000_000}))
    assert path.stat().st_size < 2_000_000
    with pytest.raises(SavedFunctionError):
        wg.load(path)


@pytest.mark.parametrize("shape", [(3,), (4, 1), (2**40,), (2**31, 2**31), (0,)])
@pytest.mark.parametrize("dtype", ["<f4", "<f8", "|O"])
@pytest.mark.parametrize("member", ["1/arguments/0.npy", "1/constants/0.npy", "1/results/0.npy"])
def test_headers_are_compared_before_anything_is_read(folder, member, dtype, shape) -> None:
    parts = members((folder / "constants.wg").read_bytes())
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    path = folder / "header.wg"
    path.write_bytes(file({**parts, member: stream.getvalue() + b"\x80\x04."}))
    with pytest.raises(SavedFunctionError):
        wg.load(path)


def test_long_texts_of_one_letter_come_back(folder) -> None:
    """A text that packs to less than a hundredth is stored as it is."""

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 2, lambda i, c: c + np.zeros(400_000), x)

    path = wg.export(f, np.ones(400_000)).save(folder / "zeros.wg")
    np.testing.assert_array_equal(wg.load(path)(np.ones(400_000)), np.ones(400_000))
