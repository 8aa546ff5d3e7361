"""The variables of a function that may be None, and where it reads them without asking for more."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator, Sequence

_EQUAL = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)


class Nones:
    """What the source of a function says of None.

    Args:
        body: its statements, or the expression of a lambda.
        arguments: its parameters.
        own: its variables.
    """

    def __init__(self, body: Sequence[ast.AST], arguments: ast.arguments, own: set[str]) -> None:
        nodes = [part for node in body for part in ast.walk(node)]
        self.names = {*_by_default(arguments), *_compared(nodes)}
        """The variables."""
        pairs = [pair for node in nodes for pair in _assigned(node)]
        for name, value in pairs:
            if any(_is_none(part) or _is_of_user(part, own) for part in _values(value)):
                self.names.add(name)
        before = -1
        while len(self.names) != before:
            before = len(self.names)
            self.names.update(name for name, value in pairs if any(map(self._is_nullable, _values(value))))
        self.passed: dict[ast.Name, ast.expr | None] = {}
        """Reads that allow None, with the function that is called with the value."""
        if self.names:
            for node in nodes:
                self._pass(node)

    def _is_nullable(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Name) and value.id in self.names

    def _pass(self, node: ast.AST) -> None:
        """Note the reads of a node that allow None."""
        for value in _passing(node):
            self._note(value)
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for number, operand in enumerate((left, *comparators)):
                    if all(isinstance(op, _EQUAL) for op in ops[max(number - 1, 0) : number + 1]):
                        self._note(operand)
            case ast.Call(func=function, args=args, keywords=keywords):
                for value in args:
                    self._note(value, copy.deepcopy(function) if _is_dotted(function) else None)
                for keyword in keywords:
                    self._note(keyword.value)
            case _:
                pass

    def _note(self, value: ast.expr | None, function: ast.expr | None = None) -> None:
        for part in _values(value):
            if isinstance(part, ast.Name):
                self.passed[part] = function if part is value else None


def _passing(node: ast.AST) -> Sequence[ast.expr | None]:
    """Return what a node passes on, or asks the truth of."""
    match node:
        case ast.Assign(value=value) | ast.NamedExpr(value=value) | ast.Expr(value=value):
            return [value]
        case ast.AnnAssign(value=value) | ast.Return(value=value):
            return [value]
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return [test]
        case ast.UnaryOp(op=ast.Not(), operand=test):
            return [test]
        case ast.BoolOp(values=values) | ast.comprehension(ifs=values):
            return values
        case _:
            return ()


def _by_default(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    for argument, default in (*given, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if default is not None and _is_none(default):
            yield argument.arg


def _compared(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(map(_is_none, operands)):
                yield from (operand.id for operand in operands if isinstance(operand, ast.Name))


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Return the variables that a node assigns, with what it assigns."""
    match node:
        case ast.Assign(targets=targets, value=value):
            waiting: list[tuple[ast.expr, ast.expr]] = [(target, value) for target in targets]
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            waiting = [(target, value)]
        case _:
            return
    while waiting:
        target, value = waiting.pop()
        match target, value:
            case ast.Name(id=name), _:
                yield name, value
            case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
                waiting += zip(targets, values, strict=True)
            case _:
                pass


def _values(value: ast.expr | None) -> Iterator[ast.expr]:
    """Return the expressions one of which, or all of which in a display, an expression passes on."""
    match value:
        case None:
            pass
        case ast.IfExp(body=body, orelse=orelse):
            yield from _values(body)
            yield from _values(orelse)
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _values(part)
        case ast.NamedExpr(value=inner):
            yield from _values(inner)
        case _:
            yield value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_of_user(node: ast.expr, own: set[str]) -> bool:
    """Return whether an expression seems to call a function of the user's, which may return None."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Name):
        return not hasattr(builtins, function.id)
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in own


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
