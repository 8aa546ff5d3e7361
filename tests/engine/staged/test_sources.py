"""Statements parsed again, alone, against those of the whole file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from wengert.engine.staged import sources

ODD = '''
text = """
def f(): pass
"""; g = lambda x: x + 1; h = lambda x: (
    x * 2)
if text:
    @staticmethod
    def k(x):
        return x
@property
def late(x): return "é", x;
k = lambda: 0  # the file ends without a line break'''
FILES = [
    ODD,
    *(path.read_text("utf-8") for path in sorted(Path(__file__).parents[1].glob("control/*.py"))[:6]),
]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_a_statement_parsed_again_is_the_same(text: str) -> None:
    lines = tuple(text.splitlines(keepends=True))
    nodes = sources._parsed(lines)
    assert nodes
    for node in nodes:
        copied = sources._copied(lines, node)
        assert copied is not node
        assert ast.dump(copied, include_attributes=True) == ast.dump(node, include_attributes=True)
