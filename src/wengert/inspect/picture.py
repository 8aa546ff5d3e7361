"""Pictures of graphs and of records: constants, variables and operations as nodes, values as edges."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.engine.ir.graph import Equation, Graph, Literal, Var, graphs_in
from wengert.engine.ir.printer import names
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.transforms.reverse_mode import reachable
from wengert.engine.transforms.tape import Node, Part
from wengert.inspect.dot import Picture, render
from wengert.inspect.notation import show, symbol
from wengert.inspect.statements import renames

_LONGEST = 40


def graph_picture(
    graph: Graph, name: str, places: Sequence[str], results: Sequence[str], values: Mapping[Var, Any]
) -> Picture:
    """Return the picture of a graph; its labels are those of inputs and outputs, and scalars with values show them."""
    picture = Picture(name)
    _draw(picture, graph, places, results, values)
    return picture


def _draw(
    picture: Picture, graph: Graph, places: Sequence[str], results: Sequence[str], values: Mapping[Var, Any]
) -> str:
    """Add a graph to a picture; return its last node."""
    name_of = names(graph)
    nodes: dict[Var, str] = {}
    for var, place in zip(graph.inputs, places, strict=True):
        nodes[var] = picture.node("variable", _valued(place, var, values))
    for var, value in graph.constants:
        nodes[var] = picture.node("constant", show(value))

    def start(atom: Var | Literal) -> str:
        return picture.node("constant", show(atom.value)) if isinstance(atom, Literal) else nodes[atom]

    for equation in graph.equations:
        if renames(equation) and isinstance(equation.operands[0], Var):
            nodes[equation.outputs[0]] = nodes[equation.operands[0]]
            continue
        lines = [_valued(name_of[var], var, values) for var in equation.outputs]
        node = picture.node("operation", equation.primitive, _settings(equation), *lines)
        nodes.update(dict.fromkeys(equation.outputs, node))
        for operand in equation.operands:
            picture.edge(start(operand), node, str(operand.type))
        programs = [(name, inner) for name, param in equation.params.items() for inner in graphs_in(param)]
        for name, inner in programs:
            picture.begin(f"{name} of {equation.primitive} {name_of[equation.outputs[0]]}")
            labels, results_of = names(inner), [f"y{i}" for i in range(1, len(inner.outputs) + 1)]
            last = _draw(picture, inner, [labels[var] for var in inner.inputs], results_of, {})
            picture.end()
            picture.edge(last, node, dashed=True)
    node = ""
    for result, atom in zip(results, graph.outputs, strict=True):
        node = picture.node("result", result)
        picture.edge(start(atom), node, str(atom.type))
    return node


def _valued(label: str, var: Var, values: Mapping[Var, Any]) -> str:
    return f"{label} = {show(values[var])}" if var in values and not var.shape else label


def _settings(equation: Equation) -> str:
    """Write the parameters of an operation if they are short."""
    if any(equation.graphs()):
        return ""
    text = ", ".join(f"{name}={value}" for name, value in equation.params.items())
    return text if len(text) <= _LONGEST else ""


def draw_tape(result: Any, path: str | os.PathLike[str]) -> None:
    """Draw the record of the operations on `Variable` objects that led to a value.

    Variables are ``v₁₋ₙ`` to ``v₀``, the results of operations ``v₁``, ``v₂`` and so on, in the order of recording.

    Args:
        result: the result of operations on variables.
        path: the file, as for `Listing.draw`.

    Example:
        >>> import pathlib, tempfile, wengert as wg
        >>> path = pathlib.Path(tempfile.mkdtemp(), "square.dot")
        >>> x = wg.Variable(3.0)
        >>> draw_tape(x * x, path)
        >>> "multiply" in path.read_text()
        True
    """
    result.refresh()
    render(tape_picture(result.state.node).text(), path)


def tape_picture(root: Node) -> Picture:
    """Return the picture of the record that leads to a node."""
    picture = Picture("tape")
    order = reachable([root])[::-1]
    first = 1 - sum(_is_variable(node) for node in order)
    nodes: dict[Node, str] = {}
    inputs = operations = 0
    for node in order:
        if _is_variable(node):
            nodes[node] = picture.node("variable", _shown(symbol(first + inputs), node.value))
            inputs += 1
            continue
        operations += not isinstance(node.value, tuple)
        label = (
            f"result {node.position + 1}" if isinstance(node, Part) else getattr(node.primitive, "name", "")
        )
        value = "" if isinstance(node.value, tuple) else _shown(symbol(operations), node.value)
        nodes[node] = picture.node("operation", label, value)
        _edges(picture, node, nodes)
    end = picture.node("result", "y")
    picture.edge(nodes[root], end, str(_type(root.value)))
    return picture


def _is_variable(node: Node) -> bool:
    return node.primitive is None and not isinstance(node, Part)


def _shown(label: str, value: Any) -> str:
    text = show(value)
    return label if text == str(_type(value)) else f"{label} = {text}"


def _type(value: Any) -> TensorType:
    """Return the type of a value; the record may hold the type alone."""
    return value if isinstance(value, TensorType) else type_of(value)


def _edges(picture: Picture, node: Node, nodes: Mapping[Node, str]) -> None:
    for position, parent in enumerate(node.parents):
        if parent is not None:
            label = "" if isinstance(parent.value, tuple) else str(_type(parent.value))
            picture.edge(nodes[parent], nodes[node], label)
        elif not callable(node.operands):
            constant = node.operands[position]
            picture.edge(picture.node("constant", show(constant)), nodes[node], str(_type(constant)))
