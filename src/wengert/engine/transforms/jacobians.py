"""Jacobians, Hessians, and the products of Hessian and Gauss-Newton matrices with vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from wengert.engine.boxes import inside_transform
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import NDARRAY, dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ops.shape import concatenate, reshape
from wengert.engine.transforms.arguments import (
    Argnums,
    Inputs,
    as_results,
    check_function,
    check_primals,
    check_results,
    conform,
    named,
    or_zeros,
    select_inputs,
)
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import Pushed
from wengert.engine.transforms.reverse_mode import Recording, grad
from wengert.engine.transforms.vectors import count

_DIRECTIONS = 64
"""The directions of a pass: memory is so many times the function's, however large the Jacobian is."""


def _ranges(values: Sequence[Any]) -> list[tuple[int, int]]:
    """Return where the elements of each value begin and end among the elements of all values."""
    return list(itertools.pairwise([0, *itertools.accumulate(size(shape_of(value)) for value in values)]))


def basis(values: Sequence[Any], start: int, stop: int) -> list[Any]:
    """Return rows ``start`` to ``stop`` of the identity on all elements of ``values``, split into their shapes."""
    rows = np.arange(start, stop)[:, None]
    return [
        (rows == np.arange(first, last)[None, :])
        .astype(dtype_of(value))
        .reshape((stop - start, *shape_of(value)))
        for value, (first, last) in zip(values, _ranges(values), strict=True)
    ]


def _chunks(values: Sequence[Any], chunk_size: int | None) -> list[tuple[int, int]]:
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        requirement = "chunk_size must be a positive number of directions"
        raise ArgumentError(message("jacobian", requirement, repr(chunk_size)))
    total = count(values)
    step = chunk_size or _directions_of_a_pass(total)
    return [(start, min(start + step, total)) for start in range(0, total, step)] or [(0, 0)]


def _directions_of_a_pass(total: int) -> int:
    """Return how many directions a pass carries by default: passes of one size, where some divisor is large enough.

    Inside of a transform one pass carries all: a traced program would have a copy of the function for each pass.
    """
    if total <= 2 * _DIRECTIONS or inside_transform():
        return max(total, 1)
    return next((n for n in range(_DIRECTIONS, _DIRECTIONS // 4, -1) if total % n == 0), _DIRECTIONS)


def _join(blocks: list[Any], axis: int) -> Any:
    return blocks[0] if len(blocks) == 1 else concatenate(*blocks, axis=axis)


def _block(part: Any, shape: Shape) -> Any:
    """Return one block of a Jacobian, contiguous and in its own memory; a single number is a scalar."""
    block = reshape(part, shape=shape)
    return np.array(block)[()] if isinstance(block, NDARRAY) else block


P = ParamSpec("P")
_described = documented(
    fun="a function of arrays or containers of them.",
    argnums="the positional argument to differentiate, or several.",
    has_aux="the function returns ``(output, aux)``.",
    chunk_size="how many directions, or outputs in reverse mode, to carry in one pass; by default up to 128, and all "
    "inside of a transform. Fewer need less memory.",
    holomorphic="the function is holomorphic, and the argument and the outputs are complex.",
    Raises="""\
ArgumentError: argnums names no argument, or chunk_size is not positive.
DtypeError: an argument or an output is not floating-point, or complex without ``holomorphic``.""",
)


@advising("wg.jacfwd(f)(x)")
@_described
def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian, by forward mode with many directions in one pass.

    ``jacfwd(f)(x)[i, j] = d f(x)[i] / d x[j]``: best for few inputs and many outputs.

    Returns:
        A function whose result has the containers of the output; each leaf is replaced by the containers of the
        argument, with arrays of shape ``output shape + argument shape``. With ``has_aux``: ``(jacobian, aux)``.

    Example:
        >>> import numpy as np
        >>> jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs("jacfwd", fun, argnums, arguments, options)
        check_primals("jacfwd", inputs.leaves, holomorphic)
        runs: list[Pushed] = []

        def push(*tangents: Any) -> list[Any]:
            pushed = Pushed(inputs, tangents, has_aux)
            runs.append(pushed)
            return or_zeros(pushed.tangents, pushed.values)

        blocks = [
            vmap(push, out_axes=-1, axis_size=stop - start)(*basis(inputs.leaves, start, stop))
            for start, stop in _chunks(inputs.leaves, chunk_size)
        ]
        pushed = runs[0]
        check_results("jacfwd", pushed.values, holomorphic)
        rows: list[Any] = []
        for position, value in enumerate(pushed.values):
            shape = shape_of(value)
            joined = _join([block[position] for block in blocks], len(shape))
            pairs = zip(inputs.leaves, _ranges(inputs.leaves), strict=True)
            parts = [_block(joined[..., start:end], shape + shape_of(leaf)) for leaf, (start, end) in pairs]
            rows.append(tree.unflatten(inputs.structure, parts))
        jacobian = tree.unflatten(pushed.structure, rows)
        return (jacobian, pushed.aux) if has_aux else jacobian

    return named(jacobian_of, "jacfwd", fun, argnums)


@advising("wg.jacrev(f)(x)")
@_described
def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian, by reverse mode with many cotangents in one pass.

    ``jacrev(f)(x)[i, j] = d f(x)[i] / d x[j]``: best for few outputs and many inputs.

    Returns:
        A function with the results of `jacfwd`.

    Example:
        >>> import numpy as np
        >>> jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        array([2., 4.])
    """

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs("jacrev", fun, argnums, arguments, options)
        check_primals("jacrev", inputs.leaves, holomorphic)
        recording = Recording(inputs, has_aux, "jacrev")
        check_results("jacrev", recording.values, holomorphic)
        jacobian = _by_rows(inputs, recording, chunk_size)
        return (jacobian, recording.aux) if has_aux else jacobian

    return named(jacobian_of, "jacrev", fun, argnums)


def _by_rows(inputs: Inputs, recording: Recording, chunk_size: int | None) -> Any:
    outputs = recording.values

    def pull(*cotangents: Any) -> list[Any]:
        return or_zeros(recording.pullback(cotangents), inputs.leaves)

    blocks = [
        vmap(pull, axis_size=stop - start)(*basis(outputs, start, stop))
        for start, stop in _chunks(outputs, chunk_size)
    ]
    columns = [_join([block[position] for block in blocks], 0) for position in range(len(inputs.leaves))]
    rows: list[Any] = []
    for value, (start, end) in zip(outputs, _ranges(outputs), strict=True):
        pairs = zip(columns, inputs.leaves, strict=True)
        parts = [_block(column[start:end], shape_of(value) + shape_of(leaf)) for column, leaf in pairs]
        rows.append(tree.unflatten(inputs.structure, parts))
    return tree.unflatten(recording.structure, rows)


@advising("wg.jacobian(f)(x)")
@_described
def jacobian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian, by the mode that the shapes favour.

    ``jacobian(f)(x)[i, j] = d f(x)[i] / d x[j]``. Reverse mode needs a pass for each output element, forward mode one
    for each input element. The function is recorded once, and run again in forward mode only if it has more outputs
    than inputs.

    Returns:
        A function with the results of `jacfwd`.

    Example:
        >>> import numpy as np
        >>> jacobian(lambda x: np.sin(x))(np.array([0.0]))
        array([[1.]])
    """
    check_function("jacobian", fun, argnums)
    forward = jacfwd(fun, argnums, has_aux, chunk_size=chunk_size, holomorphic=holomorphic)

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        inputs = select_inputs("jacobian", fun, argnums, arguments, options)
        check_primals("jacobian", inputs.leaves, holomorphic)
        recording = Recording(inputs, has_aux, "jacobian")
        check_results("jacobian", recording.values, holomorphic)
        if count(recording.values) > count(inputs.leaves):
            return forward(*arguments, **options)
        result = _by_rows(inputs, recording, chunk_size)
        return (result, recording.aux) if has_aux else result

    return named(jacobian_of, "jacobian", fun, argnums)


@advising("wg.hessian(f)(x)")
def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the second derivatives of a scalar function, by forward over reverse mode.

    ``hessian(f)(x)[i, j] = d^2 f / d x[i] d x[j]``.

    Args:
        fun: a function that returns a floating-point scalar.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns ``(scalar, aux)``.
        chunk_size: as in `jacfwd`.
        holomorphic: the function is holomorphic, and the argument and the output are complex.

    Returns:
        A function with the arguments of ``fun`` that returns the Hessian, or ``(hessian, aux)``. For several argnums
        the Hessian is a tuple of tuples.

    Raises:
        ArgumentError: argnums names no argument.
        DtypeError: an argument or the output is not floating-point, or complex without ``holomorphic``.

    Example:
        >>> import numpy as np
        >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    check_function("hessian", fun, argnums)
    gradient = jacrev(fun, argnums, has_aux, holomorphic=holomorphic)
    by_columns = jacfwd(gradient, argnums, has_aux, chunk_size=chunk_size, holomorphic=holomorphic)
    return named(by_columns, "hessian", fun)


@advising("wg.hvp(f)(x, v)")
def hvp(fun: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes Hessian-vector products of a scalar function, by forward over reverse mode.

    ``hvp(f)(x, v) = H(x) v``, at the cost of a few gradients (Pearlmutter, 1994).

    Args:
        fun: a function that returns a floating-point scalar.
        argnums: the positional argument to differentiate, or several; then the direction is a tuple.

    Returns:
        A function of the arguments of ``fun`` and, last, the direction.

    Raises:
        ArgumentError: the direction is missing, or has other containers than the argument.
        ShapeError: the direction does not have the shape of the argument.

    Example:
        >>> import numpy as np
        >>> hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    check_function("hvp", fun, argnums)
    requirement = (
        "the direction, the last argument, must have the shape of its primal (SciPy's order is wg.hessp)"
    )
    multiply = _hessian_product("hvp", requirement, fun, argnums)

    def product(*arguments: Any, **options: Any) -> Any:
        *point, direction = _with_direction("hvp", arguments)
        return multiply(tuple(point), direction, options)

    return named(product, "hvp", fun)


def _with_direction(operation: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a product, of which the last is the direction, or raise `ArgumentError`."""
    if len(arguments) < 2:
        requirement = "the arguments of the function and a direction are needed"
        got = "1 argument" if arguments else "no argument"
        raise ArgumentError(message(operation, requirement, got, f"write {operation}(f)(x, v)"))
    return arguments


def hessp(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes Hessian-vector products for SciPy's optimisers, as their ``hessp``.

    ``hessp(f)(x, p, *args) = H(x, *args) p``, with the Hessian by ``x``: the direction is the second argument.

    Args:
        fun: a function of ``x`` and any further arguments that returns a floating-point scalar.

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
    requirement = "the direction, the second argument, must have the shape of the first"
    multiply = _hessian_product("hessp", requirement, fun, 0)

    def product(x: Any, p: Any, *args: Any, **options: Any) -> Any:
        return multiply((x, *args), p, options)

    return named(product, "hessp", fun)


def _hessian_product(
    operation: str, requirement: str, fun: Callable[..., Any], argnums: Argnums
) -> Callable[[tuple[Any, ...], Any, dict[str, Any]], Any]:
    gradient = grad(fun, argnums)

    def multiply(point: tuple[Any, ...], direction: Any, options: dict[str, Any]) -> Any:
        inputs = select_inputs(operation, gradient, argnums, point, options)
        checked = _directions(operation, requirement, inputs, direction)
        pushed = Pushed(inputs, checked)
        return tree.unflatten(inputs.structure, as_results(pushed.tangents, inputs.leaves, checked))

    return multiply


def _directions(operation: str, requirement: str, inputs: Inputs, direction: Any) -> list[Any]:
    """Return the leaves of a direction, with the shapes and dtypes of the inputs."""
    directions, structure = tree.flatten(direction)
    tree.check_same(operation, inputs.structure, structure)
    pairs = zip(directions, inputs.leaves, strict=True)
    return [conform(operation, requirement, v, x) for v, x in pairs]


def gnvp(
    fun: Callable[..., Any], argnums: Argnums = 0, *, loss: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Return a function that computes products of the Gauss-Newton matrix with vectors, without the matrix.

    ``gnvp(f)(x, v) = J(x)^T J(x) v`` with the Jacobian J of the residuals f: the Hessian of ``|f|^2 / 2`` without the
    second derivatives of f, and never indefinite. With a loss L of the outputs it is the generalised product
    ``J^T H J v`` with the Hessian H of L at ``f(x)`` (Schraudolph, "Fast curvature matrix-vector products for
    second-order gradient descent", 2002). One forward and one backward pass.

    Args:
        fun: a function of arrays or containers of them that returns such.
        argnums: the positional argument to differentiate, or several; then the direction is a tuple.
        loss: a scalar function of the output of ``fun``; half the sum of squares by default.

    Returns:
        A function of the arguments of ``fun`` and, last, the direction, which returns a container like the direction.

    Raises:
        ArgumentError: the direction is missing, or has other containers than the argument; the loss is not a scalar.
        ShapeError: the direction does not have the shape of the argument.
        DtypeError: an argument or an output is not floating-point.

    Example:
        >>> import numpy as np
        >>> residuals = lambda x: np.array([1.0, 2.0]) * x**2
        >>> gnvp(residuals)(np.array([1.0, 1.0]), np.array([1.0, 1.0]))
        array([ 4., 16.])
    """
    check_function("gnvp", fun, argnums)
    requirement = "the direction, the last argument, must have the shape of its primal"

    def product(*arguments: Any, **options: Any) -> Any:
        *point, direction = _with_direction("gnvp", arguments)
        inputs = select_inputs("gnvp", fun, argnums, tuple(point), options)
        check_primals("gnvp", inputs.leaves, holomorphic=None)
        checked = _directions("gnvp", requirement, inputs, direction)
        pushed = Pushed(inputs, checked)
        check_results("gnvp", pushed.values, holomorphic=None)
        moved = or_zeros(pushed.tangents, pushed.values)
        if loss is not None:
            output, tangent = (tree.unflatten(pushed.structure, x) for x in (pushed.values, moved))
            moved = tree.leaves(hvp(loss)(output, tangent))
        cotangents = Recording(inputs, False, "gnvp").pullback(moved)
        return tree.unflatten(inputs.structure, as_results(cotangents, inputs.leaves, checked))

    return named(product, "gnvp", fun)
