"""`match` statements over values, and methods of one of two objects, as `if` statements, which a program can decide.

Patterns of values, their alternatives, names and the wildcard have such a chain. Other patterns ask for the class or
the parts of an object, which are known: a `match` statement of its own asks for these and names the parts, whose values
are tests of the chain. Python asks for True, False and None by ``is``.
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
        number = next(self._numbers)
        name = f"__wengert_subject{number}__"
        parts = [
            None if _is_plain(case.pattern) else _Parts(case.pattern, f"__part{number}_{place}")
            for place, case in enumerate(node.cases)
        ]
        asks = any(
            part is not None and (part.tests or case.guard)
            for part, case in zip(parts, node.cases, strict=True)
        )
        if any(parts) and not (asks and all(part is None or part.is_split for part in parts)):
            return node
        first = ast.Assign([ast.Name(name, ast.Store())], node.subject)
        made = [first, *_chain(name, node.cases, parts)]
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
    return _is_of_values(pattern) or (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)


def _is_of_values(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(map(_is_of_values, patterns))
        case _:
            return False


class _Parts(ast.NodeTransformer):
    """A pattern of parts, split into one that names them, the tests of their values, and the names that it binds.

    Args:
        pattern: the pattern.
        prefix: of the names of parts; not that of what branches always keep.
    """

    def __init__(self, pattern: ast.pattern, prefix: str) -> None:
        self._prefix = prefix
        self.fits = f"{prefix}_fits__"
        self.tests: list[ast.expr] = []
        self.bound: dict[str, str] = {}
        self.is_split = True
        self.names: list[str] = []
        self.pattern: ast.pattern = self.visit(copy.deepcopy(pattern))

    def visit(self, node: ast.AST) -> Any:
        """Name a part that is a value, and leave an expression, such as the class of an object, as it is."""
        if isinstance(node, ast.expr):
            return node
        if isinstance(node, ast.pattern) and _is_of_values(node):
            name = self._named()
            self.tests += _tests(name, node)
            return ast.copy_location(ast.MatchAs(None, name), node)
        return super().visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> ast.pattern:
        """Alternatives of parts stay whole if nothing in them is a value."""
        inner = [part for part in ast.walk(node) if isinstance(part, ast.MatchValue | ast.MatchSingleton)]
        self.is_split &= not inner
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.pattern:
        """Bind a name of its own in the place of the user's."""
        self.generic_visit(node)
        return self._renamed(node, "name")

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.pattern:
        """Bind the rest of a sequence so."""
        return self._renamed(node, "name")

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.pattern:
        """Bind the rest of a dictionary so."""
        self.generic_visit(node)
        return self._renamed(node, "rest")

    def _renamed(self, node: Any, field: str) -> Any:
        if (users := getattr(node, field)) is not None:
            self.bound[users] = self._named()
            setattr(node, field, self.bound[users])
        return node

    def _named(self) -> str:
        self.names.append(f"{self._prefix}_{len(self.names)}__")
        return self.names[-1]

    def asked(self, subject: str) -> list[ast.stmt]:
        """Return statements that bind the parts, and to ``fits`` whether the pattern but for the values fits."""
        unbound = [_assign(name, ast.Constant(None)) for name in self.names]
        yes = ast.match_case(self.pattern, None, [_assign(self.fits, ast.Constant(True))])
        no = ast.match_case(ast.MatchAs(), None, [_assign(self.fits, ast.Constant(False))])
        return [*unbound, ast.Match(ast.Name(subject, ast.Load()), [yes, no])]

    def binding(self) -> list[ast.stmt]:
        """Return the assignments of the user's names."""
        return [_assign(users, ast.Name(own, ast.Load())) for users, own in self.bound.items()]


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _chain(subject: str, cases: Sequence[ast.match_case], parts: Sequence[_Parts | None]) -> list[ast.stmt]:
    if not cases:
        return []
    (case, *others), (part, *rest) = cases, parts
    made: list[ast.stmt] = []
    guard = [case.guard] if case.guard is not None else []
    body = case.body
    if part is None:
        tests = _tests(subject, case.pattern)
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
            binding = _assign(case.pattern.name, ast.Name(subject, ast.Load()))
            made.append(ast.copy_location(binding, case.pattern))
    else:
        made += part.asked(subject)
        tests = [ast.Name(part.fits, ast.Load()), *part.tests]
        if guard and part.bound:  # Python binds names before it asks the guard
            made.append(ast.If(_all_of(copy.deepcopy(tests)), part.binding(), []))
        else:
            body = [*part.binding(), *body]
    tests += guard
    if not tests:
        return [*made, *body]
    chosen = ast.If(ast.copy_location(_all_of(tests), case.pattern), body, _chain(subject, others, rest))
    return [*(ast.copy_location(one, case.pattern) for one in made), ast.copy_location(chosen, case.pattern)]


def _all_of(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _tests(subject: str, pattern: ast.pattern) -> list[ast.expr]:
    """Return what must hold for a subject to have one of the values of a pattern."""
    made: list[ast.expr] = []
    for value in pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]:
        name = ast.Name(subject, ast.Load())
        match value:
            case ast.MatchValue(value=constant):
                made.append(ast.Compare(name, [ast.Eq()], [constant]))
            case ast.MatchSingleton(value=constant):
                made.append(ast.Compare(name, [ast.Is()], [ast.Constant(constant)]))
            case _:
                pass
    return [ast.BoolOp(ast.Or(), made)] if len(made) > 1 else made
