"""`summary`: what the layers of a model return, hold and cost."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import random
from wengert.compiler.jit import Jitted, jit
from wengert.control.values import is_followable, is_number, pack
from wengert.core import tree
from wengert.core.dtypes import PYTHON_TYPE, dtype_of, is_float
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of, size
from wengert.ir.types import TensorType, type_of
from wengert.nn.calls import Call, Form, Method, Place, applied, is_layer, layer_calls
from wengert.nn.layers import Lambda
from wengert.nn.stateful import initial_state
from wengert.transforms.reverse_mode import vjp

_HEADS = ("layer", "output", "parameters", "forward", "backward", "peak bytes")


class LayerSummary(NamedTuple):
    """One layer, with what is inside it."""

    path: str
    """The way to it from the model, such as ``.layers[0]``; empty for the model itself."""
    name: str
    """Its class; of a `Lambda` its function."""
    depth: int
    """The number of layers that it lies in."""
    inputs: tuple[TensorType, ...]
    """What it is given at first: the types of the arrays."""
    output: tuple[TensorType, ...]
    """What it returns at first, a state left out."""
    parameters: int
    """The floating-point numbers that it holds."""
    calls: int
    """How often it is called."""
    forward: int
    """Arithmetic operations of its calls."""
    backward: int
    """Arithmetic operations that derivatives add to them."""
    peak: int
    """Bytes that a call with its derivatives needs beside arguments and results, the most of its calls."""


class Summary:
    """What the layers of a model return, hold and cost; it prints as a table, in a notebook as HTML."""

    def __init__(
        self, rows: Sequence[LayerSummary], parameter_bytes: int, state: int, forward_peak: int
    ) -> None:
        self.rows = tuple(rows)
        """The model, and its layers, each before those inside."""
        self.parameter_bytes = parameter_bytes
        self.state = state
        """The numbers that the state of the layers has."""
        self.forward_peak = forward_peak
        """Bytes that a call without derivatives needs beside arguments and results."""

    @property
    def parameters(self) -> int:
        """The floating-point numbers of the model."""
        return self.rows[0].parameters

    @property
    def forward(self) -> int:
        """Arithmetic operations of a call of the model."""
        return self.rows[0].forward

    @property
    def backward(self) -> int:
        """Arithmetic operations that the derivatives with respect to its parameters add."""
        return self.rows[0].backward

    @property
    def peak(self) -> int:
        """Bytes that a call with derivatives needs beside arguments and results."""
        return self.rows[0].peak

    def _cells(self, row: LayerSummary, place: str) -> list[str]:
        called = f" x {row.calls}" if row.calls > 1 else ""
        label = f"{'  ' * row.depth}{place}{': ' if place else ''}{row.name}{called}"
        if not row.calls:
            return [label, "", f"{row.parameters:,}", "", "", ""]
        costs = (_short(number) for number in (row.forward, row.backward, row.peak))
        return [label, " ".join(map(str, row.output)), f"{row.parameters:,}", *costs]

    def _table(self) -> list[list[str]]:
        above: list[str] = []
        table: list[list[str]] = []
        for row in self.rows:
            del above[row.depth :]
            outer = above[-1] if above else ""
            table.append(self._cells(row, row.path.removeprefix(outer).removeprefix(".")))
            above.append(row.path)
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
        lines = [_aligned(row, widths) for row in table]
        rule = "─" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self._totals()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _HEADS)
        style = '<td style="white-space: pre; text-align: left">'
        body = "".join(
            f"<tr>{style}{html.escape(first)}</td>{''.join(f'<td>{html.escape(cell)}</td>' for cell in rest)}</tr>"
            for first, *rest in self._table()
        )
        totals = "".join(f"<p>{line}</p>" for line in self._totals())
        return f"<table><tr>{head}</tr>{body}</table>{totals}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Write texts in columns, numbers to the right."""
    left = [f"{cell:{width}}" for cell, width in zip(row[:2], widths, strict=False)]
    right = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([*left, *right]).rstrip()


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
    """Return what each layer of a model returns, holds and costs. Nothing is carried out.

    The costs are those of the compiled program, `jit`'s ``report`` and ``memory``: of a layer's call on its own, and of
    the call with the derivatives with respect to its parameters, and to what depends on those before it. So a layer's
    costs include those of the layers inside. What `jit` fuses or leaves out in the whole model makes its costs differ
    from the sum. A product and a sum are two operations, an elementary function one; comparisons count, moves do not.
    What is called in a loop, or under `wengert.vmap`, is listed with the costs of one turn, or of one example.

    Args:
        model: a layer, such as a `Chain`; with ``call``, any container of layers and arrays.
        inputs: arrays of the shapes and dtypes that the model is given.
        training: of layers with a state, whether they are being trained.
        call: applies the model, ``call(model, *inputs)``, where it is not just called.

    Raises:
        ArgumentError: the model is no layer, and ``call`` is not given.
        DtypeError: the model holds what is neither array nor number.

    Example:
        >>> import numpy as np
        >>> from wengert import nn
        >>> model = nn.Chain(nn.Dense(784, 64, seed=0), nn.relu, nn.Dense(64, 10, seed=1))
        >>> table = summary(model, np.zeros((5, 784), "f4"))
        >>> table.parameters, table.forward > 2 * 5 * (784 * 64 + 64 * 10), table.rows[1].output[0].shape
        (50890, True, (5, 64))
    """
    if call is None and not is_layer(model):
        hint = "write nn.Chain(*layers), or say how it is applied: call=lambda model, x: ..."
        raise ArgumentError(message("summary", "a layer is needed", type(model).__name__, hint))
    method: Method = call or "__call__"
    arguments, named = inputs, dict[str, Any]()
    if call is None and hasattr(model, "apply"):
        method, arguments = "apply", (*inputs, initial_state(model))
        named = {"training": training, "key": random.key(0)}
    places = layer_calls(model, method, (arguments, named))
    costs = _Costs()
    rows = [costs.row(place) for place in places]
    state = (
        () if call is not None else [leaf for leaf in tree.leaves(initial_state(model)) if is_number(leaf)]
    )
    bytes_ = sum(dtype_of(leaf).itemsize * size(shape_of(leaf)) for leaf in _floats(model))
    return Summary(rows, bytes_, _numbers(state), costs.forward_peak(places[0]))


def _floats(layer: Any) -> list[Any]:
    return pack(layer, is_followable)[0]


def _numbers(leaves: Iterable[Any]) -> int:
    return sum(size(shape_of(leaf)) for leaf in leaves)


class _Applied(NamedTuple):
    """How a layer is applied; what is equal and given values of equal types is compiled once."""

    method: Method
    form: Form
    follows: tuple[bool, ...]


class _Costs:
    """The costs of calls, told by the compiler."""

    def __init__(self) -> None:
        self._forward: Jitted[..., Any] = jit(_forward, static_argnums=0)
        self._both: Jitted[..., Any] = jit(_with_derivatives, static_argnums=0)

    def row(self, place: Place) -> LayerSummary:
        """Return what is known of a layer."""
        name = type(place.layer).__name__
        if isinstance(place.layer, Lambda):
            name = getattr(place.layer.function, "__name__", name)
        first = place.calls[0] if place.calls else None
        costs = [self._of(place.layer, call) for call in place.calls]
        forward, backward, peak = zip(*costs, strict=True) if costs else ((), (), (0,))
        return LayerSummary(
            place.path,
            name,
            place.depth,
            first.types if first else (),
            first.output if first else (),
            _numbers(_floats(place.layer)),
            len(place.calls),
            sum(forward),
            sum(backward),
            max(peak),
        )

    def forward_peak(self, place: Place) -> int:
        """Return the bytes of a call without derivatives."""
        (call,) = place.calls
        return self._forward.memory(*_arguments(place.layer, call))

    def _of(self, layer: Any, call: Call) -> tuple[int, int, int]:
        """Return the operations of a call, those that derivatives add, and the bytes of both."""
        given = _arguments(layer, call)
        alone = self._forward.report(*given).operations
        cotangents = tuple(_stand_in(type_) for type_ in call.results if is_float(type_.dtype))
        if not cotangents or not (any(call.follows) or _floats(layer)):
            return alone, 0, self._forward.memory(*given)
        both = self._both.report(*given, cotangents).operations
        # Fusion may compute again what a program without derivatives need not keep.
        return alone, max(both - alone, 0), self._both.memory(*given, cotangents)


def _arguments(layer: Any, call: Call) -> tuple[Any, ...]:
    values = [_stand_in(type_) for type_ in call.types]
    arrays = tree.map_tree(lambda leaf: _stand_in(type_of(leaf)), layer)
    return _Applied(call.method, call.form, call.follows), arrays, values


def _stand_in(type_: TensorType) -> Any:
    """Return an array of a type that takes no memory."""
    if type_.weak:
        return PYTHON_TYPE[type_.dtype.kind](0)
    return np.broadcast_to(np.zeros((), type_.dtype), type_.shape)


def _forward(how: _Applied, layer: Any, values: Sequence[Any]) -> Any:
    result = applied(how.method, layer, how.form.fill(values))
    return [leaf for leaf in tree.leaves(result) if is_number(leaf)]


def _with_derivatives(how: _Applied, layer: Any, values: Sequence[Any], cotangents: Any) -> Any:
    parameters, packed = pack(layer, is_followable)

    def outputs(parameters: Sequence[Any], followed: Sequence[Any]) -> Any:
        rest = iter(followed)
        given = [next(rest) if follows else value for follows, value in zip(how.follows, values, strict=True)]
        return tuple(leaf for leaf in _forward(how, packed.rebuild(parameters), given) if is_followable(leaf))

    followed = [value for follows, value in zip(how.follows, values, strict=True) if follows]
    results, pullback = vjp(outputs, parameters, followed)
    return results, pullback(cotangents)
