"""Source whose control flow calls functions that decide, when it runs, whether a value is known.

A block becomes a function of its own that shares the variables of the user's function, so scopes, closures and lines
stay Python's. Functions that Python itself suspends or inspects stay as they are.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, cast

from wengert.engine.core.showing import WRITING
from wengert.engine.staged.exits import RETURNED, VALUE, Exits
from wengert.engine.staged.liveness import Branching, Liveness
from wengert.engine.staged.matching import Matching
from wengert.engine.staged.names import COMPREHENSIONS, Flow, bound, declared, kept, parameters
from wengert.engine.staged.nones import Nones
from wengert.engine.staged.places import placed

#: The parameter by which a lambda of rewritten source is known.
LAZY = "__wengert_lazy__"
#: How the names of functions of rewritten source begin and end.
PREFIX, SUFFIX = "__wengert_", "__"
#: Functions that look at the variables of the function that calls them.
_INSPECTING = {"locals", "vars", "dir", "eval", "exec"}
#: Functions of Python that have a counterpart for values that only a run knows.
BUILTIN_NAMES = {
    "len",
    "sum",
    "range",
    "zip",
    "enumerate",
    "reversed",
    "iter",
    "min",
    "max",
    "int",
    "bool",
    "any",
    "all",
    "round",
    "list",
    "sorted",
}
#: Functions of Python that tell None from others.
_TYPED = {"isinstance", "type", "callable", "id", "repr", "hasattr", "getattr"}
#: Functions of Python that go through a generator expression, and its elements one after another.
_FOLDS = {"any", "all", "sum"}
#: Functions of Python that go through all elements of a generator expression.
_EXTREMA = {"max", "min", "sorted", "list"}
#: The functions that compare tuples, too, and the expressions that may be tuples.
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equals",
    ast.NotEq: "differs",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
_MAY_BE_TUPLES = ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Tuple, ast.NamedExpr
_EAGER = (ast.Yield, ast.YieldFrom, ast.Await)


def rewritten(statement: ast.stmt) -> ast.stmt:
    """Return a statement of a module with its functions rewritten; the statement changes.

    Args:
        statement: a definition, or any other statement, which may contain lambdas.
    """
    return ast.fix_missing_locations(_Rewriting().visit(statement))


class _Function:
    """What the rewriting of a function needs to know of its variables.

    Args:
        node: the function.
        owner: the class around it, or an empty string.
    """

    def __init__(self, node: ast.FunctionDef | ast.Lambda, owner: str) -> None:
        body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
        self.owner = owner
        self.globals = declared(body, ast.Global)
        self.nonlocals = declared(body, ast.Nonlocal)
        self.parameters = parameters(node.args)
        self.first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
        self.kept = kept(body)
        self.own = {*self.parameters, *bound(body)} - self.globals - self.nonlocals
        self.nones = Nones(body, node.args, self.own)
        self.numbers = itertools.count(1)

    def mangled(self, name: str) -> str:
        """Return a name as Python calls it inside of a class."""
        is_private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner.lstrip('_')}{name}" if is_private else name


def _is_unsuitable(node: ast.FunctionDef) -> bool:
    """Return whether a function must stay as it is."""
    return any(
        isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith))
        or (isinstance(part, ast.Name) and part.id in _INSPECTING)
        for statement in node.body
        for part in ast.walk(statement)
    )


class _Rewriting(ast.NodeTransformer):
    """Rewrites the functions of a statement."""

    def __init__(self) -> None:
        self._function: _Function | None = None
        self._owner = ""
        self._flags: dict[Any, list[str]] = {}
        self._unsure: set[ast.Name] = set()
        self._liveness = Liveness([])
        self._tests: set[ast.expr] = set()
        """Expressions of which only the truth counts."""
        self._waiting: list[ast.stmt] | None = None
        """Definitions that stand before the present statement; None where there is no place for them."""

    # -- definitions -------------------------------------------------------------------------------------

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Rewrite the methods of a class; its own statements run at once."""
        before = self._function, self._owner
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.bases = [self.visit(part) for part in node.bases]
        self._function, self._owner = None, node.name
        node.body = [self.visit(part) for part in node.body]
        self._function, self._owner = before
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """Leave a coroutine as it is."""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Rewrite the body of a function."""
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        node.args.kw_defaults = [part and self.visit(part) for part in node.args.kw_defaults]
        if _is_unsuitable(node):
            return node
        before = self._function, self._flags, self._unsure, self._liveness
        node.body = [one for statement in node.body for one in _listed(Matching().visit(statement))]
        exits = Exits(node)
        node.body = exits.body
        self._function, self._flags = _Function(node, self._owner), exits.flags
        known = {*self._function.parameters, RETURNED, *exits_flags(exits)}
        self._unsure = {name for name in Flow(node.body, known).unsure if name.id in self._function.own}
        self._liveness = Liveness(node.body)
        node.body = self._body(node, exits)
        self._function, self._flags, self._unsure, self._liveness = before
        return node

    def _body(self, node: ast.FunctionDef, exits: Exits) -> list[ast.stmt]:
        function = self._function
        assert function is not None
        body = self._block(node.body)
        if exits.returns_early:
            result = _call("result", _state([RETURNED, VALUE]))
            body.append(placed(ast.Return(result), node.body[-1]))
        names = sorted(name for name in function.own if name not in function.parameters)
        if names:  # the blocks bind them; Python must know that they are variables of this function
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
            none = placed(ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], []), body[0])
            body.insert(int(ast.get_docstring(node, clean=False) is not None), none)
        return body

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Rewrite the expression of a lambda of the user's."""
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        before = self._function, self._unsure, self._waiting
        self._function, self._unsure, self._waiting = _Function(node, self._owner), set(), None
        node.body = self.visit(node.body)
        self._function, self._unsure, self._waiting = before
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rewrite the parts of a node; no definition outside of a comprehension reads the variables of that."""
        if not isinstance(node, COMPREHENSIONS):
            return super().generic_visit(node)
        before, self._waiting = self._waiting, None
        super().generic_visit(node)
        self._waiting = before
        return node

    # -- statements --------------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        first = _end(statements)
        made = [one for statement in statements[:first] for one in self._statement(statement)]
        if first < len(statements):  # what is computed there ends in the text of the exception
            end = [one for statement in statements[first:] for one in self._statement(statement)]
            made.append(placed(ast.With([ast.withitem(_call("texts"))], end), statements[first]))
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        before, self._waiting = self._waiting, []
        made = self._rewritten(node)
        made, self._waiting = [*self._waiting, *made], before
        return made

    def _rewritten(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If():
                return self._if(node)
            case ast.While():
                return self._while(node)
            case ast.For():
                return self._for(node)
            case ast.Assert():
                return self._if(_as_if(node))
            case ast.AnnAssign() | ast.AugAssign():
                return self._assignment(node)
            case ast.With() | ast.Try() | ast.Match():
                self._parts(node)
            case ast.Nonlocal() | ast.Global():
                pass
            case ast.Expr(ast.Call(func=function, keywords=named)) if _writes(function, named):
                writing = _call("texts", copy.deepcopy(function))
                return [placed(ast.With([ast.withitem(writing)], [self.visit(node)]), node)]
            case _:
                return [self.visit(node)]
        return [node]

    def _parts(self, node: ast.With | ast.Try | ast.Match) -> None:
        """Rewrite the blocks of a statement that stays."""
        match node:
            case ast.With():
                node.items = [self.visit(item) for item in node.items]
                node.body = self._block(node.body)
                if not all(map(_is_errstate, node.items)):  # it may catch an exception
                    node.body = [placed(ast.With([ast.withitem(_call("trying"))], node.body), node)]
            case ast.Try():
                trying = ast.With([ast.withitem(_call("trying"))], self._block(node.body))
                node.body = [placed(trying, node)]
                for handler in node.handlers:
                    handler.type = handler.type and self.visit(handler.type)
                    handler.body = self._block(handler.body)
                node.orelse, node.finalbody = self._block(node.orelse), self._block(node.finalbody)
            case ast.Match():
                node.subject = placed(_call("certain", self.visit(node.subject)), node.subject)
                for case in node.cases:
                    case.guard = case.guard and self.visit(case.guard)
                    case.body = self._block(case.body)

    def _assignment(self, node: ast.AnnAssign | ast.AugAssign) -> list[ast.stmt]:
        """Rewrite an assignment: blocks have no annotations, and a variable that is changed must be bound."""
        target = node.target
        if not isinstance(target, ast.Name):
            return [self.visit(node)]
        if isinstance(node, ast.AnnAssign):
            plain = ast.Assign([target], node.value) if node.value is not None else ast.Pass()
            return [self.visit(placed(plain, node))]
        value: ast.expr = ast.Name(target.id, ast.Load())
        for name, holds in (("bound", self._is_unsure(target.id)), ("given", self._may_be_none(target.id))):
            value = _call(name, value, ast.Constant(target.id)) if holds else value
        if isinstance(value, ast.Name):
            return [self.visit(node)]
        first = placed(ast.Assign([ast.Name(target.id, ast.Store())], value), node)
        return [first, self.visit(node)]

    def _is_unsure(self, name: str) -> bool:
        return any(node.id == name for node in self._unsure)

    def _if(self, node: ast.If) -> list[ast.stmt]:
        parts = [*node.body, *node.orelse]
        state = self._info(parts, node, set())
        test = self._test(node.test)
        names = [self._name("yes"), self._name("no")] if node.orelse else [self._name("yes")]
        made = [self._definition(names[0], node.body, node)]
        if node.orelse:
            made.append(self._definition(names[1], node.orelse, node.orelse[0]))
        functions = [
            *(ast.Name(name, ast.Load()) for name in names),
            *[ast.Constant(None)] * (2 - len(names)),
        ]
        return [*made, placed(ast.Expr(_call("if", test, *functions, *state)), node)]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        flags = self._flags[node]
        flow = Flow([ast.While(node.test, [], []), *node.body])
        state = self._loop_info([*node.body], node, flow, flags)
        test = _lazy(self._test(node.test), node.test)
        name = self._name("body")
        made = self._definition(name, node.body, node)
        return [made, placed(ast.Expr(_call("while", test, ast.Name(name, ast.Load()), *state)), node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        flags = self._flags[node]
        item = f"{PREFIX}item{SUFFIX}"
        target = placed(ast.Assign([node.target], ast.Name(item, ast.Load())), node.target)
        body = [target, *node.body]
        flow = Flow(body, [item])
        state = self._loop_info(body, node, flow, flags)
        iterable = self.visit(node.iter)
        name = self._name("body")
        made = self._definition(name, body, node, [item])
        return [made, placed(ast.Expr(_call("for", iterable, ast.Name(name, ast.Load()), *state)), node)]

    def _name(self, kind: str) -> str:
        assert self._function is not None
        return f"{PREFIX}{kind}{next(self._function.numbers)}{SUFFIX}"

    def _definition(
        self, name: str, body: list[ast.stmt], at: ast.AST, arguments: Sequence[str] = ()
    ) -> ast.stmt:
        """Return the definition of a block as a function that shares the variables it binds."""
        function = self._function
        assert function is not None
        names = bound(body)
        shared = sorted(name for name in names if name in function.own or name in function.nonlocals)
        outer = sorted(name for name in names if name in function.globals)
        made: list[ast.stmt] = [ast.Nonlocal(shared)] if shared else []
        made += [ast.Global(outer)] if outer else []
        for statement in made:
            ast.copy_location(statement, body[0])
        taken = ast.arguments([], [ast.arg(name) for name in arguments], None, [], [], None, [])
        definition = ast.FunctionDef(name, taken, [*made, *self._block(body)], [])
        return placed(definition, at)

    def _info(
        self,
        binding: Sequence[ast.AST],
        node: Branching | None,
        exposed: set[str],
        sure: Iterable[str] = (),
    ) -> list[ast.expr]:
        """Return the variables of a block, with what is known of them, as arguments of a call."""
        function = self._function
        assert function is not None
        names = [name for name in bound(binding) if name in function.own or name in function.nonlocals]
        sure = set(sure)
        rows: list[tuple[str, bool, bool]] = []
        for name in names:
            is_shared = name in function.nonlocals or name in function.kept
            is_read = name.startswith(PREFIX) or self._liveness.may_be_read(name, node)
            is_live = is_shared or is_read
            is_carried = name in exposed or is_shared or (is_live and name not in sure)
            rows.append((function.mangled(name), is_live, is_carried))
        is_global = any(name in function.globals for name in bound(binding))
        return [_state(names), _constant((tuple(rows), is_global))]

    def _loop_info(
        self, binding: Sequence[ast.AST], node: Branching, flow: Flow, flags: list[str]
    ) -> list[ast.expr]:
        sure = flow.end or frozenset[str]()
        return [*self._info(binding, node, {*flow.exposed, *flags}, sure), _state(flags)]

    # -- expressions -------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> Any:
        """Look at a variable that may not be bound."""
        if not isinstance(node.ctx, ast.Load):
            return node
        made: ast.expr = node
        if node in self._unsure:
            made = _call("bound", made, ast.Constant(node.id))
        if self._may_be_none(node.id):
            assert self._function is not None
            passed = self._function.nones.passed
            function = passed.get(node)
            more = [] if function is None else [function]
            made = _call("argument" if node in passed else "given", made, ast.Constant(node.id), *more)
        return made if made is node else placed(made, node)

    def _may_be_none(self, name: str) -> bool:
        function = self._function
        return function is not None and name in function.nones.names and name in function.own

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Rewrite a conditional expression."""
        if self._must_stay(node.body, node.orelse):
            return self.generic_visit(node)
        later = [self._later(part) for part in (node.body, node.orelse)]
        made = _call("choice", self._test(node.test), *later)
        return placed(self._sharing(made, node.body, node.orelse), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Rewrite `and` and `or`."""
        first, *rest = node.values
        if self._must_stay(*rest):
            return self.generic_visit(node)
        name = "and" if isinstance(node.op, ast.And) else "or"
        name += "_test" if node in self._tests else ""
        made = _call(name, self.visit(first), *map(self._later, rest))
        return placed(self._sharing(made, *rest), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """Rewrite `not`."""
        if self._must_stay() or not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        name = "not_test" if node in self._tests else "not"
        return placed(_call(name, self._test(node.operand)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Rewrite chains of comparisons, and `in`."""
        first, *rest = node.comparators
        if self._must_stay(*(node.comparators if rest else ())):
            return self.generic_visit(node)
        if rest:
            pairs = zip(node.ops, node.comparators, strict=True)
            links: list[ast.expr] = [
                ast.Tuple([_comparison(op, part), self._later(part)], ast.Load()) for op, part in pairs
            ]
            made = _call("chain", self.visit(node.left), *links)
            return placed(self._sharing(made, *rest), node)
        node.left, node.comparators = self.visit(node.left), [self.visit(first)]
        return placed(_compared(node), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Rewrite a subscript by one value, which may be a place in a list."""
        indices: list[ast.expr] = []
        owner: ast.expr = node
        while isinstance(owner, ast.Subscript) and not isinstance(owner.slice, (ast.Slice, ast.Tuple)):
            indices.insert(0, owner.slice)
            owner = owner.value
        if self._function is not None and isinstance(node.ctx, ast.Load) and _is_part(node.slice):
            return placed(_call("element", self.visit(node.value), self.visit(_as_value(node.slice))), node)
        if self._function is None or not any(map(_is_place, indices)) or isinstance(node.ctx, ast.Del):
            return self.generic_visit(node)
        parts = self.visit(owner), *map(self.visit, indices)
        if isinstance(node.ctx, ast.Load):
            return placed(_call("element", *parts), node)
        return placed(ast.Subscript(_call("target", *parts), ast.Constant(0), node.ctx), node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Rewrite ``super()``, and calls of Python's functions that have a counterpart."""
        function = self._function
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if function is not None and name in _FOLDS and name not in function.own and _is_foldable(node):
            return self._fold(node, name)
        if function is not None and name in _EXTREMA and name not in function.own and _is_listed(node):
            node.args = [_as_list(cast("ast.GeneratorExp", node.args[0]))]
        self.generic_visit(node)
        if function is None:
            return node
        if name == "super" and not node.args and function.first is not None:
            given: list[ast.expr] = [
                ast.Name("__class__", ast.Load()),
                ast.Name(function.first.arg, ast.Load()),
            ]
            node.args = given
            return placed(node, node)
        if name in _TYPED and name not in function.own and node.args:
            node.args[0] = placed(_call("certain", node.args[0]), node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "sort":
            node.func = placed(_call("sorting", node.func.value), node.func)
        if name in BUILTIN_NAMES and name not in function.own:
            node.func = placed(_call("builtin", ast.Name(name, ast.Load())), node.func)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        """Rewrite a list comprehension as a loop that appends."""
        if not self._is_written_out(node):
            return self.generic_visit(node)
        made = f"{PREFIX}made{SUFFIX}"
        append = ast.Attribute(ast.Name(made, ast.Load()), "append", ast.Load())
        inner: ast.stmt = ast.Expr(ast.Call(append, [node.elt], []))
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                inner = ast.If(test, [inner], [])
            inner = ast.For(part.target, part.iter, [inner], [])
        start = ast.Assign([ast.Name(made, ast.Store())], ast.List([], ast.Load()))
        end = ast.Return(ast.Name(made, ast.Load()))
        name, none = self._name("listed"), ast.arguments([], [], None, [], [], None, [])
        definition = placed(ast.FunctionDef(name, none, [start, inner, end], []), node)
        plain: ast.expr = ast.Constant(None)
        if any(part.ifs for part in node.generators):
            plain = _lazy(self.generic_visit(copy.deepcopy(node)), node)  # pyright: ignore[reportArgumentType]
        assert self._waiting is not None
        self._waiting.append(self.visit_FunctionDef(copy.deepcopy(definition)))
        return placed(_call("listed", plain, ast.Name(name, ast.Load())), node)

    def _is_written_out(self, node: ast.ListComp) -> bool:
        """Return whether a function of its own can make a list, of which only a run may know the length."""
        if self._function is None or self._waiting is None:
            return False
        return self._is_separable(node)

    def _fold(self, node: ast.Call, name: str) -> ast.expr:
        """Rewrite ``any``, ``all`` or ``sum`` of a generator expression: Python may not get to all elements."""
        (given,) = node.args
        assert isinstance(given, ast.GeneratorExp)
        (first, *others) = given.generators
        whole = _lazy(copy.deepcopy(given), given)
        element = given.elt
        if others:
            element = placed(ast.Call(node.func, [ast.GeneratorExp(given.elt, others)], []), given)
        test = None
        if first.ifs:
            test = first.ifs[0] if len(first.ifs) == 1 else placed(ast.BoolOp(ast.And(), first.ifs), given)
        looped = self._looped(node, name)
        items = _lazy(self.visit(first.iter), first.iter)
        parts = [self._of_item(first.target, part) if part is not None else None for part in (test, element)]
        none = ast.Constant(None)
        folded = _call("fold", node.func, whole, items, *(part or none for part in parts), looped or none)
        return placed(folded, node)

    def _looped(self, node: ast.Call, name: str) -> ast.expr | None:
        """Define a function that finds ``any``, ``all`` or ``sum`` by a loop, for items whose number a run knows."""
        (given,) = copy.deepcopy(node.args)
        assert isinstance(given, ast.GeneratorExp)
        if self._waiting is None or not self._is_separable(given):
            return None
        items, made = f"{PREFIX}items{SUFFIX}", f"{PREFIX}made{SUFFIX}"
        total, element = ast.Name(made, ast.Load()), given.elt
        ends = ast.Constant(name == "any")
        if name == "sum":
            inner: ast.stmt = ast.Assign([ast.Name(made, ast.Store())], ast.BinOp(total, ast.Add(), element))
        else:
            test = element if name == "any" else ast.UnaryOp(ast.Not(), element)
            inner = ast.If(test, [ast.Return(ends)], [])
        given.generators[0].iter = ast.Name(items, ast.Load())
        for part in reversed(given.generators):
            for test in reversed(part.ifs):
                inner = ast.If(test, [inner], [])
            inner = ast.For(part.target, part.iter, [inner], [])
        start = ast.Assign([ast.Name(made, ast.Store())], ast.Constant(0))
        end = ast.Return(total if name == "sum" else ast.Constant(name != "any"))
        function, taken = self._name("folded"), ast.arguments([], [ast.arg(items)], None, [], [], None, [])
        definition = placed(ast.FunctionDef(function, taken, [start, inner, end], []), node)
        self._waiting.append(self.visit_FunctionDef(definition))
        return ast.Name(function, ast.Load())

    def _is_separable(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        """Return whether a function of its own can go through the elements of a comprehension."""
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        return not (
            any(part.is_async for part in node.generators)
            or any(isinstance(part, (*_EAGER, ast.NamedExpr)) for part in ast.walk(node))
            or any(name in self._unsure or self._may_be_none(name.id) for name in names)
        )

    def _of_item(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """Return a function of an element whose names a target binds."""
        item = "__wengert_item__"
        marker = ast.arguments([], [ast.arg(item)], None, [ast.arg(LAZY)], [ast.Constant(None)], None, [])
        one = ast.comprehension(
            copy.deepcopy(target), ast.Tuple([ast.Name(item, ast.Load())], ast.Load()), [], 0
        )
        made = ast.Subscript(ast.ListComp(self.visit(value), [one]), ast.Constant(0), ast.Load())
        return placed(ast.Lambda(marker, made), value)

    def _test(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth counts."""
        waiting = [node]
        while waiting:
            part = waiting.pop()
            self._tests.add(part)
            waiting += part.values if isinstance(part, ast.BoolOp) else []
        return self.visit(node)

    def _later(self, node: ast.expr) -> ast.expr:
        """Return a function of an expression that may not be evaluated, which binds the variables of the user's."""
        if not _binds(node):
            return _lazy(self.visit(node), node)
        assert self._waiting is not None
        name = self._name("later")
        self._waiting.append(self._definition(name, [ast.copy_location(ast.Return(node), node)], node))
        return ast.Name(name, ast.Load())

    def _sharing(self, call: ast.Call, *later: ast.expr) -> ast.Call:
        """Tell a call the variables that expressions bind which may not be evaluated."""
        if any(map(_binds, later)):
            call.keywords = [ast.keyword("shares", ast.Tuple(self._info(later, None, set()), ast.Load()))]
        return call

    def _must_stay(self, *lazy: ast.expr) -> bool:
        """Return whether an expression cannot be evaluated in a function of its own."""
        return self._function is None or any(
            isinstance(part, _EAGER) or (isinstance(part, ast.NamedExpr) and self._waiting is None)
            for expression in lazy
            for part in ast.walk(expression)
        )


def _binds(node: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def _is_part(index: ast.expr) -> bool:
    """Return whether an index of slices or of several entries may depend on what only a run knows."""
    if not isinstance(index, (ast.Slice, ast.Tuple)):
        return False
    return _is_place(index) and not any(isinstance(part, ast.Starred) for part in ast.walk(index))


def _as_value(index: ast.expr) -> ast.expr:
    """Return what stands in brackets as an expression."""
    match index:
        case ast.Slice():
            ends = [end or ast.Constant(None) for end in (index.lower, index.upper, index.step)]
            return _call("slice", *ends)
        case ast.Tuple(elts=entries):
            return ast.Tuple([_as_value(entry) for entry in entries], ast.Load())
        case _:
            return index


def _is_place(index: ast.expr) -> bool:
    """Return whether only a run may know what stands in brackets."""
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
    return any(isinstance(part, kinds) for part in ast.walk(index))


def _is_listed(node: ast.Call) -> bool:
    """Return whether a call has one generator expression as its argument, beside others by name."""
    return _is_foldable(ast.Call(node.func, node.args, []))


def _is_foldable(node: ast.Call) -> bool:
    """Return whether a call has one generator expression as its argument, which binds no variables outside."""
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
        return False
    given = node.args[0]
    is_nested_sum = isinstance(node.func, ast.Name) and node.func.id == "sum" and len(given.generators) > 1
    is_asynchronous = any(part.is_async for part in given.generators)
    return not (
        is_nested_sum
        or is_asynchronous
        or any(isinstance(part, (*_EAGER, ast.NamedExpr)) for part in ast.walk(given))
    )


def _as_list(node: ast.GeneratorExp) -> ast.expr:
    """Return the list of the elements of a generator expression."""
    return placed(ast.ListComp(node.elt, node.generators), node)


def _listed(made: Any) -> list[ast.stmt]:
    return cast("list[ast.stmt]", made) if isinstance(made, list) else [made]


def _end(statements: Sequence[ast.stmt]) -> int:
    """Return the number of the first statement behind which only a `raise` statement makes use of what is computed."""
    first = len(statements)
    if not (statements and isinstance(statements[-1], ast.Raise)):
        return first
    first -= 1
    while first and _is_assigned(statements[first - 1]):
        first -= 1
    return first


def _is_assigned(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets)


def _writes(function: ast.expr, named: Sequence[ast.keyword]) -> bool:
    """Return whether a call seems to write a text for the user."""
    owner = function
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name) or any(keyword.arg in ("file", None) for keyword in named):
        return False
    return (function.attr if isinstance(function, ast.Attribute) else owner.id) in WRITING


def exits_flags(exits: Exits) -> set[str]:
    """Return the flags of all loops of a function."""
    return {flag for flags in exits.flags.values() for flag in flags}


def _is_errstate(item: ast.withitem) -> bool:
    call = item.context_expr
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "errstate"
    )


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"{PREFIX}{name}{SUFFIX}", ast.Load()), [*arguments], [])


def _lazy(body: ast.expr, at: ast.expr | None = None) -> ast.expr:
    """Return a lambda of an expression."""
    marker = ast.arguments([], [], None, [ast.arg(LAZY)], [ast.Constant(None)], None, [])
    made = ast.Lambda(marker, body)
    return made if at is None else placed(made, at)


def _state(names: Sequence[str]) -> ast.expr:
    """Return a function that closes over variables."""
    return _lazy(ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load()))


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value)


def _comparison(op: ast.cmpop, at: ast.expr) -> ast.expr:
    left, right = "__wengert_left__", "__wengert_right__"
    marker = ast.arguments(
        [], [ast.arg(left), ast.arg(right)], None, [ast.arg(LAZY)], [ast.Constant(None)], None, []
    )
    compare = ast.Compare(ast.Name(left, ast.Load()), [op], [ast.Name(right, ast.Load())])
    return placed(ast.Lambda(marker, _compared(compare)), at)


def _compared(node: ast.Compare) -> ast.expr:
    """Return a comparison, with a call in the place of `in` and `is`."""
    match node.ops[0]:
        case ast.In():
            return _call("in", node.left, node.comparators[0])
        case ast.NotIn():
            return _call("not", _call("in", node.left, node.comparators[0]))
        case ast.Is():
            return _call("is", node.left, node.comparators[0])
        case ast.IsNot():
            return _call("not", _call("is", node.left, node.comparators[0]))
        case op if all(isinstance(part, _MAY_BE_TUPLES) for part in (node.left, *node.comparators)):
            return _call(COMPARISONS[type(op)], node.left, node.comparators[0])
        case _:
            return node


def _as_if(node: ast.Assert) -> ast.If:
    text = [node.msg] if node.msg else []
    problem = ast.Call(ast.Name("AssertionError", ast.Load()), text, [])
    test = placed(ast.UnaryOp(ast.Not(), node.test), node.test)
    return placed(ast.If(test, [ast.Raise(problem, None)], []), node)
