"""The integral of a program over a box, as an operation whose derivatives are integrals of derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.subgraphs import (
    Flags,
    Marks,
    Values,
    batch_graph,
    cotangents_or_zeros,
    jvp_graph,
    memoized,
    propagate,
    repeat,
    select,
    spread,
    subgraph,
    vjp_graph,
)
from wengert.engine.control.values import check_same_types, fit, program_types
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import LimitError, message
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import require_end, where
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.batching import Batched
from wengert.engine.transforms.staging import evaluate, stage
from wengert.integrate.adaptive import Outcome, Tolerances, integrate
from wengert.integrate.rules import EPSILON, rule_for


class Region(NamedTuple):
    """The region of an integral, up to its ends, which are operands.

    ====================  =================================================================
    finite                from the first end to the last; the ends between break the interval
    above, below          from the end to infinity, from minus infinity to the end
    whole                 all numbers
    box                   the unit box
    ====================  =================================================================
    """

    kind: str
    ends: int
    """The number of ends."""
    axes: int = 1

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """The ends on which the integral depends, with the sign of its derivative."""
        return {
            "finite": [(0, -1), (self.ends - 1, 1)],
            "above": [(0, -1)],
            "below": [(0, 1)],
        }.get(self.kind, [])

    def boxes(self, ends: Values, examples: int) -> tuple[Any, Any]:
        """Return the corners of the boxes of the first partition, of shape (r, m, d)."""
        if self.kind == "box":
            shape = (1, examples, self.axes)
            return np.zeros(shape), np.ones(shape)
        if self.kind != "finite":  # see `mapped`
            edges = np.broadcast_to(np.array([-1.0, 0.0, 1.0])[:, None, None], (3, examples, 1))
            return edges[:-1], edges[1:]
        low, *points, high = (np.reshape(end, (1, examples)) for end in ends)
        if points:
            inside = np.clip(np.concatenate(points), np.minimum(low, high), np.maximum(low, high))
            rising = np.sort(inside, axis=0)
            points = [where(low <= high, rising, rising[::-1])]
        edges = np.concatenate([low, *points, high])[:, :, None]
        return edges[:-1], edges[1:]

    def mapped(self, function: Callable[[Any], Any], ends: Values, examples: int) -> Callable[[Any], Any]:
        """Return the function on the first partition.

        In an infinite range, a negative t stands for a point at a distance of -t from the end, and a positive t for one
        at a distance of 1 / t: both ends, where a function may be singular, lie at 0, where floats are dense.
        """
        if self.kind in ("finite", "box"):
            return function
        end = np.reshape(ends[0], (examples, 1)) if ends else 0.0
        signs = {"above": (1,), "below": (-1,), "whole": (1, -1)}[self.kind]

        def of_unit(t: Any) -> Any:
            is_near = t < 0
            inverse = 1 / where(is_near, 1.0, t)
            distance = np.maximum(where(is_near, -t, inverse), EPSILON * np.abs(end))
            total: Any = sum(function(end + sign * distance) for sign in signs)
            return total * where(is_near, 1.0, inverse**2)

        return of_unit


class Problem(NamedTuple):
    """The parameters of the operation."""

    operation: str
    region: Region
    rule: str
    limit: int
    tolerances: Tolerances

    @property
    def of_derivatives(self) -> Problem:
        """The parameters for integrals of derivatives."""
        return self._replace(tolerances=self.tolerances.of_derivatives)

    @property
    def parameter(self) -> tuple[Any, ...]:
        """The parameters as a tuple of tuples, which a graph can hold."""
        return tuple(tuple(x) if isinstance(x, tuple) else x for x in self)

    @staticmethod
    def of(parameter: Sequence[Any]) -> Problem:
        """Return the problem that a tuple states."""
        operation, region, rule, limit, tolerances = parameter
        return Problem(operation, Region(*region), rule, limit, Tolerances(*tolerances))

    def solve(self, function: Callable[[Any], Any], ends: Values, examples: int) -> Outcome:
        """Integrate a function of points of shape (k, m, d), with values of shape (k, m, n)."""
        rule = rule_for(self.operation, self.rule, self.region.axes)
        lows, highs = self.region.boxes(ends, examples)
        mapped = self.region.mapped(function, ends, examples)
        return self._checked(integrate(mapped, rule, lows, highs, self.limit, self.tolerances))

    def _checked(self, outcome: Outcome) -> Outcome:
        requirement = f"the estimated error must be within the tolerance after limit={self.limit} intervals"
        hint = (
            "the integrand may have a singularity or a jump: split there with points, or give another tolerance; "
            "an infinite bound must be known, and no argument of vmap or jit"
        )
        flags, error = concrete(outcome.is_done), concrete(outcome.error)
        if flags is None or error is None:
            holds = np.all(outcome.is_done)
            value = require_end(
                outcome.value, holds, operation=self.operation, requirement=f"{requirement}; {hint}"
            )
            return outcome._replace(value=value)
        if not np.all(flags):
            raise LimitError(
                message(self.operation, requirement, f"an error of {np.max(error, initial=0):.3g}", hint)
            )
        return outcome


Levels = tuple[tuple[int, tuple[bool, ...]], ...]
"""For each axis of examples, the innermost first, its length, and which constants have it; the ends always do."""


def integral(integrand: Graph, constants: Values, ends: Values, problem: Problem) -> tuple[list[Any], Any]:
    """Return the integrals of the outputs of a program, and an estimate of their error.

    The inputs of the program are the constants, then a point of shape (d,).
    """
    *values, error = integral_primitive(
        *constants, *ends, integrand=integrand, problem=problem.parameter, levels=()
    )
    return values, error


# -- the primitive ---------------------------------------------------------------------------------------


def _run(operands: Values, integrand: Graph, problem: Any, levels: Levels) -> list[Any]:
    """Integrate the examples side by side, each with boxes of its own."""
    problem = Problem.of(problem)
    examples, axes = _examples(levels), problem.region.axes
    count = size(examples)
    constants, ends = _parts(operands, problem)
    shapes = [type_.shape for type_ in integrand.output_types]

    def function(points: Any) -> Any:
        number = shape_of(points)[0]
        program = _at_points(_of_examples(integrand, levels), number)
        outputs = evaluate(program, *constants, np.reshape(points, (number, *examples, axes)))
        flat = [
            fit(
                np.reshape(output, (number, count, size(shape))),
                TensorType(FLOAT64, (number, count, size(shape))),
            )
            for output, shape in zip(outputs, shapes, strict=True)
        ]
        return np.concatenate(flat, axis=-1)

    outcome = problem.solve(function, ends, count)
    results: list[Any] = []
    start = 0
    for type_ in integrand.output_types:
        stop = start + size(type_.shape)
        wide = TensorType(type_.dtype, (*examples, *type_.shape))
        results.append(fit(np.reshape(outcome.value[:, start:stop], wide.shape)[()], wide))
        start = stop
    error = np.max(outcome.error, axis=-1, initial=0.0)
    return [*results, np.reshape(error, examples)[()]]


def _parts(values: Sequence[Any], problem: Problem) -> tuple[list[Any], list[Any]]:
    """Split the operands, or a value for each, into those of the constants and those of the ends."""
    count = len(values) - problem.region.ends
    return list(values[:count]), list(values[count:])


def _examples(levels: Levels) -> Shape:
    """Return the axes of examples, the outermost first."""
    return tuple(length for length, _ in reversed(levels))


@memoized
def _of_examples(graph: Graph, levels: Levels) -> Graph:
    """Return a program of constants and a point for all examples, whose outputs have their axes."""
    for length, flags in levels:
        graph = batch_graph(graph, length, [*flags, True], [True] * len(graph.outputs))[0]
    return graph


@memoized
def _at_points(graph: Graph, number: int) -> Graph:
    """Return a program at several points."""
    flags = [False] * (len(graph.inputs) - 1) + [True]
    return batch_graph(graph, number, flags, [True] * len(graph.outputs))[0]


@memoized
def _program(integrand: Graph, problem: Any, levels: Levels) -> Graph:
    ends = [TensorType(FLOAT64, _examples(levels))] * Problem.of(problem).region.ends

    def run(*operands: Any) -> list[Any]:
        return _run(operands, integrand, problem, levels)

    return stage(run, [*_of_examples(integrand, levels).input_types[:-1], *ends])[0]


def _infer(*types: TensorType, integrand: Graph, problem: Any, levels: Levels) -> tuple[TensorType, ...]:
    examples = _examples(levels)
    region = Problem.of(problem).region
    constants, ends = _parts(types, Problem.of(problem))
    program = _of_examples(integrand, levels)
    points = TensorType(FLOAT64, (*examples, region.axes))
    check_same_types("integral", "the ends", ends, [TensorType(FLOAT64, examples)] * region.ends)
    program_types("integral", program, [*constants, points])
    outputs = [TensorType(type_.dtype, (*examples, *type_.shape)) for type_ in integrand.output_types]
    return (*outputs, TensorType(FLOAT64, examples))


def _at_end(integrand: Graph, levels: Levels, constants: Values, end: Any) -> list[Any]:
    """Return the integrand at an end."""
    return evaluate(_of_examples(integrand, levels), *constants, np.reshape(end, (*shape_of(end), 1)))


@memoized
def _of_moving(graph: Graph, constants: int, outputs: int) -> Graph:
    """Return a program of constants, a point and directions as one of constants, directions and a point."""
    *first, x = graph.inputs[: constants + 1]
    return subgraph(graph, (*first, *graph.inputs[constants + 1 :], x), graph.outputs[outputs:])


def _widened(levels: Levels, more: Callable[[Sequence[bool]], Sequence[bool]]) -> Levels:
    """Return the levels for further constants, given which of them have an axis that some have."""
    return tuple((length, (*flags, *more(flags))) for length, flags in levels)


def _push(primals: Values, tangents: Values, integrand: Graph, levels: Levels, **params: Any) -> Any:
    """Integrate the tangent of the integrand; a bound that moves adds the integrand there."""
    problem = Problem.of(params["problem"])
    *outputs, error = integral_primitive(*primals, integrand=integrand, levels=levels, **params)
    constants, ends = _parts(primals, problem)
    moving, moved = _parts(tangents, problem)
    active = [tangent is not None for tangent in moving]
    results: list[Any] = [None] * len(outputs)
    program, reached = jvp_graph(integrand, [*active, False])
    if any(reached):
        *changes, _ = integral_primitive(
            *constants,
            *select(moving, active),
            *ends,
            integrand=_of_moving(program, len(constants), len(outputs)),
            problem=problem.of_derivatives.parameter,
            levels=_widened(levels, lambda flags: select(flags, active)),
        )
        results = spread(changes, reached)
    examples = _examples(levels)
    for position, sign in problem.region.bounds:
        if moved[position] is None:
            continue
        for number, value in enumerate(_at_end(integrand, levels, constants, ends[position])):
            axes = len(shape_of(value)) - len(examples)
            change = sign * np.reshape(moved[position], (*examples, *(1,) * axes)) * value
            results[number] = change if results[number] is None else results[number] + change
    return (*outputs, error), [*results, None]


def _pull(primals: Values, active: Flags, integrand: Graph, levels: Levels, **params: Any) -> Any:
    """Integrate the cotangents of the constants; that of a bound is the product with the integrand there."""
    problem = Problem.of(params["problem"])
    outputs = integral_primitive(*primals, integrand=integrand, levels=levels, **params)
    constants, ends = _parts(primals, problem)
    is_active, moves = _parts(active, problem)
    examples = _examples(levels)

    def pullback(cotangents: Values) -> list[Any]:
        types = list(map(type_of, outputs))
        incoming = cotangents_or_zeros(cotangents[:-1], types[:-1])
        back, reached = vjp_graph(integrand, [*is_active, False])
        results: list[Any] = [None] * len(constants)
        if any(reached):
            *changes, _ = integral_primitive(
                *constants,
                *incoming,
                *ends,
                integrand=_of_moving(back, len(constants), 0),
                problem=problem.of_derivatives.parameter,
                levels=_widened(levels, lambda flags: [True] * len(incoming)),
            )
            results = spread(changes, reached[:-1])
        # Examples that share a constant share its cotangent.
        for number, change in enumerate(results):
            shared = [n for n, (_, flags) in enumerate(reversed(levels)) if not flags[number]]
            if change is not None and shared:
                results[number] = np.sum(change, axis=tuple(shared))
        of_ends: list[Any] = [None] * len(ends)
        for position, sign in problem.region.bounds:
            if moves[position]:
                there = _at_end(integrand, levels, constants, ends[position])
                products = [
                    np.sum(np.reshape(cotangent * value, (*examples, size(type_.shape))), axis=-1)
                    for cotangent, value, type_ in zip(incoming, there, integrand.output_types, strict=True)
                ]
                of_ends[position] = sign * sum(products[1:], products[0])
        return [*results, *of_ends]

    return outputs, pullback


def _reach(marks: Marks, integrand: Graph, problem: Any, levels: Levels) -> list[int]:
    problem = Problem.of(problem)
    of_constants, of_ends = _parts(marks, problem)
    moving = 0
    for position, _ in problem.region.bounds:
        moving |= of_ends[position]
    return [*(mark | moving for mark in propagate(integrand, [*of_constants, 0])), 0]


def _batch(op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]) -> Any:
    problem = Problem.of(params["problem"])
    constants, ends = _parts(operands, problem)
    flags, moving = _parts(batched, problem)
    wide = [end if flag else repeat(end, size) for end, flag in zip(ends, moving, strict=True)]
    levels = (*params["levels"], (size, tuple(flags)))
    return tuple(map(Batched, op(*constants, *wide, **{**params, "levels": levels})))


def _source(*operands: str, integrand: Graph, problem: Any, levels: Levels) -> str:
    problem = Problem.of(problem)
    constants, ends = (", ".join(names) for names in _parts(operands, problem))
    return f"{problem.operation}(integrand, [{constants}], [{ends}])"


integral_primitive = primitive(
    name="integral",
    doc=(
        "the integrals of a program over an interval or a box, and an estimate of their error; its operands are what "
        "the program closes over, and the ends"
    ),
    type_rule=_infer,
    evaluate=lambda *operands, **params: tuple(_run(operands, **params)),
    derivative=HigherOrder(push=_push, pull=_pull, reach=_reach),
    batch=_batch,
    lowering=ControlFlow(lambda integrand, problem, levels: _program(integrand, problem, levels)),
    source=_source,
    samples=None,
)
