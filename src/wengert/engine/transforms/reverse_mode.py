"""Reverse mode: the walk back along the Wengert list, and the transforms `vjp`, `grad` and `value_and_grad`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

import numpy as np

from wengert.engine.boxes import Box, inside_transform, running, snapshot, state_of
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType
from wengert.engine.kernels.elementwise import strong_product
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.kinks import finite_slope
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.ops.shape import reshape, zeros_along
from wengert.engine.primitive import PLAIN, Explicit, HigherOrder, Linear, Partials
from wengert.engine.transforms.arguments import (
    Argnums,
    Inputs,
    as_results,
    check_function,
    check_primals,
    check_results,
    check_scalar,
    conform,
    flatten_output,
    named,
    release,
    select_inputs,
)
from wengert.engine.transforms.forward_mode import partial_operands, times_partial
from wengert.engine.transforms.staging import Walk
from wengert.engine.transforms.substitution import attempt
from wengert.engine.transforms.tape import LinearTrace, Node, Part, TapeTrace, box_of, boxes_of

P = ParamSpec("P")
R = TypeVar("R")
#: The first argument, by which a function is differentiated.
XT = TypeVar("XT")


class Cotangents:
    """The cotangents accumulated so far; sums are kept in buffers and added to in place."""

    __slots__ = ("_own", "_values", "_waiting", "product", "take")

    def __init__(self, product: Callable[[Any, Any], Any]) -> None:
        self.product = product
        """Multiplies a cotangent by a slope, both arrays."""
        self._values: dict[Node, Any] = {}
        self._waiting: list[tuple[int, Node]] = []
        """A heap of the nodes that have a cotangent, the last one first."""
        self.take: Callable[[Node, None], Any] = self._values.pop
        """Remove and return the cotangent of a node; the second argument for zero."""
        self._own: set[Node] = set()

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes that have a cotangent, last first, while more get one."""
        waiting = self._waiting
        while waiting:
            yield heappop(waiting)[1]

    def add(self, node: Node, cotangent: Any) -> None:
        """Add a cotangent, summed over the axes that broadcasting added, to that of a node."""
        value = node.value
        if not (
            type(cotangent) is np.ndarray
            and type(value) is np.ndarray
            and cotangent.shape == value.shape
            and cotangent.dtype is value.dtype
        ):
            cotangent = unbroadcast(cotangent, value)
        if node in self._values:
            self.accumulate(node, cotangent)
        else:
            self._values[node] = cotangent
            heappush(self._waiting, (-node.number, node))

    def accumulate(self, node: Node, cotangent: Any) -> None:
        """Add a cotangent of a node's own shape and dtype to that of the node."""
        before = self._values.get(node)
        if before is None:
            self._values[node] = cotangent
            heappush(self._waiting, (-node.number, node))
        elif node in self._own and not isinstance(cotangent, Box):
            before += cotangent
            self._values[node] = before  # a box of a scalar does not change in place
        else:
            total = before + cotangent
            self._values[node] = total
            if isinstance(total, np.ndarray):
                self._own.add(node)

    def sum(self, node: Node) -> Any:
        """Return the cotangent of a node so far; None if it is zero."""
        return self._values.get(node)

    def set(self, node: Node, cotangent: Any) -> None:
        """Replace the cotangent of a node, which has one."""
        self._own.discard(node)
        self._values[node] = cotangent

    def buffer(self, node: Node) -> Any:
        """Return the cotangent of a node as a plain array to add to, or None if it is a box."""
        before = self._values.get(node)
        if node in self._own:
            return before
        if isinstance(before, Box):
            return None
        value = node.value
        if before is None:
            buffer = zeros_along(
                value, value.shape if type(value) is np.ndarray else shape_of(value), dtype_of(value)
            )
            heappush(self._waiting, (-node.number, node))
        else:
            buffer = np.array(before)
        self._values[node] = buffer
        self._own.add(node)
        return buffer

    def owned(self, node: Node, cotangent: Any) -> Any:
        """Return the cotangent of a node as an array that nothing else refers to."""
        return cotangent if node in self._own else np.array(cotangent)

    def give(self, node: Node, buffer: Any) -> None:
        """Add an array that nothing else refers to, to the cotangent of a node."""
        if node in self._values:
            self.accumulate(node, buffer)
        else:
            self._values[node] = buffer
            self._own.add(node)
            heappush(self._waiting, (-node.number, node))


def walk_back(seeds: Iterable[tuple[Node, Any]], inputs: Sequence[Node | None]) -> list[Any]:
    """Return the cotangents of ``inputs`` (None: zero, or not a node), given the cotangents of some results.

    Reverse accumulation: for each node, last to first, ``cotangent_i += partial_i * cotangent``.
    """
    seeds = list(seeds)
    if not inside_transform():
        # A product of zero and infinity is seldom. It leaves NaN in a result, or in none: where its element is dropped.
        try:
            results = _walk(seeds, inputs, operator.mul)
        except (_NaNError, ValueError, ArithmeticError):
            results = []
        if results and all(result is None or _has_no_nan(result) for result in results):
            return results
    return _walk(seeds, inputs, strong_product)


def _has_no_nan(cotangent: Any) -> bool:
    """Return whether a cotangent is plain, and no element of it is NaN."""
    if type(cotangent) is not np.ndarray:
        return not isinstance(cotangent, Box) and bool(np.all(cotangent == cotangent))
    elements = cotangent.ravel("K")
    with np.errstate(all="ignore"):  # the sum of squares may overflow: infinity is not NaN
        return bool((squares := elements.dot(elements)) == squares)


class _NaNError(Exception):
    """The cotangent of a program may be NaN where it would be zero."""


def _walk(
    seeds: Sequence[tuple[Node, Any]], inputs: Sequence[Node | None], product: Callable[[Any, Any], Any]
) -> list[Any]:
    cotangents = Cotangents(product)
    for node, cotangent in seeds:
        cotangents.add(node, cotangent)
    wanted = set(inputs)
    with np.errstate(all="ignore"), Walk() as walk:
        for node in cotangents:
            if node in wanted:
                continue
            cotangent = cotangents.take(node, None)
            if type(node.value) not in PLAIN and isinstance(node.value, Box):
                walk.at(node.value, cotangent)
            primitive = node.primitive
            if primitive is not None:
                _PULLS[type(primitive.derivative)](primitive.derivative, node, cotangent, cotangents)
            elif isinstance(node, Part):
                _pull_part(node, cotangent, cotangents)
        results = [None if node is None else cotangents.take(node, None) for node in inputs]
        for node, cotangent in zip(inputs, results, strict=True):
            if node is not None and isinstance(node.value, Box):
                walk.at(node.value, cotangent)
    return results


def reachable(roots: Iterable[Node]) -> list[Node]:
    """Return the nodes that lead to ``roots``, last first."""
    nodes: set[Node] = set(roots)
    stack = list(nodes)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=attrgetter("number"), reverse=True)


# -- rules -----------------------------------------------------------------------------------------------


# Each adds a node's cotangent, times the partial derivatives, to those of its parents.


def _pull_part(node: Part, cotangent: Any, cotangents: Cotangents) -> None:
    whole = node.parents[0]
    assert whole is not None
    cotangents.accumulate(whole, _Parts(len(whole.value), node.position, cotangent))


def _pull_program(rule: HigherOrder, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    parts = cotangent.values if isinstance(cotangent, _Parts) else cotangent
    if cotangents.product is not strong_product:  # a program may do anything with NaN
        seeds: list[Any] = parts if isinstance(cotangent, _Parts) else [cotangent]
        if not all(part is None or _has_no_nan(part) for part in seeds):
            raise _NaNError
    for parent, part in zip(node.parents, node.operands(parts), strict=True):
        if parent is not None and part is not None:
            cotangents.add(parent, part)


class _Parts:
    """The cotangents of an operation with several results."""

    __slots__ = ("values",)

    def __init__(self, count: int, position: int, cotangent: Any) -> None:
        self.values: list[Any] = [None] * count
        self.values[position] = cotangent

    def __add__(self, other: _Parts) -> _Parts:
        for position, cotangent in enumerate(other.values):
            if cotangent is not None:
                self.values[position] = cotangent
        return self


def _pull_partials(rule: Partials, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    values = partial_operands(rule, (node.value, *node.operands))
    params = node.params
    for parent, partial in zip(node.parents, rule.partials):  # noqa: B905 (strict takes longer)
        if parent is None or partial is None:
            continue
        if callable(partial):
            slope: Any = partial(*values, **params)
            slope = finite_slope(slope) if rule.singular else slope
            is_plain = type(cotangent) is np.ndarray and type(slope) is np.ndarray
            term = cotangents.product(cotangent, slope) if is_plain else times_partial(cotangent, slope)
        else:
            term = cotangent if partial == 1.0 else -cotangent if partial == -1.0 else cotangent * partial
        cotangents.add(parent, term)


def _pull_linear(rule: Linear, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    if rule.take_out is not None and isinstance(cotangent, np.ndarray):
        _pull_out(rule.take_out, node, cotangents.owned(node, cotangent), cotangents)
        return
    if rule.split is not None:
        wanted = [parent is not None for parent in node.parents]
        terms = rule.split(wanted, cotangent, *node.operands, **node.params)
        for parent, term in zip(node.parents, terms, strict=True):
            if parent is not None:
                cotangents.add(parent, term)
        return
    operands, params, transposes = node.operands, node.params, rule.transposes
    for position, parent in enumerate(node.parents):
        if parent is None or (position and not rule.linear_in(position)):
            continue
        if position == 0 and rule.grows and _pull_into(rule, node, parent, cotangent, cotangents):
            continue
        transpose = transposes[0 if rule.variadic else position]
        if transpose is not None:
            leading = (position, cotangent) if rule.variadic else (cotangent,)
            cotangents.add(parent, transpose(*leading, *operands, **params))


def _pull_out(take_out: Callable[..., Any], node: Node, buffer: Any, cotangents: Cotangents) -> None:
    """Divide a cotangent between the part that an operation overwrites and the rest, without a new array."""
    first, second = node.parents
    part = take_out(buffer, *node.operands, **node.params)
    if first is not None:
        cotangents.give(first, buffer)
    if second is not None:
        cotangents.add(second, part)


def _pull_into(rule: Linear, node: Node, parent: Node, cotangent: Any, cotangents: Cotangents) -> bool:
    """Add to the cotangent of the first operand in place, if the rule can; return whether it did."""
    operands = node.operands
    if rule.accumulate is not None and not isinstance(cotangent, Box):
        is_plain = len(operands) == 1 or not any(isinstance(value, Box) for value in operands[1:])
        buffer = cotangents.buffer(parent) if is_plain else None
        if buffer is not None:
            rule.accumulate(buffer, cotangent, *operands, **node.params)
            return True
    before = cotangents.sum(parent)
    if rule.onto is None or before is None or dtype_of(before) != dtype_of(cotangent):
        return False
    cotangents.set(parent, rule.onto(before, cotangent, *operands, **node.params))
    return True


def _pull_explicit(rule: Explicit, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    """Record the rule for the tangents as a list of linear operations, and walk back along that list."""
    if rule.transpose is not None:
        (parent,) = node.parents
        assert parent is not None
        cotangents.add(parent, rule.transpose(cotangent, node.operands, node.value, **node.params))
        return
    if rule.linear is not None and all(
        parent is None or rule.linear.linear_in(position) for position, parent in enumerate(node.parents)
    ):
        _pull_linear(rule.linear, node, cotangent, cotangents)
        return
    trace = LinearTrace()
    starts = [None if parent is None else Node(type_of_value(parent.value)) for parent in node.parents]
    tangents = boxes_of(trace, [None] * len(starts), starts)
    out = state_of(trace, rule.jvp(node.operands, tangents, node.value, **node.params))
    if out is None:
        return
    terms = walk_back([(out.node, unbroadcast(cotangent, out.value))], starts)
    for parent, term in zip(node.parents, terms, strict=True):
        if parent is not None and term is not None:
            cotangents.add(parent, term)


_PULLS: dict[type, Callable[[Any, Node, Any, Cotangents], None]] = {
    Partials: _pull_partials,
    Linear: _pull_linear,
    Explicit: _pull_explicit,
    HigherOrder: _pull_program,
}


def type_of_value(value: Any) -> TensorType:
    """Return the type of a value, or the type that stands for it in a list of linear operations."""
    return value if isinstance(value, TensorType) else TensorType(dtype_of(value), shape_of(value))


def unbroadcast(cotangent: Any, operand: Any) -> Any:
    """Sum a cotangent over the axes that broadcasting added to its operand, and convert it to the operand's dtype."""
    shape = shape_of(operand)
    if (before := shape_of(cotangent)) != shape:
        extra = len(before) - len(shape)
        axes = tuple(
            axis
            for axis in range(len(before))
            if axis < extra or (shape[axis - extra] == 1 and before[axis] != 1)
        )
        if axes:
            cotangent = reduce_sum(cotangent, axes=axes)
        if shape_of(cotangent) != shape:
            cotangent = reshape(cotangent, shape=shape)
    if dtype_of(cotangent) != (dtype := dtype_of(operand)):
        cotangent = cast(cotangent, dtype=dtype)
    return cotangent


# -- transforms ------------------------------------------------------------------------------------------


class Recording:
    """A function run once and recorded: its outputs, and the list that leads to them."""

    def __init__(self, inputs: Inputs, has_aux: bool, operation: str) -> None:
        run = functools.partial(self._run, inputs, has_aux, operation)
        trace, outputs, aux = attempt(inputs.function, run)
        self.states = [state_of(trace, value) for value in outputs]
        self.values = [release(trace, value) for value in outputs]
        self.aux = tree.map_tree(lambda value: release(trace, value), aux) if has_aux else None

    def _run(self, inputs: Inputs, has_aux: bool, operation: str) -> tuple[TapeTrace, list[Any], Any]:
        self.inputs = list(map(Node, inputs.leaves))
        with running(TapeTrace()) as trace:
            result = inputs.call([box_of(trace, node) for node in self.inputs])
            outputs, self.structure, aux = flatten_output(operation, result, has_aux)
        return trace, outputs, aux

    def pullback(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs (None: zero)."""
        pairs = zip(self.states, cotangents, strict=True)
        return walk_back([(state.node, ct) for state, ct in pairs if state is not None], self.inputs)


@advising("wg.vjp(f, x)")
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Compute the value of a function, and return its pullback.

    The pullback maps a cotangent ``v`` of the output to ``J^T v``, one for each primal (reverse accumulation).

    Args:
        fun: a function of the primals.
        primals: arrays, numbers or containers of them, floating-point.
        has_aux: the function returns ``(output, aux)``.

    Returns:
        ``(output, pullback)``, or ``(output, pullback, aux)``; ``pullback(v)`` is a tuple with a cotangent for each
        primal.

    Raises:
        DtypeError: a primal is not floating-point.
        ShapeError: a cotangent does not have the shape of the output.

    Example:
        >>> import numpy as np
        >>> y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 2., 40.]),)
    """
    inputs = select_inputs("vjp", fun, tuple(range(len(primals))), primals, {})
    # The recording outlives this call: writes to the arguments or the output must not reach it.
    inputs = inputs._replace(leaves=list(map(snapshot, inputs.leaves)))
    recording = Recording(inputs, has_aux, "vjp")

    def pullback(cotangent: Any) -> Any:
        cotangents, structure = tree.flatten(cotangent)
        tree.check_same("vjp", recording.structure, structure)
        requirement = "a cotangent must have the shape of the output"
        pairs = zip(cotangents, recording.values, strict=True)
        checked = [conform("vjp", requirement, v, y) for v, y in pairs]
        results = as_results(recording.pullback(checked), inputs.leaves, checked)
        return tree.unflatten(inputs.structure, results)

    output = tree.unflatten(recording.structure, map(snapshot, recording.values))
    return (output, pullback, tree.map_tree(snapshot, recording.aux)) if has_aux else (output, pullback)


@advising("wg.value_and_grad(f)(x)")
def value_and_grad(
    fun: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False
) -> Callable[P, tuple[R, Any]]:
    """Return a function that computes both a scalar function and its gradient, by reverse mode.

    ``value_and_grad(f)(x) = f(x), g`` with ``g[i] = d f / d x[i]``; by a complex z = x + i y the gradient of a real
    function is ``df/dx - i df/dy``.

    Args:
        fun: a function that returns a floating-point scalar, or ``(scalar, aux)`` with ``has_aux``; an array of one
            element counts as a scalar, and the value keeps its shape.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns ``(scalar, aux)``.
        holomorphic: the function is holomorphic, and takes and returns complex numbers: the gradient is ``df/dz``.

    Returns:
        A function with the arguments of ``fun`` that returns ``(value, gradient)``, or ``((value, aux), gradient)``.
        The gradient has the containers, shapes and dtypes of the argument; for several argnums it is a tuple.

    Raises:
        ArgumentError: the function does not return one number, or argnums names no argument.
        DtypeError: an argument is not floating-point, or the result is complex without ``holomorphic``.

    Example:
        >>> value_and_grad(lambda x: x**3)(2.0)
        (8.0, 12.0)
    """
    return named(
        _value_and_gradient("value_and_grad", fun, argnums, has_aux, holomorphic),
        "value_and_grad",
        fun,
        argnums,
    )


def _value_and_gradient(
    operation: str, fun: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool
) -> Callable[..., Any]:
    """Return the function that computes both; errors call it by the name of an operation."""

    def differentiated(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs(operation, fun, argnums, arguments, options)
        if holomorphic:
            check_primals(operation, inputs.leaves, holomorphic)
        recording = Recording(inputs, has_aux, operation)
        if recording.structure.kind is not None:
            hint = "to return other values, too, return (number, aux) and give has_aux=True"
            got = tree.words(recording.structure)
            raise ArgumentError(message(operation, "the function must return one number", got, hint))
        value = snapshot(check_scalar(operation, recording.values[0]))
        check_results(operation, [value], holomorphic)
        unit, shape = dtype_of(value).type(1), shape_of(value)
        seed = np.full(shape, unit) if shape else unit
        gradient = tree.unflatten(inputs.structure, as_results(recording.pullback([seed]), inputs.leaves))
        return ((value, recording.aux), gradient) if has_aux else (value, gradient)

    return differentiated


@overload
def grad(
    fun: np.ufunc, argnums: Argnums = ..., has_aux: bool = ..., *, holomorphic: bool = ...
) -> Callable[..., Any]: ...


@overload
def grad(
    fun: Callable[Concatenate[XT, P], Any], argnums: Literal[0] = ..., *, holomorphic: bool = ...
) -> Callable[Concatenate[XT, P], XT]: ...


@overload
def grad(
    fun: Callable[P, Any], argnums: Argnums = ..., has_aux: bool = ..., *, holomorphic: bool = ...
) -> Callable[P, Any]: ...


@advising("wg.grad(f)(x)")
def grad(fun: Any, argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False) -> Any:
    """Return a function that computes the gradient of a scalar function, by reverse mode.

    ``grad(f)(x)[i] = d f / d x[i]``; by a complex z = x + i y the gradient of a real function is ``df/dx - i df/dy``.

    Args:
        fun: a function that returns a floating-point scalar, or ``(scalar, aux)`` with ``has_aux``.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns ``(scalar, aux)``.
        holomorphic: the function is holomorphic, and takes and returns complex numbers: the gradient is ``df/dz``.

    Returns:
        A function with the arguments of ``fun`` that returns the gradient, or ``(gradient, aux)``: with the containers,
        shapes and dtypes of the argument, and a tuple of these for several argnums.

    Raises:
        ArgumentError: the function does not return one number, or argnums names no argument.
        DtypeError: an argument is not floating-point.

    Example:
        >>> import numpy as np
        >>> grad(lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2), argnums=0)(2.0, 5.0)
        5.5
    """
    check_function("grad", fun, argnums)
    both = _value_and_gradient("grad", fun, argnums, has_aux, holomorphic)

    def gradient(*arguments: Any, **options: Any) -> Any:
        value, derivative = both(*arguments, **options)
        return (derivative, value[1]) if has_aux else derivative

    return named(gradient, "grad", fun)
