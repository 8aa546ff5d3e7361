"""`match` statements over values, and methods of one of two objects, as `if` statements, which a program can decide.

Patterns of values, their alternatives, names and the wildcard have such a chain. Other patterns ask for the class or
the parts of an object, which are known: such a statement stays.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Sequence
from typing import Any


class Matching(ast.NodeTransformer):
    """Replaces the statements of a function that have a chain."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def visit_Match(self, node: ast.Match) -> Any:
        """Return the subject bound to a name of its own, and the chain."""
        self.generic_visit(node)
        if not all(_is_plain(case.pattern) for case in node.cases):
            return node
        name = f"__wengert_subject{next(self._numbers)}__"
        first = ast.Assign([ast.Name(name, ast.Store())], node.subject)
        made = [first, *_chain(name, node.cases)]
        return [ast.fix_missing_locations(ast.copy_location(one, node)) for one in made]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Return a branch for a call of a method of one of two objects: ``(low if x < 0 else high).append(x)``."""
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=ast.IfExp() as chosen, attr=name), args=given, keywords=named
            ):
                sides: list[list[ast.stmt]] = []
                for owner in (chosen.body, chosen.orelse):
                    method = ast.Attribute(owner, name, ast.Load())
                    call = ast.Call(method, copy.deepcopy(given), copy.deepcopy(named))
                    sides.append([ast.Expr(call)])
                made = ast.If(chosen.test, *sides)
                return self.visit_If(ast.fix_missing_locations(ast.copy_location(made, node)))
            case _:
                self.generic_visit(node)
                return node

    def visit_If(self, node: ast.If) -> ast.If:
        """Look inside of a branch."""
        self.generic_visit(node)
        return node


def _is_plain(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchAs(pattern=None):
            return True
        case ast.MatchOr(patterns=patterns):
            return all(isinstance(part, ast.MatchValue) for part in patterns)
        case _:
            return False


def _chain(subject: str, cases: Sequence[ast.match_case]) -> list[ast.stmt]:
    if not cases:
        return []
    case, *others = cases
    made: list[ast.stmt] = []
    tests = _tests(subject, case.pattern)
    if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
        binding = ast.Assign([ast.Name(case.pattern.name, ast.Store())], ast.Name(subject, ast.Load()))
        made.append(ast.copy_location(binding, case.pattern))
    tests += [case.guard] if case.guard is not None else []
    if not tests:
        return [*made, *case.body]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    chosen = ast.If(ast.copy_location(test, case.pattern), case.body, _chain(subject, others))
    return [*made, ast.copy_location(chosen, case.pattern)]


def _tests(subject: str, pattern: ast.pattern) -> list[ast.expr]:
    """Return what must hold for a subject to have one of the values of a pattern."""
    values = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    made: list[ast.expr] = [
        ast.Compare(ast.Name(subject, ast.Load()), [ast.Eq()], [value.value])
        for value in values
        if isinstance(value, ast.MatchValue)
    ]
    return [ast.BoolOp(ast.Or(), made)] if len(made) > 1 else made
