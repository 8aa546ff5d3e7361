"""Early exits as flags: `break`, `continue` and `return` set a variable, and later statements run where none is set.

A branch that a compiled program may skip cannot jump out of a loop. So a loop reads the flags before each turn, and the
statements behind an exit stand in an ``if``. Where one branch always exits, they become the other branch.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.staged.places import placed

#: The variables of a function that say whether it has returned, and what.
RETURNED, VALUE = "__wengert_returned__", "__wengert_value__"
#: The call that says whether no flag is set.
CLEAR = "__wengert_clear__"
Loop = ast.For | ast.While
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class _Kinds(NamedTuple):
    """The exits of a statement that lead out of it."""

    returns: bool = False
    breaks: bool = False
    continues: bool = False

    def __or__(self, other: Any) -> Any:
        return _Kinds(*map(any, zip(self, other, strict=True)))


class _Around(NamedTuple):
    """The flags of the innermost loop around a statement."""

    broken: str = ""
    continued: str = ""


class Exits:
    """The body of a function without early exits."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._numbers = itertools.count(1)
        self.flags: dict[Loop, list[str]] = {}
        """The flags that end each loop."""
        body = function.body
        first = int(_is_docstring(body[0]))
        *others, last = body
        self.returns_early = any(_exits(statement).returns for statement in others) or (
            not isinstance(last, ast.Return) and _exits(last).returns
        )
        """Whether the function ends with `RETURNED` and `VALUE`."""
        if not self.returns_early:
            end = [last] if isinstance(last, ast.Return) else []
            kept = body[first : len(body) - len(end)]
            self.body = [*body[:first], *self._block(kept, _Around()), *end]
            return
        start = _assignment(RETURNED, ast.Constant(False), body[first])
        self.body = [*body[:first], start, *self._block(body[first:], _Around())]

    def _block(self, statements: Sequence[ast.stmt], around: _Around) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            rest = list(statements[number + 1 :])
            kinds = _exits(statement)
            match statement:
                case ast.Return(value=value):
                    given = value or ast.copy_location(ast.Constant(None), statement)
                    made.append(_assignment(VALUE, given, statement))
                    made.append(_assignment(RETURNED, ast.Constant(True), statement))
                    return made
                case ast.Break():
                    return [*made, _assignment(around.broken, ast.Constant(True), statement)]
                case ast.Continue():
                    return [*made, _assignment(around.continued, ast.Constant(True), statement)]
                case ast.If() if any(kinds):
                    rest = _pushed(statement, rest)
                case _:
                    pass
            made += self._statement(statement, around)
            if any(kinds):
                flags = _flags(kinds, around)
                return [*made, *([_where_clear(flags, self._block(rest, around), rest[0])] if rest else [])]
        return made

    def _statement(self, statement: ast.stmt, around: _Around) -> list[ast.stmt]:
        match statement:
            case ast.For() | ast.While():
                return self._loop(statement, around)
            case ast.If():
                statement.body = self._block(statement.body, around) or [_nothing(statement)]
                statement.orelse = self._block(statement.orelse, around)
            case ast.With():
                statement.body = self._block(statement.body, around)
            case ast.Try():
                self._try(statement, around)
            case ast.Match():
                for case in statement.cases:
                    case.body = self._block(case.body, around)
            case _:
                pass
        return [statement]

    def _try(self, statement: ast.Try, around: _Around) -> None:
        kinds = _exits_of_all(statement.body)
        statement.body = self._block(statement.body, around)
        for handler in statement.handlers:
            handler.body = self._block(handler.body, around)
        if statement.orelse:
            otherwise, first = self._block(statement.orelse, around), statement.orelse[0]
            statement.orelse = [_where_clear(_flags(kinds, around), otherwise, first)]
        statement.finalbody = self._block(statement.finalbody, around)

    def _loop(self, statement: Loop, around: _Around) -> list[ast.stmt]:
        number = next(self._numbers)
        inside = _Around(f"__wengert_broken{number}__", f"__wengert_continued{number}__")
        kinds = _exits_of_all(statement.body)
        body = self._block(statement.body, inside)
        if kinds.continues:
            body.insert(0, _assignment(inside.continued, ast.Constant(False), statement.body[0]))
        made: list[ast.stmt] = []
        if kinds.breaks:
            made.append(_assignment(inside.broken, ast.Constant(False), statement))
        flags = [inside.broken] * kinds.breaks + [RETURNED] * kinds.returns
        early = flags
        if isinstance(statement, ast.While) and _binds(statement.test):  # the test becomes part of the turn
            ended = f"__wengert_ended{number}__"
            made.append(_assignment(ended, ast.Constant(False), statement))
            turn = ast.If(statement.test, body, [_assignment(ended, ast.Constant(True), statement)])
            statement.test = ast.copy_location(ast.Constant(True), statement.test)
            body, flags = list[ast.stmt]([ast.copy_location(turn, statement)]), [*flags, ended]
        otherwise, statement.body, statement.orelse = statement.orelse, body, []
        self.flags[statement] = flags
        made.append(statement)
        if otherwise:
            made.append(_where_clear(early, self._block(otherwise, around), otherwise[0]))
        return made


def _binds(test: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(test))


def _pushed(statement: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Move the statements behind an `if` into the branch that goes on, if only one does; return those that stay."""
    on_true, on_false = _always_exits(statement.body), _always_exits(statement.orelse)
    if on_true and not on_false:
        statement.orelse = [*statement.orelse, *rest]
    elif on_false and not on_true:
        statement.body = [*statement.body, *rest]
    else:
        return [] if on_true else rest
    return []


def _always_exits(statements: Sequence[ast.stmt]) -> bool:
    """Return whether the last statement that runs is an exit."""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue() | ast.Raise():
                return True
            case ast.If(body=body, orelse=orelse):
                if _always_exits(body) and _always_exits(orelse):
                    return True
            case _:
                pass
    return False


def _exits_of_all(nodes: Sequence[ast.AST]) -> _Kinds:
    kinds = _Kinds()
    for node in nodes:
        kinds |= _exits(node)
    return kinds


def _exits(node: ast.AST) -> _Kinds:
    """Return the kinds of exits that lead out of a statement."""
    match node:
        case ast.Return():
            return _Kinds(returns=True)
        case ast.Break():
            return _Kinds(breaks=True)
        case ast.Continue():
            return _Kinds(continues=True)
        case ast.For() | ast.While():
            inside = _exits_of_all(node.body)
            return _Kinds(inside.returns) | _exits_of_all(node.orelse)
        case _ if isinstance(node, (*_SCOPES, ast.expr)):
            return _Kinds()
        case _:
            return _exits_of_all([*ast.iter_child_nodes(node)])


def _flags(kinds: _Kinds, around: _Around) -> list[str]:
    names = (RETURNED, around.broken, around.continued)
    return [name for name, is_set in zip(names, kinds, strict=True) if is_set]


def _where_clear(flags: Sequence[str], body: list[ast.stmt], at: ast.stmt) -> ast.stmt:
    """Return a statement that runs others where no flag is set."""
    names: list[ast.expr] = [ast.Name(flag, ast.Load()) for flag in flags]
    test: ast.expr = ast.Call(ast.Name(CLEAR, ast.Load()), names, []) if flags else ast.Constant(True)
    return placed(ast.If(test, body or [_nothing(at)], []), at)


def _assignment(name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    return placed(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _nothing(at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Pass(), at)


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
