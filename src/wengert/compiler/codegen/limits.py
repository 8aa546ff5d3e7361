"""Loops that leave out the points at which a nest has nothing to do.

The conditions stay in the code of a tile: the loops leave out whole tiles.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from wengert.compiler.codegen.access import Point
from wengert.compiler.codegen.expression import Evaluator
from wengert.compiler.llvm.ir_builder import I64, Value, constant
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Load, Reduce, is_check
from wengert.engine.nest.index import Dim
from wengert.engine.nest.limits import Limit, Limits, common, of_reduction, of_store
from wengert.engine.nest.nest import Nest

#: Of fewer points, a loop goes through all.
_LEAST = 16


class Range(NamedTuple):
    """The first point of a loop that counts, and the one after the last."""

    first: Value
    end: Value


class Limited:
    """The loops of a nest, or of a reduction in it, that leave out tiles.

    Args:
        evaluator: of the nest's function.
        nest: the nest.
        dims: of the loops.
        values: the conditions of what the loops compute, store by store or sum by sum.
    """

    def __init__(
        self, evaluator: Evaluator, nest: Nest, dims: Sequence[Dim], values: Sequence[Limits]
    ) -> None:
        self.evaluator = evaluator
        shared = functools.reduce(common, values, None)
        own, written = nest.own_dims(), {*nest.writes()}
        checked = {dim for node in nest.nodes() if is_check(node) for dim in node.facts.dims}
        self.reports = any(map(is_check, nest.nodes()))
        self.of: dict[Dim, list[Limit]] = {}
        for limit in sorted(shared or (), key=lambda limit: (limit.is_low, str(limit.number))):
            indices = (limit.number, *(limit.element[1] if limit.element else ()))
            is_fixed = all(index.is_affine and own.isdisjoint(index.dims()) for index in indices)
            is_written = limit.element is not None and limit.element[0] in written
            is_long = limit.dim in dims and limit.dim.extent >= _LEAST
            if is_fixed and is_long and not is_written and limit.dim not in checked:
                self.of.setdefault(limit.dim, []).append(limit)

    def range(self, dim: Dim) -> Range | None:
        """Return the points of a dimension that count; None if all may.

        Where a check may report an error, there is at least one point.
        """
        if dim not in self.of:
            return None
        b, first, end = self.evaluator.builder, constant(I64, 0), constant(I64, dim.extent)
        for limit in self.of[dim]:
            number = self._number(limit)
            if limit.is_low:
                first = b.intrinsic("smax", first, number)
            else:
                end = b.intrinsic("smin", end, number)
        if self.reports:
            first = b.intrinsic("smin", first, constant(I64, dim.extent - 1))
            end = b.intrinsic("smax", end, b.binary("add", first, constant(I64, 1)))
        return Range(first, b.intrinsic("smax", end, constant(I64, 0)))

    def _number(self, limit: Limit) -> Value:
        number = self.evaluator.index(limit.number, Point(()))
        if limit.element is None:
            return number
        element = self.evaluator.value(Load(*limit.element), Point(()))
        return self.evaluator.builder.binary("add", element, number)


def limited_nest(evaluator: Evaluator, nest: Nest) -> Limited:
    """Return the loops over the dimensions of a nest that leave out tiles in which no store changes anything."""
    return Limited(evaluator, nest, nest.dims, list(map(of_store, nest.stores)))


def limited_reduction(evaluator: Evaluator, nest: Nest, nodes: Sequence[Reduce]) -> Limited:
    """Return the loops of reductions that leave out steps in which all values are neutral."""
    return Limited(evaluator, nest, nodes[0].dims, list(map(of_reduction, nodes)))
