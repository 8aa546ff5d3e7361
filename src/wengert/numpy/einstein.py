"""`einsum`: subscripts read as NumPy reads them, then products of two operands at a time, in the cheapest order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import Shape, shape_of
from wengert.ir.types import show
from wengert.numpy.diagonals import diagonal_view
from wengert.numpy.linear import product
from wengert.numpy.registry import implements, rank_of, refuse, strong
from wengert.numpy.shaping import permuted
from wengert.primitive import MOST_AXES

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Names of axes that an ellipsis stands for, where letters do not suffice.
_HIDDEN = "".join(map(chr, range(ord("À"), ord("À") + MOST_AXES)))


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Sum products over the indices that subscripts repeat, as `np.einsum`.

    Several operands are multiplied in pairs in NumPy's greedy order, whatever ``optimize`` says.
    """
    dtype = kwargs.pop("dtype", None)
    if out is not None or kwargs:
        refuse(
            "np.einsum", out, **{name: kwargs[name] for name in kwargs if name not in ("order", "casting")}
        )
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], [operand(one) for one in operands[1:]]
    else:
        subscripts, arrays = _from_lists(operands)
    terms, result = explicit(subscripts, tuple(map(rank_of, arrays)))
    if len(arrays) == 1 and result and set(terms[0]) == set(result):
        return _view(terms[0], result, arrays[0])  # of the operand's own dtype, as NumPy's is
    arrays = [strong(one, dtype) for one in arrays]  # of Python's numbers NumPy makes arrays
    steps = _steps(terms, result, tuple(map(shape_of, arrays)))
    for positions, step in steps:
        chosen = [arrays[position] for position in positions]
        arrays = [one for position, one in enumerate(arrays) if position not in positions]
        arrays.append(product(step, *chosen))
    (value,) = arrays
    return value


def _view(term: str, result: str, x: Any) -> Any:
    """Return the view that indices select of one operand where none is summed: a write to it reaches the operand."""
    while len(set(term)) < len(term):
        letter = next(one for one in term if term.count(one) > 1)
        first = term.index(letter)
        second = term.index(letter, first + 1)
        if shape_of(x)[first] != shape_of(x)[second]:
            requirement = f"the axes that {letter!r} indexes must have one extent"
            raise ShapeError(message("einsum", requirement, show(x)))
        x = diagonal_view(x, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return permuted(x, tuple(map(term.index, result)))


def _from_lists(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts of ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` as a string, and the operands."""
    arrays = [operand(one) for one in operands[: len(operands) // 2 * 2 : 2]]

    def term(numbers: Sequence[Any]) -> str:
        return "".join("..." if one is Ellipsis else _LETTERS[one] for one in numbers)

    text = ",".join(map(term, operands[1::2][: len(arrays)]))
    return (f"{text}->{term(operands[-1])}" if len(operands) % 2 else text), arrays


@lru_cache(maxsize=1024)
def explicit(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return the indices of each operand and of the result, with the ellipses spelt out."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    bad = set(text.replace("->", "").replace("...", "")) - set(_LETTERS + ",")
    if bad or len(terms) != len(ranks) or "," in output:
        requirement = "subscripts must be letters, '...', one term an operand, and '->'"
        raise ArgumentError(message("einsum", requirement, f"{subscripts!r} for {len(ranks)} operands"))
    unused = [letter for letter in reversed(_HIDDEN + _LETTERS) if letter not in text]
    spare = "".join(reversed(unused[: max(ranks, default=0)]))
    hidden = 0
    spelt: list[str] = []
    for term, rank in zip(terms, ranks, strict=True):
        missing = rank - len(term.replace("...", ""))
        if missing < 0 or (missing and "..." not in term):
            got = f"{term!r} for an operand of {rank} axes"
            raise ShapeError(message("einsum", "every axis needs an index", got))
        hidden = max(hidden, missing)
        spelt.append(term.replace("...", spare[len(spare) - missing :]))
    lead = spare[len(spare) - hidden :]
    if not arrow:
        letters = sorted(set(inputs) - set(".,"))
        output = lead + "".join(letter for letter in letters if inputs.count(letter) == 1)
    else:
        output = output.replace("...", lead)
    if not set(output) <= set("".join(spelt)) or len(set(output)) != len(output):
        requirement = "the result's indices must differ and occur in an operand"
        raise ArgumentError(message("einsum", requirement, repr(subscripts)))
    return tuple(spelt), output


@lru_cache(maxsize=1024)
def _steps(
    terms: tuple[str, ...], result: str, shapes: tuple[Shape, ...]
) -> list[tuple[tuple[int, ...], str]]:
    """Return which operands to multiply, and how, one step after the other."""
    left = list(terms)
    steps: list[tuple[tuple[int, ...], str]] = []
    for positions in _order(terms, result, shapes):
        chosen = [left[position] for position in positions]
        left = [term for position, term in enumerate(left) if position not in positions]
        wanted = set("".join(left) + result)
        read = dict.fromkeys("".join(chosen))
        kept = "".join(letter for letter in read if letter in wanted) if left else result
        steps.append((tuple(positions), f"{','.join(chosen)}->{kept}"))
        left.append(kept)
    return steps


def _order(terms: tuple[str, ...], result: str, shapes: tuple[Shape, ...]) -> list[tuple[int, ...]]:
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    shaped = [np.broadcast_to(0.0, shape) for shape in shapes]
    return np.einsum_path(f"{','.join(terms)}->{result}", *shaped, optimize="greedy")[0][1:]  # pyright: ignore[reportReturnType]
