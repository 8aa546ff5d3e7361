"""Self-test vectors: the results at the example arguments, and a directional derivative.

With w the weights of the results, d a direction and h a step, the slope is the derivative of <w, f(x + h d)> by h::

    slope = <w, f'(x) d>,    quotient = (<w, f(x + h d)> - <w, f(x - h d)>) / 2 h

Weights and direction are numbers between -1 and 1 that a program in any language makes anew: see `spread`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.freestanding.function import Function, Leaf
from wengert.compiler.freestanding.program import Freestanding, freestanding, parameters
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import Library, compile_module, load
from wengert.compiler.runtime.execute import address_of
from wengert.engine.core.dtypes import FLOAT32, FLOAT64
from wengert.engine.core.errors import ArgumentError, line_of, located, message, split_location
from wengert.engine.machine.target import Target
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.staging import evaluate
from wengert.exporting.targets import can_follow, in_the_order_of

_MULTIPLIER, _OFFSET, _WORD = 2654435761, 40503, 1 << 32
#: The step of the difference quotient, relative to a direction between -1 and 1, for each size of the smallest float.
_STEPS = {4: 2.0**-8, 8: 2.0**-17}
#: The largest error of the quotient, relative to the slope, with which it is worth comparing.
_LARGEST_ERROR = 0.05


class Slope(NamedTuple):
    """A directional derivative, and the difference quotient that approximates it."""

    slope: float
    quotient: float
    step: float
    leaves: tuple[int, ...]
    """The arguments that move."""
    weighted: tuple[int, ...]
    """The results that count."""

    @property
    def tolerance(self) -> float:
        """The largest distance of another quotient from the slope."""
        return 2 * abs(self.quotient - self.slope) + 1e-3 * abs(self.slope)


class Vectors(NamedTuple):
    """The expected results of an exported program."""

    results: tuple[Any, ...]
    is_exact: bool
    """Whether operations in the same order made them, so that each bit must be equal."""
    slope: Slope | None
    """None where no derivative exists or a difference quotient is too far from it."""


def spread(size: int, number: int) -> Any:
    """Return float64 numbers between -1 and 1 that any language makes anew: element i of the leaf with a number.

    The bits of i * 2654435761 + number * 40503 modulo 2^32, as a fraction (Knuth's multiplicative hash).
    """
    words = (np.arange(size, dtype=np.uint64) * _MULTIPLIER + number * _OFFSET) % _WORD
    return words.astype(np.float64) / (_WORD / 2) - 1.0


def vectors(program: Freestanding) -> Vectors:
    """Run a program on its example arguments, on this machine, and return what it must return elsewhere."""
    function = program.function
    is_exact = True
    if not _runs_here(program.target):
        is_exact = can_follow(host(), program.target)
        substitute = in_the_order_of(host(), program.target) if is_exact else host()
        program = freestanding(function.flushing(program.flushes), program.name, substitute)
    run = Native(program)
    return Vectors(tuple(run(function.values)), is_exact, _slope(run, function))


def _runs_here(target: Target) -> bool:
    """Return whether this processor has the instructions of a target."""
    own = host()
    same = target.triple.split("-")[0] == own.triple.split("-")[0] and "-linux" in target.triple
    return same and (
        target == own or (target.vector_bytes <= own.vector_bytes and target.has_fma <= own.has_fma)
    )


class Native:
    """A freestanding program in this process."""

    def __init__(self, program: Freestanding) -> None:
        self._function = program.function
        self._errors = program.errors
        self._library: Library = load(compile_module(program.text, program.target))
        entry = self._library.address(f"{program.name}_static")
        count = len(parameters(program.function))
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * count)(entry)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results for arguments, which stay as they are; `ArgumentError` if the program reports an error."""
        function = self._function
        arguments = [np.array(x, leaf.type.dtype) for leaf, x in zip(function.arguments, values, strict=True)]
        results = [
            arguments[function.places[n]]
            if n in function.places
            else np.zeros(leaf.type.shape, leaf.type.dtype)
            for n, leaf in enumerate(function.results)
        ]
        arrays = dict(zip([leaf.name for leaf in function.arguments], arguments, strict=True))
        arrays |= dict(zip([leaf.name for leaf in function.results], results, strict=True))
        code = self._entry(*(address_of(arrays[leaf.name]) for leaf, _ in parameters(function)))
        if code:
            requirement = "the function must raise no error at the example arguments"
            problem = str(self._errors[code - 1])
            got = repr(split_location(problem)[0].removesuffix("."))
            text = message("export", requirement, got, "give other examples")
            raise ArgumentError(located(text, line_of(problem)))
        return results


def moved(function: Function, slope_leaves: Sequence[int], distance: float) -> list[Any]:
    """Return the example arguments, some of them moved along the direction."""
    values = list(function.values)
    for number in slope_leaves:
        value = values[number]
        away = value.reshape(-1).astype(np.float64) + distance * spread(value.size, number)
        values[number] = away.astype(value.dtype).reshape(value.shape)
    return values


def _weighted(results: Sequence[Any], weighted: Sequence[int]) -> float:
    """Return <w, results>, added up in order."""
    total = 0.0
    for number in weighted:
        value = np.asarray(results[number], np.float64).reshape(-1)
        for weight, x in zip(spread(value.size, number).tolist(), value.tolist(), strict=True):
            total += weight * x
    return total


def _floats(leaves: Sequence[Leaf]) -> tuple[int, ...]:
    """Return the numbers of the leaves with elements with which C computes."""
    return tuple(
        n
        for n, leaf in enumerate(leaves)
        if leaf.type.dtype in (FLOAT32, FLOAT64) and 0 not in leaf.type.shape
    )


def _slope(run: Native, function: Function) -> Slope | None:
    """Return the directional derivative, if the difference quotient approximates it."""
    leaves, weighted = _floats(function.arguments), _floats(function.results)
    if not leaves or not weighted:
        return None
    step = _STEPS[min(function.arguments[n].type.dtype.itemsize for n in leaves)]
    directions = [np.zeros(leaf.type.shape, leaf.type.dtype) for leaf in function.arguments]
    for number in leaves:
        type_ = function.arguments[number].type
        directions[number] = spread(directions[number].size, number).astype(type_.dtype).reshape(type_.shape)

    def moving(*values: Any) -> list[Any]:
        every = list(function.values)
        for number, value in zip(leaves, values, strict=True):
            every[number] = value
        return evaluate(function.graph, *every)

    try:
        with np.errstate(all="ignore"):
            primals = [function.values[n] for n in leaves]
            _, tangents = jvp(moving, primals, [directions[n] for n in leaves])
            slope = _weighted(tangents, weighted)
            far = (_weighted(run(moved(function, leaves, sign * step)), weighted) for sign in (1.0, -1.0))
            quotient = (next(far) - next(far)) / (2 * step)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if not (np.isfinite(slope) and abs(quotient - slope) <= _LARGEST_ERROR * abs(slope)):
        return None
    return Slope(slope, quotient, step, leaves, weighted)
