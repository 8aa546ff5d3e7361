"""Python's own numbers in loops that are staged for their many turns alone: a program must compute them as Python does.

Where such a loop is unrolled, Python computes what depends on its counter: integers have no bound, a division by zero
raises an exception. What a program would compute otherwise, or what needs a proof, is refused, and the loop unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.engine.boxes import Box
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.staged.exchanged import refusal

#: Integers below are floats without rounding.
_LARGEST = 1 << 53
#: What integers from outside of a loop, such as the counters of others, are taken for.
_OUTSIDE = 1 << 31
_EXACT = ("add", "subtract", "multiply", "negative", "divide")


def check_numbers(
    body: Graph, captured: int, types: Sequence[TensorType], initial: Sequence[Any], count: int
) -> None:
    """Refuse a loop that computes Python's numbers otherwise than Python would.

    Args:
        body: a turn; its inputs are values from outside, the number of the turn, and the other carries.
        captured: how many inputs are values from outside.
        types: of the carries.
        initial: what the carries begin with.
        count: the number of turns.
    """
    sizes: dict[Atom, int] = {}
    for var in body.inputs[:captured]:
        sizes[var] = _OUTSIDE
    sizes[body.inputs[captured]] = count
    read = {x for one in body.equations for x in one.operands}
    adding: dict[Atom, Equation] = {
        one.outputs[0]: one for one in body.equations if one.primitive in ("add", "subtract")
    }
    for number in range(1, len(types)):
        if not (types[number].weak and types[number].dtype.kind in "biu"):
            continue
        carry, start, step = body.inputs[captured + number], initial[number], adding.get(body.outputs[number])
        steps = [x.value for x in step.operands if isinstance(x, Literal)] if step is not None else []
        if carry not in read and carry not in body.outputs:
            continue
        is_counter = step is not None and carry is step.operands[0] and steps
        if not is_counter or isinstance(start, Box) or type(steps[0]) is not int:
            raise _refused("an integer of Python's is carried from turn to turn")
        sizes[carry] = abs(int(start)) + abs(steps[0]) * count
    for equation in body.equations:
        _check(equation, sizes)


def _check(equation: Equation, sizes: dict[Atom, int]) -> None:
    operands = equation.operands
    is_pythons = all(isinstance(x, Literal) or x.type.weak for x in operands) and all(
        x.type.weak for x in operands
    )
    if equation.primitive == "power" and isinstance(operands[1], Var) and operands[1].type.weak:
        raise _refused("the exponent of a power is a number of Python's that changes")
    if not is_pythons or any(True for _ in equation.graphs()):
        return
    divides = equation.primitive == "divide"
    if equation.primitive not in _EXACT or (
        divides and not (isinstance(operands[1], Literal) and operands[1].value)
    ):
        raise _refused(f"{equation.primitive} of Python's numbers")
    kinds = [x.type.dtype.kind for x in operands]
    if not all(kind in "iu" for kind in kinds):
        return
    one, *others = [abs(int(x.value)) if isinstance(x, Literal) else sizes.get(x, _OUTSIDE) for x in operands]
    other = others[0] if others else 0
    size = one * other if equation.primitive == "multiply" else one + other
    if size >= _LARGEST:
        raise _refused("an integer of Python's may be large")
    sizes[equation.outputs[0]] = size


def _refused(problem: str) -> Exception:
    return refusal("staging", problem)
