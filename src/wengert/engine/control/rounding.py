"""Which values a pass backward must have to the last bit, and which it may compute again to the last bit.

The derivative of a maximum asks which operand equals it. A product that only a sum reads is part of that sum, and not
rounded itself: so a sum that is computed again, where fewer operations read the product, may differ in its last bit
from the one that was kept, or of which the maximum was kept. It then equals nothing, and a derivative is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from wengert.engine.control.subgraphs import memoized
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.ir.graph import Equation, Graph, Var
from wengert.engine.primitive import REGISTRY, NonDifferentiable

#: Operations with jumps that have a derivative elsewhere.
_WITH_JUMPS = {"heaviside", "copysign", "fmod", "remainder"}
#: Operations that only move, choose or convert numbers.
_EXACT = {
    *("gather", "slice", "broadcast_to", "reshape", "transpose", "concatenate"),
    *("where", "negative", "positive", "cast"),
}
_SUMS = {"add", "subtract"}


class Bits(IntEnum):
    """How a value that is computed again differs from the one before."""

    SAME = 0
    PRODUCT = 1
    """It is the same, but a sum of it may round it or not."""
    OTHERS = 2
    """Its last bit may be another one."""


def bits_of(equation: Equation, operands: Iterable[Bits]) -> Bits:
    """Return how the result of an operation that is carried out again differs, given the same of its operands."""
    name, worst = equation.primitive, max(operands, default=Bits.SAME)
    if name in _EXACT or not is_inexact(equation.outputs[0].dtype):
        return worst
    if name in _SUMS:
        return Bits.SAME if worst is Bits.SAME else Bits.OTHERS
    is_alike = REGISTRY[name].elementwise
    return max(worst, Bits.PRODUCT) if is_alike else Bits.OTHERS


def decisive(graph: Graph, split: int) -> set[Var]:
    """Return the floats on which choices of a pass backward depend, among the values of its graph.

    Args:
        graph: a graph with its pass backward.
        split: the number of equations of the pass forward.
    """
    found: set[Var] = set()
    for equation in reversed(graph.equations[split:]):
        if _decides(equation) or not found.isdisjoint(equation.outputs):
            found.update(_floats(equation))
    return found


def differing(equations: Sequence[Equation], exact: Iterable[Var]) -> Mapping[Var, Bits]:
    """Return how the results of equations differ that are carried out again from values that are the same."""
    found = dict.fromkeys(exact, Bits.SAME)
    for equation in equations:
        below = (found.get(x, Bits.OTHERS) for x in equation.operands if isinstance(x, Var))
        bits = bits_of(equation, below)
        found.update((var, bits) for var in equation.outputs if var not in found)
    return found


def _floats(equation: Equation) -> Iterable[Var]:
    return (x for x in equation.operands if isinstance(x, Var) and is_inexact(x.dtype))


def _decides(equation: Equation) -> bool:
    """Return whether results of an operation, or of one in its programs, jump where floats change by a bit."""
    if any(map(_chooses, equation.graphs())):
        return True
    rule = REGISTRY[equation.primitive].derivative
    has_jumps = isinstance(rule, NonDifferentiable) or equation.primitive in _WITH_JUMPS
    return has_jumps and any(True for _ in _floats(equation))


@memoized
def _chooses(graph: Graph) -> bool:
    return any(map(_decides, graph.equations))
