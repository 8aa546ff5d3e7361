"""Forward mode: dual numbers, and the transforms `jvp` and `linearize`.

A dual number ``x + x' e`` with ``e^2 = 0`` holds a primal and a tangent; every operation maps
``f(x + x' e) = f(x) + f'(x) x' e``. The tangent may be a box itself: of `vmap`, to carry many directions in one pass;
or of `linearize`, which writes the linear map to a graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, State, Trace, is_sole, running, snapshot, state_of, unfollowed
from wengert.engine.boxes import concrete as concrete_value
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import check_known, dtype_of, is_inexact, real_dtype
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, is_weak
from wengert.engine.kernels.elementwise import strong_product
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.kinks import finite_slope
from wengert.engine.ops.shape import broadcast_to
from wengert.engine.primitive import (
    PLAIN,
    Explicit,
    HigherOrder,
    Linear,
    NonDifferentiable,
    Partials,
    Primitive,
)
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.arguments import (
    Inputs,
    as_results,
    conform,
    flatten_output,
    or_zeros,
    release,
    select_inputs,
    zeros_like,
)
from wengert.engine.transforms.staging import evaluate, stage
from wengert.engine.transforms.substitution import attempt

Values = Sequence[Any]


class DualNumber(State):
    """The state of a box in forward mode: a primal, which is the value, and its tangent."""

    __slots__ = ("tangent",)

    def __init__(self, primal: Any, tangent: Any) -> None:
        super().__init__(primal)
        self.tangent = tangent


class DualTrace(Trace):
    """Forward mode: boxes hold dual numbers."""

    name = "jvp"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the primal and its tangent."""
        self.check_open(primitive.name)
        primals: list[Any] = []
        tangents: list[Any] = []
        for operand in operands:
            if isinstance(operand, Box) and operand.owner is self:
                primals.append(operand.state.value)
                tangents.append(operand.state.tangent)
            else:
                primals.append(snapshot(operand) if isinstance(operand, Box) else operand)
                tangents.append(None)
        out, tangent = push(primitive, primals, tangents, params)
        if isinstance(out, tuple):
            tangent = tangent or (None,) * len(out)  # pyright: ignore[reportUnknownArgumentType]
            return tuple(map(self.dual, out, tangent))  # pyright: ignore[reportUnknownVariableType]
        return self.dual(out, tangent)

    def dual(self, primal: Any, tangent: Any) -> Any:
        """Box a dual number; return the primal alone if the tangent is zero (None)."""
        return unfollowed(primal) if tangent is None else self.box(DualNumber(primal, tangent))

    def concrete(self, state: Any) -> Any:
        """Return the array behind the primal."""
        return concrete_value(state.value)

    def overwrite(self, cell: Box, part: Any, index: Any, selection: Any) -> bool:
        """Write into a primal and a tangent that nothing else refers to."""
        primal, tangent = part, None
        if isinstance(part, Box) and part.owner is self:
            primal, tangent = part.state.value, part.state.tangent
        if isinstance(primal, Box) or isinstance(tangent, Box):
            return False
        if not (self.open and is_sole(cell, "value") and is_sole(cell, "tangent")):
            return False
        cell.state.value[selection] = primal
        cell.state.tangent[selection] = 0 if tangent is None else tangent
        return True


@dataclass(frozen=True)
class DualNumbers(Algebra):
    """The algebra of dual numbers; the part of an element is its tangent."""

    def trace(self) -> DualTrace:
        """Return a trace whose boxes hold dual numbers."""
        return DualTrace()

    def state(self, value: Any, parts: Values) -> DualNumber:
        """Return a dual number."""
        return DualNumber(value, *parts)

    def parts(self, state: DualNumber) -> Values:
        """Return the tangent."""
        return [state.tangent]


DUAL_NUMBERS = DualNumbers(size=1)


# -- rules -----------------------------------------------------------------------------------------------


def push(primitive: Primitive, primals: Values, tangents: Values, params: dict[str, Any]) -> Any:
    """Return the result of an operation and its tangent (None: zero); tuples if it has several results."""
    rule = primitive.derivative
    if isinstance(rule, HigherOrder):
        return push_programs(rule, primals, tangents, params)
    out = primitive(*primals, **params)
    return out, tangent_of(primitive, out, primals, tangents, params)


def push_programs(rule: HigherOrder, primals: Values, tangents: Values, params: dict[str, Any]) -> Any:
    """Return the results of an operation that holds programs, and their tangents."""
    if rule.extend is not None:
        return rule.extend(DUAL_NUMBERS, primals, tangents, **params)
    assert rule.push is not None
    return rule.push(primals, tangents, **params)


def tangent_of(
    primitive: Primitive, out: Any, primals: Values, tangents: Values, params: dict[str, Any]
) -> Any:
    """Return the tangent (None: zero) of the known result of an operation that holds no program."""
    rule = primitive.derivative
    if isinstance(rule, NonDifferentiable):
        return None
    if not is_inexact(dtype := dtype_of(out)):
        check_known(primitive.name, dtype)
        return None
    if all(tangent is None for tangent in tangents):
        return None
    if isinstance(rule, Partials):
        tangent = push_partials(rule, out, primals, tangents, params)
    elif isinstance(rule, Linear):
        tangent = push_linear(primitive, rule, primals, tangents, params)
    else:
        assert isinstance(rule, Explicit)
        tangent = rule.jvp(primals, tangents, out, **params)
    return None if tangent is None else broadcast_like(tangent, out)


def broadcast_like(tangent: Any, out: Any) -> Any:
    """Return a tangent with the shape and dtype of its value."""
    if shape_of(tangent) != (shape := shape_of(out)):
        tangent = broadcast_to(tangent, shape=shape)
    if dtype_of(tangent) != (dtype := dtype_of(out)) or is_weak(tangent):
        tangent = cast(tangent, dtype=dtype)
    return tangent


def push_partials(rule: Partials, out: Any, primals: Values, tangents: Values, params: Any) -> Any:
    """Return the tangent of an elementwise operation: the sum of its partials times the tangents."""
    total = None
    values = partial_operands(rule, (out, *primals))
    for partial, tangent in zip(rule.partials, tangents, strict=True):
        if tangent is None or partial is None:
            continue
        if callable(partial):
            with np.errstate(all="ignore"):
                slope = partial(*values, **params)
                term = times_partial(tangent, finite_slope(slope) if rule.singular else slope)
        else:
            term = tangent if partial == 1.0 else -tangent if partial == -1.0 else tangent * partial
        total = term if total is None else total + term
    return total


def times_partial(direction: Any, partial: Any) -> Any:
    """Return a tangent or cotangent times a partial derivative; zero times infinity or NaN is zero."""
    for factor in (direction, partial):
        if type(factor) not in PLAIN and isinstance(factor, Box):
            return multiply_no_nan(direction, partial)
    return strong_product(direction, partial)


def partial_operands(rule: Partials, values: Values) -> Values:
    """Return an output and its operands as partial derivatives read them: integers become numbers of its precision.

    Otherwise unsigned integers wrap around, and NumPy takes the logarithm of uint8 in half precision. Python's numbers
    raise at singular points, where NumPy's give infinity.
    """
    # A sole integer operand has no derivative.
    if not rule.reads or (len(values) == 2 and (not rule.singular or type(values[0]) is np.ndarray)):
        return values
    for position, value in enumerate(values):
        if type(value) is float or type(value) is int:
            converted = dtype_of(values[0]).type(value) if rule.singular else value
        elif dtype_of(value).kind in "iub":
            converted = cast(value, dtype=real_dtype(dtype_of(values[0])))
        else:
            continue
        values = [*values[:position], converted, *values[position + 1 :]]
    return values


def push_linear(primitive: Primitive, rule: Linear, primals: Values, tangents: Values, params: Any) -> Any:
    """Apply the operation itself: to all tangents jointly, or to one at a time."""
    moving = [rule.linear_in(i) and tangent is not None for i, tangent in enumerate(tangents)]
    if not any(moving):
        return None
    if rule.jointly:
        operands = [
            primal if not rule.linear_in(i) else zeros_like(primal) if tangent is None else tangent
            for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True))
        ]
        return primitive(*operands, **params)
    total = None
    for position, tangent in enumerate(tangents):
        if moving[position]:
            term = primitive(*primals[:position], tangent, *primals[position + 1 :], **params)
            total = term if total is None else total + term
    return total


# -- transforms ------------------------------------------------------------------------------------------


class Pushed:
    """A function run once on dual numbers: its outputs, and their tangents (None: zero)."""

    def __init__(self, inputs: Inputs, tangents: Values, has_aux: bool = False) -> None:
        run = functools.partial(self._run, inputs, tangents, has_aux)
        trace, outputs, aux = attempt(inputs.function, run)
        states = [state_of(trace, value) for value in outputs]
        self.tangents = [None if state is None else state.tangent for state in states]
        self.values = [release(trace, value) for value in outputs]
        self.aux = tree.map_tree(lambda value: release(trace, value), aux)

    def _run(self, inputs: Inputs, tangents: Values, has_aux: bool) -> tuple[DualTrace, list[Any], Any]:
        with running(DualTrace()) as trace:
            duals = [trace.box(DualNumber(p, t)) for p, t in zip(inputs.leaves, tangents, strict=True)]
            outputs, self.structure, aux = flatten_output("jvp", inputs.call(duals), has_aux)
        return trace, outputs, aux


@advising("wg.jvp(f, (x,), (v,))")
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """Compute the value of a function and its derivative in one direction, with dual numbers.

    ``f(x + x' e) = f(x) + J x' e`` with ``e^2 = 0``.

    Args:
        fun: a function of the primals.
        primals: a tuple or list with each argument: arrays, numbers or containers of them, floating-point.
        tangents: the direction, with the same containers and shapes.
        has_aux: the function returns ``(output, aux)``.

    Returns:
        ``(output, tangent)``, or ``(output, tangent, aux)``.

    Raises:
        ArgumentError: primals or tangents are not a tuple or list, or their containers differ.
        ShapeError: a tangent does not have the shape of its primal.
        DtypeError: a primal is not floating-point.

    Example:
        >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))
        (10.0, 5.0)
    """
    if not (isinstance(primals, (tuple, list)) and isinstance(tangents, (tuple, list))):  # pyright: ignore[reportUnnecessaryIsInstance]
        requirement = "primals and tangents must be tuples or lists, with one entry for each argument"
        got = f"{type(primals).__name__}, {type(tangents).__name__}"
        raise ArgumentError(message("jvp", requirement, got, "write wg.jvp(f, (x,), (t,))"))
    inputs = select_inputs("jvp", fun, tuple(range(len(primals))), tuple(primals), {})
    directions, structure = tree.flatten(tuple(tangents))
    tree.check_same("jvp", inputs.structure, structure)
    checked = _check_tangents("jvp", directions, inputs.leaves)
    pushed = Pushed(inputs, checked, has_aux)
    output = tree.unflatten(pushed.structure, as_results(pushed.values, pushed.values, inputs.leaves))
    tangent = tree.unflatten(pushed.structure, as_results(pushed.tangents, pushed.values, checked))
    return (output, tangent, pushed.aux) if has_aux else (output, tangent)


def _check_tangents(operation: str, tangents: Values, primals: Values) -> list[Any]:
    requirement = "a tangent must have the shape of its primal"
    return [conform(operation, requirement, t, p) for t, p in zip(tangents, primals, strict=True)]


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Compute the value of a function, and its derivative at that point as a linear function.

    The function runs once, on dual numbers with unknown tangents. The operations on the tangents form a graph, which
    the linear function evaluates for each direction.

    Args:
        fun: a function of the primals.
        primals: the point: arrays, numbers or containers of them, floating-point.

    Returns:
        ``(output, linear)`` with ``linear(*tangents) = J tangents``.

    Raises:
        DtypeError: a primal is not floating-point.

    Example:
        >>> y, linear = linearize(lambda x: x**2, 3.0)
        >>> linear(1.0), linear(10.0)
        (6.0, 60.0)
    """
    inputs = select_inputs("linearize", fun, tuple(range(len(primals))), primals, {})
    runs: list[Pushed] = []

    def tangents_out(*tangents: Any) -> list[Any]:
        runs.append(Pushed(inputs, tangents))
        return or_zeros(runs[0].tangents, runs[0].values)

    graph, captured = stage(
        tangents_out, [TensorType(dtype_of(leaf), shape_of(leaf)) for leaf in inputs.leaves]
    )
    (pushed,) = runs

    def linear(*tangents: Any) -> Any:
        directions, structure = tree.flatten(tangents)
        tree.check_same("linearize", inputs.structure, structure)
        checked = _check_tangents("linearize", directions, inputs.leaves)
        results = as_results(evaluate(graph, *captured, *checked), pushed.values, checked)
        return tree.unflatten(pushed.structure, results)

    return tree.unflatten(pushed.structure, pushed.values), linear
