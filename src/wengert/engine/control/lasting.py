"""Which reads of a nest of loops find the same elements in the arrays after all turns: no later turn writes them.

A factorisation writes each element once, and reads rows of what it has written. A read in a turn is *lasting* if no
write that comes later, in the same turn or in later turns of any of the loops, may reach an element that it reads.
That is proven for one write after the other: the elements of both, and the order of the turns, are inequalities
between the numbers of turns that no integers fulfil.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wengert.engine.control.inequalities import Fact
from wengert.engine.control.rereads import NOTHING, Array, Lasting, Reread
from wengert.engine.control.scopes import LOOPS, Scope, Turn, positions, root
from wengert.engine.control.subgraphs import memoized
from wengert.engine.control.values import bytes_of
from wengert.engine.control.writes import (
    Chain,
    Write,
    aligned,
    all_of,
    chain_of,
    indexed,
    is_apart,
    masked,
    whole,
)
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var

#: A nest with more pairs of a read and a write is left alone.
_MOST_PAIRS = 500


@memoized
def lasting_reads(body: Graph, constants: int, length: int, starts: Sequence[int | None]) -> Lasting:
    """Return what a loop, and the loops in it, read of arrays that hold it at the end.

    Args:
        body: of the outermost loop.
        constants: the number of its operands that are the same in each turn.
        length: the largest number of turns.
        starts: the carries before the first turn where they are known integers.
    """
    scope = root(body, constants, length, starts)
    return NOTHING if scope is None else Lasting(_Nest().rereads(scope, constants, len(starts)))


class _Level(NamedTuple):
    """A loop around a read."""

    turn: Turn
    steps: list[list[Write]]
    """The writes of a turn."""
    following: int
    """The number of steps that come before the read in the same turn."""


class _Carried(NamedTuple):
    """The array that is read, and the loops around a body that carry it."""

    of: Array
    first: int
    """The number of loops around the one that carries it from its first to its last turn."""
    around: tuple[_Level, ...] = ()

    def inside(self, level: _Level) -> _Carried:
        """Return the same array in a loop inside."""
        return self._replace(around=(*self.around, level))


class _Found(NamedTuple):
    body: Graph
    reread: Reread
    bytes: int
    """The bytes of its values in all turns of the loops from that on which carries the array."""


# -- reads -----------------------------------------------------------------------------------------------


class _Nest:
    """The loops of a nest, and what is found in them."""

    def __init__(self) -> None:
        self._carried: set[Array] = set()
        """Arrays that a loop inside of another one carries on from it."""
        self._pairs = 0

    def rereads(self, scope: Scope, constants: int, carries: int) -> dict[Graph, tuple[Reread, ...]]:
        """Return the lasting reads of a loop and of the loops in it."""
        found: dict[Graph, list[Reread]] = {}
        for body, reread in self._of_loop(scope, constants, [True] * carries):
            found.setdefault(body, []).append(reread)
        return {body: tuple(rereads) for body, rereads in found.items()}

    def _of_loop(
        self, scope: Scope, constants: int, begins: Sequence[bool]
    ) -> Iterator[tuple[Graph, Reread]]:
        """Yield the lasting reads of the arrays that begin with a loop, and of the loops in it."""
        graph = scope.graph
        for place, is_new in enumerate(begins):
            var = graph.inputs[constants + place]
            if not (is_new and var.shape and is_inexact(var.dtype)):
                continue
            chain = chain_of(scope, graph.outputs[place])
            if chain is None or chain.first is not var or not chain.steps:
                continue
            self._follow_loops(chain)
            carried = _Carried((graph, place), len(scope.turns) - 1)
            found = [*self._reads(scope, chain.versions, chain, carried)]
            if sum(x.bytes for x in found) >= bytes_of([var.type]):
                yield from ((x.body, x.reread) for x in found)
        outer = set(graph.inputs[constants : constants + len(begins)])
        for equation, inner in scope.inner.items():
            if equation.primitive in LOOPS:
                fixed, count = equation.params["constants"], equation.params["carries"]
                operands = equation.operands[LOOPS[equation.primitive] + fixed :][:count]
                yield from self._of_loop(
                    inner[0],
                    fixed,
                    [self._begins(scope, inner[0], n, atom, outer) for n, atom in enumerate(operands)],
                )

    def _begins(self, scope: Scope, inner: Scope, place: int, start: Atom, outer: set[Var]) -> bool:
        """Return whether an array that a loop carries does not come from the turn before of the loop around."""
        if (inner.graph, place) in self._carried:
            return False
        chain = chain_of(scope, start)
        return chain is None or chain.first not in outer

    def _follow_loops(self, chain: Chain) -> None:
        for equation, (_, inner) in chain.loops.items():
            body = equation.params["body"]
            self._carried.add((body, body.inputs.index(inner.first) - equation.params["constants"]))
            self._follow_loops(inner)

    def _reads(
        self, scope: Scope, versions: dict[Var, int], chain: Chain | None, carried: _Carried
    ) -> Iterator[_Found]:
        """Yield the lasting reads of an array in a body.

        Args:
            scope: the body.
            versions: the values that stand for the array, with the number of steps before.
            chain: the writes of a turn; None where it writes nothing.
            carried: the array, and the loops around that carry it.
        """
        steps = [] if chain is None else chain.steps
        repeated = math.prod(turn.length for turn in scope.turns[carried.first :])
        gathered: dict[Var, tuple[Var, tuple[Fact, ...]]] = {}

        for equation in scope.graph.equations:
            if equation.primitive in LOOPS:
                yield from self._inner_reads(scope, equation, versions, chain, carried)
            for array, through, part in _parts(scope, equation, versions, gathered):
                (value,) = equation.outputs
                here = carried.inside(_Level(scope.turn, steps, versions[array]))
                if self._is_lasting(scope, part, here.around):
                    reread = Reread(value, through, array, carried.of)
                    yield _Found(scope.graph, reread, bytes_of([value.type]) * repeated)
                    break
                if equation.primitive == "gather":
                    gathered[value] = array, tuple(part)

    def _inner_reads(
        self,
        scope: Scope,
        equation: Equation,
        versions: dict[Var, int],
        chain: Chain | None,
        carried: _Carried,
    ) -> Iterator[_Found]:
        """Yield the lasting reads of a loop in a body: it carries the array, or reads it alone."""
        steps = [] if chain is None else chain.steps
        (inner,) = scope.inner[equation]
        fixed, carries = equation.params["constants"], equation.params["carries"]
        operands = equation.operands[LOOPS[equation.primitive] :][: fixed + carries]
        for place, atom in enumerate(operands):
            if isinstance(atom, Literal) or atom not in versions:
                continue
            var, before = inner.graph.inputs[place], versions[atom]
            if place < fixed:
                there = carried.inside(_Level(scope.turn, steps, before))
                yield from self._reads(inner, {var: 0}, None, there)
            elif chain is not None and equation in chain.loops:
                number, own = chain.loops[equation]
                if number == before and own.first is var:
                    there = carried.inside(_Level(scope.turn, steps, number + 1))
                    yield from self._reads(inner, own.versions, own, there)

    def _is_apart(self, known: Sequence[Fact], write: Write, shared: set[Graph], turn: Turn | None) -> bool:
        self._pairs += 1
        return self._pairs <= _MOST_PAIRS and is_apart(known, write, shared, turn)

    def _is_lasting(self, scope: Scope, part: Sequence[Fact], levels: Sequence[_Level]) -> bool:
        """Return whether it is proven that no later write reaches a part of an array."""
        known = [*scope.facts(), *part]
        outer = len(scope.turns) - len(levels)
        for number, level in enumerate(levels):
            shared = {turn.body for turn in scope.turns[: outer + number]}
            later = all_of(level.steps)
            if not all(self._is_apart(known, write, shared, level.turn) for write in later):
                return False
            shared.add(level.turn.body)
            following = all_of(level.steps[level.following :])
            if not all(self._is_apart(known, write, shared, None) for write in following):
                return False
        return True


def _parts(
    scope: Scope,
    equation: Equation,
    versions: dict[Var, int],
    gathered: dict[Var, tuple[Var, tuple[Fact, ...]]],
) -> Iterator[tuple[Var, Var | None, Sequence[Fact]]]:
    """Yield what an operation reads of an array: the array, what is gathered of it before, and which elements."""
    operands = equation.operands
    if equation.primitive == "gather":
        array = operands[0]
        if isinstance(array, Var) and array in versions:
            yield array, None, indexed(scope, array.shape, operands[1:])
    elif equation.primitive == "where":
        (value,) = equation.outputs
        for place in (1, 2):
            read = operands[place]
            if isinstance(read, Literal) or read.shape != value.shape:
                continue
            chosen = [*positions(value.shape), *masked(scope, equation, place)]
            if read in versions:
                yield read, None, [*whole(read.shape), *aligned(read.shape), *chosen]
            elif read in gathered:
                array, part = gathered[read]
                yield array, read, [*part, *chosen]
