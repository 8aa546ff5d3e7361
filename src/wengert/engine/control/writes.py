"""How loops and branches write into an array, and which elements: inequalities between the numbers of turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.engine.control.inequalities import Affine, Fact, Name, contradict, equal_to, unknown, within
from wengert.engine.control.scopes import LOOPS, Mask, Scope, Turn, axis, is_axis, positions
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var


class Write(NamedTuple):
    """A write of a part of an array."""

    turns: tuple[Turn, ...]
    part: tuple[Fact, ...]
    """What holds of the indices of its elements."""


class Chain(NamedTuple):
    """How a value follows from an input of its program by writes into it."""

    first: Var
    versions: dict[Var, int]
    """The values that the array has in between, with the number of steps before."""
    steps: list[list[Write]]
    """The writes of one step after the other."""
    loops: dict[Equation, tuple[int, Chain]]
    """The loops among the steps, with the place of each, and the chain in its body."""


class _Step(NamedTuple):
    before: Atom
    writes: list[Write]
    inner: Chain | None


def _coordinate(number: int) -> Affine:
    return unknown(("element", number))


def whole(shape: Shape) -> list[Affine]:
    """Return what holds of the indices of all elements."""
    return [fact for n, extent in enumerate(shape) for fact in within(_coordinate(n), extent)]


def aligned(shape: Shape, first: int = 0) -> list[Affine]:
    """Return that indices from one on are the positions along the last axes of what is read or written."""
    found = (
        equal_to(_coordinate(n), axis(len(shape) - n))
        for n, extent in enumerate(shape)
        if n >= first and extent != 1
    )
    return [fact for pair in found for fact in pair]


def indexed(scope: Scope, shape: Shape, indices: Sequence[Atom]) -> tuple[Fact, ...]:
    """Return what holds of the elements of an array at indices."""
    trailing, lead = len(shape) - len(indices), max(len(index.type.shape) for index in indices)

    def shifted(name: Name) -> Name:
        return ("axis", name[1] - trailing) if is_axis(name) else name

    facts: list[Fact] = [*whole(shape), *aligned(shape, len(indices))]
    taken = [1] * lead
    for n, index in enumerate(indices):
        position = scope.position(index)
        if position is not None:
            facts += equal_to(_coordinate(n), position.renamed(shifted))
        for back, extent in enumerate(reversed(index.type.shape), 1):
            taken[-back] = max(taken[-back], extent)
    return (*facts, *positions((*taken, *shape[len(indices) :])))


def masked(scope: Scope, equation: Equation, place: int) -> list[Fact]:
    """Return what holds of the positions at which `where` chooses the operand at a place."""
    mask = scope.read(equation.operands[0])
    if not isinstance(mask, Mask):
        return []
    return list(mask.holds if place == 1 else mask.fails)


def chain_of(scope: Scope, last: Atom) -> Chain | None:
    """Return how a value follows from an input by writes; None where it does not."""
    names: list[list[Var]] = [[]]
    steps: list[tuple[Equation, _Step]] = []
    inputs, atom = set(scope.graph.inputs), last
    while True:
        if isinstance(atom, Literal):
            return None
        names[-1].append(atom)
        if atom in inputs:
            break
        equation = scope.definitions.get(atom)
        if equation is None:
            return None
        if equation.primitive == "reshape" and equation.operands[0].type == atom.type:
            atom = equation.operands[0]
            continue
        step = _step(scope, equation, atom)
        if step is None:
            return None
        steps.append((equation, step))
        names.append([])
        atom = step.before
    total = len(steps)
    versions = {var: total - n for n, group in enumerate(names) for var in group}
    inner = ((equation, n, step.inner) for n, (equation, step) in enumerate(reversed(steps)))
    loops = {equation: (n, chain) for equation, n, chain in inner if chain is not None}
    return Chain(atom, versions, [step.writes for _, step in reversed(steps)], loops)


def _step(scope: Scope, equation: Equation, result: Var) -> _Step | None:
    """Return the writes of an operation into an array; None for another operation."""
    name, operands = equation.primitive, equation.operands
    if name in ("scatter", "add_at"):
        part = indexed(scope, result.shape, operands[2:])
        return _Step(operands[0], [Write(scope.turns, (*part, *scope.chosen))], None)
    if name == "where":
        place = 1 if isinstance(operands[2], Literal) or operands[2].shape != result.shape else 2
        part = [*whole(result.shape), *aligned(result.shape), *masked(scope, equation, 3 - place)]
        is_whole = operands[place].type.shape == result.shape
        write = Write(scope.turns, (*part, *scope.chosen))
        return _Step(operands[place], [write], None) if is_whole else None
    place = equation.outputs.index(result)
    if name in LOOPS and place < equation.params["carries"]:
        position = equation.params["constants"] + place
        (body,) = scope.inner[equation]
        chain = chain_of(body, body.graph.outputs[place])
        if chain is None or chain.first is not body.graph.inputs[position]:
            return None
        return _Step(operands[LOOPS[name] + position], all_of(chain.steps), chain)
    if name == "cond":
        chains = [chain_of(branch, branch.graph.outputs[place]) for branch in scope.inner[equation]]
        return _joined(operands[1:], [branch.graph for branch in scope.inner[equation]], chains)
    return None


def _joined(
    operands: Sequence[Atom], branches: Sequence[Graph], chains: Sequence[Chain | None]
) -> _Step | None:
    """Return the writes of both branches if they write into the same operand."""
    places: set[int] = set()
    writes: list[Write] = []
    for branch, chain in zip(branches, chains, strict=True):
        if chain is None:
            return None
        places.add(branch.inputs.index(chain.first))
        writes += all_of(chain.steps)
    return _Step(operands[places.pop()], writes, None) if len(places) == 1 else None


def all_of(steps: Iterable[list[Write]]) -> list[Write]:
    """Return the writes of all steps."""
    return [write for step in steps for write in step]


def is_apart(known: Sequence[Fact], write: Write, shared: set[Graph], turn: Turn | None) -> bool:
    """Return whether it is proven that a write reaches no element of a part of the array.

    Args:
        known: what holds of the read and of the indices of the part.
        write: the write.
        shared: the bodies that are in the same turn.
        turn: of the loop that is in a later one; None if nothing is known of the turns of the others.
    """

    def name(old: Name) -> Name:
        return old if old[0] in shared or old[0] in ("element", "fixed") else ("later", old)

    facts = [fact for around in write.turns for fact in around.facts]
    inequalities = [*known, *(fact.renamed(name) for fact in (*facts, *write.part))]
    if turn is not None:
        number = turn.number
        inequalities.append(number.plus(number.renamed(name), -1).shifted(1))
    return contradict(inequalities)
