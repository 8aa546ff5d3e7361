"""`summary`: the outputs, the parameters and the costs of the layers of a model.

The model runs once on types alone, which records the calls of its layers; the compiler counts the costs of each call.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from wengert import random
from wengert.compiler.jit import Jitted, jit
from wengert.engine.boxes import Box
from wengert.engine.control.values import Packed, flatten_numbers, is_followable, pack
from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_VALUE, PYTHON_TYPE, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.markup import element, in_notebook, short_table
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.core.tree import static
from wengert.engine.ir.graph import Var
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.reverse_mode import vjp
from wengert.engine.transforms.staging import GraphTrace, stage
from wengert.nn.layers import Lambda, initial_state
from wengert.nn.recurrent import Recurrent

_HEADS = ("layer", "output", "parameters", "forward", "backward", "peak bytes")
_WITH_STATE = ("apply", "run")  # these methods return an output and a state
_METHODS = ("__call__", *_WITH_STATE)


class LayerSummary(NamedTuple):
    """A layer, with the layers inside it."""

    path: str
    """The path from the model, such as ``.layers[0]``; empty for the model itself."""
    name: str
    """The name of the class; for a `Lambda` that of its function."""
    depth: int
    """The number of layers that contain it."""
    inputs: tuple[TensorType, ...]
    """The types of the arrays among the arguments of its first call."""
    output: tuple[TensorType, ...]
    """The types of the output of its first call, without the state."""
    parameters: int
    """The number of its floating-point numbers."""
    calls: int
    """The number of its calls."""
    forward: int
    """The arithmetic operations of its calls."""
    backward: int
    """The arithmetic operations that derivatives add."""
    peak: int
    """The largest number of bytes that a call with derivatives needs in addition to arguments and results."""


class Summary:
    """The outputs, the parameters and the costs of a model; it prints as a table, and as HTML in a notebook."""

    def __init__(
        self, rows: Sequence[LayerSummary], parameter_bytes: int, state: int, forward_peak: int
    ) -> None:
        self.rows = tuple(rows)
        """The model and its layers; each layer comes before the layers inside it."""
        self.parameter_bytes = parameter_bytes
        self.state = state
        """The number of numbers in the state of the layers."""
        self.forward_peak = forward_peak
        """The bytes that a call without derivatives needs in addition to arguments and results."""
        self.parameters = self.rows[0].parameters
        """The number of floating-point numbers of the model."""
        self.forward = self.rows[0].forward
        """The arithmetic operations of a call of the model."""
        self.backward = self.rows[0].backward
        """The arithmetic operations that the derivatives with respect to its parameters add."""
        self.peak = self.rows[0].peak
        """The bytes that a call with derivatives needs in addition to arguments and results."""

    def _cells(self, row: LayerSummary, path: str) -> list[str]:
        count = f" x {row.calls}" if row.calls > 1 else ""
        label = f"{'  ' * row.depth}{path}{': ' if path else ''}{row.name}{count}"
        if not row.calls:
            return [label, "", f"{row.parameters:,}", "", "", ""]
        costs = map(_short, (row.forward, row.backward, row.peak))
        return [label, " ".join(map(str, row.output)), f"{row.parameters:,}", *costs]

    def _table(self) -> list[list[str]]:
        outer: list[str] = []
        table: list[list[str]] = []
        for row in self.rows:
            del outer[row.depth :]
            prefix = outer[-1] if outer else ""
            table.append(self._cells(row, row.path.removeprefix(prefix).removeprefix(".")))
            outer.append(row.path)
        return table

    def _totals(self) -> list[str]:
        state = f", state {self.state:,} numbers" if self.state else ""
        return [
            f"parameters {self.parameters:,} ({self.parameter_bytes:,} bytes){state}",
            f"operations {self.forward:,} forward, {self.backward:,} backward",
            f"peak {self.forward_peak:,} bytes forward, {self.peak:,} with derivatives",
        ]

    def __str__(self) -> str:
        table = [list(_HEADS), *self._table()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        aligns = "<<>>>>"  # numbers to the right
        lines = [
            "  ".join(
                f"{cell:{align}{width}}" for cell, align, width in zip(row, aligns, widths, strict=True)
            )
            for row in table
        ]
        lines = [line.rstrip() for line in lines]
        rule = "─" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self._totals()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        totals = (element("p", line) for line in self._totals())
        return in_notebook(short_table("Layers of the model", _HEADS, self._table(), texts=2), *totals)


def _short(number: int) -> str:
    """Write a number with three digits: 999, 57.6 k, 1.23 M."""
    value, units = float(number), ["", " k", " M", " G", " T", " P"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 0 if not units[0] else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}{units[0]}"


def summary(
    model: Any, *inputs: Any, training: bool = True, call: Callable[..., Any] | None = None
) -> Summary:
    """Return the outputs, the parameters and the costs of each layer of a model, without running it.

    The costs are those of compiled programs, as `jit`'s ``report`` and ``memory`` give them: of the call of each layer
    by itself, the layers inside it included, and of the call with the derivatives with respect to its parameters and
    to arguments that depend on earlier parameters. The costs of the model differ from the sum, because `jit` fuses
    layers and removes operations. A product and a sum are two operations, an elementary function is one; comparisons
    count, moves do not. A layer in a loop, or under `wengert.vmap`, has the costs of one turn, or of one example.

    Args:
        model: a layer, such as a `Chain`; with ``call``, any container of layers and arrays.
        *inputs: arrays of the shapes and dtypes of the inputs.
        training: whether layers with a state are being trained.
        call: applies the model, ``call(model, *inputs)``; by default the model is called.

    Returns:
        The summary, which prints as a table.

    Raises:
        ArgumentError: the model is not a layer, and ``call`` is not given.
        DtypeError: a leaf of the model is neither an array nor a number.

    Example:
        >>> from wengert import nn
        >>> model = nn.Chain(nn.Dense(784, 64, seed=0), nn.relu, nn.Dense(64, 10, seed=1))
        >>> table = summary(model, np.zeros((5, 784), "f4"))
        >>> table.parameters, table.forward > 2 * 5 * (784 * 64 + 64 * 10), table.rows[1].output[0].shape
        (50890, True, (5, 64))
    """
    if call is None and not _is_layer(model):
        hint = "write nn.Chain(*layers), or say how it is applied: call=lambda model, x: ..."
        raise ArgumentError(message("summary", "a layer is needed", type(model).__name__, hint))
    method: _Method = call or "__call__"
    arguments, options, state = inputs, dict[str, Any](), None
    if call is None and hasattr(model, "apply"):
        state = initial_state(model)
        method, arguments = "apply", (*inputs, state)
        options = {"training": training, "key": random.key(0)}
    records = _layer_calls(model, method, (arguments, options))
    costs = _Costs()
    rows = [costs.row(record) for record in records]
    parameter_bytes = sum(dtype_of(leaf).itemsize * size(shape_of(leaf)) for leaf in _floats(model))
    state_size = _count(leaf for leaf in tree.leaves(state) if is_number(leaf))
    return Summary(rows, parameter_bytes, state_size, costs.forward_peak(records[0]))


def _floats(layer: Any) -> list[Any]:
    return pack(layer, is_followable)[0]


def _count(leaves: Iterable[Any]) -> int:
    return sum(size(shape_of(leaf)) for leaf in leaves)


# -- the calls of layers ---------------------------------------------------------------------------------

#: The name of a method of a layer, or a function whose first argument is the layer.
_Method: TypeAlias = str | Callable[..., Any]


class _Call(NamedTuple):
    """A call of a layer."""

    method: _Method
    arguments: Packed
    """``(arguments, options)`` without their values, hashable."""
    types: tuple[TensorType, ...]
    """The types of the values."""
    depends: tuple[bool, ...]
    """Whether each value has a derivative with respect to the arrays of the model."""
    results: tuple[TensorType, ...]
    output: tuple[TensorType, ...]
    """The types of the results without the state."""


@dataclasses.dataclass(eq=False)
class _Record:
    """A layer of a model and its calls."""

    path: str
    layer: Any
    depth: int
    calls: list[_Call] = dataclasses.field(default_factory=list[_Call])
    busy: bool = False


def _is_layer(value: Any) -> bool:
    """Return whether a value is a dataclass that can be applied."""
    kind = cast("type[Any]", type(value))
    return dataclasses.is_dataclass(kind) and any(_defines(kind, name) for name in ("__call__", "apply"))


def _defines(kind: type[Any], method: str) -> bool:
    return any(method in base.__dict__ for base in kind.__mro__[:-1])


def _layer_calls(model: Any, method: _Method, arguments: Any) -> list[_Record]:
    """Apply a model to the types of ``(arguments, options)``; return it and its layers with their calls.

    Each layer comes before the layers inside it.
    """
    arrays, structure = flatten_numbers("summary", "a model", model)
    values, packed = _pack(arguments)
    recorder = _Recorder(_Record("", model, 0))
    recorded = recorder.follow(structure, model, "", 0)

    def flat(*boxes: Any) -> list[Any]:
        recorder.top = boxes[0].owner if boxes else None
        call_arguments = packed.rebuild(boxes[len(arrays) :])
        result = _applied(method, tree.unflatten(recorded, boxes[: len(arrays)]), call_arguments)
        recorder.record(recorder.records[0], method, call_arguments, result)
        return [leaf for leaf in tree.leaves(result) if isinstance(leaf, Box)]

    graph, captured = stage(flat, [type_of(value) for value in (*arrays, *values)])
    dependent = set(graph.inputs[len(captured) :][: len(arrays)])
    for equation in graph.equations:
        if any(isinstance(operand, Var) and operand in dependent for operand in equation.operands):
            dependent.update(equation.outputs)
    for record, call, variables in recorder.calls:
        depends = tuple(
            is_inexact(type_.dtype) and (variable is None or variable in dependent)
            for type_, variable in zip(call.types, variables, strict=True)
        )
        record.calls.append(call._replace(depends=depends))
    return recorder.records


def _applied(method: _Method, layer: Any, call_arguments: Any) -> Any:
    arguments, options = call_arguments
    if isinstance(method, str):
        return getattr(layer, method)(*arguments, **options)
    return method(layer, *arguments, **options)


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, (Box, *NUMPY_VALUE))


def _pack(arguments: Any) -> tuple[list[Any], Packed]:
    values, packed = pack(arguments, _is_value)
    return values, packed._replace(others=tuple(packed.others), positions=tuple(packed.positions))


class _Recorder:
    """Records the calls of the layers of a model while it runs."""

    def __init__(self, model: _Record) -> None:
        self.records = [model]
        self.calls: list[tuple[_Record, _Call, list[Any]]] = []
        self.top: Any = None
        self._inner: set[Any] = set()

    def follow(self, structure: tree.Structure, value: Any, path: str, depth: int) -> tree.Structure:
        """Return the structure of a model whose layers record their calls."""
        parts = tree.children(value)
        if parts is None:
            return structure
        kind, fixed = structure.kind, structure.fixed
        if path and kind is not None and _is_layer(value):
            self.records.append(_Record(path, value, depth))
            kind, fixed = _recording(kind), (*fixed, ("record_", (self, self.records[-1])))
        if isinstance(value, Recurrent):  # its loop calls the methods of its cells, not the cells
            return structure._replace(kind=kind, fixed=fixed)
        depth += _is_layer(value) or not path
        followed = tuple(
            self.follow(child, part, _joined(path, value, key), depth)
            for child, (key, part) in zip(structure.children, parts.items(), strict=True)
        )
        return structure._replace(kind=kind, children=followed, fixed=fixed)

    def record(self, record: _Record, method: _Method, arguments: Any, result: Any) -> None:
        """Record a call; inside a loop or vmap, record one call of each type."""
        values, packed = _pack(arguments)
        output = result[0] if method in _WITH_STATE else result
        results = _types(tree.leaves(result)), _types(tree.leaves(output))
        call = _Call(method, packed, _types(values), (), *results)
        if any(isinstance(value, Box) and value.owner is not self.top for value in values):
            if (record.path, call) in self._inner:
                return
            self._inner.add((record.path, call))
        self.calls.append((record, call, [self._variable(value) for value in values]))

    def _variable(self, value: Any) -> Any:
        """Return the variable of a value in the graph; False for an array, None if it is unknown."""
        if not isinstance(value, Box):
            return False
        if isinstance(value.owner, GraphTrace) and value.owner is self.top:
            return value.owner.variable(value.state)
        return None


def _types(values: Sequence[Any]) -> tuple[TensorType, ...]:
    return tuple(type_of(value) for value in values if _is_value(value))


def _joined(path: str, container: Any, key: Any) -> str:
    return f"{path}.{key}" if dataclasses.is_dataclass(container) else f"{path}[{key!r}]"


@functools.lru_cache(maxsize=1024)
def _recording(kind: type[Any]) -> type[Any]:
    """Return a subclass of a layer's class that records its calls, with the recorder as the setting ``record_``."""

    def recording(method: str) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            recorder, record = self.record_
            original: Any = getattr(super(made, self), method)
            if record.busy:  # one method calls another
                return original(*arguments, **options)
            record.busy = True
            try:
                result = original(*arguments, **options)
            finally:
                record.busy = False
            recorder.record(record, method, (arguments, options), result)
            return result

        return call

    parameters: Any = getattr(kind, "__dataclass_params__")  # noqa: B009
    made: Any = dataclasses.make_dataclass(
        kind.__name__,
        [("record_", Any, static())],
        bases=(kind,),
        namespace={method: recording(method) for method in _METHODS if _defines(kind, method)},
        init=False,
        repr=False,
        eq=False,
        frozen=parameters.frozen,
    )
    return made


# -- the costs of calls ----------------------------------------------------------------------------------


class _Application(NamedTuple):
    """The static arguments of a compiled call: calls of equal applications and types share a program."""

    method: _Method
    arguments: Packed
    depends: tuple[bool, ...]


class _Costs:
    """Asks the compiler for the costs of calls."""

    def __init__(self) -> None:
        self._forward: Jitted[..., Any] = jit(_forward, static_argnums=0)
        self._both: Jitted[..., Any] = jit(_with_derivatives, static_argnums=0)

    def row(self, record: _Record) -> LayerSummary:
        """Return the summary of a layer."""
        layer, calls = record.layer, record.calls
        name = type(layer).__name__
        if isinstance(layer, Lambda):
            name = getattr(layer.function, "__name__", name)
        costs = [self._of(layer, call) for call in calls]
        return LayerSummary(
            path=record.path,
            name=name,
            depth=record.depth,
            inputs=calls[0].types if calls else (),
            output=calls[0].output if calls else (),
            parameters=_count(_floats(layer)),
            calls=len(calls),
            forward=sum(forward for forward, _, _ in costs),
            backward=sum(backward for _, backward, _ in costs),
            peak=max((peak for _, _, peak in costs), default=0),
        )

    def forward_peak(self, record: _Record) -> int:
        """Return the bytes of a call without derivatives."""
        (call,) = record.calls
        return self._forward.memory(*_compiled_arguments(record.layer, call))

    def _of(self, layer: Any, call: _Call) -> tuple[int, int, int]:
        """Return the operations of a call, those that derivatives add, and the bytes of both."""
        arguments = _compiled_arguments(layer, call)
        forward = self._forward.report(*arguments).operations
        cotangents = tuple(_placeholder(type_) for type_ in call.results if is_inexact(type_.dtype))
        if not cotangents or not (any(call.depends) or _floats(layer)):
            return forward, 0, self._forward.memory(*arguments)
        both = self._both.report(*arguments, cotangents).operations
        # Fusion may repeat operations that a program without derivatives does not carry out.
        return forward, max(both - forward, 0), self._both.memory(*arguments, cotangents)


def _compiled_arguments(layer: Any, call: _Call) -> tuple[Any, ...]:
    values = [_placeholder(type_) for type_ in call.types]
    arrays = tree.map_tree(lambda leaf: _placeholder(type_of(leaf)), layer)
    return _Application(call.method, call.arguments, call.depends), arrays, values


def _placeholder(type_: TensorType) -> Any:
    """Return an array of a type that takes no memory."""
    if type_.weak:
        return PYTHON_TYPE[type_.dtype.kind](0)
    return np.broadcast_to(np.zeros((), type_.dtype), type_.shape)


def _forward(application: _Application, layer: Any, values: Sequence[Any]) -> Any:
    result = _applied(application.method, layer, application.arguments.rebuild(values))
    return [leaf for leaf in tree.leaves(result) if is_number(leaf)]


def _with_derivatives(application: _Application, layer: Any, values: Sequence[Any], cotangents: Any) -> Any:
    parameters, packed = pack(layer, is_followable)
    depends = list(zip(application.depends, values, strict=True))

    def outputs(parameters: Sequence[Any], dependent: Sequence[Any]) -> Any:
        remaining = iter(dependent)
        call_arguments = [next(remaining) if differentiable else value for differentiable, value in depends]
        results = _forward(application, packed.rebuild(parameters), call_arguments)
        return tuple(leaf for leaf in results if is_followable(leaf))

    dependent = [value for differentiable, value in depends if differentiable]
    results, pullback = vjp(outputs, parameters, dependent)
    return results, pullback(cotangents)
