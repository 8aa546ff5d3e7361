"""Common subexpression elimination: equal values are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.rewrite import Rewrite


def merge_common(graph: Graph) -> Graph:
    """Compute equal equations, and keep equal constants, once: no operation has an effect beside its results.

    Example:
        >>> from wengert.engine.ir.parser import parse
        >>> source = "graph(x: f64[]) { v1: f64[] = exp(x) v2: f64[] = exp(x) return v1, v2 }"
        >>> print(merge_common(parse(source)))
        graph(x: f64[]) {
          v1: f64[] = exp(x)
          return v1, v1
        }
    """
    return _Merge(graph).run()


class _Merge(Rewrite):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._seen: dict[Any, tuple[Var, ...]] = {}
        count = Counter(var.type for var, _ in graph.constants)
        first: dict[Any, Var] = {}
        for var, value in graph.constants:
            if count[var.type] > 1:
                same = first.setdefault((var.type, value.tobytes()), var)
                if same is not var:
                    self._replaced[var] = same
                    del self.constants[var]

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        operands = tuple(map(key, equation.operands))
        params = tuple((name, key(value)) for name, value in sorted(equation.params.items()))
        line = equation.primitive, operands, params
        if line in self._seen:
            return self._seen[line]
        self._seen[line] = equation.outputs
        return equation


def key(value: Any) -> Any:
    """Return a key that separates values that Python calls equal: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(value, Literal):
        return value.type, repr(value.value)
    if type(value) is tuple:
        return tuple(map(key, cast("tuple[Any, ...]", value)))
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return type(cast(Any, value)), repr(cast(Any, value))
    return value
