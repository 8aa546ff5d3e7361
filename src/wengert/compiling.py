"""`jit`: a Python function as one native function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from wengert import tree
from wengert.backend import team
from wengert.backend.execute import Executable
from wengert.backend.fuse import fuse
from wengert.backend.lowering import lower
from wengert.backend.module import build
from wengert.backend.native import compile_module, load
from wengert.backend.target import host
from wengert.boxes import Box
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, type_of
from wengert.passes.simplify import simplify
from wengert.transforms.staging import stage

P = ParamSpec("P")
R = TypeVar("R")


class _Specialisation:
    """The function compiled for the types of its arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: Sequence[Any],
        structure: Any,
        donated: Sequence[int],
        fast: str,
    ) -> None:
        types = [type_of(leaf) for leaf in leaves]
        self.outputs: Any = None

        def flat(*values: Any) -> list[Any]:
            args, kwargs = tree.unflatten(structure, values)
            found, self.outputs = tree.flatten(function(*args, **kwargs))
            return found

        graph, captured = stage(flat, types)
        self.captured = captured
        self.graph = simplify(graph)
        self.types = types
        self.places = _places(self.graph, donated)
        self.program = fuse(lower(self.graph, self.places))
        self.module = build(self.program, host(), fast)
        self.executable: Executable | None = None

    def load(self) -> None:
        code = compile_module(self.module.text, host(), team.symbols())
        self.executable = Executable(self.module, load(code, team.symbols()))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        if self.executable is None:
            self.load()
        assert self.executable is not None
        inputs = [_contiguous(leaf, type_.dtype) for leaf, type_ in zip(leaves, self.types, strict=True)]
        outputs: list[Any] = []
        for number, atom in enumerate(self.graph.outputs):
            place = self.places.get(number)
            outputs.append(np.empty(atom.type.shape, atom.type.dtype) if place is None else inputs[place])
        self.executable(inputs, outputs)
        results = [_result(value, atom.type) for value, atom in zip(outputs, self.graph.outputs, strict=True)]
        return tree.unflatten(self.outputs, results)


def _result(value: Any, type_: TensorType) -> Any:
    if type_.shape:
        return value
    return value.item() if type_.weak else value[()]


def _contiguous(leaf: Any, dtype: Any) -> Any:
    value = np.asarray(leaf, dtype)
    return value if value.flags.c_contiguous and value.flags.aligned else np.array(value, order="C")


def _places(graph: Graph, donated: Sequence[int]) -> dict[int, int]:
    """Return for results the donated arguments whose place they take: one of the same type each."""
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


class Jitted(Generic[P, R]):
    """A function that is compiled when it is first called with arguments of new types."""

    def __init__(
        self, function: Callable[P, R], static: Sequence[int], donate: Sequence[int], fastmath: bool
    ) -> None:
        self._function = function
        self._static = tuple(static)
        self._donate = tuple(donate)
        self._fast = "contract" if not fastmath else "fast"
        self._known: dict[Any, _Specialisation] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Carry out the function."""
        leaves, structure = tree.flatten((args, kwargs))
        if any(isinstance(leaf, Box) for leaf in leaves):
            return self._function(*args, **kwargs)
        key = (structure, tuple((type_of(leaf)) for leaf in leaves))
        found = self._known.get(key)
        if found is None:
            donated = _donated(args, self._donate)
            found = self._known[key] = _Specialisation(self._function, leaves, structure, donated, self._fast)
        return found(leaves)


def _donated(args: Sequence[Any], donate: Sequence[int]) -> list[int]:
    count, found = 0, []
    for position, arg in enumerate(args):
        size = len(tree.leaves(arg))
        if position in donate:
            found += range(count, count + size)
        count += size
    return found


def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = (),
    donate: int | Sequence[int] = (),
    fastmath: bool = False,
) -> Jitted[P, R]:
    """Compile a function."""
    return Jitted(fun, _tuple(static_argnums), _tuple(donate), fastmath)


def _tuple(numbers: int | Sequence[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)
