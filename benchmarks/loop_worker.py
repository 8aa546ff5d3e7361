"""A library in a process of its own, which runs programs of `tests.programs.loops`.

Started as ``-m loop_worker LIBRARY``, and ``staged`` for programs that begin with a branch on a value. JAX runs those
that are rewritten for it (`loops_jax`).
"""

from __future__ import annotations

import functools
import math
import resource
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness.engine import serve

import wengert as wg

sys.path.append(str(Path(__file__).parents[1]))

from tests.programs.loops.catalogue import PROGRAMS
from tests.programs.loops.checking import Checked, leaves

SHORTEST = 5e-4
"""Seconds of the calls that one reading of the clock spans, at least."""
TICKS = 0.03
"""Seconds that the clock of the processor measures well."""
LONG = 0.2
"""Seconds of a call in Python that is not repeated."""


def summary(result: Any) -> list[list[float]]:
    """Return the norm of each array of a result, and its product with other numbers."""
    arrays = [np.asarray(leaf, np.float64).ravel() for leaf in leaves(result)]
    return [[float(np.linalg.norm(a)), float(a @ np.cos(1.0 + np.arange(len(a))))] for a in arrays]


def native(function: Any, made: dict[Any, Any]) -> Any:
    """Return a function compiled by Numba, and before it the functions of its module that it calls."""
    import numba

    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if isinstance(called, types.FunctionType) and called is not function and called not in made:
            made[called] = None
            function.__globals__[name] = native(called, made)
    return numba.njit(function)


class NotRewrittenError(LookupError):
    """No one has written a program for JAX."""


def rewritten(checked: Checked, mode: str) -> Any:
    """Return the program that `loops_jax` has by hand, or its gradient, compiled by JAX.

    Raises:
        NotRewrittenError: There is none.
    """
    import jax
    import jax.numpy as jnp
    from loops_jax import PROGRAMS as BY_HAND

    program = checked.program
    if program.name not in BY_HAND:
        raise NotRewrittenError(program.name)
    jax.config.update("jax_enable_x64", True)
    function = BY_HAND[program.name]
    fixed = [place for place, value in enumerate(checked.arguments) if isinstance(value, int)]
    if mode == "gradient":
        own, weights = function, checked.weights

        def loss(*arguments: Any) -> Any:
            parts = zip(leaves(own(*arguments)), weights, strict=True)
            return sum(jnp.sum(jnp.reshape(leaf, -1) * w) for leaf, w in parts if w is not None)

        function = jax.grad(loss, argnums=program.wrt)
    compiled = jax.jit(function, static_argnums=fixed)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def with_branch(function: Any, place: int) -> Any:
    """Return a function that does the same behind a branch on the value of an argument."""

    def program(*arguments: Any) -> Any:
        if np.sum(arguments[place]) < -1e300:
            raise ValueError("so large")
        return function(*arguments)

    return program


class Runner:
    """Answers the requests for the program that was prepared last."""

    def __init__(self, library: str, staged: bool) -> None:
        self._library, self._staged = library, staged
        if library == "wengert":
            wg.jit(wg.grad(np.sin))(0.5)  # loads the compiler

    def prepare(self, name: str) -> None:
        """Take a program."""
        self._program = PROGRAMS[name]
        self._checked = Checked(self._program, self._program.large)
        self._loss = self._checked.loss
        self._function = self._program.function
        if self._staged:
            place = self._program.wrt[0]
            self._loss, self._function = with_branch(self._loss, place), with_branch(self._function, place)
        self._call: Any = None
        self._calls = 1

    def python(self) -> list[Any]:
        """Return the seconds of a call in Python and a summary of its result."""
        seconds = self._seconds(lambda: self._checked.value)
        if seconds < LONG:
            call = functools.partial(self._program.function, *self._checked.arguments)
            seconds = min(self._seconds(call) for _ in range(5))
        return [seconds, summary(self._checked.value)]

    def _seconds(self, call: Callable[[], Any], calls: int = 1) -> float:
        """Return the seconds of a call by the clock, or of the processor where other programs ran in between.

        The clock of the processor may have ticks of some milliseconds, and counts for long spans alone.
        """
        start, begin = time.perf_counter(), time.process_time()
        for _ in range(calls):
            call()
        wall, busy = time.perf_counter() - start, time.process_time() - begin
        return (min(wall, busy) if busy > TICKS else wall) / calls

    def first(self, mode: str, limit: int) -> list[Any] | str:
        """Return the seconds of the first call, the bytes of its arena and a summary of its result, or the error.

        The process ends if the call takes longer than the limit.
        """
        warnings.simplefilter("ignore")
        begin = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(begin + limit), resource.RLIM_INFINITY))
        try:
            function = self._compiled(mode)
            result = function(*self._checked.arguments)
        except Exception as error:
            return type(error).__name__
        finally:
            resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        seconds = time.process_time() - begin
        self._call = lambda: function(*self._checked.arguments)
        self._calls = max(1, round(SHORTEST / min(self._seconds(self._call) for _ in range(5))))
        arena = function.report(*self._checked.arguments).arena if self._library == "wengert" else 0
        return [seconds, arena, summary(result)]

    def _compiled(self, mode: str) -> Any:
        if self._library == "numba":
            return native(self._program.function, {})
        if self._library == "jax":
            return rewritten(self._checked, mode)
        assert self._checked.gradient()  # the weights of the results are made before the trace, not in it
        gradient = wg.grad(self._loss, argnums=self._program.wrt)
        return self._checked.compiled(self._function if mode == "value" else gradient)

    def fastest(self, seconds: float) -> float:
        """Return the shortest time of a call within a turn."""
        best = self._seconds(self._call, self._calls)
        many = max(1, round(2 * TICKS / best))
        best, end = min(best, self._seconds(self._call, many)), time.perf_counter() + seconds
        while time.perf_counter() < end:
            best = min(best, self._seconds(self._call, self._calls))
        return best


def main() -> None:
    library, *staged = sys.argv[1:]
    serve(1, lambda: Runner(library, bool(staged)))


if __name__ == "__main__":
    main()
