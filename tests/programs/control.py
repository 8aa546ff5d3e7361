"""Statements with statements inside: branches, loops, checkpoints, rules, and transforms of drawn functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.programs.filling import Filling, fits, is_float
from tests.programs.scope import Scope, UnfitError
from tests.programs.syntax import Block, Line, Node, features

#: Functions of p and q with their partial derivatives.
RULES = (
    ("np.sin({p}) * {q}", "np.cos({p}) * {q}", "np.sin({p})"),
    ("0.3 * {p} ** 2 - 0.5 * {q}", "0.6 * {p}", "-0.5"),
    ("np.tanh({p} + {q})", "(1 - np.tanh({p} + {q}) ** 2)", "(1 - np.tanh({p} + {q}) ** 2)"),
    ("0.5 * {p} * {q}", "0.5 * {q}", "0.5 * {p}"),
    ("np.exp(np.sin({p})) + {q}", "np.cos({p}) * np.exp(np.sin({p}))", "1.0"),
    ("{p} / (1.0 + {q} ** 2)", "1.0 / (1.0 + {q} ** 2)", "-2 * {p} * {q} / (1.0 + {q} ** 2) ** 2"),
)


def array(scope: Scope, accepts: Callable[[Any], bool] = lambda a: True) -> str:
    """Draw a variable with a fixed dtype, to be carried."""
    return Filling(scope).variable(
        lambda a: isinstance(a, (np.ndarray, np.floating)) and is_float(a) and accepts(a)
    )


def sequence(scope: Scope) -> str:
    return array(scope, lambda a: np.ndim(a) > 0 and 1 <= len(a) <= 4)


def alike(scope: Scope, name: str) -> str:
    """Draw a variable of the shape and dtype of another."""
    a = scope.value(name)
    return array(scope, lambda b: np.shape(b) == np.shape(a) and b.dtype == a.dtype)


def fitted(scope: Scope, name: str) -> str:
    """Draw an expression of the shape and dtype of a variable."""
    like = scope.value(name)
    other = Filling(scope).where(lambda a: fits(np.shape(a), np.shape(like)))
    forms = ["0.6 * {0} + 0.4 * np.sin({1})", "{0} * np.cos({1})", "np.tanh({0} + {1})", "0.5 * ({0} - {1})"]
    text = scope.draw.choice(forms).format(name, other)
    return text if scope.value(text).dtype == like.dtype else f"({text}).astype({name}.dtype)"


def any_float(scope: Scope) -> str:
    return Filling(scope).variable(lambda a: is_float(a) and np.size(a) <= 32)


def returned(scope: Scope) -> str:
    """Draw a result: an expression or a variable."""
    return scope.draw.choice(["np.sin({0})", "{0} * 0.75", "{0} + 0.25", "{0}"]).format(any_float(scope))


def without(inside: Scope, feature: str) -> None:
    """Refuse a body with a feature."""
    if feature in features(inside.nodes):
        raise UnfitError


def predicate(scope: Scope) -> str:
    """Draw a condition on one number, which does not change near its value."""
    text = Filling(scope)("np.mean({x})")
    value = float(scope.value(text))
    return f"({text} > {value + scope.draw.choice([-0.4, 0.4]):.2f})"


def define(name: str, parameters: Sequence[str], body: Sequence[Node], result: str) -> Block:
    return Block(f"def {name}({', '.join(parameters)}):", (*body, Line(f"return {result}")))


class Control:
    """Draws statements with statements inside.

    Args:
        statement: adds a statement to a scope, or raises ``UnfitError``.
        deepest: the largest depth of nested functions and blocks.
    """

    def __init__(self, statement: Callable[[Scope], None], deepest: int) -> None:
        self.statement = statement
        self.deepest = deepest

    def fill(self, scope: Scope, nest: bool = True) -> Scope:
        """Add statements to a body, one of them nested if the depth allows."""
        for _ in range(scope.draw.integer(0, 2)):
            self.statement(scope)
        if nest and scope.depth < self.deepest:
            self.draw(scope, tries=5)
        return scope

    def body(
        self, scope: Scope, given: dict[str, str], nest: bool = True, boxes: Sequence[str] | None = None
    ) -> Scope:
        return self.fill(scope.child(given, boxes=boxes), nest)

    def draw(self, scope: Scope, tries: int = 1) -> None:
        """Add a statement of a drawn kind, with a few tries."""
        for left in reversed(range(tries)):
            try:
                return self.draw_once(scope)
            except UnfitError:
                if not left:
                    raise

    def draw_once(self, scope: Scope) -> None:
        kind = scope.draw.choice(NESTING if 3 < self.deepest > scope.depth + 1 else KINDS)
        getattr(self, "checkpoint" if kind == "jit" and scope.depth else kind)(
            scope
        )  # compiled in each step of a loop

    # -- branches and loops of Wengert -------------------------------------------------------------------

    def cond(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a, b = array(scope), any_float(scope)
        p, q, v = fresh("p"), fresh("q"), fresh()
        nodes: list[Node] = []
        names: list[str] = []
        for i in range(2):
            inside = self.body(scope, {p: a, q: b}, nest=i == 0)
            names.append(fresh("f"))
            nodes.append(define(names[-1], (p, q), inside.nodes, fitted(inside, p)))
        nodes.append(Line(f"{v} = wg.cond({predicate(scope)}, {', '.join(names)}, {a}, {b})"))
        scope.add(nodes, ["cond"], [v], [a])

    def scan(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a, xs = array(scope), sequence(scope)
        p, q, f, v, u = fresh("p"), fresh("q"), fresh("f"), fresh(), fresh()
        how = scope.draw.choice(["", "", ", reverse=True"])
        inside = self.body(scope, {p: a, q: f"{xs}[{-1 if how else 0}]"})
        result = f"{fitted(inside, p)}, {returned(inside)}"
        call = Line(f"{v}, {u} = wg.scan({f}, {a}, {xs}{how})")
        scope.add([define(f, (p, q), inside.nodes, result), call], ["scan"], [v, u], [a, xs])

    def fori_loop(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a = array(scope)
        i, p, f, v = fresh("i"), fresh("p"), fresh("f"), fresh()
        inside = self.body(scope, {i: "0", p: a})
        call = Line(f"{v} = wg.fori_loop(0, {scope.draw.integer(1, 3)}, {f}, {a})")
        scope.add([define(f, (i, p), inside.nodes, fitted(inside, p)), call], ["fori_loop"], [v], [a])

    def while_loop(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a = array(scope)
        s, p, k, f, v = fresh("s"), fresh("p"), fresh("k"), fresh("f"), fresh()
        inside = self.body(scope, {p: a, k: "0"})
        taken = Line(f"{p}, {k} = {s}")
        test = f"{s}[1] < {scope.draw.integer(1, 3)}"
        if scope.draw.chance(0.3):
            test = f"({test}) & (np.sum({s}[0] ** 2) < 50.0)"
        nodes = [
            define(f + "_unfinished", (s,), (), test),
            define(f, (s,), (taken, *inside.nodes), f"({fitted(inside, p)}, {k} + 1)"),
            Line(f"{v} = wg.while_loop({f}_unfinished, {f}, ({a}, 0))[0]"),
        ]
        scope.add(nodes, ["while_loop"], [v], [a])

    # -- transforms of functions -------------------------------------------------------------------------

    def applied(self, scope: Scope, transform: str) -> None:
        fresh = scope.draw.fresh
        a, b = any_float(scope), any_float(scope)
        p, q, f, v = fresh("p"), fresh("q"), fresh("f"), fresh()
        inside = self.body(scope, {p: a, q: b}, boxes=(p, q) if transform == "jit" else None)
        call = Line(f"{v} = wg.{transform}({f})({a}, {b})")
        scope.add([define(f, (p, q), inside.nodes, returned(inside)), call], [transform], [v], [a, b])

    def checkpoint(self, scope: Scope) -> None:
        self.applied(scope, "checkpoint")

    def jit(self, scope: Scope) -> None:
        self.applied(scope, "jit")

    def vmap(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a, b = sequence(scope), any_float(scope)
        p, q, f, v = fresh("p"), fresh("q"), fresh("f"), fresh()
        inside = self.body(scope, {p: f"{a}[0]", q: b}, boxes=(p,))
        call = Line(f"{v} = wg.vmap({f}, in_axes=(0, None))({a}, {b})")
        scope.add([define(f, (p, q), inside.nodes, returned(inside)), call], ["vmap"], [v], [a, b])

    def derivative(self, scope: Scope) -> None:
        fresh = scope.draw.fresh
        a = array(scope)
        p, f, v = fresh("p"), fresh("f"), fresh()
        inside = self.body(scope, {p: a}, nest=scope.draw.chance(0.3), boxes=(p,))
        without(inside, "while_loop")  # without reverse mode for an unknown number of steps
        result = returned(inside)
        if scope.draw.chance(0.5):
            call, result = f"wg.grad({f})({a})", f"np.sum(np.sin({result}) * 0.5) + 0.1 * np.sum({p})"
        else:
            call = f"wg.jvp({f}, ({a},), ({alike(scope, a)},))[1]"
        scope.add(
            [define(f, (p,), inside.nodes, result), Line(f"{v} = {call}")], ["inner derivative"], [v], [a]
        )

    # -- rules -------------------------------------------------------------------------------------------

    def rule(self, scope: Scope) -> None:
        """A function with a rule, called directly, for rows, compiled, or in a loop."""
        fresh = scope.draw.fresh
        a = array(scope)
        b = alike(scope, a)
        p, q, f = fresh("p"), fresh("q"), fresh("f")
        value, by_p, by_q = (text.format(p=p, q=q) for text in scope.draw.choice(RULES))
        forward = scope.draw.chance(0.5)
        nodes = (jvp_rule if forward else vjp_rule)(f, p, q, value, by_p, by_q)
        self.call(scope, nodes, f, a, b, "custom_jvp" if forward else "custom_vjp")

    def drawn_rule(self, scope: Scope) -> None:
        """A function of drawn statements whose rule is its own derivative."""
        fresh = scope.draw.fresh
        a = array(scope)
        b = alike(scope, a)
        p, q, f = fresh("p"), fresh("q"), fresh("f")
        inside = self.fill(scope.child({p: a, q: b}, closed=True), nest=scope.draw.chance(0.5))
        without(inside, "while_loop")
        g = f + "_inner"
        nodes: list[Node] = [
            define(g, (p, q), inside.nodes, fitted(inside, p)),
            Line("@wg.custom_vjp"),
            define(f, (p, q), (), f"{g}({p}, {q})"),
            define(f + "_forward", (p, q), (), f"{f}({p}, {q}), ({p}, {q})"),
            define(f + "_backward", ("kept", "c"), (), f"wg.vjp({g}, *kept)[1](c)"),
            Line(f"{f}.defvjp({f}_forward, {f}_backward)"),
        ]
        self.call(scope, nodes, f, a, b, "custom_vjp", rows=False)

    def call(
        self, scope: Scope, nodes: list[Node], f: str, a: str, b: str, kind: str, rows: bool = True
    ) -> None:
        v = scope.draw.fresh()
        calls = {"plain": f"{f}({a}, {b})", "jit": f"wg.jit({f})({a}, {b})"}
        if rows and np.ndim(scope.value(a)):
            calls["vmap"] = f"wg.vmap({f})({a}, {b})"
            calls["vmap row"] = f"wg.vmap({f}, in_axes=(0, None))({a}, {b}[0])"
            calls["vmap grad"] = f"wg.vmap(wg.grad(lambda s, t: np.sum({f}(s, t))))({a}, {b})"
            calls["jit vmap"] = f"wg.jit(wg.vmap({f}))({a}, {b})"
        how = scope.draw.choice([call for call in calls if not (scope.depth and "jit" in call)])
        scope.add([*nodes, Line(f"{v} = {calls[how]}")], [kind, f"{kind}, {how}"], [v], [a, b])

    # -- Python's own statements -------------------------------------------------------------------------

    def python_for(self, scope: Scope) -> None:
        i = scope.draw.fresh("i")
        inside = scope.child({i: "0"}, scope.own)
        self.fill(inside, nest=scope.draw.chance(0.3))
        lines: list[Node] = list(inside.nodes)
        own = [name for name in scope.own if isinstance(scope.values.get(name), (np.ndarray, np.floating))]
        carried = [name for name in own if is_float(scope.values[name])]
        if carried:
            name = scope.draw.choice(carried)
            lines.append(Line(f"{name} = {fitted(inside, name)}"))
        head = f"for {i} in range({scope.draw.integer(1, 3)}):"
        scope.add([Block(head, (*lines, Line("pass")))], ["for"])
        scope.keep([name for name in inside.own if name not in scope.own])

    def rows(self, scope: Scope) -> None:
        v, a = scope.draw.fresh(), sequence(scope)
        form = scope.draw.choice(
            [
                "np.stack([np.sin(r) * k for k, r in enumerate({0})])",
                "sum((r * r for r in {0}), 0.0)",
                "np.concatenate([np.atleast_1d(r) for r in reversed(list({0}))])",
                "[r for r in {0}][-1] * 1.5",
            ]
        )
        scope.add([Line(f"{v} = {form.format(a)}")], ["for"], [v], [a])


#: The kinds of statements by frequency: those with drawn bodies, and all.
NESTING = (
    *("cond", "cond", "cond", "scan", "scan", "fori_loop", "while_loop", "checkpoint", "checkpoint"),
    *("vmap", "jit", "derivative", "drawn_rule"),
)
KINDS = (*NESTING, "rule", "rule", "python_for", "rows")


def vjp_rule(f: str, p: str, q: str, value: str, by_p: str, by_q: str) -> list[Node]:
    return [
        Line("@wg.custom_vjp"),
        define(f, (p, q), (), value),
        define(f + "_forward", (p, q), (), f"{f}({p}, {q}), ({p}, {q})"),
        define(f + "_backward", ("kept", "c"), (Line(f"{p}, {q} = kept"),), f"c * ({by_p}), c * ({by_q})"),
        Line(f"{f}.defvjp({f}_forward, {f}_backward)"),
    ]


def jvp_rule(f: str, p: str, q: str, value: str, by_p: str, by_q: str) -> list[Node]:
    taken = (Line(f"({p}, {q}), (d{p}, d{q}) = primals, tangents"),)
    return [
        Line("@wg.custom_jvp"),
        define(f, (p, q), (), value),
        Line(f"@{f}.defjvp"),
        define(
            f + "_rule", ("primals", "tangents"), taken, f"{f}({p}, {q}), d{p} * ({by_p}) + d{q} * ({by_q})"
        ),
    ]


def branch(scope: Scope) -> None:
    """Python's ``if`` on a value, which cannot be compiled or batched."""
    v, a = scope.draw.fresh(), array(scope)
    then, otherwise = fitted(scope, a), fitted(scope, a)
    nodes = [
        Block(f"if {predicate(scope)}:", (Line(f"{v} = {then}"),)),
        Block("else:", (Line(f"{v} = {otherwise}"),)),
    ]
    scope.add(nodes, ["if on values"], [v], [a])


def repeat(scope: Scope) -> None:
    """Python's ``while`` on a value."""
    v, a = scope.draw.fresh(), array(scope)
    size = float(np.sum(scope.value(a) ** 2))
    if size < 0.1:
        raise UnfitError
    loop = Block(f"while np.sum({v} * {v}) > {size / 3:.3f}:", (Line(f"{v} = 0.7 * {v}"),))
    scope.add([Line(f"{v} = {a} * 1.0"), loop], ["if on values"], [v], [a])


def mask(scope: Scope) -> None:
    """The elements that fulfil a condition, whose number depends on values."""
    filling = Filling(scope)
    scope.add([Line(filling("{v} = {arr}[{arr} > {gap}]"))], ["boolean mask"])


def masked(scope: Scope) -> None:
    """Change the elements that fulfil a condition."""
    scope.add([Line(Filling(scope)("{w}[{w} < {gap}] *= 0.5"))], ["boolean mask"])


#: Statements that need concrete values.
CONCRETE = (branch, repeat, mask, masked)
