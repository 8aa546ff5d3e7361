"""Which layers of a model are called, and on values of which types: the model run once on types alone."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from wengert.boxes import Box
from wengert.control.values import flatten_numbers, pack
from wengert.core import tree
from wengert.core.dtypes import NUMPY_VALUE, is_float
from wengert.core.tree import static
from wengert.ir.graph import Var
from wengert.ir.types import TensorType, type_of
from wengert.nn.recurrent import Recurrent
from wengert.transforms.staging import GraphTrace, stage

#: What a layer is applied by: the name of a method, or a function that takes the layer first.
Method: TypeAlias = str | Callable[..., Any]

_WITH_STATE = ("apply", "run")
"""What returns an output and a state."""
_METHODS = ("__call__", *_WITH_STATE)
"""What a layer is applied by."""


class Form(NamedTuple):
    """How arguments are made of values and settings; hashable."""

    structure: tree.Structure
    settings: tuple[Any, ...]
    """The leaves, None in the place of a value."""
    positions: tuple[int, ...]
    """The places of the values."""

    def fill(self, values: Sequence[Any]) -> Any:
        """Return the arguments with other values."""
        leaves = list(self.settings)
        for position, value in zip(self.positions, values, strict=True):
            leaves[position] = value
        return tree.unflatten(self.structure, leaves)


class Call(NamedTuple):
    """A call of a layer."""

    method: Method
    form: Form
    """Of ``(arguments, arguments by name)``."""
    types: tuple[TensorType, ...]
    """Of the values among the arguments."""
    follows: tuple[bool, ...]
    """Which of these depend on the model's arrays, and have a derivative for it."""
    results: tuple[TensorType, ...]
    """Of all that is returned."""
    output: tuple[TensorType, ...]
    """Of the output alone."""


@dataclasses.dataclass(eq=False)
class Place:
    """A layer's place in a model."""

    path: str
    """The way to it from the model, such as ``.layers[0]``."""
    layer: Any
    depth: int
    """The number of layers that it lies in."""
    calls: list[Call] = dataclasses.field(default_factory=list[Call])
    busy: bool = False


def is_layer(value: Any) -> bool:
    """Tell whether a value is a layer: a dataclass that can be applied."""
    kind = cast("type[Any]", type(value))
    applicable = any(_has(kind, method) for method in ("__call__", "apply"))
    return applicable and dataclasses.is_dataclass(kind)


def _has(kind: type[Any], method: str) -> bool:
    return any(method in base.__dict__ for base in kind.__mro__[:-1])


def layer_calls(model: Any, method: Method, arguments: Any) -> list[Place]:
    """Apply a model to types, and return it and its layers, each before those inside, with their calls.

    Args:
        model: a container of arrays and layers.
        method: what it is applied by.
        arguments: ``(arguments, arguments by name)``; of arrays among them only the types matter.
    """
    arrays, structure = flatten_numbers("summary", "a model", model)
    values, form = _taken_apart(arguments)
    recorder = _Recorder(Place("", model, 0))
    recorded = recorder.follow(structure, model, "", 0)

    def flat(*boxes: Any) -> list[Any]:
        recorder.top = boxes[0].owner if boxes else None
        given = form.fill(boxes[len(arrays) :])
        result = applied(method, tree.unflatten(recorded, boxes[: len(arrays)]), given)
        recorder.record(recorder.places[0], method, given, result)
        return [leaf for leaf in tree.leaves(result) if isinstance(leaf, Box)]

    graph, captured = stage(flat, [type_of(one) for one in (*arrays, *values)])
    reached = set(graph.inputs[len(captured) :][: len(arrays)])
    for equation in graph.equations:
        if any(isinstance(operand, Var) and operand in reached for operand in equation.operands):
            reached.update(equation.outputs)
    for place, call, variables in recorder.found:
        follows = tuple(
            is_float(type_.dtype) and (var is None or var in reached)
            for type_, var in zip(call.types, variables, strict=True)
        )
        place.calls.append(call._replace(follows=follows))
    return recorder.places


def applied(method: Method, layer: Any, given: Any) -> Any:
    """Return what a layer returns, applied by a method to ``(arguments, arguments by name)``."""
    arguments, named = given
    if isinstance(method, str):
        return getattr(layer, method)(*arguments, **named)
    return method(layer, *arguments, **named)


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, (Box, *NUMPY_VALUE))


def _taken_apart(arguments: Any) -> tuple[list[Any], Form]:
    values, packed = pack(arguments, _is_value)
    return values, Form(packed.structure, tuple(packed.others), tuple(packed.positions))


class _Recorder:
    """What is found while a model runs."""

    def __init__(self, model: Place) -> None:
        self.places = [model]
        self.found: list[tuple[Place, Call, list[Any]]] = []
        self.top: Any = None
        self._inner: set[Any] = set()

    def follow(self, structure: tree.Structure, value: Any, path: str, depth: int) -> tree.Structure:
        """Return the structure of a model whose layers tell of their calls."""
        parts = tree.children(value)
        if parts is None:
            return structure
        kind, fixed = structure.kind, structure.fixed
        if path and kind is not None and is_layer(value):
            self.places.append(Place(path, value, depth))
            kind, fixed = _telling(kind), (*fixed, ("place_", (self, self.places[-1])))
        if isinstance(value, Recurrent):  # one loop, which calls its cells in a way of its own
            return structure._replace(kind=kind, fixed=fixed)
        depth += is_layer(value) or not path
        followed = tuple(
            self.follow(child, part, _way(path, value, key), depth)
            for child, (key, part) in zip(structure.children, parts.items(), strict=True)
        )
        return structure._replace(kind=kind, children=followed, fixed=fixed)

    def record(self, place: Place, method: Method, arguments: Any, result: Any) -> None:
        """Note a call; in a program that runs many times, a loop's or vmap's, one of each type."""
        values, form = _taken_apart(arguments)
        first = result[0] if method in _WITH_STATE else result
        call = Call(method, form, _types(values), (), _types(tree.leaves(result)), _types(tree.leaves(first)))
        if any(isinstance(value, Box) and value.owner is not self.top for value in values):
            if (place.path, call) in self._inner:
                return
            self._inner.add((place.path, call))
        self.found.append((place, call, [self._variable(value) for value in values]))

    def _variable(self, value: Any) -> Any:
        """Return the variable of the graph that a value is, False for an array, None for what is not known."""
        if not isinstance(value, Box):
            return False
        if isinstance(value.owner, GraphTrace) and value.owner is self.top:
            return value.owner.variable(value.state)
        return None


def _types(values: Sequence[Any]) -> tuple[TensorType, ...]:
    return tuple(type_of(value) for value in values if _is_value(value))


def _way(path: str, container: Any, key: Any) -> str:
    return f"{path}.{key}" if dataclasses.is_dataclass(container) else f"{path}[{key!r}]"


@functools.lru_cache(maxsize=1024)
def _telling(kind: type[Any]) -> type[Any]:
    """Return the class of layers that tell of their calls; a setting, ``place_``, says whom."""

    def telling(method: str) -> Callable[..., Any]:
        def called(self: Any, *arguments: Any, **named: Any) -> Any:
            recorder, place = self.place_
            original: Any = getattr(super(made, self), method)
            if place.busy:  # a method that calls another
                return original(*arguments, **named)
            place.busy = True
            try:
                result = original(*arguments, **named)
            finally:
                place.busy = False
            recorder.record(place, method, (arguments, named), result)
            return result

        return called

    methods = {method: telling(method) for method in _METHODS if _has(kind, method)}
    parameters: Any = getattr(kind, "__dataclass_params__")  # noqa: B009
    made: Any = dataclasses.make_dataclass(
        kind.__name__,
        [("place_", Any, static())],
        bases=(kind,),
        namespace=methods,
        init=False,
        repr=False,
        eq=False,
        frozen=parameters.frozen,
    )
    return made
