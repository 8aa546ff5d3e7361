"""A function for arguments of certain types, as every kind of file takes it: its graph, and a name for each leaf."""

from __future__ import annotations

import inspect
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.compiler.freestanding.names import Names
from wengert.compiler.jit import Jitted, jit
from wengert.compiler.unit import Unit
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, message, name_of
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.machine.target import Target


class Leaf(NamedTuple):
    """An argument or a result: a leaf of the containers that the function takes or returns."""

    name: str
    """Its name as an identifier: ``params_w``."""
    path: str
    """Its place as Python writes it: ``params['w']``."""
    type: TensorType


@dataclass(frozen=True, eq=False)
class Function:
    """A function for arguments of certain types."""

    name: str
    """The user's name for it."""
    traced: Graph
    """The graph as traced, whose derivatives have the bits of the function's own."""
    unit: Unit
    """The simplified graph, and for each result that replaces an argument the number of that argument."""
    arguments: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    values: tuple[Any, ...]
    """The example arguments."""
    accepted: tree.Structure
    """The containers of the arguments: those by position, and those by name."""
    returned: tree.Structure
    """The containers of the results, constant ones among them."""
    fixed: Mapping[int, Any]
    """The results that are the same in every call, by position."""
    donated: tuple[int, ...]
    """The numbers of the arguments by position that are donated."""
    argument_order: tuple[int, ...]
    """The numbers of the arguments, the items of each dict in the order in which it has them."""
    result_order: tuple[int, ...]
    """The numbers of the results in that order."""

    @property
    def graph(self) -> Graph:
        """The simplified graph."""
        return self.unit.graph

    @property
    def places(self) -> Mapping[int, int]:
        """For each result that replaces an argument, the number of that argument."""
        return self.unit.places

    @property
    def flushes(self) -> bool:
        """Whether subnormal numbers count as zeros, on a processor that can treat them so."""
        return self.unit.options.flush_subnormals

    def flushing(self, flushes: bool) -> Function:
        """Return the function with or without subnormal numbers."""
        options = self.unit.options._replace(flush_subnormals=flushes)
        return replace(self, unit=replace(self.unit, options=options))

    def unit_for(self, target: Target) -> Unit:
        """Return the program for a target, where there is no NumPy."""
        return replace(self.unit, target=target, options=self.unit.options._replace(leaves=True))


def typed(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Function:
    """Return a function for arguments of the types of some examples.

    `ArgumentError` if it does not accept them, or depends on a value that another transform follows.
    """
    jitted: Jitted[..., Any] = fun if isinstance(fun, Jitted) else jit(fun)  # pyright: ignore[reportUnknownVariableType]
    try:
        traced = jitted.traced(*args, **kwargs)
    except TypeError as error:
        if _accepts(fun, args, kwargs):
            raise
        requirement = "an example for each argument of the function must follow it"
        raise ArgumentError(message("export", requirement, hint=f"Python says: {error}")) from error
    version = traced.specialisation
    if version.captured:
        requirement = "a function that depends on a value of another transform cannot leave"
        raise ArgumentError(
            message("export", requirement, name_of(fun), "export it outside of the transform")
        )
    unused = Names()
    arguments = tuple(
        Leaf(unused.like(path), path, type_) for path, type_ in zip(traced.paths, version.types, strict=True)
    )
    returned = _types(version.outputs, version.graph, version.fixed)
    structure, donated = traced.request.structure, frozenset(traced.donated)
    places = _places(structure, version.types, donated, version.outputs, returned)
    paths = tree.paths(version.outputs, "out", fields=True)
    results = tuple(
        Leaf(arguments[places[n]].name if n in places else unused.like(paths[leaf]), paths[leaf], type_)
        for n, (leaf, type_) in enumerate((leaf, type_) for leaf, type_ in enumerate(returned) if type_)
    )
    return Function(
        name=name_of(fun),
        traced=version.traced(),
        unit=replace(version.compiled.unit, places=places),
        arguments=arguments,
        results=results,
        values=tuple(
            np.array(x, type_.dtype) for x, type_ in zip(traced.request.leaves, version.types, strict=True)
        ),
        accepted=structure,
        returned=version.outputs,
        fixed=version.fixed,
        donated=_donated_arguments(structure, donated),
        argument_order=tuple(_in_own_order(structure)),
        result_order=_numbers_of_results(version.outputs, returned),
    )


def _in_own_order(structure: tree.Structure, first: int = 0) -> Iterator[int]:
    """Yield the numbers of the leaves, the items of each dict in its own order: leaves count by sorted keys."""
    if structure.kind is None:
        yield first
        return
    parts: list[tuple[int, tree.Structure]] = []
    for child in structure.children:
        parts.append((first, child))
        first += child.leaf_count()
    if structure.keys:
        of_key = dict(zip(structure.keys, parts, strict=True))
        parts = [of_key[key] for key in tree.insertion_order(structure)]
    for start, child in parts:
        yield from _in_own_order(child, start)


def _numbers_of_results(structure: tree.Structure, types: Sequence[TensorType | None]) -> tuple[int, ...]:
    """Return the numbers of the results in the order of the containers: constants are none."""
    computed = itertools.accumulate((type_ is not None for type_ in types), initial=0)
    number = dict(enumerate(computed))
    return tuple(number[leaf] for leaf in _in_own_order(structure) if types[leaf] is not None)


def _accepts(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a function takes arguments in these places, as far as Python knows its parameters."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _donated_arguments(structure: tree.Structure, donated: frozenset[int]) -> tuple[int, ...]:
    """Return the numbers of the arguments by position whose leaves are donated."""
    numbers: list[int] = []
    start = 0
    for number, child in enumerate(structure.children[0].children):
        leaves = range(start, start + child.leaf_count())
        start = leaves.stop
        if leaves and donated.issuperset(leaves):
            numbers.append(number)
    return tuple(numbers)


def _types(structure: tree.Structure, graph: Graph, fixed: Mapping[int, Any]) -> list[TensorType | None]:
    """Return the type of each leaf of the results; None for a constant."""
    computed = iter(graph.outputs)
    return [None if n in fixed else next(computed).type for n in range(structure.leaf_count())]


def _places(
    structure: tree.Structure,
    types: Sequence[TensorType],
    donated: frozenset[int],
    returned: tree.Structure,
    result_types: Sequence[TensorType | None],
) -> dict[int, int]:
    """Map results to donated arguments that they replace: a container to the first result like it, leaf by leaf."""
    number = {leaf: n for n, leaf in enumerate(n for n, type_ in enumerate(result_types) if type_)}
    free = list(_parts(returned))
    places: dict[int, int] = {}
    taken: set[int] = set()
    for start, part in _parts(structure):
        leaves = range(start, start + part.leaf_count())
        if not leaves or not donated.issuperset(leaves) or taken & set(leaves):
            continue
        for first, candidate in free:
            results = range(first, first + candidate.leaf_count())
            is_free = not any(number.get(leaf) in places for leaf in results)
            if candidate == part and is_free and _same_types(leaves, types, results, result_types):
                places |= {number[result]: leaf for leaf, result in zip(leaves, results, strict=True)}
                taken |= set(leaves)
                break
    return places


def _same_types(
    leaves: range, types: Sequence[TensorType], results: range, result_types: Sequence[TensorType | None]
) -> bool:
    pairs = ((types[leaf], result_types[result]) for leaf, result in zip(leaves, results, strict=True))
    return all(result is not None and argument[:2] == result[:2] for argument, result in pairs)


def _parts(structure: tree.Structure) -> Iterator[tuple[int, tree.Structure]]:
    """Yield the number of the first leaf of each part of a structure, and the part: outer ones first."""
    waiting = deque([(0, structure)])
    while waiting:
        start, part = waiting.popleft()
        yield start, part
        for child in part.children:
            waiting.append((start, child))
            start += child.leaf_count()
