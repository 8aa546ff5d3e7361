"""A condition that is the same for all points of a nest is checked once, in front of the nest.

What a branch or an earlier loop may raise is a condition on each element of the results that follow it. Without it,
such a nest is most often a copy, and `coalesce` drops it.
"""

from __future__ import annotations

from dataclasses import replace

from wengert.engine.core.dtypes import BOOL
from wengert.engine.nest.expression import (
    CONDITIONS,
    Apply,
    Buffer,
    Expression,
    Guard,
    Reduce,
    Rewriter,
    is_check,
    may_report,
    walk,
)
from wengert.engine.nest.nest import Nest, Program, Step, Store, map_nests


def check_once(program: Program) -> Program:
    """Return the program with checks of one condition in front of the nests of which each point made them."""
    steps = map_nests(program.steps, _apart)
    return program if steps == program.steps else replace(program, steps=steps)


def _apart(nest: Nest) -> list[Step]:
    """Return a nest after those of its checks, if none depends on the point."""
    checks = [node for node in nest.nodes() if is_check(node)]
    if not checks or not nest.dims:
        return [nest]
    always = {id(node) for root in nest.roots() for node in walk(root, Guard, Reduce)}
    if not all(id(node) in always and _is_uniform(node, nest) for node in checks):
        return [nest]
    # An inner check is made, and reported, before one around it.
    fronts: list[Step] = [_check(node, nest) for node in reversed(checks) if isinstance(node, Apply)]
    rewriter = Rewriter(lambda node: node.operands[0] if is_check(node) and isinstance(node, Apply) else node)
    stores = tuple(replace(store, value=rewriter(store.value)) for store in nest.stores)
    return [*fronts, replace(nest, stores=stores)]


def _is_uniform(node: Expression, nest: Nest) -> bool:
    """Return whether a node checks one condition at all points of a nest."""
    if not isinstance(node, Apply) or node.operation not in CONDITIONS:
        return False
    condition = node.operands[1]
    facts = condition.facts
    return (
        not facts.has_reductions
        and not may_report(condition)
        and facts.dims.isdisjoint(nest.dims)
        and set(facts.buffers).isdisjoint(nest.writes())
    )


def _check(node: Apply, nest: Nest) -> Nest:
    condition = node.operands[1]
    checked = replace(node, operands=(condition, condition), dtype=BOOL)
    return Nest((), (Store(Buffer(BOOL, ()), (), checked),), location=nest.location, origin=nest.origin)
