"""Loop distribution: products that a loop adds up, turn by turn, become one product after the loop.

The derivative of a recurrence adds ``h_t.T @ g_t`` to that of a matrix in each turn, and so reads and writes all of the
matrix for the few terms of a turn. A loop that stacks ``g_t``, and one product whose sum runs over the turns too, read
and write it once. The literature calls this loop distribution, or fission, with expansion of the values that the loops
hand on (Kuck, Kuhn, Padua, Leasure and Wolfe, "Dependence graphs and compiler optimizations", 1981).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.machine import costs
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.rewrite import is_zero, with_programs
from wengert.engine.passes.simplify import simplify

_LINEAR = frozenset({"embed", "reshape", "transpose"})
"""Operations of one operand that may follow a sum of products instead of each product."""
#: Operations that move elements: their parameters for the values of all turns. A product has no terms for what lies
#: outside of an embedded array, and would have terms for the zeros of a stack.
_MOVES: dict[str, Callable[..., dict[str, Any]]] = {
    "embed": lambda turns, shape, index: {"shape": (turns, *shape), "index": ((0, turns, 1), *index)},
    "reshape": lambda turns, shape: {"shape": (turns, *shape)},
    "transpose": lambda turns, permutation: {"permutation": (0, *_following(permutation))},
}


def _following(axes: Iterable[int]) -> Iterator[int]:
    """Return axes behind a new first axis."""
    return (axis + 1 for axis in axes)


def distribute_loops(graph: Graph) -> Graph:
    """Return the graph, the programs inside it included, with sums of products after loops instead of in them.

    Example:
        >>> import numpy as np, wengert as wg
        >>> def loss(w, xs):
        ...     return np.sum(wg.scan(lambda h, x: (np.tanh(h @ w + x), None), np.zeros((1, 8)), xs)[0])
        >>> graph = wg.jit(wg.grad(loss)).graph(np.eye(8), np.ones((20, 1, 8)))
        >>> [len(e.outputs) for e in distribute_loops(graph).equations if e.primitive == "scan"]
        [3, 2]
    """
    changed = _distributed(graph)
    return graph if changed is graph else simplify(changed)


def _distributed(graph: Graph) -> Graph:
    equations: list[Equation] = []
    zeros = {var for var, value in graph.constants if is_zero(value)}
    for equation in graph.equations:
        inner = with_programs(equation, _distributed)
        equations += _Loop(inner, zeros).written() if inner.primitive == "scan" else [inner]
    same = len(equations) == len(graph.equations) and all(map(operator.is_, equations, graph.equations))
    return graph if same else replace(graph, equations=tuple(equations))


class _Term(NamedTuple):
    """A product that a loop adds up."""

    product: Equation
    after: tuple[Equation, ...]
    """Linear operations on the product, from the innermost."""


@dataclass
class _Stacks:
    """The values of all turns that a loop keeps."""

    arrays: dict[Atom, Var]
    """The array outside of the loop whose rows a value of a turn is."""
    new: list[Atom] = field(default_factory=list[Atom])
    """Values of a turn that the loop does not stack yet."""

    def copy(self) -> _Stacks:
        return _Stacks(dict(self.arrays), list(self.new))


class _Loop:
    """A loop whose sums of products may leave it.

    Args:
        zeros: arrays of zeros: sums that begin with them are their products alone.
    """

    def __init__(self, equation: Equation, zeros: Container[Atom]) -> None:
        self.equation = equation
        self.zeros = zeros
        self.body: Graph = equation.params["body"]
        self.turns: int = equation.params["length"]
        first, count = equation.params["constants"], equation.params["carries"]
        self.carries = range(first, first + count)
        """The places of the carries among the operands."""
        inputs, results = self.body.inputs, self.body.outputs
        self.fixed: dict[Atom, Atom] = dict(zip(inputs[:first], equation.operands[:first], strict=True))
        rows = zip(inputs[first + count :], equation.operands[first + count :], strict=True)
        made = zip(results[count:], equation.outputs[count:], strict=True)
        arrays = {row: array for row, array in (*made, *rows) if isinstance(array, Var)}
        self.sliced = frozenset(inputs[first + count :])
        self.kept = sum(_nbytes(array.type) for array in {*arrays.values()})
        self.stacks = _Stacks(arrays)
        self.definitions = {out: line for line in self.body.equations for out in line.outputs}
        self.uses = Counter(atom for line in self.body.equations for atom in line.operands)
        self.uses.update(results)
        self.after: list[Equation] = []
        """The equations that follow the loop."""

    def written(self) -> list[Equation]:
        """Return the loop, and the equations after it; the loop alone where no sum leaves it."""
        sums = {place: terms for place in self.carries if (terms := self._terms(place))}
        left: list[int] = []
        for place in sorted(sums, key=lambda place: -_nbytes(self.body.inputs[place].type)):
            if self._take_out(place, sums[place]):
                left.append(place)
        return [self._without(left), *self.after] if left else [self.equation]

    # -- what a loop adds up -----------------------------------------------------------------------------

    def _result(self, place: int) -> int:
        """Return the place among the results of a carry at a place among the operands."""
        return place - self.carries.start

    def _terms(self, place: int) -> list[_Term]:
        """Return the products that each turn adds to a carry that nothing else reads; none if there are others."""
        carry, total = self.body.inputs[place], self.body.outputs[self._result(place)]
        if self.uses[carry] != 1 or carry is total or carry.type != total.type:
            return []
        leaves = list(self._leaves(total, carry.type))
        if carry not in leaves or any(leaf.type != carry.type for leaf in leaves):
            return []
        terms = [term for leaf in leaves if leaf is not carry and (term := self._term(leaf)) is not None]
        return terms if len(terms) == len(leaves) - 1 else []

    def _leaves(self, total: Atom, type_: TensorType) -> Iterator[Atom]:
        """Yield the terms of a sum from left to right."""
        waiting = [total]
        while waiting:
            atom = waiting.pop()
            line = self._definition(atom)
            if line is not None and line.primitive == "add" and self.uses[atom] == 1 and atom.type == type_:
                waiting += reversed(line.operands)
            else:
                yield atom

    def _definition(self, atom: Atom) -> Equation | None:
        return None if isinstance(atom, Literal) else self.definitions.get(atom)

    def _term(self, atom: Atom) -> _Term | None:
        after: list[Equation] = []
        line = self._definition(atom)
        while line is not None and line.primitive in _LINEAR and self.uses[atom] == 1:
            after.insert(0, line)
            atom = line.operands[0]
            line = self._definition(atom)
        if line is None or line.primitive != "contract" or self.uses[atom] != 1:
            return None
        return _Term(line, tuple(after)) if not all(map(self._is_fixed, line.operands)) else None

    def _is_fixed(self, atom: Atom) -> bool:
        return isinstance(atom, Literal) or atom in self.fixed

    # -- what leaves the loop ----------------------------------------------------------------------------

    def _take_out(self, place: int, terms: Sequence[_Term]) -> bool:
        """Write a sum of products after the loop, if that moves fewer bytes; return whether it does."""
        stacks, lines = self.stacks.copy(), list[Equation]()
        factors = [[self._outside(atom, stacks, lines) for atom in term.product.operands] for term in terms]
        if not self._pays(place, terms, stacks.new[len(self.stacks.new) :]):
            return False
        self.stacks = stacks
        self.after += lines
        first, out = self.equation.operands[place], self.equation.outputs[self._result(place)]
        total = None if first in self.zeros else first
        for term, factor in zip(terms, factors, strict=True):
            self._add(total, term, factor, out if term is terms[-1] else Var(out.type))
            total = self.after[-1].outputs[0]
        return True

    def _pays(self, place: int, terms: Sequence[_Term], stacked: Sequence[Atom]) -> bool:
        """Return whether a turn reads and writes more of a sum than stacks of the factors take, which must fit."""
        rows = {self._moved(atom) for term in terms for atom in term.product.operands}
        made = [atom for atom in rows if not self._is_fixed(atom) and atom not in self.sliced]
        moved = sum(_nbytes(atom.type) for atom in (*made, *stacked))
        new = sum(_nbytes(self._stacked(atom.type)) for atom in (*self.stacks.new, *stacked))
        if not costs.stacks_fit(new, self.kept):
            return False
        return costs.leaves_loop(moved, _nbytes(self.body.inputs[place].type))

    def _moved(self, atom: Atom) -> Atom:
        """Return the value whose elements operations move to where they are read."""
        line = self._definition(atom)
        return self._moved(line.operands[0]) if line is not None and line.primitive in _MOVES else atom

    def _outside(self, atom: Atom, stacks: _Stacks, lines: list[Equation]) -> Atom:
        """Return the value of all turns, or the value that all turns share; the loop stacks it if need be."""
        if isinstance(atom, Literal):
            return atom
        if atom in self.fixed:
            return self.fixed[atom]
        if atom not in stacks.arrays:
            array = stacks.arrays[atom] = Var(self._stacked(atom.type))
            line = self._definition(atom)
            if line is not None and line.primitive in _MOVES:
                inner = self._outside(line.operands[0], stacks, lines)
                params = _MOVES[line.primitive](self.turns, **line.params)
                lines.append(replace(line, operands=(inner,), outputs=(array,), params=params))
            else:
                stacks.new.append(atom)
        return stacks.arrays[atom]

    def _stacked(self, type_: TensorType) -> TensorType:
        return TensorType(type_.dtype, (self.turns, *type_.shape))

    def _add(self, total: Atom | None, term: _Term, factors: Sequence[Atom], out: Var) -> None:
        """Write the sum of a product over all turns, and add it to the total so far."""
        params = term.product.params
        turn = (0, ((len(params["extents"]), 1),))
        accesses = tuple(
            access if self._is_fixed(atom) else (turn, *access)
            for atom, access in zip(term.product.operands, params["accesses"], strict=True)
        )
        params = {**params, "extents": (*params["extents"], self.turns), "accesses": accesses}
        lines = [replace(term.product, operands=tuple(factors), params=params), *term.after]
        for n, line in enumerate(lines):
            value = out if total is None and n == len(lines) - 1 else Var(line.outputs[0].type)
            operands = (self.after[-1].outputs[0],) if n else line.operands
            self.after.append(replace(line, operands=operands, outputs=(value,)))
        if total is not None:
            operands = total, self.after[-1].outputs[0]
            self.after.append(Equation("add", operands, (out,), {}, term.product.location))

    def _without(self, left: Sequence[int]) -> Equation:
        """Return the loop without carries that have left it, and with the stacks that it makes for them."""
        dropped = {*left}
        results = {self._result(place) for place in left}
        retained = [place for place in range(len(self.body.inputs)) if place not in dropped]
        stacks = tuple(self.stacks.arrays[atom] for atom in self.stacks.new)
        outputs = (*_others(self.body.outputs, results), *self.stacks.new)
        body = eliminate_dead(replace(self.body, outputs=outputs))
        body = replace(body, inputs=tuple(self.body.inputs[place] for place in retained))
        return replace(
            self.equation,
            operands=tuple(self.equation.operands[place] for place in retained),
            outputs=(*_others(self.equation.outputs, results), *stacks),
            params={**self.equation.params, "body": body, "carries": len(self.carries) - len(left)},
        )


def _others(values: Iterable[Any], places: set[int]) -> Iterator[Any]:
    return (value for place, value in enumerate(values) if place not in places)


def _nbytes(type_: TensorType) -> int:
    return size(type_.shape) * type_.dtype.itemsize
