"""Reverse-mode transforms: `vjp`, `grad`, `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.boxes import Box, running, snapshot
from wengert.core import tree
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of
from wengert.transforms.argnums import (
    Followed,
    check_function,
    follow,
    matching,
    own,
    release,
    single_output,
    take_apart,
)
from wengert.transforms.batching import named
from wengert.transforms.reverse import walk_back
from wengert.transforms.tape import Node, TapeTrace, start_of

Argnums = int | Sequence[int]


class Recording:
    """A function run once with its list recorded: its outputs, and how to walk back from them."""

    def __init__(self, followed: Followed, has_aux: bool, operation: str) -> None:
        self.inputs = [Node(leaf) for leaf in followed.leaves]
        trace = TapeTrace()
        with running(trace):
            result = followed.call([start_of(trace, node) for node in self.inputs])
            outputs, self.structure, aux = take_apart(operation, result, has_aux)
        self.nodes = [v.state.node if isinstance(v, Box) and v.owner is trace else None for v in outputs]
        self.values = [release(trace, value) for value in outputs]
        self.aux = tree.map_tree(lambda value: release(trace, value), aux)

    def pullback(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs (None: zero)."""
        seeds = [(node, ct) for node, ct in zip(self.nodes, cotangents, strict=True) if node is not None]
        return walk_back(seeds, self.inputs)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the value of a function and its pullback.

    The pullback maps a cotangent ``v`` of the output to ``J^T v``, one for each argument (reverse accumulation).

    Args:
        fun: a function of the primals.
        primals: arrays, numbers or containers of them, floating-point.
        has_aux: the function returns ``(output, aux)``.

    Returns:
        ``(output, pullback)``, or ``(output, pullback, aux)``; ``pullback(v)`` is a tuple with a cotangent for each
        primal.

    Raises:
        ShapeError: a cotangent does not have the shape of the output.

    Example:
        >>> import numpy as np
        >>> y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 2., 40.]),)
    """
    followed = follow("vjp", fun, tuple(range(len(primals))), primals, {})
    # The record outlives this call: what the user does to the arguments and the output must not reach it.
    followed = followed._replace(leaves=[snapshot(leaf) for leaf in followed.leaves])
    recording = Recording(followed, has_aux, "vjp")

    def pullback(cotangent: Any) -> Any:
        given, structure = tree.flatten(cotangent)
        tree.check_same("vjp", recording.structure, structure)
        requirement = "a cotangent must have the shape of the output"
        checked = [matching("vjp", requirement, v, y) for v, y in zip(given, recording.values, strict=True)]
        found = recording.pullback(checked)
        return tree.unflatten(followed.structure, own(found, followed.leaves, checked))

    output = tree.unflatten(recording.structure, map(snapshot, recording.values))
    return (output, pullback, tree.map_tree(snapshot, recording.aux)) if has_aux else (output, pullback)


def value_and_grad(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes both a scalar function and its gradient.

    Args:
        fun: a function that returns a floating-point scalar, or ``(scalar, aux)`` with ``has_aux``; an array of one
            element counts as a scalar, and the value keeps its shape.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns something along with the scalar.

    Returns:
        A function with the arguments of ``fun`` that returns ``(value, gradient)``, or ``((value, aux), gradient)``.
        The gradient has the containers, shapes and dtypes of the argument; for several argnums it is a tuple.

    Raises:
        ArgumentError: the function does not return one number, or argnums names no argument.
        DtypeError: an argument is not floating-point.

    Example:
        >>> value_and_grad(lambda x: x**3)(2.0)
        (8.0, 12.0)
    """

    def differentiated(*arguments: Any, **options: Any) -> Any:
        followed = follow("grad", fun, argnums, arguments, options)
        recording = Recording(followed, has_aux, "grad")
        if recording.structure.kind is not None:
            hint = "for something along with the number return (number, aux) and give has_aux=True"
            got = tree.show(recording.structure)
            raise ArgumentError(message("grad", "the function must return one number", got, hint))
        value = snapshot(single_output("grad", recording.values[0]))
        one = np.ones(shape_of(value), dtype_of(value))[()]
        gradient = tree.unflatten(followed.structure, own(recording.pullback([one]), followed.leaves))
        return ((value, recording.aux), gradient) if has_aux else (value, gradient)

    return named(differentiated, "value_and_grad", fun)


def grad(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function, by reverse mode.

    ``grad(f)(x)[i] = d f / d x[i]``. Arguments, results and errors are those of `value_and_grad`, without the value.

    Example:
        >>> import numpy as np
        >>> grad(lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2), argnums=0)(2.0, 5.0)
        5.5
    """
    check_function("grad", fun)
    both = value_and_grad(fun, argnums, has_aux)

    def gradient(*arguments: Any, **options: Any) -> Any:
        value, derivative = both(*arguments, **options)
        return (derivative, value[1]) if has_aux else derivative

    return named(gradient, "grad", fun)
