"""Which variables may be read behind an `if` or a loop before they are bound again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from wengert.engine.staged.names import Flow, bound, reads

Branching = ast.If | ast.For | ast.While


class Liveness:
    """The variables that are live behind the branches and loops of a function.

    Args:
        body: the statements of the function, without early exits.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._behind: dict[Branching, frozenset[str]] = {}
        self._pinned: frozenset[str] = frozenset()
        """What may be read behind any statement of the block, which an exception may end."""
        self._block(body, frozenset())

    def may_be_read(self, name: str, node: Branching | None) -> bool:
        """Return whether the value that a variable has at the end of a statement may be read behind it."""
        behind = self._behind.get(node) if node is not None else None
        return behind is None or name in behind

    def _block(self, statements: Sequence[ast.stmt], after: frozenset[str]) -> frozenset[str]:
        """Return what is live before statements, given what is live behind them."""
        for statement in reversed(statements):
            after = self._statement(statement, after | self._pinned)
        return after

    def _statement(self, node: ast.stmt, after: frozenset[str]) -> frozenset[str]:
        match node:
            case ast.If():
                self._behind[node] = after
                branches = self._block(node.body, after) | self._block(node.orelse, after)
                return branches.union(reads([node.test]))
            case ast.For():
                target = bound([node.target])
                self._loop(node, after | (Flow(node.body, target).exposed - {*target}))
                return (self._behind[node] | _own(node.target)).union(reads([node.iter]))
            case ast.While():
                self._loop(node, after.union(reads([node.test]), Flow(node.body).exposed))
                return self._behind[node]
            case ast.With():
                self._unsafe(node.body, after, [])
                return after.union(reads([node]))
            case ast.Try():
                self._unsafe(node.body, after, [*node.handlers, *node.orelse, *node.finalbody])
                for block in (*(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                    self._unsafe(block, after, node.finalbody)
                return after.union(reads([node]))
            case ast.Match():
                for case in node.cases:
                    self._block(case.body, after)
                return after.union(reads([node]))
            case ast.Raise():
                return self._pinned.union(reads([node]))
            case ast.Assign(targets=targets):
                names = frozenset(name for target in targets for name in _names(target))
                return (after - names).union(reads([node]))
            case _:
                return after.union(reads([node]))

    def _loop(self, node: ast.For | ast.While, behind: frozenset[str]) -> None:
        """Note what is live behind each turn of a loop, which is also live before it."""
        self._behind[node] = behind
        self._block(node.body, behind)

    def _unsafe(self, body: Sequence[ast.stmt], after: frozenset[str], others: Iterable[ast.AST]) -> None:
        """Note what is live in a block that an exception may end, which something around it catches."""
        before, self._pinned = self._pinned, (self._pinned | after).union(reads(others))
        self._block(body, after)
        self._pinned = before


def _names(target: ast.expr) -> list[str]:
    """Return the variables that an assignment to a target surely binds."""
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [name for part in parts for name in _names(part)]
        case ast.Starred(value=value):
            return _names(value)
        case _:
            return []


def _own(target: ast.expr) -> frozenset[str]:
    """Return the variables that a target reads, such as the array of an element."""
    return frozenset(reads([target]))
