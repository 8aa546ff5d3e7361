"""The residuals of the last turns of a loop are kept while it runs, and are not computed again.

A `while` loop with a budget of memory counts its turns, and goes backward in blocks of them: the residuals of a block
are computed again from a state that was kept. But the last block is that with which the loop has just ended. So the
compiled loop runs in blocks, too, and keeps the residuals of each in the place of those of the one before. A loop of no
more turns than a block has is then carried out once, not twice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.control.bounded_scan import bounded_scan_primitive
from wengert.engine.control.revolve import INTEGER, Recomputed, repeat_while
from wengert.engine.control.scan_primitive import carries_of_residuals, parts
from wengert.engine.control.subgraphs import memoized
from wengert.engine.control.tapes import unwritten
from wengert.engine.core.dtypes import BOOL
from wengert.engine.ir.graph import Equation, Graph, Literal
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.passes.rewrite import with_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import evaluate, stage


@memoized
def counting(body: Graph, fixed: int) -> Graph:
    """Return the step that also counts, in the first of its carries."""

    def step(*values: Any) -> list[Any]:
        return [values[fixed] + 1, *evaluate(body, *values[:fixed], *values[fixed + 1 :])]

    types = *body.input_types[:fixed], type_of(np.int64(0)), *body.input_types[fixed:]
    return stage(step, types)[0]


def with_last_block(loop: Equation, adjoint: Equation, slots: int, block: int) -> tuple[Graph, Graph] | None:
    """Return the programs of a counting loop and of its backward pass, which share the residuals of the last block.

    The first program returns the residuals in addition to the results of the loop; the second one takes them as further
    operands. None where the equations are others, or nothing would be gained.

    Args:
        loop: a `while` whose first result is the first operand of the backward pass, the number of turns.
        adjoint: a `checkpointed_adjoint`.
        slots: the number of states that it keeps.
        block: the number of turns in a block.
    """
    if block == 1 or not _counts(loop, adjoint):
        return None
    params = adjoint.params
    body, constants, carries, active = (params[name] for name in ("body", "constants", "carries", "active"))
    recomputed = Recomputed(body, constants, carries, False, active, slots, block)
    split = recomputed.apart()
    if split is None:
        return None
    types = [TensorType(var.dtype, var.shape) for var in split.rows]
    operands = [atom.type for atom in loop.operands]
    run = functools.partial(_run, loop, split.step, types, block)
    seeds = [atom.type for atom in adjoint.operands[1 + constants + carries :]]

    def back(turns: Any, *values: Any) -> list[Any]:
        middle, end = constants + carries, len(values) - len(types)
        return recomputed.run_with_last(
            turns, values[:middle], values[middle:end], values[end:], split.fill, split.back
        )

    following = [*body.input_types, *seeds, *types]
    return stage(run, operands)[0], stage(back, [INTEGER, *following])[0]


def _counts(loop: Equation, adjoint: Equation) -> bool:
    """Return whether a `while` counts the turns of the very loop of which an equation is the backward pass."""
    params, inner = loop.params, adjoint.params
    if (
        loop.primitive != "while"
        or params.get("most") is not None
        or adjoint.operands[0] is not loop.outputs[0]
    ):
        return False
    groups = parts(loop.operands[params["tested"] :], params["fixed"], len(loop.outputs))
    first, *carried = groups.carries
    body, constants, carries = inner["body"], inner["constants"], inner["carries"]
    if constants != params["fixed"] or carries != len(carried) or len(body.inputs) != constants + carries:
        return False
    if not (isinstance(first, Literal) and first.value == 0):
        return False
    own = parts(adjoint.operands[1 : 1 + constants + carries], constants, carries)
    # The backward pass gets zeros in the place of carries that it does not read.
    needed = carries_of_residuals(body, inner["active"], constants, carries)
    pairs = [*zip(own.constants, groups.constants, strict=True)]
    pairs += [pair for pair, flag in zip(zip(own.carries, carried, strict=True), needed, strict=True) if flag]
    if not all(one is other or one == other for one, other in pairs):
        return False
    return _text(simplify(counting(body, constants))) == _text(params["body"])


def _text(graph: Graph) -> str:
    """Return a text that is equal for graphs which compute the same in the same way."""
    return _without_locations(graph).text(full=True)


@memoized
def _without_locations(graph: Graph) -> Graph:
    equations = (replace(with_programs(x, _without_locations), location="") for x in graph.equations)
    return replace(graph, equations=tuple(equations))


def _run(loop: Equation, step: Graph, types: Sequence[TensorType], block: int, *values: Any) -> list[Any]:
    """Carry out a counting loop in blocks; return its results and the residuals of the turns of the last one."""
    condition, tested, fixed = (loop.params[name] for name in ("condition", "tested", "fixed"))
    testing, groups = values[:tested], parts(values[tested:], fixed, len(loop.outputs))
    number, *carries = groups.carries
    count = len(carries)
    inner = _turn(condition, step, tested, fixed)
    (going,) = evaluate(condition, *testing, number, *carries)
    near = [*testing, *groups.constants, *carries]
    kept = [unwritten(*near, dtype=type_.dtype, shape=type_.shape) for type_ in types]

    def block_of_turns(going: Any, number: Any, *state: Any) -> list[Any]:
        results = bounded_scan_primitive(
            np.int64(block),
            *testing,
            *groups.constants,
            number,
            going,
            np.int64(0),
            *state[:count],
            body=inner,
            constants=tested + fixed + 1,
            carries=2 + count,
            length=block,
            reverse=False,
            stops=True,
        )
        going, turns, *following = results
        return [going, number + turns, *following]

    _, number, *results = repeat_while(
        lambda going, *_: going, block_of_turns, [going, number, *carries, *kept], raises=True
    )
    return [number, *results]


@memoized
def _turn(condition: Graph, step: Graph, tested: int, fixed: int) -> Graph:
    """Return a turn within a block: it carries whether another one follows, and the number of turns of the block."""

    def run(*values: Any) -> list[Any]:
        testing, constants = values[:tested], values[tested : tested + fixed]
        before, _, turns, *carries = values[tested + fixed :]
        results = evaluate(step, *constants, *carries)
        (going,) = evaluate(condition, *testing, before + turns + 1, *results[: len(carries)])
        return [going, turns + 1, *results]

    types = condition.input_types[:tested], step.input_types[:fixed], step.input_types[fixed:]
    flag = TensorType(BOOL, ())
    return stage(run, [*types[0], *types[1], INTEGER, flag, INTEGER, *types[2]])[0]
