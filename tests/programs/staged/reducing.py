"""The smallest program that still differs, by its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

#: Stands for no source: longer than any.
_NONE = "(" * 100_000


def reduced(source: str, fails: Callable[[str], bool], most: int = 600) -> str:
    """Return a smaller source that still fails.

    Args:
        source: a failing source.
        fails: returns whether a source fails in the same way.
        most: how many sources are tried.
    """
    tried, smaller = 0, True
    while smaller:
        smaller, number = False, 0
        while number < len(edits := _edits(source)):
            if tried >= most:
                return source
            candidate = edits[number]()
            if len(candidate) < len(source) and candidate != source:
                tried += 1
                if fails(candidate):
                    source, smaller = candidate, True
                    continue  # the next edit has this number now
            number += 1
    return source


def _edits(source: str) -> list[Callable[[], str]]:
    """Return functions that make smaller sources: without statements, without what is around, with parts of terms."""
    tree = ast.parse(source)
    blocks = [*_blocks(tree)]
    found: list[Callable[[], str]] = []
    for size in (16, 4, 1):
        for number, statements in enumerate(blocks):
            for first in reversed(range(0, len(statements), size)):
                if size == 1 or len(statements) > 1:
                    found.append(partial(_without, tree, number, first, size))
    for number, statements in enumerate(blocks):
        for position, node in enumerate(statements):
            if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)):
                found += [
                    partial(_unwrapped, tree, number, position, part) for part in ("body", "orelse", "")
                ]
    for number, node in enumerate(_expressions(tree)):
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            found += [partial(_replaced, tree, number, part) for part in range(len(_parts(node)))]
    return found


def _expressions(tree: ast.AST) -> list[ast.expr]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.expr)]


def _replaced(tree: ast.Module, number: int, part: int) -> str:
    made = copy.deepcopy(tree)
    target = _expressions(made)[number]
    return _text(_Replacing(target, _parts(target)[part]).visit(made))


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(node, name, None)
            if isinstance(part, list) and part:
                yield part


def _without(tree: ast.Module, number: int, first: int, size: int) -> str:
    made = copy.deepcopy(tree)
    statements = [*_blocks(made)][number]
    removed = statements[first : first + size]
    if any(isinstance(node, ast.FunctionDef) and node.name in ("program", "total") for node in removed):
        return _NONE
    statements[first : first + size] = [node for node in removed if isinstance(node, ast.Return) and size > 1]
    if not statements:
        statements.append(ast.Pass())
    return _text(made)


def _unwrapped(tree: ast.Module, number: int, position: int, part: str) -> str:
    """Return a source with the statements of a block in the place of the statement, or without its `else`."""
    made = copy.deepcopy(tree)
    statements = [*_blocks(made)][number]
    node: Any = statements[position]
    if not part:
        if not getattr(node, "orelse", None):
            return _NONE
        node.orelse = []
        return _text(made)
    inner = getattr(node, part, [])
    if not inner:
        return _NONE
    if isinstance(node, ast.For) and part == "body":
        inner = [ast.Assign([node.target], ast.Constant(1)), *inner]
    statements[position : position + 1] = inner
    return _text(made)


def _parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.BoolOp(values=values):
            return [*values]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return [body, orelse, test]
        case ast.Call(args=arguments) if arguments:
            return [part for part in arguments if not isinstance(part, ast.Starred)]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others) if len(others) > 1:
            return [
                ast.Compare(left, [node.ops[0]], [others[0]]),
                ast.Compare(others[0], [node.ops[1]], [others[1]]),
            ]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Tuple(elts=elements) if len(elements) > 1:
            return [ast.Tuple([x for x in elements if x is not y], ast.Load()) for y in elements]
        case ast.NamedExpr(value=value):
            return [value]
        case ast.Subscript():
            return [ast.Constant(0.5)]
        case ast.Name():
            return [ast.Constant(1)]
        case _:
            return []


class _Replacing(ast.NodeTransformer):
    def __init__(self, target: ast.AST, by: ast.AST) -> None:
        self._target, self._by = target, by

    def visit(self, node: ast.AST) -> Any:
        """Replace the target."""
        return self._by if node is self._target else self.generic_visit(node)


def _text(tree: ast.AST) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError, RecursionError):
        return _NONE
