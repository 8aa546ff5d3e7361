"""Reads of an array that a loop writes, but not where it reads: they are moved in front of the loop.

A turn of an elimination writes one row of a matrix, and reads the row of the pivot, which the turns of the inner loop
leave alone. Read in each turn, the row is kept for each; read before the loop, once. A read moves where its indices are
the same in all turns and lie inside of the array, and where it is proven that no turn writes what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wengert.engine.control.inequalities import contradict
from wengert.engine.control.scopes import LOOPS, Scope, root
from wengert.engine.control.subgraphs import memoized
from wengert.engine.control.values import bytes_of
from wengert.engine.control.writes import Chain, Write, all_of, chain_of, indexed, is_apart
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var

#: How many loops a read moves out of, at most.
_MOST_LOOPS = 3
#: A nest with more pairs of a read and a write is left alone.
_MOST_PAIRS = 300
#: Operations on integers of which an index consists.
_INDICES = {"add", "subtract", "multiply", "negative", "cast", "reshape", "broadcast_to"}


@memoized
def with_invariant_reads(body: Graph, constants: int, length: int, starts: Sequence[int | None]) -> Graph:
    """Return the body of a loop in which the loops inside get what they read of other turns' arrays as constants.

    Args:
        body: of the outermost loop.
        constants: the number of its operands that are the same in each turn.
        length: the largest number of turns.
        starts: the carries before the first turn where they are known integers.
    """
    for _ in range(_MOST_LOOPS):
        scope = root(body, constants, length, starts)
        if scope is None:
            return body
        moved = _Moved()
        moved.find(scope)
        if not moved.reads:
            return body
        body = moved.rewritten(scope)
    return body


class _Read(NamedTuple):
    """A read that moves in front of a loop."""

    equation: Equation
    branches: tuple[tuple[Equation, int], ...]
    """The branches in the loop's body in which it stands, and which of both: the outermost one first."""
    array: Atom
    """What it reads in front of the loop."""
    indices: tuple[Atom, ...]
    needed: tuple[Equation, ...]
    """The equations of the indices in front of the loop."""


class _Level(NamedTuple):
    """A body of a loop, or a branch in it."""

    scope: Scope
    equation: Equation
    """The loop or the branches."""
    side: int
    """Which branch; 0 in a loop."""


class _Moved:
    """The reads of a nest of loops that move."""

    def __init__(self) -> None:
        self.reads: dict[Equation, list[_Read]] = {}
        """Those of each loop."""
        self._pairs = 0

    def find(self, scope: Scope) -> None:
        """Find the reads that move in front of the loops of a program."""
        for equation, inner in scope.inner.items():
            for below in inner:
                self.find(below)
            if equation.primitive not in LOOPS:
                continue
            found = list(self._reads_of_loop(scope, equation, inner[0]))
            if found:
                self.reads[equation] = found

    def _reads_of_loop(self, outer: Scope, loop: Equation, scope: Scope) -> Iterator[_Read]:
        fixed, carries = loop.params["constants"], loop.params["carries"]
        operands = loop.operands[LOOPS[loop.primitive] + fixed :]
        for place, var in enumerate(scope.graph.inputs[fixed : fixed + carries]):
            if not (var.shape and is_inexact(var.dtype)):
                continue
            chain = chain_of(scope, scope.graph.outputs[place])
            if chain is None or chain.first is not var or not chain.steps:
                continue
            writes = all_of(chain.steps)
            for levels, equation in _reads((_Level(scope, loop, 0),), chain, set(chain.versions)):
                read = self._moved(outer, levels, equation, writes, operands[place])
                if read is not None:
                    yield read

    def _moved(
        self,
        outer: Scope,
        levels: tuple[_Level, ...],
        equation: Equation,
        writes: Sequence[Write],
        array: Atom,
    ) -> _Read | None:
        """Return a read in front of its loop; None where it may stay in the loop only."""
        (value,), shape = equation.outputs, array.type.shape
        if bytes_of([value.type]) >= bytes_of([array.type]):
            return None
        needed: dict[Var, Equation] = {}
        made: dict[Atom, Atom] = {}
        indices: list[Atom] = []
        for index, extent in zip(equation.operands[1:], shape, strict=False):
            found = _outside(levels, index, needed, made)
            if found is None or not _is_inside(outer, levels[-1].scope, index, extent):
                return None
            indices.append(found)
        self._pairs += len(writes)
        scope = levels[-1].scope
        known = [*scope.facts(), *indexed(scope, shape, equation.operands[1:])]
        shared = {turn.body for turn in outer.turns}
        if self._pairs > _MOST_PAIRS or not all(is_apart(known, write, shared, None) for write in writes):
            return None
        branches = tuple((level.equation, level.side) for level in levels[1:])
        return _Read(equation, branches, array, tuple(indices), tuple(needed.values()))

    def rewritten(self, scope: Scope) -> Graph:
        """Return a program in which the reads stand in front of their loops."""
        return _Rewriting(self.reads).program(scope, [])


def _reads(
    levels: tuple[_Level, ...], chain: Chain, names: set[Var]
) -> Iterator[tuple[tuple[_Level, ...], Equation]]:
    """Yield the reads of an array in a body and in its branches, given the values that stand for the array."""
    scope = levels[-1].scope
    for equation in scope.graph.equations:
        if equation.primitive == "gather" and equation.operands[0] in names:
            yield levels, equation
        if equation.primitive != "cond":
            continue
        for side, branch in enumerate(scope.inner[equation]):
            pairs = zip(branch.graph.inputs, equation.operands[1:], strict=True)
            inside = {var for var, atom in pairs if atom in names}
            for place, var in enumerate(equation.outputs):
                written = chain_of(branch, branch.graph.outputs[place]) if var in names else None
                if written is not None and written.first in inside:
                    inside |= written.versions.keys()
            if inside:
                yield from _reads((*levels, _Level(branch, equation, side)), chain, inside)


def _outside(
    levels: tuple[_Level, ...], atom: Atom, needed: dict[Var, Equation], made: dict[Atom, Atom]
) -> Atom | None:
    """Return an integer of a loop as it is in front of the loop; None where turns may change it."""
    if isinstance(atom, Literal):
        return atom
    if atom in made:
        return made[atom]
    scope, holder, _ = levels[-1]
    if atom in scope.graph.inputs:
        place = scope.graph.inputs.index(atom)
        if len(levels) > 1:
            return _outside(levels[:-1], holder.operands[1 + place], needed, made)
        is_fixed = place < holder.params["constants"]
        return holder.operands[LOOPS[holder.primitive] + place] if is_fixed else None
    equation = scope.definitions.get(atom)
    if equation is None or equation.primitive not in _INDICES or atom.shape:
        return None
    operands = [_outside(levels, operand, needed, made) for operand in equation.operands]
    if any(operand is None for operand in operands):
        return None
    found = made[atom] = Var(atom.type)
    inputs = tuple(operand for operand in operands if operand is not None)
    needed[found] = replace(equation, operands=inputs, outputs=(found,))
    return found


def _is_inside(outer: Scope, scope: Scope, index: Atom, extent: int) -> bool:
    """Return whether it is proven that an index lies inside of an array, also where the loop takes no turn."""
    position = scope.position(index)
    if position is None:
        return False
    facts = outer.facts()
    beyond = position.times(-1).shifted(extent)
    return contradict([*facts, beyond]) and contradict([*facts, position.shifted(1)])


class _Rewriting:
    """Moves reads in front of their loops."""

    def __init__(self, reads: dict[Equation, list[_Read]]) -> None:
        self._reads = reads
        self._inputs: dict[tuple[Equation, int], list[Var]] = {}
        """Further inputs of branches; the operands are those of both branches, one after the other."""
        self._operands: dict[Equation, list[Atom]] = {}
        self._gone = {read.equation for found in reads.values() for read in found}

    def program(self, scope: Scope, more: Sequence[Var], place: int | None = None) -> Graph:
        """Return a program, with further inputs at a place, or at the end."""
        equations: list[Equation] = []
        for equation in scope.graph.equations:
            if equation in self._gone:
                continue
            if equation in scope.inner:
                equations += self._holder(scope, equation)
            else:
                equations.append(equation)
        inputs = scope.graph.inputs
        place = len(inputs) if place is None else place
        if not more and tuple(equations) == scope.graph.equations:
            return scope.graph
        return replace(
            scope.graph, inputs=(*inputs[:place], *more, *inputs[place:]), equations=tuple(equations)
        )

    def _holder(self, scope: Scope, equation: Equation) -> list[Equation]:
        """Return a loop or branches, behind the reads that move in front of them."""
        inner = scope.inner[equation]
        if equation.primitive == "cond":
            return [self._branches(equation, inner)]
        first, fixed = LOOPS[equation.primitive], equation.params["constants"]
        before: list[Equation] = []
        inputs: list[Var] = []
        given: list[Var] = []
        for read in self._reads.get(equation, ()):
            (value,) = read.equation.outputs
            found = Var(value.type)
            before += [
                *read.needed,
                replace(read.equation, operands=(read.array, *read.indices), outputs=(found,)),
            ]
            given.append(found)
            inputs.append(self._passed(read, value))
        body = self.program(inner[0], inputs, fixed)
        if body is inner[0].graph:
            return [equation]
        place = first + fixed
        operands = *equation.operands[:place], *given, *equation.operands[place:]
        params = {**equation.params, "body": body, "constants": fixed + len(inputs)}
        return [*before, replace(equation, operands=operands, params=params)]

    def _passed(self, read: _Read, value: Var) -> Var:
        """Return the input of a loop's body that stands for a read, and pass it into the branches around the read."""
        for branch, side in reversed(read.branches):
            around = Var(value.type)
            self._inputs.setdefault((branch, side), []).append(value)
            self._inputs.setdefault((branch, 1 - side), []).append(Var(value.type))
            self._operands.setdefault(branch, []).append(around)
            value = around
        return value

    def _branches(self, equation: Equation, inner: Sequence[Scope]) -> Equation:
        names = "on_true", "on_false"
        branches = {
            name: self.program(scope, self._inputs.get((equation, side), []))
            for side, (name, scope) in enumerate(zip(names, inner, strict=True))
        }
        operands = *equation.operands, *self._operands.get(equation, [])
        if all(branches[name] is scope.graph for name, scope in zip(names, inner, strict=True)):
            return equation
        return replace(equation, operands=operands, params={**equation.params, **branches})
