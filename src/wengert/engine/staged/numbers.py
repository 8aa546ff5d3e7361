"""Python's own numbers in loops that are staged for their many turns alone: a program must compute them as Python does.

Where such a loop is unrolled, Python computes what depends on its counter: integers have no bound, a division by zero
raises an exception. What a program would compute otherwise, or what needs a proof, is refused, and the loop unrolled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import COMPLEX128, FLOAT64, INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.staged.counted import is_counted
from wengert.engine.staged.exchanged import refusal

#: Integers below are floats without rounding.
_LARGEST = 1 << 53
#: What integers from outside of a loop, such as the counters of others, are taken for.
_OUTSIDE = 1 << 31
#: The logarithm of a float that is far from the largest one.
_MOST_LOGARITHM = 700
_WIDE = {INT64, FLOAT64, COMPLEX128}
_DIVIDING = {"divide", "floor_divide", "remainder"}
#: A loop with branches or windows that makes fewer operations is unrolled.
LEAST_BRANCHING = 10_000
_EXACT = {"add", "subtract", "multiply", "negative", "absolute", *_DIVIDING}
#: Operations that make a truth value of numbers, or choose one of two.
_TESTING = {
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_not", "where", "maximum", "minimum"),
}


def check_numbers(
    body: Graph, outside: Sequence[Any], types: Sequence[TensorType], initial: Sequence[Any], count: int
) -> list[bool]:
    """Refuse a loop that computes Python's numbers otherwise than Python would.

    Args:
        body: a turn; its inputs are values from outside, the number of the turn, and the other carries.
        outside: the values from outside.
        types: of the carries.
        initial: what the carries begin with.
        count: the number of turns.

    Returns:
        Of which carries a run alone knows the numbers, unrolled, too.
    """
    captured = len(outside)
    boxes = _boxes(body, outside, initial)
    sizes: dict[Atom, int] = dict.fromkeys(body.inputs[:captured], _OUTSIDE)
    sizes[body.inputs[captured]] = count
    facts = _Facts(sizes, boxes, {body.inputs[captured]})
    read = {x for one in body.equations for x in one.operands}
    adding: dict[Atom, Equation] = {
        one.outputs[0]: one for one in body.equations if one.primitive in ("add", "subtract")
    }
    kept: list[Atom] = []
    for number in range(1, len(types)):
        is_box = body.inputs[captured + number] in boxes
        if is_box or not (types[number].weak and types[number].dtype.kind in "biu"):
            continue
        carry, start, step = body.inputs[captured + number], initial[number], adding.get(body.outputs[number])
        steps = [x.value for x in step.operands if isinstance(x, Literal)] if step is not None else []
        if carry not in read and carry not in body.outputs:
            continue
        is_known = not isinstance(start, Box)
        if step is not None and carry is step.operands[0] and steps and is_known and type(steps[0]) is int:
            sizes[carry] = abs(int(start)) + abs(steps[0]) * count
        elif is_known and abs(int(start)) > _OUTSIDE:
            raise _refused("an integer of Python's may be large")
        else:
            kept.append(body.outputs[number])
    for equation in body.equations:
        _check(equation, facts)
    if any(x not in boxes and _size(x, sizes) > _OUTSIDE for x in kept):
        raise _refused("an integer of Python's is carried from turn to turn")
    return [var in boxes for var in body.inputs[captured:]]


def _boxes(body: Graph, outside: Sequence[Any], initial: Sequence[Any]) -> set[Atom]:
    """Return the values of a turn that are no numbers of Python's where the loop is unrolled: only a run knows them."""
    given = [*outside, *initial]
    boxes: set[Atom] = {x for x, value in zip(body.inputs, given, strict=True) if not is_counted(value)}
    while True:
        _spread(body.equations, boxes)
        carries = zip(body.inputs[len(outside) :], body.outputs, strict=True)
        more = {var for var, after in carries if after in boxes} - boxes
        if not more:
            return boxes
        boxes |= more


def _spread(equations: Sequence[Equation], boxes: set[Atom]) -> None:
    """Add what is computed of values that only a run knows."""
    for equation in equations:
        if boxes.isdisjoint(equation.operands):
            continue
        if equation.primitive == "cond":
            boxes.update(_chosen(equation, boxes))
        else:
            has_graphs = any(True for _ in equation.graphs())
            # The integers of Python's that a loop inside counts may be known.
            boxes.update(
                x for x in equation.outputs if not (has_graphs and x.type.weak and x.type.dtype.kind in "biu")
            )


def _chosen(equation: Equation, boxes: set[Atom]) -> list[Var]:
    """Return the results of branches that only a run knows."""
    pred, *operands = equation.operands
    if pred in boxes:
        return [*equation.outputs]
    found: set[Var] = set()
    for graph in equation.graphs():
        inner: set[Atom] = {x for x, y in zip(graph.inputs, operands, strict=True) if y in boxes}
        _spread(graph.equations, inner)
        found |= {x for x, y in zip(equation.outputs, graph.outputs, strict=True) if y in inner}
    return [*found]


def check_behind(equations: Sequence[Equation], results: Sequence[Atom]) -> None:
    """Refuse what a function computes of Python's numbers behind a loop, if Python would compute it otherwise.

    Args:
        equations: those behind the loop.
        results: of the loop; unrolled, it would have left numbers.
    """
    numbers = {x for x in results if isinstance(x, Var) and x.type.weak}
    for equation in equations:
        if not numbers.isdisjoint(equation.operands):
            _check(equation, _Facts({}, set(), set()))
            numbers.update(x for x in equation.outputs if x.type.weak)


def check_size(body: Graph, count: int, has_windows: bool) -> None:
    """Refuse a loop with branches or windows that makes few operations: unrolled, it compiles soon, and has neither.

    Args:
        body: a turn.
        count: the number of turns.
        has_windows: whether a slice of an array has ends that depend on a counter.
    """
    if (has_windows or _branches(body)) and count * _operations(body) < LEAST_BRANCHING:
        raise _refused("a loop with branches or windows makes few operations")


def _branches(graph: Graph) -> bool:
    return any(one.primitive == "cond" or any(map(_branches, one.graphs())) for one in graph.equations)


def _operations(graph: Graph) -> int:
    """Return how many operations a graph makes, if loops take all their turns."""
    return sum(
        one.params.get("length", 1) * sum(map(_operations, one.graphs())) + 1 for one in graph.equations
    )


def is_narrow(equations: Iterable[Equation]) -> bool:
    """Return whether a program computes in types that a number of Python's does not widen, and one of NumPy's does."""
    for equation in equations:
        types = [x.type for x in (*equation.operands, *equation.outputs)]
        if any(type_.dtype.kind in "fciu" and type_.dtype not in _WIDE for type_ in types):
            return True
        if any(is_narrow(graph.equations) for graph in equation.graphs()):
            return True
    return False


class _Facts(NamedTuple):
    """What is known of the values of a program."""

    sizes: dict[Atom, int]
    """The largest absolute values of integers."""
    boxes: set[Atom]
    """What only a run knows where the loop is unrolled, too."""
    naturals: set[Atom]
    """Integers that are not negative."""


def _check(equation: Equation, facts: _Facts) -> None:
    operands, (sizes, boxes, _) = equation.operands, facts
    if equation.primitive == "power" and _is_checked_power(operands[0], operands[1], facts):
        return
    if equation.primitive == "cond":
        _check_branches(equation, facts)
        return
    if any(True for _ in equation.graphs()):
        numbers = [x for x in operands if x.type.weak and x.type.dtype.kind in "iu" and x not in boxes]
        if any(_size(x, sizes) > _OUTSIDE for x in numbers):
            raise _refused("an integer of Python's may be large")
        return
    if not all(x.type.weak for x in operands) or not boxes.isdisjoint(operands):
        return
    if equation.primitive == "cast" and equation.params["dtype"] in _WIDE:
        return
    if equation.primitive == "require_valid":
        sizes[equation.outputs[0]] = _size(operands[0], sizes)
        return
    divides = equation.primitive in _DIVIDING
    is_safe = not divides or (isinstance(operands[1], Literal) and operands[1].value)
    if equation.primitive in _TESTING:
        return
    if equation.primitive not in _EXACT or not is_safe:
        raise _refused(f"{equation.primitive} of Python's numbers")
    kinds = [x.type.dtype.kind for x in operands]
    if all(kind in "iu" for kind in kinds):
        sizes[equation.outputs[0]] = _size_of(equation, [_size(x, sizes) for x in operands])
        if equation.primitive in ("add", "multiply") and all(_is_natural(x, facts) for x in operands):
            facts.naturals.add(equation.outputs[0])


def _is_checked_power(base: Atom, exponent: Atom, facts: _Facts) -> bool:
    """Return whether the exponent changes; refuse a power of Python's numbers that may raise an exception."""
    if exponent in facts.boxes or not (isinstance(exponent, Var) and exponent.type.weak):
        return exponent in facts.boxes
    if not _never_raises(base, exponent, facts):
        raise _refused("the exponent of a power is a number of Python's that changes")
    return True


def _never_raises(base: Atom, exponent: Atom, facts: _Facts) -> bool:
    """Return whether a float to the power of an integer has a finite number; of NumPy's floats it raises nothing."""
    if base.type.dtype.kind not in "fc" or exponent.type.dtype.kind != "i":
        return False
    if not (isinstance(base, Literal) and base.type.weak):
        return not base.type.weak or base in facts.boxes
    size = abs(base.value)
    if size <= 1 and _is_natural(exponent, facts):
        return True
    return 0 < size < math.inf and abs(math.log(size)) * _size(exponent, facts.sizes) < _MOST_LOGARITHM


def _is_natural(x: Atom, facts: _Facts) -> bool:
    return x.value >= 0 if isinstance(x, Literal) else x in facts.naturals


def _check_branches(equation: Equation, facts: _Facts) -> None:
    """Check what the branches of a condition compute; a result is as large as that of either."""
    found: list[list[int]] = []
    for graph in equation.graphs():
        places = [*zip(graph.inputs, equation.operands[1:], strict=True)]
        sizes: dict[Atom, int] = {x: _size(y, facts.sizes) for x, y in places}
        boxes: set[Atom] = {x for x, y in places if y in facts.boxes}
        _spread(graph.equations, boxes)
        inner = _Facts(sizes, boxes, {x for x, y in places if _is_natural(y, facts)})
        for one in graph.equations:
            _check(one, inner)
        found.append([_size(x, sizes) for x in graph.outputs])
    facts.sizes.update(zip(equation.outputs, map(max, *found), strict=True))


def _size(x: Atom, sizes: dict[Atom, int]) -> int:
    """Return the largest absolute value that an integer may have."""
    if isinstance(x, Literal) and x.type.dtype.kind in "iub":
        return abs(int(x.value))
    return sizes.get(x, _OUTSIDE)


def _size_of(equation: Equation, operands: Sequence[int]) -> int:
    one, *others = operands
    other = others[0] if others else 0
    match equation.primitive:
        case "multiply":
            size = one * other
        case "remainder":
            size = other
        case "floor_divide":
            size = one + 1
        case "maximum" | "minimum" | "absolute":
            size = max(one, other)
        case _:
            size = one + other
    if size >= _LARGEST:
        raise _refused("an integer of Python's may be large")
    return size


def _refused(problem: str) -> Exception:
    return refusal("staging", problem)
