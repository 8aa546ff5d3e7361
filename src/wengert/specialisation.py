"""A function as it is for arguments of certain types: its graph, what becomes of it, and how it is called."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import tree
from wengert.backend import donation
from wengert.backend.arguments import Given
from wengert.backend.compiled import Compiled, Options, checks_nan
from wengert.backend.entry_table import Signature
from wengert.backend.execute import empty
from wengert.backend.outside import explained
from wengert.backend.results import constants
from wengert.dtypes import NDARRAY, check_known
from wengert.errors import IndexingError
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, type_of
from wengert.passes.simplify import simplify
from wengert.transforms.staging import stage


class Specialisation:
    """A function traced and compiled for the types of its arguments.

    Args:
        function: takes static arguments, the others by position, and those by name.
        given: the arguments.
        donated: which of the leaves are.
        flags: what arithmetic may be rewritten.
    """

    def __init__(
        self, function: Callable[..., Any], given: Given, donated: Sequence[int], flags: str
    ) -> None:
        self.types = [_known_type(leaf) for leaf in given.leaves]
        self.donated = donated
        self.is_loaded = False
        self._outputs: Any = None
        self.fixed: dict[int, Any] = {}
        start = time.perf_counter()

        def flat(*values: Any) -> list[Any]:
            positional, named = tree.unflatten(given.structure, values)
            result = function(given.static, positional, named)
            found, self._outputs = tree.flatten(result)
            self.fixed = constants(found, self._outputs)
            return [leaf for n, leaf in enumerate(found) if n not in self.fixed]

        graph, self.captured = stage(flat, self.types)
        self.graph: Graph = simplify(graph)
        self.seconds = time.perf_counter() - start
        self.places = _places(self.graph, self.donated)
        kept = frozenset(self.places.values())
        self._taking = {position: donation.Taking(is_kept=position in kept) for position in donated}
        options = Options(flags, checks_nan())
        self.signature = self._signature(given)
        self.compiled = Compiled.of(self.graph, self.places, options, self.signature)

    def _signature(self, given: Given) -> Signature | None:
        """Return what an entry would take and give; None where a call is more than that."""
        arguments, named = given.structure.children
        if named.children or given.static or self.donated or self.captured or self.fixed:
            return None
        results = tuple(atom.type for atom in self.graph.outputs)
        return Signature(arguments, tuple(self.types), self._outputs, results)

    def load(self) -> None:
        """Compile now."""
        start = time.perf_counter()
        _ = self.compiled.executable
        self.seconds += time.perf_counter() - start
        self.is_loaded = True

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Carry out the function."""
        inputs = [_array(leaf, type_.dtype) for leaf, type_ in zip(leaves, self.types, strict=True)]
        for position, take in self._taking.items():
            inputs[position] = take(leaves[position])
        outputs: list[Any] = []
        for number, atom in enumerate(self.graph.outputs):
            place = self.places.get(number)
            outputs.append(empty(atom.type.shape, atom.type.dtype) if place is None else inputs[place])
        executable = self.compiled.executable
        try:
            executable(inputs, outputs)
        except IndexingError as problem:
            kept = {var: inputs[n] for n, var in enumerate(self.graph.inputs) if n not in self.donated}
            raise explained(problem, self.graph, kept) from None
        finally:  # a call that fails may have overwritten a part of them
            for position in self.donated:
                donation.give_up(leaves[position])
        results: list[Any] = [
            _result(value, atom.type) for value, atom in zip(outputs, self.graph.outputs, strict=True)
        ]
        if self.fixed:
            rest = iter(results)
            count = len(results) + len(self.fixed)
            results = [self.fixed[n] if n in self.fixed else next(rest) for n in range(count)]
        return tree.unflatten(self._outputs, results)


def _result(value: Any, type_: TensorType) -> Any:
    if type_.shape:
        return value
    return value.item() if type_.weak else value[()]


def _known_type(leaf: Any) -> TensorType:
    """Return the type of an argument, in the byte order of this machine."""
    type_ = type_of(leaf)
    return type_._replace(dtype=check_known("jit", type_.dtype))


def _array(leaf: Any, dtype: Any) -> Any:
    """Return an argument as the program takes it: as it is, if it is contiguous and aligned, else as a copy."""
    if isinstance(leaf, NDARRAY) and leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype == dtype:
        return leaf
    return np.array(leaf, dtype, order="C")


def _places(graph: Graph, donated: Sequence[int]) -> dict[int, int]:
    """Return for results the donated arguments whose place they take: each the first of its type that is left."""
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
