"""What the pass backward of a loop or a branch computes again, instead of reading what the pass forward kept.

To keep a value takes a write forward and a read backward, in memory that grows with the turns of the loops around. A
value that follows by a few cheap operations from what the pass backward has in any case takes less time: from
numbers of turns, from operands that no turn changes, from other values that are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from wengert.engine.control.rereads import Reread
from wengert.engine.control.rounding import Bits, bits_of, decisive, differing
from wengert.engine.control.values import bytes_of
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Equation, Graph, Literal, Var

#: Operations that take as long as a read. Arrays of floats would be written down again.
_ARITHMETIC = {"add", "subtract", "multiply", "negative", "cast"}
_CHOICES = {
    *("where", "logical_and", "logical_or", "logical_not"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
}
#: Operations that choose or repeat elements of their first operand.
_VIEWS = {"broadcast_to", "reshape", "transpose", "slice"}
#: Integer operations that are cheap where the second operand is a known number.
_BY_NUMBER = {"floor_divide", "remainder"}
#: The operations and the reads that stand for a read and a write of an element, at most.
_OPERATIONS, _READS = 4, 2
#: The same for operations on integers and truth values that are no arrays.
_NUMBERS = 16


class _Source(NamedTuple):
    """From what a value follows."""

    leaves: dict[Var | Reread, None]
    numbers: int
    """The operations on integers and truth values that are no arrays."""
    operations: int
    """The others."""
    reads: int
    """The elements of arrays that are read for an element."""
    is_float: bool
    """Whether it follows from floats."""
    bits: Bits = Bits.SAME
    """How it differs from the value of the pass forward."""


def computed_again(
    graph: Graph,
    split: int,
    wanted: Sequence[Var],
    given: Collection[Var],
    arrays: Collection[Var],
    rereads: Mapping[Var, Reread] = MappingProxyType({}),
) -> tuple[list[Var], list[Var], list[Reread]]:
    """Return what must be kept of the values that a pass backward wants, and which given values and rereads it needs.

    Args:
        graph: a graph with its pass backward.
        split: the number of equations of the pass forward.
        wanted: values of the pass forward.
        given: values that need not be kept.
        arrays: those of them from which single elements may be read. Others may have to be kept by a loop around, and
            be far larger than what is read.
        rereads: what follows from arrays after all turns.
    """
    forward = graph.equations[:split]
    definitions = {var: equation for equation in forward for var in equation.outputs}
    sources = {var: _Source({}, 0, 0, 0, is_inexact(var.dtype)) for var, _ in graph.constants}
    bits = differing(forward, graph.inputs)
    sources.update(
        (var, _Source({var: None}, 0, 0, 0, is_inexact(var.dtype), bits.get(var, Bits.SAME))) for var in given
    )
    readable = {*arrays, *(var for var, _ in graph.constants)}
    kept = dict[Var, None]()

    def keep(var: Var) -> None:
        kept[var] = None
        sources[var] = _Source({var: None}, 0, 0, 0, is_inexact(var.dtype))

    asked, exact = set(wanted), decisive(graph, split)
    for var in wanted:
        if var in graph.inputs and var not in sources:
            keep(var)
    for equation in forward:
        source = _source(equation, sources, readable, kept)
        reread = rereads.get(equation.outputs[0]) if rereads else None
        if reread is not None and reread.gathered not in kept:
            source = _source_in_array(reread, definitions, sources) or source
        for var in equation.outputs:
            if source is not None and source.bits is Bits.OTHERS and var in exact:
                source = None
            if source is not None and (var not in sources or not source.is_float):
                sources[var] = source
            elif var in asked and var not in sources:
                keep(var)
    for var in wanted:  # what no equation of the pass forward computes
        if var not in sources:
            keep(var)
    leaves = {leaf: None for var in wanted for leaf in sources[var].leaves if leaf not in kept}
    again = [leaf for leaf in leaves if isinstance(leaf, Reread)]
    return [var for var in wanted if var in kept], [x for x in leaves if isinstance(x, Var)], again


def _source_in_array(
    reread: Reread, definitions: Mapping[Var, Equation], sources: Mapping[Var, _Source]
) -> _Source | None:
    """Return from what a value follows that is read of an array after all turns."""
    value, gathered, array, _ = reread
    below = {**sources, array: _Source({reread: None}, 0, 0, 0, is_inexact(array.dtype))}
    if gathered is not None:
        source = _source(definitions[gathered], below, [array])
        if source is None:
            return None
        below[gathered] = source
    return _source(definitions[value], below, [array])


def _source(
    equation: Equation, sources: dict[Var, _Source], arrays: Collection[Var], kept: Collection[Var] = ()
) -> _Source | None:
    """Return from what the result of an equation follows; None where it takes longer to compute than to read."""
    if len(equation.outputs) != 1:
        return None
    var, operands = equation.outputs[0], [x for x in equation.operands if not isinstance(x, Literal)]
    found = [sources.get(x) for x in operands]
    below = [x for x in found if x is not None]
    if len(below) < len(found):
        return None
    name, reads, operations = equation.primitive, 0, 1
    if name == "gather" or name in _VIEWS:
        array = equation.operands[0]
        is_part = isinstance(array, Var) and bytes_of([var.type]) < bytes_of([array.type])
        if is_part and array not in arrays and not _are_as_small(var, below[0].leaves, kept):
            return None
        reads, operations = int(name == "gather"), 0
    elif name in _BY_NUMBER:
        second = equation.operands[1]
        if var.dtype.kind != "i" or not (isinstance(second, Literal) and second.value):
            return None
    elif name == "concatenate":
        operations = 0
    elif name not in _ARITHMETIC and name not in _CHOICES:
        return None
    is_number = not (is_inexact(var.dtype) or var.shape)
    source = _Source(
        {leaf: None for x in below for leaf in x.leaves},
        operations * is_number + sum(x.numbers for x in below),
        operations * (not is_number) + sum(x.operations for x in below),
        reads + sum(x.reads for x in below),
        is_inexact(var.dtype) or any(x.is_float for x in below),
        bits_of(equation, (x.bits for x in below)),
    )
    return source if _is_short(var, source) else None


def _are_as_small(var: Var, leaves: Iterable[Var | Reread], kept: Collection[Var]) -> bool:
    """Return whether what a value follows from, beside what is kept in any case, is as small as the value."""
    others = (leaf if isinstance(leaf, Var) else leaf.array for leaf in leaves if leaf not in kept)
    return all(bytes_of([leaf.type]) <= bytes_of([var.type]) for leaf in others)


def _is_short(var: Var, source: _Source) -> bool:
    is_small = source.is_float and not is_inexact(var.dtype)  # a truth value takes less memory than floats
    is_long = source.numbers > _NUMBERS or source.operations > _OPERATIONS or source.reads > _READS
    return not is_small and not is_long
