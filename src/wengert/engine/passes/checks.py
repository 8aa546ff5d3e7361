"""Checks: each condition is checked once, and one that holds for certain is not checked.

A derivative depends on the checks of its function, too, because a program may compute nothing else; so the same
condition stands in several checks. Bounds of floats show that some conditions hold: ``1 + x * x`` is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import Rewrite, with_programs_inside

_CHECK = "require_valid"


class Bounds(NamedTuple):
    """What bounds the floats of a value; NaN may be among them."""

    least: float = -math.inf
    most: float = math.inf


_ANY = Bounds()


def merge_checks(graph: Graph) -> Graph:
    """Return a graph without the checks of conditions that another one checks.

    Example:
        >>> import math
        >>> import wengert as wg
        >>> slope = wg.trace(wg.value_and_grad(lambda x: math.log(x)))(2.0)
        >>> str(slope).count("require_valid"), str(merge_checks(slope)).count("require_valid")
        (2, 1)
    """
    return _without(graph, {}, _Checks)


def drop_checks(graph: Graph) -> Graph:
    """Return a graph without the checks of conditions that another one checks, or that hold for certain.

    Example:
        >>> import math
        >>> import wengert as wg
        >>> print(drop_checks(wg.trace(lambda x: math.sqrt(1.0 + x * x))(2.0)))
        graph(x: f64*[]) {
          v1: f64*[] = multiply(x, x)                 # ...
          v2: f64*[] = add(1.0, v1)                   # ...
          v3: f64*[] = sqrt(v2)                       # ...
          v4: f64[] = cast[dtype=f64](v3)             # ...
          v5: f64*[] = cast[dtype=f64, weak=True](v4) # ...
          return v5
        }
    """
    return _without(graph, {}, _BoundedChecks)


def _without(graph: Graph, reach: dict[Var, int] | None, kind: type[_Checks]) -> Graph:
    graph = with_programs_inside(graph, lambda inner: _without(inner, None, kind))
    conditions = [equation.operands[1] for equation in graph.equations if equation.primitive == _CHECK]
    if not conditions or (kind is _Checks and len(set(conditions)) == len(conditions)):
        return graph
    graph = eliminate_dead(graph)
    changed = kind(graph, _reach(graph) if reach is None else reach).run()
    return graph if changed is graph else eliminate_dead(changed)


def _reach(graph: Graph) -> dict[Var, int]:
    """Return which outputs depend on each value, as the bits of an integer."""
    found: dict[Var, int] = {}

    def add(atoms: Iterable[Atom], outputs: int) -> None:
        found.update((atom, found.get(atom, 0) | outputs) for atom in atoms if isinstance(atom, Var))

    for position, atom in enumerate(graph.outputs):
        add([atom], 1 << position)
    for equation in reversed(graph.equations):
        outputs = 0
        for var in equation.outputs:
            outputs |= found.get(var, 0)
        add(equation.operands, outputs)
    return found


class _Checks(Rewrite):
    """The walk that drops checks.

    Args:
        graph: the graph.
        reach: which outputs depend on each value; empty if all are used. A program may drop outputs of a part of it.
    """

    def __init__(self, graph: Graph, reach: dict[Var, int]) -> None:
        super().__init__(graph)
        self._reach = reach
        self._checked: dict[Atom, int] = {}
        """The outputs that depend on the first check of each condition."""

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        if equation.primitive != _CHECK:
            return equation
        (x, holds), (out,) = equation.operands, equation.outputs
        outputs = self._reach.get(out, 0)
        is_checked = holds in self._checked and not outputs & ~self._checked[holds]
        if x.type == out.type and (is_checked or self._is_certain(holds)):
            return [x]
        self._checked.setdefault(holds, outputs)
        return equation

    def _is_certain(self, holds: Atom) -> bool:
        return False


class _BoundedChecks(_Checks):
    """The walk that also follows bounds of floats."""

    def __init__(self, graph: Graph, reach: dict[Var, int]) -> None:
        super().__init__(graph, reach)
        self._bounds: dict[Var, Bounds] = {}
        self._certain: dict[Atom, bool] = {}
        """The truth values that are the same in each run."""

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        if equation.primitive == _CHECK:
            x, (out,) = equation.operands[0], equation.outputs
            if isinstance(x, Var) and x in self._bounds:
                self._bounds[out] = self._bounds[x]
            return super().visit(equation)
        if len(equation.outputs) != 1:
            return equation
        (out,) = equation.outputs
        if out.dtype == BOOL:
            found = self._truth(equation)
            if found is not None:
                self._certain[out] = found
        elif out.dtype == np.float64 and equation.primitive in _BOUNDS:
            found = self._found(equation)
            if not any(map(math.isnan, found)):
                self._bounds[out] = found
        return equation

    def _is_certain(self, holds: Atom) -> bool:
        return self._known(holds) is True

    def _found(self, equation: Equation) -> Bounds:
        rule, operands = _BOUNDS[equation.primitive], equation.operands
        if equation.primitive == "multiply":
            for x, y in (operands, operands[::-1]):
                negation = self.definition(x, "negative")
                if negation is not None and negation.operands[0] is y:  # -y * y
                    least, most = _square(True, {}, self._bounds_of(y))
                    return Bounds(-most, -least)
        return rule(
            len(operands) == 2 and operands[0] is operands[1],
            equation.params,
            *map(self._bounds_of, operands),
        )

    def _bounds_of(self, atom: Atom) -> Bounds:
        if isinstance(atom, Var) and atom in self._bounds:
            return self._bounds[atom]
        value = self.known(atom)
        if value is None or not np.size(value) or np.asarray(value).dtype.kind not in "fiub":
            return _ANY
        return Bounds(float(np.min(value)), float(np.max(value))) if np.all(value == value) else _ANY

    def _truth(self, equation: Equation) -> bool | None:
        """Return a truth value that is the same in each run: a comparison with NaN is false."""
        operation = equation.primitive
        if operation in ("logical_not", "invert"):
            found = self._known(equation.operands[0])
            return None if found is None else not found
        if operation in ("logical_and", "bitwise_and", "logical_or", "bitwise_or"):
            decides = operation.endswith("or")
            found = [self._known(operand) for operand in equation.operands]
            return decides if decides in found else None if None in found else not decides
        if operation == "isinf":
            least, most = self._bounds_of(equation.operands[0])
            return False if least > -math.inf and most < math.inf else None
        if operation not in _FALSE:
            return None
        return False if _FALSE[operation](*map(self._bounds_of, equation.operands)) else None

    def _known(self, atom: Atom) -> bool | None:
        if isinstance(atom, Literal):
            return bool(atom.value)
        return self._certain.get(atom)


#: Where comparisons of floats do not hold, NaN among them.
_FALSE: dict[str, Callable[[Bounds, Bounds], bool]] = {
    "less": lambda x, y: x.least >= y.most,
    "less_equal": lambda x, y: x.least > y.most,
    "greater": lambda x, y: x.most <= y.least,
    "greater_equal": lambda x, y: x.most < y.least,
    "equal": lambda x, y: x.most < y.least or y.most < x.least,
}


def _sum(same: bool, params: Any, x: Bounds, y: Bounds) -> Bounds:
    return _widened(x.least + y.least, x.most + y.most, *x, *y)


def _difference(same: bool, params: Any, x: Bounds, y: Bounds) -> Bounds:
    return _widened(x.least - y.most, x.most - y.least, *x, *y)


def _product(same: bool, params: Any, x: Bounds, y: Bounds) -> Bounds:
    if same:
        return _square(same, params, x)
    corners = [_times(a, b) for a in x for b in y]
    return _widened(min(corners), max(corners), *corners)


def _times(a: float, b: float) -> float:
    """Return a product of bounds; a zero factor of a finite number bounds it by zero."""
    return a * b if a and b else 0.0


def _square(same: bool, params: Any, x: Bounds) -> Bounds:
    ends = x.least * x.least, x.most * x.most
    return _widened(0.0 if x.least <= 0 <= x.most else min(ends), max(ends), *ends)


def _widened(least: float, most: float, *terms: float) -> Bounds:
    """Return bounds that hold however later passes round: they may leave out a rounding, or factor a sum."""
    slack = 1e-12 * max(abs(x) if abs(x) < math.inf else 0.0 for x in terms)
    return Bounds(least - slack, most + slack)


def _power(same: bool, params: Any, x: Bounds) -> Bounds:
    return Bounds(0.0, math.inf) if params["exponent"] % 2 == 0 else _ANY


def _quotient(same: bool, params: Any, x: Bounds, y: Bounds) -> Bounds:
    if y.least <= 0:
        return _ANY
    return Bounds(0.0 if x.least >= 0 else -math.inf, 0.0 if x.most <= 0 else math.inf)


def _absolute(same: bool, params: Any, x: Bounds) -> Bounds:
    ends = abs(x.least), abs(x.most)
    return Bounds(0.0 if x.least <= 0 <= x.most else min(ends), max(ends))


def _exponential(same: bool, params: Any, x: Bounds) -> Bounds:
    return Bounds(0.0, 2.0 if x.most <= 0 else math.inf)


def _same(same: bool, params: Any, x: Bounds, *others: Bounds) -> Bounds:
    return x


def _limited(same: bool, params: Any, *operands: Bounds) -> Bounds:
    return Bounds(-2.0, 2.0)  # however a kernel rounds


#: The bounds of floats, given whether operands are the same value, the parameters, and the bounds of the operands.
_BOUNDS: dict[str, Callable[..., Bounds]] = {
    "absolute": _absolute,
    "add": _sum,
    "broadcast_to": _same,
    "cast": _same,
    "cos": _limited,
    "divide": _quotient,
    "exp": _exponential,
    "exp2": _exponential,
    "integer_power": _power,
    "maximum": lambda same, params, x, y: Bounds(max(x.least, y.least), max(x.most, y.most)),
    "minimum": lambda same, params, x, y: Bounds(min(x.least, y.least), min(x.most, y.most)),
    "multiply": _product,
    "negative": lambda same, params, x: Bounds(-x.most, -x.least),
    "reshape": _same,
    "sin": _limited,
    "sqrt": lambda same, params, x: Bounds(0.0 if x.least < 1 else 1.0, math.inf),
    "square": _square,
    "subtract": _difference,
    "tanh": _limited,
}
