"""Threads parse source at once."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wengert.engine.core import parsing


def test_threads_parse_at_once() -> None:
    source = "\n".join(f"def f{n}(x):\n    return [x + {n}, (x, -x, {{x: {n}}})]" for n in range(60))
    expected = ast.dump(ast.parse(source))
    before = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)  # other threads run in between where garbage is collected
    try:
        with ThreadPoolExecutor(8) as pool:
            trees = list(pool.map(parsing.statements, [source] * 24))
    finally:
        sys.setswitchinterval(before[0])
        gc.set_threshold(*before[1])
    assert {ast.dump(ast.Module(tree, [])) for tree in trees} == {expected}


def test_a_thread_of_another_library_in_between_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = ast.parse, [0]

    def disturbed(*arguments: object, **options: object) -> object:
        calls[0] += 1
        if calls[0] < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=66, after=51)")
        return parse(*arguments, **options)  # pyright: ignore

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(parsing.expression("x + 1")) == "x + 1"
    with pytest.raises(SyntaxError):
        parsing.statements("x +")


LOOPS = """
def body(x):
    return x * x


def alone(x):
    return x + x


def program(x):
    for _ in range(3):
        x = body(x)
    y = [
        n * x
        for n in (1, 2)
    ]
    return y
"""


@pytest.mark.parametrize(
    ("line", "expected"), [(3, True), (7, False), (12, True), (14, True), (17, False), (99, False)]
)
def test_a_line_in_a_loop_or_in_a_function_that_a_loop_calls(
    tmp_path: Path, line: int, expected: bool
) -> None:
    path = tmp_path / "loops.py"
    path.write_text(LOOPS)
    assert parsing.in_loop(f"loops.py:{line}", [__file__, str(path)]) is expected
    assert not parsing.in_loop(f"other.py:{line}", [str(path)])
