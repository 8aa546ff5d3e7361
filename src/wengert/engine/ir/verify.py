"""The verifier: every graph is well formed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import GraphError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType, type_of


def verify(graph: Graph) -> None:
    """Check that a graph, and every graph inside it, is well formed.

    Each value is defined once and before its use, has a type, and constants and literals have the type they claim.
    Whether an operation accepts its operands is not checked here: a graph is data and knows no operations.

    Raises:
        GraphError: the graph is malformed; the message names the equation.

    Example:
        >>> import numpy as np
        >>> x, y = Var(type_of(1.0)), Var(type_of(1.0))
        >>> verify(Graph((x,), (), (Equation("sin", (x,), (y,)),), (y,)))
    """
    defined: set[Var] = set()
    _define("the inputs", graph.inputs, defined)
    for var, value in graph.constants:
        _define("the constants", [var], defined)
        if (dtype_of(value), shape_of(value)) != (var.dtype, var.shape):
            raise _problem("a constant must have the type of its value", f"{var.type} for {type_of(value)}")
    for number, equation in enumerate(graph.equations, 1):
        where = f"equation {number} ({equation.primitive})"
        _check_equation(where, equation)
        _read(where, equation.operands, defined)
        _define(where, equation.outputs, defined)
        for inner in equation.graphs():
            verify(inner)
    _read("the outputs", graph.outputs, defined)


def _check_equation(where: str, equation: Equation) -> None:
    if not equation.primitive.isidentifier():
        raise _problem("an operation must have a name", f"{equation.primitive!r} in {where}")
    if not equation.outputs:
        raise _problem("an equation must define a value", where)


def _define(where: str, variables: Iterable[Any], defined: set[Var]) -> None:
    for var in variables:
        if not (isinstance(var, Var) and isinstance(getattr(var, "type", None), TensorType)):
            raise _problem("every value must be a variable with a type", f"{var!r} in {where}")
        if var in defined:
            raise _problem("a value may be defined only once", f"a {var.type} defined again in {where}")
        defined.add(var)


def _read(where: str, atoms: Iterable[Any], defined: set[Var]) -> None:
    for atom in atoms:
        if isinstance(atom, Literal):
            if type_of(atom.value) != atom.type or atom.type.shape:
                got = f"{atom.value!r}: {atom.type} in {where}"
                raise _problem("a literal must be a scalar of its type", got)
        elif atom not in defined:
            description = f"a {atom.type}" if isinstance(atom, Var) else repr(atom)
            raise _problem("a value must be defined before its use", f"{description} in {where}")


def _problem(requirement: str, got: str) -> GraphError:
    return GraphError(message("verify", requirement, got))
