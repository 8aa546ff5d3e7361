"""The variables of a block: those that it binds, and those that it may read before it binds them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Known = frozenset[str] | None
"""The variables that are bound at a place; None behind a `raise`."""


def bound(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the variables of a function that its statements bind or delete, in their order."""
    found: dict[str, None] = {}
    for node in nodes:
        _bind(node, found)
    return list(found)


def _bind(node: ast.AST, found: dict[str, None]) -> None:
    """Add the variables that a node binds."""
    inner: Iterable[ast.AST] = ()
    match node:
        case ast.Name():
            if not isinstance(node.ctx, ast.Load):
                found[node.id] = None
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found[name] = None
            inner = _outside(node)
        case ast.Lambda():
            inner = _outside(node)
        case _ if isinstance(node, _COMPREHENSIONS):
            for part in ast.walk(node):  # the targets belong to the comprehension, those of `:=` do not
                if isinstance(part, ast.NamedExpr):
                    found[part.target.id] = None
        case ast.expr() | ast.stmt():
            inner = ast.iter_child_nodes(node)
        case ast.alias(name=name, asname=other):
            found[other or name.partition(".")[0]] = None
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            found[name] = None
            inner = ast.iter_child_nodes(node)
        case _:
            inner = ast.iter_child_nodes(node)
    for child in inner:
        _bind(child, found)


def _outside(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a definition that its enclosing function evaluates."""
    decorators = getattr(node, "decorator_list", [])
    bases = [*getattr(node, "bases", []), *getattr(node, "keywords", [])]
    arguments = getattr(node, "args", None)
    defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)] if arguments else []
    return [*decorators, *bases, *defaults]


def declared(statements: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """Return the names of the `global` or `nonlocal` statements of a function."""
    found: set[str] = set()
    for node in statements:
        if isinstance(node, kind):
            found.update(node.names)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            found |= declared(ast.iter_child_nodes(node), kind)
    return found


def parameters(arguments: ast.arguments) -> list[str]:
    """Return the parameters of a function."""
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    packed = [part for part in (arguments.vararg, arguments.kwarg) if part]
    return [argument.arg for argument in (*plain, *packed)]


def reads(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Count the reads of each name, those of inner functions included."""
    count: Counter[str] = Counter()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
                count[part.id] += 1
            elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
                count[part.target.id] += 1
    return count


def kept(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that inner functions read or bind: they may do so at any later time."""
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
                found.update(name.id for name in ast.walk(part) if isinstance(name, ast.Name))
    return found


class Flow:
    """Which reads of a block may come before the variable is bound.

    Args:
        statements: the block, without early exits.
        known: the variables that are bound before it.
    """

    def __init__(self, statements: Sequence[ast.AST], known: Iterable[str] = ()) -> None:
        self.exposed: set[str] = set()
        """The variables of such reads."""
        self.unsure: set[ast.Name] = set()
        """These reads, but for those of inner functions."""
        self._inner = 0
        self.end = self._block(statements, frozenset(known))
        """The variables that are bound after the block; None if it raises an error."""

    def _block(self, statements: Iterable[ast.AST], known: Known) -> Known:
        for statement in statements:
            known = self._statement(statement, known)
        return known

    def _statement(self, node: ast.AST, known: Known) -> Known:
        match node:
            case ast.If():
                self._read([node.test], known)
                known = _with(known, bound([node.test]))
                return _both(self._block(node.body, known), self._block(node.orelse, known))
            case ast.While():
                self._read([node.test], known)
                self._block(node.body, _with(known, bound([node.test])))
                return known
            case ast.For():
                self._read([node.iter], known)
                self._read([node.target], known)
                self._block(node.body, _with(known, bound([node.target])))
                return known
            case ast.With():
                self._read(node.items, known)
                self._block(node.body, _with(known, bound(node.items)))
                return known  # a context may swallow an exception of the body
            case ast.Try():
                return self._try(node, known)
            case ast.Match():
                self._read([node.subject], known)
                for case in node.cases:
                    inside = _with(known, bound([case.pattern]))
                    self._read(filter(None, [case.guard]), inside)
                    self._block(case.body, inside)
                return known
            case ast.Raise():
                self._read([node], known)
                return None
            case ast.Delete():
                self._read([node], known)
                return None if known is None else known - set(bound([node]))
            case ast.AugAssign(target=ast.Name() as target):
                self._name(target, known)
                self._read([node.value], known)
                return _with(known, [target.id])
            case _:
                self._read([node], known)
                return _with(known, bound([node]))

    def _try(self, node: ast.Try, known: Known) -> Known:
        after = self._block(node.orelse, self._block(node.body, known))
        for handler in node.handlers:
            self._read(filter(None, [handler.type]), known)
            after = _both(after, self._block(handler.body, _with(known, bound([handler])[:1])))
        end = self._block(node.finalbody, known)
        return None if after is None or end is None else after | end

    def _read(self, nodes: Iterable[ast.AST], known: Known) -> None:
        for node in nodes:
            match node:
                case ast.Name():
                    if not isinstance(node.ctx, ast.Store):
                        self._name(node, known)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                    self._read(_outside(node), known)
                    body = [node.body] if isinstance(node, ast.Lambda) else node.body
                    own = [] if isinstance(node, ast.ClassDef) else parameters(node.args)
                    self._inner += 1
                    self._read(body, _with(known, [*own, *bound(body)]))
                    self._inner -= 1
                case _ if isinstance(node, _COMPREHENSIONS):
                    targets = [part.target for part in node.generators]
                    self._read(ast.iter_child_nodes(node), _with(known, bound(targets)))
                case _:
                    self._read(ast.iter_child_nodes(node), known)

    def _name(self, node: ast.Name, known: Known) -> None:
        if known is not None and node.id not in known:
            self.exposed.add(node.id)
            if not self._inner:
                self.unsure.add(node)


def _with(known: Known, names: Iterable[str]) -> Known:
    return None if known is None else known.union(names)


def _both(one: Known, other: Known) -> Known:
    if one is None or other is None:
        return other if one is None else one
    return one & other
