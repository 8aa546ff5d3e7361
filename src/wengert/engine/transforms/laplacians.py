"""The Laplacian in one forward pass: each value carries its derivatives and half the sum of its second derivatives.

For ``y = f(x)`` the chain rule gives ``lap y = f'(x) lap x + sum_i f''(x)[d_i x, d_i x]``. Half the first term is a
tangent of the operation. Half the second one is the sum over the directions of the second Taylor coefficient along the
line with slope ``d_i x``. See Li et al., A computational framework for neural network-based variational Monte Carlo
with Forward Laplacian (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.engine.boxes import Box, State, Trace, running, snapshot, state_of, unfollowed
from wengert.engine.boxes import concrete as concrete_value
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.ops.reduction import reduce_sum
from wengert.engine.primitive import HigherOrder, NonDifferentiable, Primitive
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.arguments import (
    Argnums,
    as_results,
    check_primals,
    check_results,
    flatten_output,
    named,
    release,
    select_inputs,
)
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import push_programs, tangent_of
from wengert.engine.transforms.jacobians import basis
from wengert.engine.transforms.substitution import attempt
from wengert.engine.transforms.taylor_mode import expanded_operation
from wengert.engine.transforms.vectors import count

Values = Sequence[Any]


class Curved(State):
    """The state of a box: a value, its derivatives (with a leading axis of directions), and half its Laplacian or None.

    The derivatives may be None for zeros where the Laplacian is not.
    """

    __slots__ = ("curvature", "slopes")

    def __init__(self, value: Any, slopes: Any, curvature: Any) -> None:
        super().__init__(value)
        self.slopes = slopes
        self.curvature = curvature


class LaplacianTrace(Trace):
    """Forward Laplacian: boxes hold values with all first derivatives and half the sum of the second ones."""

    name = "laplacian"

    def __init__(self, directions: int) -> None:
        super().__init__()
        self.directions = directions

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the value, the derivatives and the Laplacian of an operation."""
        self.check_open(primitive.name)
        states = [self._state(operand) for operand in operands]
        values = [x.value if isinstance(x, Curved) else x for x in states]
        rule = primitive.derivative
        if isinstance(rule, NonDifferentiable):
            return unfollowed(primitive(*values, **params))
        curvatures = [x.curvature if isinstance(x, Curved) else None for x in states]
        if not isinstance(rule, HigherOrder):
            result = primitive(*values, **params)
            bent = tangent_of(primitive, result, values, curvatures, params)
            ((slopes, second),) = _along_lines(primitive, states, params)
            return self._curved(result, slopes, _sum(bent, second))
        if rule.extend is not None:
            parts = [part for x in states for part in self._parts(x)]
            results, result_parts = rule.extend(CurvedNumbers(2, self.directions), values, parts, **params)
            return tuple(map(self._curved, results, result_parts[::2], result_parts[1::2]))
        results, bends = push_programs(rule, values, curvatures, params)
        terms = zip(results, bends, _along_lines(primitive, states, params), strict=True)
        return tuple(
            self._curved(result, slopes, _sum(bent, second)) for result, bent, (slopes, second) in terms
        )

    def _state(self, operand: Any) -> Any:
        """Return the state of a box of this trace, or the value of a constant."""
        if not isinstance(operand, Box):
            return operand
        return operand.state if operand.owner is self else snapshot(operand)

    def _parts(self, x: Any) -> tuple[Any, Any]:
        return (x.slopes, x.curvature) if isinstance(x, Curved) else (None, None)

    def _curved(self, value: Any, slopes: Any, curvature: Any) -> Any:
        if (slopes is None and curvature is None) or not is_inexact(dtype_of(value)):
            return unfollowed(value)
        return self.box(Curved(value, slopes, curvature))

    def concrete(self, state: Any) -> Any:
        """Return the array behind the value."""
        return concrete_value(state.value)


@dataclass(frozen=True)
class CurvedNumbers(Algebra):
    """The algebra of the forward Laplacian: ``e_i e_j`` is zero, and all ``e_i e_i`` are the same.

    The parts of an element are its derivatives in all directions, and half its Laplacian.
    """

    directions: int

    @property
    def leading(self) -> tuple[tuple[int, ...], ...]:
        """The axis of directions of the derivatives."""
        return (self.directions,), ()

    def trace(self) -> LaplacianTrace:
        """Return a trace whose boxes hold such elements."""
        return LaplacianTrace(self.directions)

    def state(self, value: Any, parts: Values) -> Curved:
        """Return an element."""
        return Curved(value, *parts)

    def parts(self, state: Curved) -> Values:
        """Return the derivatives and half the Laplacian."""
        return [state.slopes, state.curvature]


def _along_lines(primitive: Primitive, states: Values, params: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return, for each result, the derivatives in all directions, and the sum of the second Taylor coefficients."""
    moving = [isinstance(x, Curved) and x.slopes is not None for x in states]
    structures: list[tree.Structure] = []

    def along(*slopes: Any) -> list[Any]:
        steps = iter(slopes)
        curves = [
            (x.value if isinstance(x, Curved) else x, next(steps) if moves else None)
            for x, moves in zip(states, moving, strict=True)
        ]
        leaves, structure = tree.flatten(expanded_operation(primitive, curves, params, 2))
        structures.append(structure)
        return leaves

    columns = vmap(along)(*(x.slopes for x, moves in zip(states, moving, strict=True) if moves))
    terms: Any = tree.unflatten(structures[0], columns)
    return [(first, None if second is None else reduce_sum(second, axes=(0,))) for first, second in terms]


def _sum(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


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
            with running(LaplacianTrace(count(inputs.leaves))) as trace:
                pairs = zip(inputs.leaves, directions, strict=True)
                boxes = [trace.box(Curved(leaf, rows, None)) for leaf, rows in pairs]
                outputs, structure, _ = flatten_output("laplacian", inputs.call(boxes))
            return trace, outputs, structure

        trace, outputs, structure = attempt(fun, run)
        states = [state_of(trace, value) for value in outputs]
        values = [release(trace, value) for value in outputs]
        check_results("laplacian", values, holomorphic=None)
        sums = [None if state is None or state.curvature is None else 2 * state.curvature for state in states]
        return tree.unflatten(structure, as_results(sums, values))

    return named(laplacian_of, "laplacian", fun, argnums)
