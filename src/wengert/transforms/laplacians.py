"""The Laplacian in one forward pass: each value carries its derivatives and the sum of its second derivatives.

For ``y = f(x)`` the chain rule gives ``lap y = f'(x) lap x + sum_i f''(x)[d_i x, d_i x]``. The first term is a tangent
of the operation. The second one is twice the sum over the directions of the second Taylor coefficient along the line
with slope ``d_i x``. See Li et al., A computational framework for neural network-based variational Monte Carlo with
Forward Laplacian (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.boxes import Box, State, Trace, running, snapshot, state_of, unfollowed
from wengert.boxes import concrete as concrete_value
from wengert.core import tree
from wengert.core.dtypes import dtype_of, is_inexact
from wengert.ops.reduction import reduce_sum
from wengert.primitive import HigherOrder, NonDifferentiable, Primitive
from wengert.transforms.arguments import (
    Argnums,
    as_results,
    check_primals,
    check_results,
    flatten_output,
    named,
    release,
    select_inputs,
)
from wengert.transforms.batching import vmap
from wengert.transforms.forward_mode import tangent_of
from wengert.transforms.jacobians import basis
from wengert.transforms.substitution import attempt
from wengert.transforms.taylor_mode import expanded_operation
from wengert.transforms.vectors import count

Values = Sequence[Any]


class Curved(State):
    """The state of a box: a value, its derivatives (with a leading axis of directions), and its Laplacian or None."""

    __slots__ = ("laplacian", "slopes")

    def __init__(self, value: Any, slopes: Any, laplacian: Any) -> None:
        super().__init__(value)
        self.slopes = slopes
        self.laplacian = laplacian


class LaplacianTrace(Trace):
    """Forward Laplacian: boxes hold values with all first derivatives and the sum of the second ones."""

    name = "laplacian"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the value, the derivatives and the Laplacian of an operation."""
        self.check_open(primitive.name)
        given = [self._state(operand) for operand in operands]
        values = [x.value if isinstance(x, Curved) else x for x in given]
        if isinstance(primitive.derivative, NonDifferentiable):
            return unfollowed(primitive(*values, **params))
        laplacians = [x.laplacian if isinstance(x, Curved) else None for x in given]
        if isinstance(primitive.derivative, HigherOrder):
            results, tangents = primitive.derivative.push(values, laplacians, **params)
        else:
            results = (primitive(*values, **params),)
            tangents = (tangent_of(primitive, results[0], values, laplacians, params),)
        slopes, curvatures = _along_lines(primitive, given, params, len(results))
        boxes = tuple(map(self._curved, results, slopes, tangents, curvatures))
        return boxes if isinstance(primitive.derivative, HigherOrder) else boxes[0]

    def _state(self, operand: Any) -> Any:
        """Return the state of a box of this trace, or the value of a constant."""
        if not isinstance(operand, Box):
            return operand
        return operand.state if operand.owner is self else snapshot(operand)

    def _curved(self, value: Any, slopes: Any, tangent: Any, curvatures: Any) -> Any:
        if slopes is None or not is_inexact(dtype_of(value)):
            return unfollowed(value)
        terms = [] if tangent is None else [tangent]
        if curvatures is not None:
            terms.append(2 * reduce_sum(curvatures, axes=(0,)))
        return self.box(Curved(value, slopes, sum(terms[1:], terms[0]) if terms else None))

    def concrete(self, state: Any) -> Any:
        """Return the array behind the value."""
        return concrete_value(state.value)


def _along_lines(
    primitive: Primitive, given: Values, params: dict[str, Any], results: int
) -> tuple[list[Any], list[Any]]:
    """Return the Taylor coefficients 1 and 2 of each result along the lines of all directions; None is zero."""
    moving = [x for x in given if isinstance(x, Curved)]
    structures: list[tree.Structure] = []

    def along(*slopes: Any) -> list[Any]:
        steps = iter(slopes)
        curves = [(x.value, next(steps)) if isinstance(x, Curved) else (x, None) for x in given]
        leaves, structure = tree.flatten(expanded_operation(primitive, curves, params, 2))
        structures.append(structure)
        return leaves

    columns = vmap(along)(*(x.slopes for x in moving))
    terms: Any = tree.unflatten(structures[0], columns)
    return [first for first, _ in terms], [second for _, second in terms]


def laplacian(fun: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Laplacian ``sum_i d^2 f / d x_i^2`` in one forward pass.

    The sum runs over all elements of the differentiated arguments. Memory grows with their number n, as that of n
    tangents does; no Hessian is formed, and second derivatives are summed operation by operation.

    Args:
        fun: a function of real arrays or containers of them that returns numbers, arrays or containers of them.
        argnums: the positional argument to differentiate, or several.

    Returns:
        A function with the arguments of ``fun`` that returns the Laplacian of each element of the output.

    Raises:
        ArgumentError: argnums names no argument.
        DtypeError: an argument or an output is not real floating-point.

    Example:
        >>> import numpy as np
        >>> laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        np.float64(18.0)
    """

    def laplacian_of(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs("laplacian", fun, argnums, arguments, options)
        check_primals("laplacian", inputs.leaves, holomorphic=None)
        directions = basis(inputs.leaves, 0, count(inputs.leaves))

        def run() -> tuple[LaplacianTrace, list[Any], tree.Structure]:
            with running(LaplacianTrace()) as trace:
                pairs = zip(inputs.leaves, directions, strict=True)
                boxes = [trace.box(Curved(leaf, rows, None)) for leaf, rows in pairs]
                outputs, structure, _ = flatten_output("laplacian", inputs.call(boxes))
            return trace, outputs, structure

        trace, outputs, structure = attempt(fun, run)
        states = [state_of(trace, value) for value in outputs]
        values = [release(trace, value) for value in outputs]
        check_results("laplacian", values, holomorphic=None)
        sums = [None if state is None else state.laplacian for state in states]
        return tree.unflatten(structure, as_results(sums, values))

    return named(laplacian_of, "laplacian", fun)
