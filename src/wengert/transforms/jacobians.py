"""Jacobians and Hessians: one pass for many directions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import NDARRAY, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, message
from wengert.core.shapes import Shape, shape_of, size
from wengert.ir.types import show
from wengert.ops.shape import concatenate, reshape
from wengert.transforms.argnums import Followed, check_function, follow
from wengert.transforms.batching import named, vmap
from wengert.transforms.gradients import Argnums, Recording
from wengert.transforms.tangents import Pushed


def _basis(values: Sequence[Any], start: int, stop: int) -> list[Any]:
    """Return rows ``start`` to ``stop`` of the identity on all elements of ``values``, split into their shapes."""
    sizes = [size(shape_of(value)) for value in values]
    ends = list(itertools.accumulate(sizes))
    parts: list[Any] = []
    for value, end, count in zip(values, ends, sizes, strict=True):
        rows = np.arange(start, stop)[:, None] == np.arange(end - count, end)[None, :]
        parts.append(rows.astype(dtype_of(value)).reshape((stop - start, *shape_of(value))))
    return parts


def _chunks(total: int, chunk_size: int | None) -> list[tuple[int, int]]:
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        requirement = "chunk_size must be a positive number of directions"
        raise ArgumentError(message("jacobian", requirement, repr(chunk_size)))
    step = chunk_size or max(total, 1)
    return [(start, min(start + step, total)) for start in range(0, total, step)] or [(0, 0)]


def _join(blocks: list[Any], axis: int) -> Any:
    return blocks[0] if len(blocks) == 1 else concatenate(*blocks, axis=axis)


def _block(part: Any, shape: Shape) -> Any:
    """Return one block of a Jacobian, contiguous and in its own memory; a single number is a scalar."""
    block = reshape(part, shape=shape)
    return np.array(block)[()] if isinstance(block, NDARRAY) else block


def _split_last(columns: Any, leaves: Sequence[Any], out_shape: Shape) -> list[Any]:
    """Split the axis of directions, which comes last, into one block for each leaf."""
    blocks: list[Any] = []
    end = 0
    for leaf in leaves:
        shape = shape_of(leaf)
        start, end = end, end + size(shape)
        blocks.append(_block(columns[..., start:end], out_shape + shape))
    return blocks


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return the Jacobian of a function, by forward mode with many directions in one pass.

    ``jacfwd(f)(x)[i, j] = d f(x)[i] / d x[j]``: best where there are few inputs for each output.

    Args:
        fun: a function of arrays or containers of them.
        argnums: the argument to differentiate, or several.
        has_aux: the function returns ``(output, aux)``.
        chunk_size: how many directions to carry in one pass; all by default. Fewer need less memory.

    Returns:
        A function whose result has the containers of the output; in the place of each leaf stand the containers of the
        argument, with arrays of shape ``output shape + argument shape``.

    Example:
        >>> import numpy as np
        >>> jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        followed = follow("jacfwd", fun, argnums, arguments, options)
        total = sum(size(shape_of(leaf)) for leaf in followed.leaves)
        results: list[Pushed] = []

        def push(*tangents: Any) -> list[Any]:
            pushed = Pushed(followed.call, followed.leaves, tangents, has_aux)
            results.append(pushed)
            return [
                np.zeros(shape_of(v), dtype_of(v)) if t is None else t
                for t, v in zip(pushed.tangents, pushed.values, strict=True)
            ]

        blocks = [
            vmap(push, out_axes=-1, axis_size=stop - start)(*_basis(followed.leaves, start, stop))
            for start, stop in _chunks(total, chunk_size)
        ]
        pushed = results[0]
        rows: list[Any] = []
        for position, value in enumerate(pushed.values):
            _check_output("jacfwd", value)
            joined = _join([block[position] for block in blocks], len(shape_of(value)))
            parts = _split_last(joined, followed.leaves, shape_of(value))
            rows.append(tree.unflatten(followed.structure, parts))
        jacobian = tree.unflatten(pushed.structure, rows)
        return (jacobian, pushed.aux) if has_aux else jacobian

    return named(jacobian_of, "jacfwd", fun)


def jacrev(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return the Jacobian of a function, by reverse mode: best where there are few outputs for each input.

    Arguments and results are those of `jacfwd`; ``chunk_size`` counts outputs.

    Example:
        >>> import numpy as np
        >>> jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        array([2., 4.])
    """

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        followed = follow("jacrev", fun, argnums, arguments, options)
        recording = Recording(followed, has_aux, "jacrev")
        jacobian = _by_rows(followed, recording, chunk_size)
        return (jacobian, recording.aux) if has_aux else jacobian

    return named(jacobian_of, "jacrev", fun)


def _by_rows(followed: Followed, recording: Recording, chunk_size: int | None) -> Any:
    """Pull back the rows of the identity."""
    for value in recording.values:
        _check_output("jacrev", value)
    total = sum(size(shape_of(value)) for value in recording.values)

    def pull(*cotangents: Any) -> list[Any]:
        found = recording.pullback(cotangents)
        return [
            np.zeros(shape_of(leaf), dtype_of(leaf)) if one is None else one
            for one, leaf in zip(found, followed.leaves, strict=True)
        ]

    blocks = [
        vmap(pull, axis_size=stop - start)(*_basis(recording.values, start, stop))
        for start, stop in _chunks(total, chunk_size)
    ]
    columns = [_join([block[position] for block in blocks], 0) for position in range(len(followed.leaves))]
    rows: list[Any] = []
    end = 0
    for value in recording.values:
        start, end = end, end + size(shape_of(value))
        parts = [
            _block(column[start:end], shape_of(value) + shape_of(leaf))
            for column, leaf in zip(columns, followed.leaves, strict=True)
        ]
        rows.append(tree.unflatten(followed.structure, parts))
    return tree.unflatten(recording.structure, rows)


def _check_output(operation: str, value: Any) -> None:
    if dtype_of(value).kind != "f":
        raise DtypeError(message(operation, "the function must return floating-point values", show(value)))


def jacobian(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return the Jacobian of a function, by the mode that the shapes favour.

    Reverse mode takes a pass for each output element, forward mode one for each input element; the function is
    recorded once, and pushed forward only if it has more outputs than inputs. Arguments and results are those of
    `jacfwd`.

    Example:
        >>> import numpy as np
        >>> jacobian(lambda x: np.sin(x))(np.array([0.0]))
        array([[1.]])
    """
    check_function("jacobian", fun)
    forward = jacfwd(fun, argnums, has_aux)

    def jacobian_of(*arguments: Any, **options: Any) -> Any:
        followed = follow("jacobian", fun, argnums, arguments, options)
        recording = Recording(followed, has_aux, "jacobian")
        outputs = sum(size(shape_of(value)) for value in recording.values)
        if outputs > sum(size(shape_of(leaf)) for leaf in followed.leaves):
            return forward(*arguments, **options)
        found = _by_rows(followed, recording, None)
        return (found, recording.aux) if has_aux else found

    return named(jacobian_of, "jacobian", fun)


def hessian(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return the matrix of second derivatives of a scalar function, by forward over reverse mode.

    ``hessian(f)(x)[i, j] = d^2 f / d x[i] d x[j]``. For several argnums the result is a tuple of tuples.

    Example:
        >>> import numpy as np
        >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    check_function("hessian", fun)
    return named(jacfwd(jacrev(fun, argnums, has_aux), argnums, has_aux), "hessian", fun)
