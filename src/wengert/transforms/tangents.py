"""Forward-mode transforms: `jvp`, `linearize`, `derivative`, `hvp`, `hessp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.boxes import Box, running
from wengert.core import tree
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import TensorType, show
from wengert.transforms.argnums import check_function, follow, matching, own, release, take_apart
from wengert.transforms.batching import named
from wengert.transforms.forward import DualNumber, DualTrace, zeros_like
from wengert.transforms.gradients import Argnums, grad
from wengert.transforms.staging import evaluate, stage

#: What `hvp` and `hessp` require of the direction: SciPy's optimisers pass it second.
_LAST = (
    "the direction, the last argument, must have the shape of its primal (wg.hessp takes it second, as SciPy)"
)
_SECOND = "the direction, the second argument, must have the shape of the first"


class Pushed:
    """A function run once on dual numbers: its outputs, and their tangents (None: zero)."""

    def __init__(
        self,
        call: Callable[[Sequence[Any]], Any],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        has_aux: bool = False,
    ) -> None:
        trace = DualTrace()
        with running(trace):
            duals = [trace.box(DualNumber(p, t)) for p, t in zip(primals, tangents, strict=True)]
            outputs, self.structure, aux = take_apart("jvp", call(duals), has_aux)
        self.tangents = [
            v.state.tangent if isinstance(v, Box) and v.owner is trace else None for v in outputs
        ]
        self.values = [release(trace, value) for value in outputs]
        self.aux = tree.map_tree(lambda value: release(trace, value), aux)


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """Return the value of a function and its derivative in one direction, by dual numbers.

    ``f(x + x' e) = f(x) + J x' e`` with ``e^2 = 0``.

    Args:
        fun: a function of the primals.
        primals: a tuple or list with each argument: arrays, numbers or containers of them, floating-point.
        tangents: the direction, with the same containers and shapes.
        has_aux: the function returns ``(output, aux)``.

    Returns:
        ``(output, tangent)``, or ``(output, tangent, aux)``.

    Raises:
        ShapeError: a tangent does not have the shape of its primal.

    Example:
        >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))
        (10.0, 5.0)
    """
    if not (isinstance(primals, (tuple, list)) and isinstance(tangents, (tuple, list))):  # pyright: ignore[reportUnnecessaryIsInstance]
        got = f"{type(primals).__name__}, {type(tangents).__name__}"
        raise ArgumentError(
            message("jvp", "primals and tangents must be tuples or lists, an entry an argument", got)
        )
    followed = follow("jvp", fun, tuple(range(len(primals))), tuple(primals), {})
    directions, structure = tree.flatten(tuple(tangents))
    tree.check_same("jvp", followed.structure, structure)
    checked = [check_tangent("jvp", t, p) for t, p in zip(directions, followed.leaves, strict=True)]
    pushed = Pushed(followed.call, followed.leaves, checked, has_aux)
    output = tree.unflatten(pushed.structure, own(pushed.values, pushed.values, followed.leaves))
    tangent = tree.unflatten(pushed.structure, own(pushed.tangents, pushed.values, checked))
    return (output, tangent, pushed.aux) if has_aux else (output, tangent)


def check_tangent(operation: str, tangent: Any, primal: Any) -> Any:
    """Return a tangent with the dtype of its primal, or raise what is wrong with it."""
    return matching(operation, "a tangent must have the shape of its primal", tangent, primal)


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of a function and its derivative at that point as a linear function.

    The function runs once, on dual numbers whose tangents are unknowns: what happens to them is written down as a
    graph, which the linear function carries out for each direction.

    Args:
        fun: a function of the primals.
        primals: the point.

    Returns:
        ``(output, linear)`` with ``linear(*tangents) = J tangents``.

    Example:
        >>> y, linear = linearize(lambda x: x**2, 3.0)
        >>> linear(1.0), linear(10.0)
        (6.0, 60.0)
    """
    followed = follow("linearize", fun, tuple(range(len(primals))), primals, {})
    outputs: list[Pushed] = []

    def tangents_out(*tangents: Any) -> list[Any]:
        pushed = Pushed(followed.call, followed.leaves, tangents)
        outputs.append(pushed)
        return [
            zeros_like(v) if t is None else t for t, v in zip(pushed.tangents, pushed.values, strict=True)
        ]

    types = [TensorType(dtype_of(leaf), shape_of(leaf)) for leaf in followed.leaves]
    graph, captured = stage(tangents_out, types)
    pushed = outputs[0]

    def linear(*tangents: Any) -> Any:
        directions, structure = tree.flatten(tangents)
        tree.check_same("linearize", followed.structure, structure)
        checked = [check_tangent("linearize", t, p) for t, p in zip(directions, followed.leaves, strict=True)]
        return tree.unflatten(
            pushed.structure, own(evaluate(graph, *captured, *checked), pushed.values, checked)
        )

    return tree.unflatten(pushed.structure, pushed.values), linear


def derivative(fun: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return the derivative of a function of a scalar: to a number, an array or a container of them.

    Args:
        fun: a function of a scalar.
        argnums: which argument is the scalar.

    Raises:
        ShapeError: the argument is not a scalar.

    Example:
        >>> import numpy as np
        >>> derivative(lambda t: np.array([1.0, 2.0]) * t**2)(3.0)
        array([ 6., 12.])
    """

    def differentiated(*arguments: Any, **options: Any) -> Any:
        followed = follow("derivative", fun, argnums, arguments, options)
        if len(followed.leaves) != 1 or shape_of(followed.leaves[0]) != ():
            raise ShapeError(
                message(
                    "derivative", "the argument must be a scalar", show(*followed.leaves), "use wg.jacobian"
                )
            )
        one = dtype_of(followed.leaves[0]).type(1)
        pushed = Pushed(followed.call, followed.leaves, [one])
        return tree.unflatten(pushed.structure, own(pushed.tangents, pushed.values))

    return named(differentiated, "derivative", fun)


def hvp(fun: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return the product of a scalar function's Hessian with a direction, by forward over reverse mode.

    ``hvp(f)(x, v) = H(x) v``, at the cost of a few gradients (Pearlmutter, 1994).

    Args:
        fun: a function that returns a scalar.
        argnums: the argument to differentiate, or several; then the direction is a tuple.

    Returns:
        A function of the arguments of ``fun`` and, last, the direction.

    Example:
        >>> import numpy as np
        >>> hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    check_function("hvp", fun)
    multiply = _hessian_product("hvp", _LAST, fun, argnums)

    def product(*arguments: Any, **options: Any) -> Any:
        if not arguments:
            raise ArgumentError(message("hvp", "the direction must be the last argument", "no argument"))
        if len(arguments) < 2:
            requirement = "the arguments of the function are needed, and a direction after them"
            raise ArgumentError(message("hvp", requirement, f"{len(arguments)}", "write hvp(f)(x, v)"))
        *point, direction = arguments
        return multiply(tuple(point), direction, options)

    return named(product, "hvp", fun)


def _hessian_product(
    operation: str, requirement: str, fun: Callable[..., Any], argnums: Argnums
) -> Callable[[tuple[Any, ...], Any, dict[str, Any]], Any]:
    """Return what multiplies the Hessian at a point by a direction, given the options of the function."""
    gradient = grad(fun, argnums)

    def multiply(point: tuple[Any, ...], direction: Any, options: dict[str, Any]) -> Any:
        followed = follow(operation, gradient, argnums, point, options)
        directions, structure = tree.flatten(direction)
        tree.check_same(operation, followed.structure, structure)
        pairs = zip(directions, followed.leaves, strict=True)
        checked = [matching(operation, requirement, v, x) for v, x in pairs]
        pushed = Pushed(followed.call, followed.leaves, checked)
        return tree.unflatten(pushed.structure, own(pushed.tangents, followed.leaves, checked))

    return multiply


def hessp(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product of a scalar function's Hessian with a direction for SciPy's optimisers, as their ``hessp``.

    ``hessp(f)(x, p, *args) = H(x, *args) p``, with the Hessian by ``x``: the direction is the second argument.

    Args:
        fun: a function of ``x`` and any further arguments that returns a scalar.

    Returns:
        A function of ``x``, the direction, and the further arguments of ``fun``.

    Raises:
        ShapeError: the direction does not have the shape of ``x``.

    Example:
        >>> import numpy as np
        >>> hessp(lambda x, scale: scale * np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 10.0)
        array([ 60., 120.])
    """
    check_function("hessp", fun)
    multiply = _hessian_product("hessp", _SECOND, fun, 0)

    def product(x: Any, p: Any, *args: Any, **options: Any) -> Any:
        return multiply((x, *args), p, options)

    return named(product, "hessp", fun)
