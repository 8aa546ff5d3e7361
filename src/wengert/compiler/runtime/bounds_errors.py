"""The index or label that lay outside its range: NumPy finds it after a compiled program has reported one.

Native code only notes the user's line, for the first such index that its loops met. The operations that compute indices
run again, in the order of the program, until one index lies outside; the error shows it. Donated arguments have been
overwritten, so that an index that depends on them cannot be shown.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from wengert.engine.core.errors import IndexingError, OutOfRangeError, located
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import evaluate

#: The number of operands before the indices.
_INDEXING = {"gather": 1, "scatter_add": 1, "scatter": 2, "add_at": 2, "last_writer": 0}
_CHECKS = {"check_bounds", "sparse_product"}
"""The operations that raise an error of their own."""
_MOST_STEPS = 10_000
"""The most steps of a loop that is repeated: Python needs about a second for them."""
_NUMPY_MESSAGE = r"index -?\d+ is out of bounds for axis \d+ with size \d+"


def explained(problem: IndexingError, graph: Graph, arguments: Mapping[Var, Any]) -> IndexingError:
    """Return the error with the index, the size of the axis and the line; ``problem`` itself if no index lies outside.

    The ``arguments`` are those that have not been overwritten.
    """
    return _first_outside(graph, arguments) or problem


def _first_outside(graph: Graph, arguments: Mapping[Var, Any]) -> IndexingError | None:
    """Run the operations that compute indices, up to the first index outside, and return its error."""
    values = {**arguments, **dict(graph.constants)}
    needed = _needed(graph)
    definitions = {var: equation for equation in graph.equations for var in equation.outputs}
    for equation in graph.equations:
        if equation.primitive in _INDEXING and (text := _complaint(equation, values, definitions)):
            return _outside(text, equation.location)
        wanted = any(var in needed for var in equation.outputs) or _complains(equation)
        if not wanted or not all(isinstance(x, Literal) or x in values for x in equation.operands):
            continue
        operands = [_value(x, values) for x in equation.operands]
        try:
            with np.errstate(all="ignore"):
                results = REGISTRY[equation.primitive].evaluate(*operands, **equation.params)
        except IndexError as problem:
            return _located(problem, equation)
        values.update(
            zip(equation.outputs, results if isinstance(results, tuple) else (results,), strict=True)
        )
    return None


def _located(problem: IndexError, equation: Equation) -> IndexingError | None:
    """Return the error of an operation, with the line of the operation inside it that raised it."""
    location = equation.location
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        if frame.f_code is evaluate.__code__:  # a program inside the operation
            location = frame.f_locals["equation"].location
    if isinstance(problem, OutOfRangeError):
        return OutOfRangeError(located(str(problem), location))
    words = re.search(_NUMPY_MESSAGE, str(problem))
    return _outside(words[0], location) if words else None


def _outside(words: str, location: str) -> IndexingError:
    return IndexingError(located(f"getitem: {words}.", location))


def _needed(graph: Graph) -> set[Atom]:
    """Return the values from which indices are computed."""
    needed: set[Atom] = set()
    for equation in reversed(graph.equations):
        if any(var in needed for var in equation.outputs) or _complains(equation):
            needed.update(equation.operands)
        elif equation.primitive in _INDEXING:
            needed.update(equation.operands[_INDEXING[equation.primitive] :])
    return needed


def _complains(equation: Equation) -> bool:
    """Return whether an operation itself raises the error: a check, or a program with indices."""
    return equation.primitive in _CHECKS or _holds_indexing(equation)


def _holds_indexing(equation: Equation) -> bool:
    """Return whether an operation holds a program with indices that may be repeated."""
    if equation.primitive == "while" or equation.params.get("length", 0) > _MOST_STEPS:
        return False
    inner = [inside for graph in equation.graphs() for inside in graph.equations]
    return any(inside.primitive in _INDEXING or _complains(inside) for inside in inner)


def _complaint(equation: Equation, values: Mapping[Any, Any], definitions: Mapping[Any, Equation]) -> str:
    """Return the message about the known indices of an operation; "" if all of them lie inside."""
    shape: Shape = equation.params.get("shape") or equation.operands[0].type.shape
    axes = _axes(equation, len(shape), definitions)
    indices = equation.operands[_INDEXING[equation.primitive] :]
    for index, extent, axis in zip(indices, shape, axes, strict=False):
        if isinstance(index, Literal) or index in values:
            positions = np.asarray(_value(index, values))
            outside = positions[(positions < -extent) | (positions >= extent)]
            if outside.size:
                return f"index {outside.flat[0]} is out of bounds for axis {axis} with size {extent}"
    return ""


def _axes(equation: Equation, rank: int, definitions: Mapping[Any, Equation]) -> Iterable[int]:
    """Return the axes of the user's array in the order of the indices: others come after a transposition."""
    made = definitions.get(equation.operands[0]) if equation.primitive in ("gather", "scatter") else None
    return made.params["permutation"] if made and made.primitive == "transpose" else range(rank)


def _value(atom: Atom, values: Mapping[Any, Any]) -> Any:
    return atom.value if isinstance(atom, Literal) else values[atom]
