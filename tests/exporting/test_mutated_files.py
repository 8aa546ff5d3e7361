"""Saved functions changed at random, with the digest recomputed: refused, or run inside of their arrays."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.explorer.samples import SeededDraw
from tests.exporting.mutations import NAMES, PROGRAMS, Mutator, file, members
from wengert.engine.control.scan_while import scan_while
from wengert.engine.core.errors import OutOfRangeError, WengertError
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Equation, Graph, Var
from wengert.engine.ir.parser import parse
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.linalg.sparse_products import sparse_product
from wengert.engine.ops.linalg.sparse_solution import sparse_solve
from wengert.engine.primitive import OF_PROGRAMS, REGISTRY
from wengert.engine.transforms.staging import evaluate
from wengert.exporting import saved
from wengert.exporting.checked import check_graph
from wengert.exporting.saved import SavedFunctionError

ROOT = Path(__file__).resolve().parents[2]
SEED = 43


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("mutants")
    for name, (fun, arguments) in PROGRAMS.items():
        wg.export(fun, *arguments).save(place / f"{name}.wg")
    return place


def outcomes(folder: Path, first: int, last: int, *options: str) -> dict[str, int]:
    """Load and run mutants in a process of their own, and return how many had each outcome; a crash fails the test."""
    arguments = [*map(str, (SEED, first, last, folder)), *options]
    command = [sys.executable, "-m", "tests.exporting.mutants", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=6000)
    place = (folder / f"place{first}").read_text().strip()
    assert done.returncode == 0, f"mutant {place} of seed {SEED}: {done.returncode} {done.stderr[-2000:]}"
    found = json.loads(done.stdout)
    assert not found["wrong"], found["wrong"]
    return found["found"]


@pytest.mark.skipif(sys.platform == "win32", reason="the guards are pages of POSIX")
def test_a_share_of_the_mutants(folder) -> None:
    found = outcomes(folder, 0, 2 * len(PROGRAMS), "plain")
    assert found["refused"] > 20
    assert found["ran"] > 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the guards are pages of POSIX")
@pytest.mark.parametrize("first", range(0, 100_000, 1_000))
def test_mutants(folder, first) -> None:
    outcomes(folder, first, first + 1_000, "plain")


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
        ("numbers", r"integer_power\[exponent=3\]\(\w+\)", "lu_by_columns(x1)"),
        ("rules", r"-2\)", "2)"),
        ("rules", r"extents=\(3, 4\)", "extents=(3, 5)"),
        ("rules", r"shape=\(7,\)", "shape=(70,)"),
        ("spectrum", r"half='L'", "half='X'"),
    ],
)
def test_parameters_are_those_of_the_rules(folder, name, pattern, other) -> None:
    with pytest.raises(SavedFunctionError):
        wg.load(changed(folder / f"{name}.wg", pattern, other))


@pytest.mark.parametrize("turns", [pytest.param(4, marks=pytest.mark.exhaustive), 10**6, 2**62, -(2**40)])
@pytest.mark.parametrize("reverse", ["True", "False"])
def test_a_bounded_loop_ends_with_its_rows(folder, turns, reverse) -> None:
    def f(x: Any, n: Any) -> Any:
        return wg.grad(
            lambda x: np.sum(wg.while_loop(lambda c: c[0] < n, lambda c: c + 0.5 * np.sin(c), x, most=3))
        )(x)

    path = wg.export(f, x := np.full(64, 0.5), 0.0).save(folder / "bounded.wg")
    path = changed(path, "length=3, reverse=True", f"length=3, reverse={reverse}")

    def of_turns(number: int) -> Any:
        """Return the slope if the backward loop is said to take so many turns."""
        place = changed(
            path, r"constants=0, carries=1\]\((v\d+|i64\S+),", f"constants=0, carries=1](i64({number}),"
        )
        return wg.load(place)(x, 1.2)  # three turns

    np.testing.assert_array_equal(of_turns(turns), of_turns(3 if turns > 0 else 0))


# -- operations ------------------------------------------------------------------------------------------

OPERATIONS = [
    operation
    for operation in map(REGISTRY.__getitem__, NAMES)
    if operation.samples is not None and operation.derivative is not OF_PROGRAMS
]


def graph_of(operation: Any, operands: Any, params: Any) -> Graph:
    """Return the graph of an operation."""
    inputs = tuple(Var(type_of(x)) for x in operands)
    found = operation.infer(*(var.type for var in inputs), **params)
    outputs = tuple(map(Var, (found,) if isinstance(found, TensorType) else found))
    return Graph(inputs, (), (Equation(operation.name, inputs, outputs, params),), outputs)


def loaded(graph: Graph) -> Graph | None:
    """Return a graph as a file holds it, None if it is refused."""
    try:
        graph = parse(graph.text(full=True))
        check_graph(graph)
    except Exception:  # as `wengert.exporting.saved.read`
        return None
    return graph


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(24))
def test_operations_of_files_compute_what_their_rules_infer(part) -> None:
    """Each operation, with a change: it is refused, or its evaluation takes what its rules accept."""
    for operation in OPERATIONS[part::24]:
        for seed in range(part, part + many(8)):
            operands, params = operation.samples(SeededDraw(seed))
            graph, mutator = graph_of(operation, operands, params), Mutator(None, [seed, 43])
            assert loaded(graph) is not None, graph
            graph = loaded(mutator.changed(graph))
            if graph is None or operation.name.endswith("inc_slope"):  # of high orders they take minutes
                continue
            if sum(size(var.type.shape) for var in graph.defined()) > 10**5:
                continue
            values = [mutator.argument(type_) for type_ in graph.input_types]
            with np.errstate(all="ignore"), contextlib.suppress(WengertError):
                results = evaluate(graph, *values)
                assert [type_of(x)[:2] for x in results] == [t[:2] for t in graph.output_types], graph


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_operations_of_files_take_their_operands_and_parameters(operation) -> None:
    operands, params = operation.samples(SeededDraw(1))
    graph = graph_of(operation, operands, params)
    (equation,) = graph.equations
    wrong = [{name: params[name] for name in params if name != missing} for missing in params]
    wrong += [{**params, name: None} for name in (*params, "more")]
    changed = [replace(equation, params=values) for values in wrong]
    if operation.name not in ("gather", "contract", "last_writer", "concatenate"):  # they take any number
        changed += [replace(equation, operands=(*equation.operands, x)) for x in equation.operands[:1]]
    for equation in changed:
        assert loaded(replace(graph, equations=(equation,))) is None, equation


@pytest.mark.parametrize("seed", range(40))
def test_places_of_stored_elements_are_checked(seed) -> None:
    """A column or an end of a row that lies elsewhere is an error where SciPy would read the memory there."""
    r = np.random.default_rng(seed)
    rows, most = int(r.integers(1, 40)), int(r.integers(1, 6))
    ends = np.concatenate([[0], np.cumsum(r.integers(1, most + 1, rows))])
    columns = r.integers(0, rows, ends[-1])
    data, b = r.normal(size=ends[-1]), r.normal(size=rows)
    wrong = int(r.choice([-1, -3, rows + ends[-1] + 1, 10**6, 2**40, -(2**62)]))
    place = r.integers(1, len(ends))
    bad_columns, bad_ends = columns.copy(), ends.copy()
    bad_columns[r.integers(ends[-1])] = bad_ends[place] = wrong
    part, transposed = r.choice([1, 1j]), bool(r.integers(2))

    def product(b: Any, data: Any, columns: Any, ends: Any) -> Any:
        return sparse_product(b * part, data, columns, ends, width=rows, transposed=transposed)

    def solution(b: Any, data: Any, columns: Any, ends: Any) -> Any:
        return sparse_solve(b * part, data, columns, ends, transposed=transposed)

    compiled = (wg.jit(product), wg.jit(solution)) if seed % 3 == 0 else ()
    for function in (product, solution, *compiled):
        for places in ((bad_columns, ends), (columns, bad_ends)):
            with pytest.raises(OutOfRangeError):
                function(b, data, *places)


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_turns_that_do_not_happen_are_zeros(seed) -> None:
    """A compiled loop that leaves rows behind returns no memory that was there before."""
    r = np.random.default_rng(seed)
    most, width, turns = int(r.integers(1, 300)), int(r.integers(1, 9)), int(r.integers(0, 5))
    order = r.permutation(2)

    def f(x: Any, n: Any) -> Any:
        _, _, rows = scan_while(lambda c: c[0] < n, lambda c: ((c[0] + 1, c[1] * 2), c[1]), (0, x), most=most)
        return np.transpose(rows, order), rows[:, 0] if seed % 2 else rows

    def nested(x: Any, n: Any) -> Any:
        return wg.scan(lambda c, _: (c, f(x, n)), 0.0, None, length=2)[1]

    for function in (f, nested):
        compiled, x = wg.jit(function), np.ones(width)
        for result in compiled(x, min(turns, most)):
            dirty = [np.full(result.shape, 7.0) for _ in range(9)]
            del dirty
        for result in compiled(x, min(turns, most)):
            assert np.count_nonzero(result) <= 2 * min(turns, most) * width


# -- sizes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "member", ["functions.json", "1/graph.txt", "1/arguments/0.npy", "1/constants/0.npy"]
)
def test_no_member_unpacks_to_more_than_it_promises(folder, member) -> None:
    parts = members((folder / "constants.wg").read_bytes())
    path = folder / "long.wg"
    path.write_bytes(file({**parts, member: parts[member] + b" " * 20_000_000}))
    assert path.stat().st_size < 200_000
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


def test_long_texts_of_one_letter_come_back(folder, monkeypatch) -> None:
    """A text that packs to less than a hundredth is stored as it is."""
    monkeypatch.setattr(saved, "_FREE_TEXT", saved._FREE_TEXT // 4)

    def f(x: Any) -> Any:
        return wg.fori_loop(0, 2, lambda i, c: c + np.zeros(100_000), x)

    path = wg.export(f, np.ones(100_000)).save(folder / "zeros.wg")
    np.testing.assert_array_equal(wg.load(path)(np.ones(100_000)), np.ones(100_000))
