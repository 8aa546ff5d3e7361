"""Constant folding: values that depend on no input are computed at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import is_weak
from wengert.engine.machine import costs
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.passes.rewrite import Rewrite
from wengert.engine.primitive import REGISTRY


def fold_constants(graph: Graph) -> Graph:
    """Compute the equations whose operands are all known, unless the result is much larger than they are.

    An operation that raises an error is left where it is, to raise it when the program runs; one that holds
    programs may take any time and is left too.

    Example:
        >>> import wengert.engine.ops.arithmetic
        >>> from wengert.engine.ir.parser import parse
        >>> print(fold_constants(parse("graph() { v1: f64[] = add(f64(1.0), 2.0) return v1 }")))
        graph() {
          return f64(3.0)
        }
    """
    return _Fold(graph).run()


class _Fold(Rewrite):
    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        values = [self.known(operand) for operand in equation.operands]
        holds_programs = isinstance(REGISTRY[equation.primitive].lowering, ControlFlow)
        if any(value is None for value in values) or holds_programs:
            return equation
        allowed = max(costs.COSTS.folded_elements, *(size(shape_of(value)) for value in values), 0)
        if sum(size(var.shape) for var in equation.outputs) > allowed:
            return equation
        results = _evaluate(equation, values)
        if results is None:
            return equation
        return list(map(self._kept, results, equation.outputs))

    def _kept(self, value: Any, var: Var) -> Atom:
        if not var.shape:
            return Literal(value, var.type)
        value.flags.writeable = False
        self.constants[var] = value
        return var


def _evaluate(equation: Equation, values: Sequence[Any]) -> list[Any] | None:
    """Return the results of an equation in the form of their types, or None if evaluation fails."""
    try:
        with np.errstate(all="ignore"):
            result = REGISTRY[equation.primitive].evaluate(*values, **equation.params)
    except (ValueError, TypeError, IndexError, ArithmeticError):
        return None
    results = list(cast("tuple[Any, ...]", result)) if isinstance(result, tuple) else [result]
    for position, var in enumerate(equation.outputs):
        value = results[position]
        if not var.weak:
            array = np.asarray(value)
            value = results[position] = np.array(array, order="C") if var.shape else array[()]
        if (dtype_of(value), shape_of(value), is_weak(value)) != var.type:
            return None
    return results
