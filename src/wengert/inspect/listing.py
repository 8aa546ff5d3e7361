"""`trace`: the Wengert list of a function, with the names and values of its call."""

from __future__ import annotations

import inspect
import keyword
import os
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from typing import Any, TypeVar, cast

import numpy as np

from wengert.engine.boxes import Box, Unsized, running, snapshot
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import check_known, dtype_of
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.records import record
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import type_of
from wengert.engine.transforms.arguments import named, numbers_of
from wengert.engine.transforms.frozen_random import Draws
from wengert.engine.transforms.staging import GraphTrace
from wengert.engine.transforms.substitution import attempt, current
from wengert.inspect.dot import render
from wengert.inspect.evaluation_trace import Table, tabulate
from wengert.inspect.notation import all_values
from wengert.inspect.picture import graph_picture

TraceT = TypeVar("TraceT", bound=GraphTrace)
_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, Box)


@record(slots=False)
class Listing(Graph):
    """The graph of a function, with the names, containers and values of the traced call."""

    name: str = "f"
    """The function's name."""
    parameters: tuple[inspect.Parameter, ...] = ()
    """The function's parameters that have arguments."""
    places: tuple[str, ...] = ()
    """The place of each input of the graph in the arguments, such as ``params['w']``."""
    arguments: tuple[Any, ...] = ()
    """The value of each input in the call."""
    structure: tree.Structure = tree.LEAF
    """The containers of the result."""
    adjoints: Mapping[Var, Var] = field(default_factory=dict[Var, Var])
    """The value whose adjoint a variable is, where reverse mode was traced."""

    def values(self) -> dict[Var, Any]:
        """Return every value of the list at the arguments of the call.

        Example:
            >>> import numpy as np, wengert as wg
            >>> list(wg.trace(lambda x: x * x)(3.0).values().values())
            [3.0, 9.0]
        """
        return all_values(self, self.arguments)

    def table(self, digits: int = 3) -> Table:
        """Return the evaluation trace of a scalar function: the values forwards, and the adjoints backwards.

        This is Table 1 of Harrison, "A Brief Introduction to Automatic Differentiation for Machine Learning"
        (2019): the inputs are ``v₁₋ₙ`` to ``v₀``, the intermediate values ``v₁``, ``v₂`` and so on, and ``v′`` is
        the adjoint of ``v``, the derivative of the result with respect to it. An adjoint stands beside the operation
        that it passes back through: read the right column upwards.

        Args:
            digits: the number of decimals to show.

        Raises:
            ArgumentError: the function does not return one floating-point scalar.

        Example:
            >>> import wengert as wg
            >>> print(wg.trace(lambda x1, x2: x1 * x2)(2.0, 5.0).table())
            Forward primal trace ↓      │ Reverse adjoint trace ↑
            ────────────────────────────┼────────────────────────────────────
            v₋₁ = x1               = 2  │ x1′  = v₋₁′                     = 5
            v₀  = x2               = 5  │ x2′  = v₀′                      = 2
            v₁  = v₋₁ × v₀ = 2 × 5 = 10 │ v₀′  = v₁′ ∂v₁/∂v₀  = v₁′ × v₋₁ = 2
                                        │ v₋₁′ = v₁′ ∂v₁/∂v₋₁ = v₁′ × v₀  = 5
            y   = v₁               = 10 │ v₁′  = y′                       = 1
        """
        return tabulate(self, self.places, self.values(), digits)

    def draw(self, path: str | os.PathLike[str], *, values: bool = True) -> None:
        """Draw the graph: constants, variables and operations as nodes, types of values along the edges.

        Args:
            path: the file: ``.dot`` or ``.gv`` for Graphviz source, ``.svg``, ``.png`` or ``.pdf`` for a picture, which
                needs Graphviz's program ``dot``.
            values: show scalar values, at the arguments of the call, in the nodes.

        Raises:
            ArgumentError: the path has another ending.
            GraphvizError: Graphviz is not installed, or fails.

        Example:
            >>> import pathlib, tempfile, wengert as wg
            >>> path = pathlib.Path(tempfile.mkdtemp(), "square.dot")
            >>> wg.trace(lambda x: x * x)(3.0).draw(path)
            >>> print(path.read_text().splitlines()[0])
            digraph "<lambda>" {
        """
        shown = self.values() if values else {}
        results = tree.paths(self.structure, "y")
        render(graph_picture(self, self.name, self.places, results, shown).text(), path)


@advising("wg.trace(f)(x)")
def trace(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> Callable[..., Listing]:
    """Return a function that records ``fun`` as a Wengert list.

    Args:
        fun: a function of arrays, numbers and containers of them; all other arguments are constants of the list.
        static_argnums: the positions of numbers that are constants of the list, too.

    Returns:
        A function with the arguments of ``fun`` that returns a `Listing`: the graph, which prints as text, with
        ``table()`` and ``draw(path)``. Derivatives are traced like any function: ``trace(grad(f))(x)``.

    Raises:
        DtypeError: a result is not an array or a number.
        ConcreteError: the function needs a value that only a call would know, in an ``if`` for example.

    Example:
        >>> import numpy as np, wengert as wg
        >>> print(trace(lambda x, y: x * y + 1)(np.float64(2.0), np.arange(3.0)))
        graph(x: f64[], y: f64[3]) {
          v1: f64[3] = multiply(x, y) # ...
          v2: f64[3] = add(v1, 1)     # ...
          return v2
        }
    """
    fixed = set(numbers_of("trace", static_argnums, fun, "static_argnums"))
    draws = Draws("trace", fun)

    def traced(*arguments: Any, **options: Any) -> Listing:
        with draws.watched():
            return listed(fun, GraphTrace, _of_type, arguments, options, fixed)[0]

    return named(traced, "trace", fun)


def _of_type(trace: GraphTrace, value: Any) -> Any:
    return trace.new_input(type_of(value))


def listed(
    fun: Callable[..., Any],
    new_trace: Callable[[], TraceT],
    new_input: Callable[[TraceT, Any], Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    fixed: Set[int] = frozenset(),
) -> tuple[Listing, TraceT]:
    """Run a function in a trace that writes a graph, and return the list with the trace.

    ``new_trace`` may be called twice, where the function has to run again. ``new_input`` adds an input to the graph and
    returns its box. The arguments at the positions ``fixed`` are constants of the list.
    """
    bound = _bind(fun, arguments, options)
    call = _Call(bound, fixed)

    def run() -> tuple[TraceT, Graph, tree.Structure]:
        with running(new_trace()) as staged:
            boxes = [new_input(staged, value) for value in call.values]
            for var, place in zip(staged.inputs, call.places, strict=True):
                var.name = _identifier(place)
            positional, named = call.rebuilt(boxes)
            results, structure = tree.flatten(current(fun, positional, named)(*positional, **named))
            return staged, staged.finish([_checked(result) for result in results]), structure

    staged, graph, structure = attempt(fun, run, traces=True)
    captured = tuple(staged.captured)
    listing = Listing(
        graph.inputs,
        graph.constants,
        graph.equations,
        graph.outputs,
        name=getattr(fun, "__name__", type(fun).__name__),
        parameters=tuple(bound.signature.parameters[name] for name in bound.arguments),
        places=(*(f"captured{i}" for i in range(1, len(captured) + 1)), *call.places),
        arguments=(*captured, *map(snapshot, call.values)),
        structure=structure,
        adjoints=staged.adjoints,
    )
    return listing, staged


class _Call:
    """The leaves of the arguments of a call: inputs of the graph, with their places, and constants."""

    def __init__(self, bound: inspect.BoundArguments, fixed: Set[int]) -> None:
        self.bound = bound
        self.leaves, self.structure = tree.flatten(tuple(bound.arguments.values()))
        self.values: list[Any] = []
        self.places: list[str] = []
        self._inputs: list[int] = []
        places: list[str] = []
        static: list[bool] = []
        names = zip(bound.arguments, self.structure.children, strict=True)
        for position, (name, structure) in enumerate(names):
            paths = tree.paths(structure, name)
            places += paths
            static += [position in fixed] * len(paths)
        for position, (leaf, place) in enumerate(zip(self.leaves, places, strict=True)):
            if isinstance(leaf, _NUMBERS) and not static[position]:
                self._inputs.append(position)
                self.values.append(_native(leaf))
                self.places.append(place)

    def rebuilt(self, boxes: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with boxes instead of the inputs."""
        leaves = list(self.leaves)
        for position, box in zip(self._inputs, boxes, strict=True):
            leaves[position] = box
        self.bound.arguments.update(
            zip(self.bound.arguments, tree.unflatten(self.structure, leaves), strict=True)
        )
        return self.bound.args, self.bound.kwargs


def _bind(
    fun: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments by the function's parameters, or by x1, x2, ... where it has no signature."""
    try:
        return inspect.signature(fun).bind(*arguments, **options)
    except (TypeError, ValueError):
        by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        numbered = [inspect.Parameter(f"x{i}", by_place) for i in range(1, len(arguments) + 1)]
        named = [inspect.Parameter(name, by_name) for name in options]
        return inspect.Signature([*numbered, *named]).bind(*arguments, **options)


def _native(leaf: Any) -> Any:
    dtype = check_known("trace", dtype_of(leaf))
    return leaf if dtype_of(leaf) == dtype else leaf.astype(dtype)


def _checked(result: Any) -> Any:
    if isinstance(result, _NUMBERS):
        return cast(Any, result)
    if isinstance(result, Unsized):
        result.refuse_result("trace")
    requirement = "the function must return arrays, numbers or containers of them"
    raise DtypeError(message("trace", requirement, type(result).__name__))


def _identifier(place: str) -> str:
    """Return a place as a name: ``params['w'][0]`` as ``params_w_0``."""
    name = re.sub(r"\W+", "_", place).strip("_")
    return f"{name}_" if keyword.iskeyword(name) else name
