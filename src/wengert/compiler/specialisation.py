"""A function for arguments of certain types: its graph, its compiled program, and its calls."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from wengert.compiler.compiled import Compiled, checked
from wengert.compiler.llvm.host import host
from wengert.compiler.runtime import donation
from wengert.compiler.runtime.arguments import Given
from wengert.compiler.runtime.bounds_errors import explained
from wengert.compiler.runtime.execute import Context, empty
from wengert.compiler.runtime.fastcall.entry_code import Signature
from wengert.compiler.runtime.fastcall.reader import Reader, is_loaded
from wengert.compiler.runtime.results import constants
from wengert.compiler.steps import simplified
from wengert.compiler.unit import Options, Unit
from wengert.engine.core import tree
from wengert.engine.core.dtypes import check_known
from wengert.engine.core.errors import IndexingError, WengertError
from wengert.engine.core.garbage import collector_paused
from wengert.engine.core.lazy import lazy
from wengert.engine.core.raised import is_of_math, is_users_own
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.memory import is_strided, stand_in
from wengert.engine.transforms.staging import stage

MISFIT: Any = object()
"""Returned if a call needs more than an address for each argument."""
CALLS_BEFORE_READER = 256
"""The calls of a specialisation until the process compiles the function that reads arguments in place, once for all.

LLVM takes as long for it as for a small program; each call without it takes some microseconds more.
"""


#: Numbers the calls of all specialisations, which orders them by their last use.
_USES = itertools.count()


class _Flat:
    """A function of leaves that returns leaves. It holds the structure of its arguments, without their leaves.

    Args:
        function: takes static arguments, the others by position, and those by name.
        given: the arguments.
    """

    def __init__(self, function: Callable[..., Any], given: Given) -> None:
        self._function = function
        self._structure = given.structure
        self._static = given.static
        self.memories = {n: stand_in(leaf) for n, leaf in enumerate(given.leaves) if is_strided(leaf)}
        """The memory of the arguments that do not lie in rows."""
        self.outputs: Any = None
        """The structure of the results."""
        self.fixed: dict[int, Any] = {}
        """The results that are the same in every call, by position."""
        self.written: list[int] = []
        """The arguments that a function without a result writes, by position."""

    def __call__(self, *values: Any) -> list[Any]:
        for position, memory in self.memories.items():
            values[position].memory = memory
        positional, named = tree.unflatten(self._structure, values)
        before = [value.state for value in values]
        leaves, self.outputs = tree.flatten(self._function(self._static, positional, named))
        if not leaves:
            self.written = [n for n, value in enumerate(values) if value.state is not before[n]]
        self.fixed = constants(leaves, self.outputs)
        return [leaf for n, leaf in enumerate(leaves) if n not in self.fixed]

    def in_python(self, leaves: Sequence[Any]) -> Any:
        """Call the function on arrays and numbers, without a trace."""
        positional, named = tree.unflatten(self._structure, leaves)
        return self._function(self._static, positional, named)


class Specialisation:
    """A function traced and compiled for the types of its arguments.

    Args:
        function: takes static arguments, the others by position, and those by name.
        given: the arguments.
        donated: the positions of donated leaves.
        options: of the compilation, without those that are variables of the environment.
    """

    def __init__(
        self, function: Callable[..., Any], given: Given, donated: Sequence[int], options: Options
    ) -> None:
        self.types = [_known_type(leaf) for leaf in given.leaves]
        self.donated = donated
        self.is_loaded = False
        self.calls = 0
        self.touch()
        start = time.perf_counter()

        self._flat = _Flat(function, given)
        graph, self.captured = stage(self._flat, self.types, "jit")
        # `stages` traces again: these are the results of the first trace.
        self.outputs, self.fixed, self.written = self._flat.outputs, self._flat.fixed, self._flat.written
        with collector_paused():
            unit = simplified(Unit(graph, {}, host(), checked(options)))
        self.graph: Graph = unit.graph
        self._made = tree.maker(self.outputs)
        self.seconds = time.perf_counter() - start
        self.places = _places(self.graph, self.donated)
        results = [atom.type for atom in self.graph.outputs]
        self._results = [(type_.shape, type_.dtype, self.places.get(n)) for n, type_ in enumerate(results)]
        self._numbers = [(n, type_.weak) for n, type_ in enumerate(results) if not type_.shape]
        self.signature = self._signature(given)
        self.compiled = Compiled(replace(unit, places=self.places), self.signature)

    def _signature(self, given: Given) -> Signature | None:
        """Return the signature of an entry; None if a call needs more than an entry does."""
        arguments, named = given.structure.children
        if given.static or self.donated or self.captured or self.fixed or self._flat.memories:
            return None
        results = tuple(atom.type for atom in self.graph.outputs)
        return Signature(arguments, tuple(self.types), self.outputs, results, named)

    def stages(self) -> list[tuple[str, str]]:
        """Trace the function anew and run the passes; return the name of each, and the program after it as text."""
        from wengert.compiler.pipeline import stages

        unit = self.compiled.unit
        traced = Unit(self.traced(), self.places, unit.target, unit.options)
        found = [("trace", str(traced))]
        return found + [(name, str(after)) for name, after in stages(traced)]

    def traced(self) -> Graph:
        """Trace the function anew, and return the graph before any pass."""
        return stage(self._flat, self.types, "jit")[0]

    def touch(self) -> None:
        """Count as the specialisation that was used last."""
        self.last_use = next(_USES)

    def load(self) -> None:
        """Compile now."""
        start = time.perf_counter()
        with collector_paused():
            _ = self.compiled.executable
        self.seconds += time.perf_counter() - start
        self.is_loaded = True

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Call the function with arguments of its types."""
        inputs = self._reader.prepared(leaves)
        with self.compiled.executable.context() as context:
            context.take(inputs)
            return self._carried_out(leaves, inputs, context)

    def at_once(self, leaves: list[Any]) -> Any:
        """Call the function if the program can read all arguments in place, else return `MISFIT`."""
        if self._flat.memories:  # arrays in rows have the same types
            return MISFIT
        if self.calls < CALLS_BEFORE_READER and not is_loaded():
            return MISFIT
        with self.compiled.executable.context() as context:
            if not self._reader.in_place(leaves, context.address):
                return MISFIT
            return self._carried_out(leaves, leaves, context)

    @lazy
    def _reader(self) -> Reader:
        slots = self.compiled.executable.interface.inputs
        return Reader(self.types, slots, self.donated, frozenset(self.places.values()))

    def _carried_out(self, leaves: Sequence[Any], inputs: Sequence[Any], context: Context) -> Any:
        """Run the program on arrays whose addresses are in the context."""
        self.last_use = next(_USES)
        results: list[Any] = [
            empty(shape, dtype) if place is None else inputs[place].view()
            for shape, dtype, place in self._results
        ]
        context.give(results)
        if self.donated:  # a call that fails may have overwritten a part of them
            donation.give_up([leaves[position] for position in self.donated])
        try:
            self.compiled.executable.run(context)
        except IndexingError as problem:
            kept = {var: inputs[n] for n, var in enumerate(self.graph.inputs) if n not in self.donated}
            self._raise_earlier(leaves)
            raise explained(problem, self.graph, kept) from None
        except Exception as problem:
            if not is_users_own(problem) or self.donated:
                self._raise_earlier(leaves)
                raise
            return self._as_in_python(problem, leaves)
        for number, is_weak in self._numbers:
            results[number] = results[number].item() if is_weak else results[number][()]
        if self.fixed:
            rest = iter(results)
            count = len(results) + len(self.fixed)
            results = [self.fixed[n] if n in self.fixed else next(rest) for n in range(count)]
        return self._made(iter(results))

    def _raise_earlier(self, leaves: Sequence[Any]) -> None:
        """Raise the exception of the user's program that Python raises before it gets to an error of an operation."""
        if self.donated or not _raises(self.graph):
            return
        try:
            self._flat.in_python(leaves)
        except WengertError:
            return
        except Exception as users:
            raise users from None

    def _as_in_python(self, problem: Exception, leaves: Sequence[Any]) -> Any:
        """Raise the exception that the function raises without a trace, with its numbers in the text.

        A function that catches an exception of `math` returns a result: the program has none then.
        """
        try:
            result = self._flat.in_python(leaves)
        except Exception as users:
            raise users from None
        if is_of_math(problem):
            return result
        raise problem


def _raises(graph: Graph) -> bool:
    """Return whether a program may raise an exception of the user's."""
    return any(
        (one.primitive == "require_valid") or any(map(_raises, one.graphs())) for one in graph.equations
    )


def _known_type(leaf: Any) -> TensorType:
    """Return the type of an argument, in the byte order of this machine."""
    type_ = type_of(leaf)
    return type_._replace(dtype=check_known("jit", type_.dtype))


def _places(graph: Graph, donated: Sequence[int]) -> dict[int, int]:
    """Map results to the donated arguments whose memory they reuse: each to the first free one of its type."""
    free = list(donated)
    places: dict[int, int] = {}
    for number, atom in enumerate(graph.outputs):
        for argument in free:
            given = graph.inputs[argument].type
            if given.shape == atom.type.shape and given.dtype == atom.type.dtype:
                places[number] = argument
                free.remove(argument)
                break
    return places
