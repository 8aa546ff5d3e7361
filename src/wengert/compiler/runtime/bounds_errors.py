"""Which index or label lay outside its range: found again by NumPy, after a compiled program has said that one did.

Native code only notes the user's line, of whichever index its loops came to first. Carrying out what the indices are
made of, and nothing else, tells the rest, of the first in the order of the program; what depends on donated arguments
cannot be told, for they have been written over.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from wengert.core.errors import IndexingError, OutOfRangeError, split_location
from wengert.core.shapes import Shape
from wengert.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.primitive import REGISTRY
from wengert.transforms.staging import evaluate

#: How many operands stand before the indices.
_INDEXING = {"gather": 1, "scatter_add": 1, "scatter": 2, "add_at": 2, "last_writer": 0}
_CHECK = "check_bounds"
_MOST_STEPS = 10_000
"""Loops of more steps are not repeated: Python needs about a second for so many."""
_NUMPYS_WORDS = re.compile(r"index -?\d+ is out of bounds for axis \d+ with size \d+")


def explained(problem: IndexingError, graph: Graph, known: Mapping[Var, Any]) -> IndexingError:
    """Return the error that tells the index, the size of the axis and the line, or the same one where none is found.

    Args:
        problem: what the compiled program raised.
        graph: the program.
        known: the arguments that are still as they were.
    """
    return _found(graph, known) or problem


def _found(graph: Graph, known: Mapping[Var, Any]) -> IndexingError | None:
    """Carry out what indices are made of, up to the first that lies outside, and return what is wrong with it."""
    values = {**known, **dict(graph.constants)}
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
        except IndexError as found:
            return _told(found, equation)
        values.update(
            zip(equation.outputs, results if isinstance(results, tuple) else (results,), strict=True)
        )
    return None


def _told(problem: IndexError, equation: Equation) -> IndexingError | None:
    """Return the error for what an operation said as it was carried out, with the line where that is wrong."""
    location = equation.location
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        if frame.f_code is evaluate.__code__:  # a program that the operation holds
            location = frame.f_locals["equation"].location
    if isinstance(problem, OutOfRangeError):
        return OutOfRangeError(split_location(str(problem))[0] + _shown(location))
    words = _NUMPYS_WORDS.search(str(problem))
    return _outside(words[0], location) if words else None


def _outside(words: str, location: str) -> IndexingError:
    return IndexingError(f"getitem: {words}.{_shown(location)}")


def _shown(location: str) -> str:
    return f" [{location}]" if location else ""


def _needed(graph: Graph) -> set[Atom]:
    """Return the values that indices are made of."""
    needed: set[Atom] = set()
    for equation in reversed(graph.equations):
        if any(var in needed for var in equation.outputs) or _complains(equation):
            needed.update(equation.operands)
        elif equation.primitive in _INDEXING:
            needed.update(_indices(equation))
    return needed


def _complains(equation: Equation) -> bool:
    """Tell whether to carry an operation out says what is wrong: a check, or a program with indices."""
    return equation.primitive == _CHECK or _holds_indexing(equation)


def _holds_indexing(equation: Equation) -> bool:
    """Tell whether an operation holds a program with indices that may be repeated."""
    if equation.primitive == "while" or equation.params.get("length", 0) > _MOST_STEPS:
        return False
    inner = [one for graph in equation.graphs() for one in graph.equations]
    return any(one.primitive in _INDEXING or _complains(one) for one in inner)


def _indices(equation: Equation) -> tuple[Atom, ...]:
    return equation.operands[_INDEXING[equation.primitive] :]


def _complaint(equation: Equation, values: Mapping[Any, Any], definitions: Mapping[Any, Equation]) -> str:
    """Return what is wrong with the indices of an operation, as far as they are known."""
    shape: Shape = equation.params.get("shape") or equation.operands[0].type.shape
    axes = _axes(equation, len(shape), definitions)
    for index, extent, axis in zip(_indices(equation), shape, axes, strict=False):
        if isinstance(index, Literal) or index in values:
            positions = np.asarray(_value(index, values))
            outside = positions[(positions < -extent) | (positions >= extent)]
            if outside.size:
                return f"index {outside.flat[0]} is out of bounds for axis {axis} with size {extent}"
    return ""


def _axes(equation: Equation, rank: int, definitions: Mapping[Any, Equation]) -> Iterable[int]:
    """Return the axes of the user's array that stand first: indices of others come after a transposition."""
    made = definitions.get(equation.operands[0]) if equation.primitive in ("gather", "scatter") else None
    return made.params["permutation"] if made and made.primitive == "transpose" else range(rank)


def _value(atom: Atom, values: Mapping[Any, Any]) -> Any:
    return atom.value if isinstance(atom, Literal) else values[atom]
