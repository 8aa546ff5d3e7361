"""The variables of a block: those that it binds, and those that it may read before it binds them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Known = frozenset[str] | None
"""The variables that are bound at a place; None behind a `raise`."""


def bound(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the variables of a function that its statements bind or delete, in their order."""
    found: dict[str, None] = {}
    for node in nodes:
        _bind(node, found)
    return list(found)


def _bind(node: ast.AST, found: dict[str, None], is_sure: bool = False) -> None:
    """Add the variables that a node binds, or only those that it binds for certain."""
    inner: Iterable[ast.AST] = ()
    match node:
        case _ if is_sure and (parts := _evaluated(node)) is not None:
            inner = parts
        case ast.Name():
            if not isinstance(node.ctx, ast.Load):
                found[node.id] = None
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found[name] = None
            inner = _outside(node)
        case ast.Lambda():
            inner = _outside(node)
        case _ if isinstance(node, COMPREHENSIONS):
            # The targets belong to the comprehension, those of `:=` do not.
            own = [part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
            found.update(dict.fromkeys(own))
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
        _bind(child, found, is_sure)


def _evaluated(node: ast.AST) -> list[ast.AST] | None:
    """Return the parts of an expression that are evaluated for certain; None for all of them."""
    match node:
        case ast.BoolOp(values=[first, *_]):
            return [first]
        case ast.IfExp(test=test) | ast.Assert(test=test):
            return [test]
        case ast.Compare(left=left, comparators=[first, *_]):
            return [left, first]
        case _ if isinstance(node, COMPREHENSIONS):
            return [node.generators[0].iter]
        case _:
            return None


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


def surely(node: ast.AST) -> list[str]:
    """Return the variables that a statement without blocks, or an expression, binds unless it raises an exception.

    The operands of `and` behind the first one, say, may not be evaluated.
    """
    if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
        return bound([node])
    found: dict[str, None] = {}
    _bind(node, found, is_sure=True)
    return list(found)


class Flow:
    """Which reads of a block may come before the variable is bound."""

    def __init__(self, statements: Sequence[ast.AST], known: Iterable[str] = ()) -> None:
        self.exposed: set[str] = set()
        """The variables of such reads."""
        self.unsure: set[ast.Name] = set()
        """These reads, but for those of inner functions, and reads where a condition tells that a variable is bound."""
        self._told: frozenset[str] = frozenset()
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
                known = _with(known, surely(node.test))
                yes = self._where(node.test, True, node.body, known)
                return _both(yes, self._where(node.test, False, node.orelse, known))
            case ast.While():
                self._read([node.test], known)
                self._where(node.test, True, node.body, _with(known, surely(node.test)))
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
                return _with(known, surely(node))

    def _where(self, test: ast.expr, holds: bool, statements: Sequence[ast.AST], known: Known) -> Known:
        """Go through a block that runs where a condition holds, or does not."""
        before = self._told
        self._told = before.union(_told(test, holds)) - (known or frozenset())
        found = self._block(statements, _with(known, self._told))
        self._told = before
        return found

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
                case _ if isinstance(node, COMPREHENSIONS):
                    targets = [part.target for part in node.generators]
                    self._read(ast.iter_child_nodes(node), _with(known, bound(targets)))
                case _:
                    self._read(ast.iter_child_nodes(node), known)

    def _name(self, node: ast.Name, known: Known) -> None:
        if known is None:
            return
        if node.id not in known:
            self.exposed.add(node.id)
        if (node.id not in known or node.id in self._told) and not self._inner:
            self.unsure.add(node)


def _told(test: ast.expr, holds: bool) -> list[str]:
    """Return the variables that are bound where a condition holds, or does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _told(operand, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            return [name for value in values for name in _told(value, holds)]
        case ast.Compare(left=left, comparators=others) if holds:
            return [name for value in (left, *others) for name in surely(value)]
        case _:
            return surely(test)


def _with(known: Known, names: Iterable[str]) -> Known:
    return None if known is None else known.union(names)


def _both(one: Known, other: Known) -> Known:
    if one is None or other is None:
        return other if one is None else one
    return one & other
