"""Checks of graphs that come from files: every operation's own rules accept what a file says of it."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import Any, Literal, NamedTuple, Union, cast

import numpy as np

from wengert.compiler.passes.lower import lower
from wengert.compiler.passes.verify import Verifier
from wengert.engine.core.dtypes import SHORT_NAMES
from wengert.engine.core.errors import GraphError, message
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Equation, Graph
from wengert.engine.ir.types import TensorType, show
from wengert.engine.passes.expand_programs import expand_programs
from wengert.engine.primitive import OF_PROGRAMS, REGISTRY, Primitive

MOST_BYTES = 1 << 47
"""The bytes of a value: the address space of a process."""
_MOST_WHOLE = 1 << 62
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def check_graph(graph: Graph) -> None:
    """Check a graph from its inputs down: each type is the one that its operation infers, and every access is inside.

    The nests of the graph are verified, so that no element outside of a value is read or written. `GraphError` for an
    unknown operation, or for parameters or results of other types than its rules say.
    """
    _check_types(graph)
    Verifier()(lower(expand_programs(graph)), "load")


def check_type(type_: TensorType) -> None:
    """Raise `GraphError` for a type that no array in memory has."""
    whole = all(type(extent) is int and extent >= 0 for extent in type_.shape)
    if type_.dtype not in SHORT_NAMES or not whole or len(type_.shape) > 64:
        raise GraphError(message("load", "an array type of this library is required", str(type_)))
    if size(type_.shape) * type_.dtype.itemsize > MOST_BYTES or max(type_.shape, default=0) > MOST_BYTES:
        raise GraphError(message("load", f"a value takes at most {MOST_BYTES:,} bytes", str(type_)))


def _check_types(graph: Graph) -> None:
    for var in graph.defined():
        check_type(var.type)
    for equation in graph.equations:
        for inner in equation.graphs():
            _check_types(inner)
        operation = _operation(equation)
        _check_count(operation, equation)
        _check_parameters(operation, equation)
        types = operation.infer(*(atom.type for atom in equation.operands), **equation.params)
        inferred = (types,) if isinstance(types, TensorType) else tuple(types)
        stated = tuple(var.type for var in equation.outputs)
        if inferred != stated:
            requirement = f"{equation.primitive} must return {show(*inferred)}"
            raise GraphError(message("load", requirement, show(*stated)))


def _operation(equation: Equation) -> Primitive:
    if equation.primitive not in REGISTRY:
        raise GraphError(f"the operation {equation.primitive} is unknown")
    operation = REGISTRY[equation.primitive]
    if operation.derivative is OF_PROGRAMS:
        raise GraphError(f"the operation {equation.primitive} stands in compiled programs only")
    return operation


def _check_parameters(operation: Primitive, equation: Equation) -> None:
    """Raise `GraphError` for a parameter that is missing, unknown, or of another type than the operation states.

    Parameters called ``axis`` and ``axes`` count axes of the first operand.
    """
    stated = _stated(operation).parameters
    missing = [name for name, (_, is_needed) in stated.items() if is_needed and name not in equation.params]
    if missing:
        raise GraphError(f"the operation {operation.name} needs {' and '.join(missing)}")
    for name, value in equation.params.items():
        if name not in stated or not _fits(value, stated[name][0]):
            raise GraphError(f"the operation {operation.name} has no such parameter: {name}={value!s:.40}")
        if name in ("axis", "axes"):
            axes: tuple[int, ...] = (value,) if isinstance(value, int) else value
            if len({*axes}) != len(axes) or not all(
                0 <= axis < equation.operands[0].type.ndim for axis in axes
            ):
                raise GraphError(f"{operation.name} of {show(equation.operands[0].type)} has no axes {value}")


def _check_count(operation: Primitive, equation: Equation) -> None:
    """Raise `GraphError` for a wrong number of operands: the type rule takes an operand too many for a parameter."""
    count = _stated(operation).operands
    if count is not None and len(equation.operands) != count:
        raise GraphError(f"{operation.name} takes {count} operands, and has {len(equation.operands)}")


class _Stated(NamedTuple):
    """The operands and parameters that an operation takes."""

    operands: int | None
    """The number of operands; None for any number."""
    parameters: dict[str, tuple[Any, bool]]
    """The type of each parameter, and whether it is needed."""


@functools.cache
def _stated(operation: Primitive) -> _Stated:
    """Read the annotations of the type rule and, where that takes any parameters, those of the evaluation."""
    is_partial = isinstance(operation.evaluate, functools.partial)  # which has no annotations
    evaluated = {} if is_partial else typing.get_type_hints(operation.evaluate)
    parameters: dict[str, tuple[Any, bool]] = {
        name: (evaluated.get(name, Any), True) for name in operation.parameters
    }
    arguments = inspect.signature(operation.type_rule).parameters.values()
    kinds = {argument.kind for argument in arguments}
    rules = [operation.type_rule]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        rules.append(operation.evaluate)
    operands: Any = (TensorType, Any, inspect.Parameter.empty)
    for rule in reversed(rules):
        hints = typing.get_type_hints(rule)
        for name, parameter in inspect.signature(rule).parameters.items():
            hint = hints.get(name, inspect.Parameter.empty)
            is_operand = hint in operands and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            if parameter.kind not in _VARIADIC and not is_operand and hint is not TensorType:
                parameters[name] = (hint, parameter.default is inspect.Parameter.empty)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return _Stated(len(operation.operands) or None, parameters)
    count = sum(a.kind not in _VARIADIC and a.name not in parameters for a in arguments)
    return _Stated(count, parameters)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type that an annotation states."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        members = cast("tuple[Any, ...]", value)
        wanted = parts[:1] * len(members) if parts[1:] == (...,) else parts
        return len(members) == len(wanted) and all(map(_fits, members, wanted))
    if origin is Literal:
        return type(value) is str and value in parts
    if origin is np.dtype:
        return isinstance(value, np.dtype)
    if hint is float:
        return type(value) in (int, float)
    if hint is int:
        return type(value) is int and -_MOST_WHOLE <= value <= _MOST_WHOLE
    return hint is Any or type(value) is hint
