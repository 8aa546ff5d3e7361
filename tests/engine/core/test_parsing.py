"""Threads parse source at once."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

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
