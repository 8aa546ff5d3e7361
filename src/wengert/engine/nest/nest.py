"""Nests, and the programs that they are the steps of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.nest.expression import Buffer, Expression, Load, Reduce, computed, walk
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.routine import Stacked


@record
class Store:
    """One element written: the value itself, or the value combined with what stands there."""

    buffer: Buffer
    indices: tuple[Index, ...]
    value: Expression
    combiner: str = ""
    along: tuple[Dim, ...] = ()
    """The dimensions of a reduction of the nest, for an element written in each turn of its loops."""


@record
class Nest:
    """A perfect loop nest: at every point of its dimensions, in any order, the stores.

    ``sequential`` dimensions run in order, inside the others, and on one thread.
    """

    dims: tuple[Dim, ...]
    stores: tuple[Store, ...]
    sequential: frozenset[Dim] = frozenset()
    location: str = ""
    origin: tuple[str, ...] = ()
    """The names of the operations that it carries out."""
    # A nest does not change, and passes ask again and again.
    _read: list[tuple[Buffer, ...]] = field(default_factory=list[tuple[Buffer, ...]], init=False, repr=False)
    _nodes: list[tuple[Expression, ...]] = field(default_factory=list[Any], init=False, repr=False)

    def reads(self) -> tuple[Buffer, ...]:
        """Return the buffers that it reads, each once."""
        if not self._read:
            self._read.append(self._find_reads())
        return self._read[0]

    def _find_reads(self) -> tuple[Buffer, ...]:
        buffers = dict.fromkeys(buffer for root in self.roots() for buffer in root.facts.buffers)
        buffers.update((store.buffer, None) for store in self.stores if store.combiner)
        return tuple(buffers)

    def writes(self) -> list[Buffer]:
        """Return the buffers that it writes."""
        if len(self.stores) == 1:  # mostly
            return [self.stores[0].buffer]
        return list(dict.fromkeys(store.buffer for store in self.stores))

    def own_dims(self) -> set[Dim]:
        """Return its dimensions and those of its reductions; indices also follow the counters of loops around it."""
        if not self.has_reductions:
            return set(self.dims)
        return {*self.dims, *(dim for node in self.reductions() for dim in node.dims)}

    @property
    def accumulates(self) -> bool:
        """Whether a store combines its value with the element that it overwrites."""
        return any(store.combiner for store in self.stores)

    @property
    def has_reductions(self) -> bool:
        """Whether there is a reduction in it."""
        return any(root.facts.has_reductions for root in self.roots())

    def roots(self) -> Iterator[Expression]:
        """Yield the values that it stores, and the expressions in their indices."""
        for store in self.stores:
            yield store.value
            yield from computed(store.indices)

    def nodes(self) -> tuple[Expression, ...]:
        """Return every node of its expressions once, those in computed indices included."""
        if not self._nodes:
            seen: set[int] = set()
            self._nodes.append(tuple(node for root in self.roots() for node in walk(root, seen=seen)))
        return self._nodes[0]

    def reductions(self) -> list[Reduce]:
        """Return the reductions of its expressions."""
        return [node for node in self.nodes() if isinstance(node, Reduce)]

    def accesses(self) -> Iterator[tuple[Buffer, tuple[Index, ...]]]:
        """Yield the buffer and the indices of every store and load."""
        yield from ((store.buffer, store.indices) for store in self.stores)
        yield from ((load.buffer, load.indices) for load in self.loads())

    def loads(self) -> Iterator[Load]:
        """Yield every load of its expressions, those in computed indices included."""
        return (node for node in self.nodes() if isinstance(node, Load))


class _Uses(NamedTuple):
    """The buffers that the steps inside a step read and write, computed once: passes ask at each level."""

    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    reads_whole: frozenset[Buffer]


@record
class Loop:
    """Steps carried out for each value of a counter, up or (reverse) down.

    The turns of a ``shared`` loop may run in parallel: no turn reads or writes what another writes, except buffers that
    are used inside the loop only, which are private to each thread.
    """

    counter: Dim
    reverse: bool
    steps: tuple[Step, ...]
    location: str = ""
    shared: bool = False
    _uses: list[_Uses] = field(default_factory=list[Any], init=False, repr=False)


@record
class Branch:
    """One of two lists of steps, by a truth value in a buffer."""

    predicate: Buffer
    yes: tuple[Step, ...]
    no: tuple[Step, ...]
    location: str = ""
    _uses: list[_Uses] = field(default_factory=list[Any], init=False, repr=False)

    @property
    def controls(self) -> tuple[Buffer, ...]:
        """The buffers that say which steps run."""
        return (self.predicate,)


@record
class While:
    """Steps repeated as long as the condition's steps leave True in a buffer.

    A counter counts the turns, of which its extent is the most. Where ``turns`` holds a number, the loop takes that
    many turns at most, and the counter of a ``reverse`` loop goes down from it.
    """

    predicate: Buffer
    condition: tuple[Step, ...]
    steps: tuple[Step, ...]
    location: str = ""
    counter: Dim | None = None
    turns: Buffer | None = None
    reverse: bool = False
    _uses: list[_Uses] = field(default_factory=list[Any], init=False, repr=False)

    @property
    def controls(self) -> tuple[Buffer, ...]:
        """The buffers that say which steps run."""
        return (self.predicate,) if self.turns is None else (self.predicate, self.turns)


@record
class Host:
    """A call to the NumPy evaluation of an operation that has no native lowering."""

    primitive: str
    params: Any
    operands: tuple[Buffer | Any, ...]
    outputs: tuple[Buffer, ...]
    weak: tuple[bool, ...]
    """Whether each operand is a number of Python's."""
    location: str = ""
    check: str = ""
    """The class of floats, one of `CLASSES`, of which it must make none."""


@record
class Sort:
    """The elements of a buffer along an axis in NumPy's order, or their positions, or both; the sort is stable."""

    operand: Buffer
    axis: int
    values: Buffer | None
    positions: Buffer | None
    location: str = ""
    memory: Buffer | None = None
    """The memory that it works in, once that is planned."""


@record
class Call:
    """Calls of a routine of BLAS or LAPACK, for stacks of matrices."""

    calls: Stacked
    operands: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    memory: Buffer | None
    """The memory that the routine works in."""
    location: str = ""


Step: TypeAlias = "Nest | Loop | Branch | While | Host | Sort | Call"


@record
class Program:
    """A whole compiled function: what comes in, what is known, what is done, what goes out."""

    inputs: tuple[Buffer, ...]
    constants: tuple[tuple[Buffer, Any], ...]
    outputs: tuple[Buffer, ...]
    """Where the results go; an input, if a result takes its place."""
    steps: tuple[Step, ...]

    def outside(self) -> set[Buffer]:
        """Return the buffers that are not the program's alone: arguments, constants, results."""
        return {*self.inputs, *self.outputs, *(buffer for buffer, _ in self.constants)}


def inner_blocks(step: Step) -> Sequence[tuple[Step, ...]]:
    """Return the lists of steps inside a step."""
    match step:
        case Loop(steps=steps):
            return (steps,)
        case Branch(yes=yes, no=no):
            return (yes, no)
        case While(condition=condition, steps=steps):
            return (condition, steps)
        case _:
            return ()


def map_blocks(step: Step, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Step:
    """Return a step with its inner lists of steps changed; the same object if nothing changes."""
    before = tuple(inner_blocks(step))
    after = tuple(map(change, before))
    if after == before:
        return step
    match step:
        case Loop():
            return replace(step, steps=after[0])
        case Branch():
            return replace(step, yes=after[0], no=after[1])
        case While():
            return replace(step, condition=after[0], steps=after[1])
        case _:
            return step


def map_nests(steps: Iterable[Step], change: Callable[[Nest], Iterable[Step]]) -> tuple[Step, ...]:
    """Return the steps with others in the place of each nest, inside loops and branches too."""
    done: list[Step] = []
    for step in steps:
        if isinstance(step, Nest):
            done += change(step)
        else:
            done.append(map_blocks(step, lambda block: map_nests(block, change)))
    return tuple(done)


def all_nests(steps: Sequence[Step]) -> Iterator[Nest]:
    """Yield every nest, those inside loops and branches too."""
    return (step for step in all_steps(steps) if isinstance(step, Nest))


def touched(steps: Iterable[Step]) -> set[Buffer]:
    """Return the buffers that steps read or write."""
    return {buffer for step in steps for buffer in (*reads(step), *writes(step))}


def all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield every step, those inside others after them."""
    for step in steps:
        yield step
        for block in inner_blocks(step):
            yield from all_steps(block)


def reads(step: Step) -> Sequence[Buffer]:
    """Return the buffers that a step reads, also in the steps inside it."""
    match step:
        case Nest():
            return step.reads()
        case Host(operands=operands):
            return [operand for operand in operands if isinstance(operand, Buffer)]
        case Sort(operand=operand):
            return [operand]
        case Call(operands=operands):
            return operands
        case _:
            return _uses(step).reads


def writes(step: Step) -> Sequence[Buffer]:
    """Return the buffers that a step writes, also in the steps inside it."""
    match step:
        case Nest():
            return step.writes()
        case Host(outputs=outputs):
            return outputs
        case Sort(values=values, positions=positions, memory=memory):
            return [buffer for buffer in (values, positions, memory) if buffer is not None]
        case Call(outputs=outputs, memory=memory):
            return outputs if memory is None else (*outputs, memory)
        case _:
            return _uses(step).writes


def count_uses(steps: Sequence[Step]) -> Counter[Buffer]:
    """Return how many steps without others inside use each buffer."""
    count: Counter[Buffer] = Counter()
    for step in all_steps(steps):
        if isinstance(step, (Branch, While)):
            count.update(step.controls)
        elif not isinstance(step, Loop):
            count.update({*reads(step), *writes(step)})
    return count


def _uses(step: Loop | Branch | While) -> _Uses:
    uses = step._uses  # pyright: ignore[reportPrivateUsage]
    if not uses:
        inside = [inner for block in inner_blocks(step) for inner in block]
        own = () if isinstance(step, Loop) else step.controls
        read = (*(buffer for inner in inside for buffer in reads(inner)), *own)
        written = tuple(buffer for inner in inside for buffer in writes(inner))
        uses.append(_Uses(read, written, frozenset(own).union(*map(reads_whole, inside))))
    return uses[0]


def reads_whole(step: Step) -> frozenset[Buffer]:
    """Return the buffers that a step reads other than element by element: by NumPy, to sort them, and as predicates."""
    match step:
        case Nest():
            return frozenset()
        case Host() | Sort() | Call():
            return frozenset(reads(step))
        case _:
            return _uses(step).reads_whole
