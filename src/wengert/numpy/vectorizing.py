"""Functions of single elements, applied to arrays: `vectorize`, `ndenumerate` and `apply_over_axes`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.boxes import inside_transform
from wengert.engine.core.calls import UNSET
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import Shape, axis_index, broadcast, shape_of
from wengert.engine.ir.types import show
from wengert.engine.memory import alike, jointly, placed
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.shape import broadcast_to, reshape
from wengert.numpy.creation import contains_box
from wengert.numpy.joining import stack
from wengert.numpy.registry import implements, integers, is_box, rank_of, strong
from wengert.numpy.shaping import expand_dims


class vectorize:  # noqa: N801 (NumPy's name)
    """A function of numbers, applied to each element of arrays, which may be boxes; as `np.vectorize`.

    Inside a transform it calls the function once for each element: `wengert.vmap` is faster.

    Args:
        pyfunc: the function.
        otypes: the dtypes of the results, as characters or a list.
        doc: the docstring; that of the function by default.
        excluded: positions and names of the arguments that the function gets as they are.
        cache: as for `np.vectorize`; without effect inside a transform.
        signature: such as ``"(n),(n)->()"``: the axes of each argument and result of one call.

    Example:
        >>> import wengert as wg
        >>> ramp = vectorize(lambda x, slope: x * slope if x > 0 else 0.0)
        >>> wg.grad(lambda x: ramp(x, 3.0).sum())(np.array([-1.0, 2.0]))
        array([0., 3.])
    """

    def __init__(
        self, pyfunc: Any = UNSET, otypes: Any = None, doc: str | None = None, excluded: Any = None,
        cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self._options = (otypes, doc, excluded, cache, signature)
        self.pyfunc = pyfunc
        if pyfunc is not UNSET:
            self._numpys: Any = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
            self.__doc__ = self._numpys.__doc__
            self.__name__ = getattr(pyfunc, "__name__", "vectorize")
        self._excluded: frozenset[Any] = frozenset(excluded or ())
        self._otypes: list[Any] | None = None if otypes is None else [np.dtype(kind) for kind in otypes]
        self._signature = None if signature is None else _core_ranks(signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function to each element, or take the function to apply."""
        if self.pyfunc is UNSET:
            (function,) = args
            return vectorize(function, *self._options)
        if not inside_transform() and not contains_box([*args, *kwargs.values()]):
            return self._numpys(*args, **kwargs)
        named = [name for name in kwargs if name not in self._excluded]
        places = [place for place in range(len(args)) if place not in self._excluded]
        arrays = [operand(args[place]) for place in places] + [operand(kwargs[name]) for name in named]

        def call(elements: Sequence[Any]) -> Any:
            values = list(args)
            for place, element in zip(places, elements, strict=False):
                values[place] = element
            return self.pyfunc(
                *values, **{**kwargs, **dict(zip(named, elements[len(places) :], strict=True))}
            )

        result = self._mapped(call, arrays)
        return result if self._signature else placed(_called, result, arrays, {})

    def _mapped(self, call: Callable[[Sequence[Any]], Any], arrays: list[Any]) -> Any:
        ranks = [0] * len(arrays) if self._signature is None else self._signature[0]
        if len(ranks) != len(arrays):
            requirement = f"the signature has {len(ranks)} arguments"
            raise ArgumentError(message("vectorize", requirement, str(len(arrays))))
        if any(rank_of(array) < rank for array, rank in zip(arrays, ranks, strict=True)):
            raise ShapeError(
                message("vectorize", "arguments must have the axes of the signature", show(*arrays))
            )
        leads = [shape_of(array)[: rank_of(array) - rank] for array, rank in zip(arrays, ranks, strict=True)]
        lead = broadcast("vectorize", *leads)
        wide = [
            broadcast_to(array, shape=(*lead, *shape_of(array)[rank_of(array) - rank :]))
            for array, rank in zip(arrays, ranks, strict=True)
        ]
        results = [call([array[index] for array in wide]) for index in np.ndindex(*lead)]
        if not results:
            return self._empty(lead)
        if not isinstance(results[0], tuple):
            return self._collected(results, lead, 0)
        outputs = zip(*results, strict=True)
        return tuple(self._collected(list(values), lead, number) for number, values in enumerate(outputs))

    def _collected(self, values: list[Any], lead: Shape, number: int) -> Any:
        parts = [strong(operand(value)) for value in values]
        dtype = dtype_of(parts[0]) if self._otypes is None else self._otypes[number]
        if dtype.kind in "iuf":
            check_real("vectorize", *parts)
        joined = stack([strong(part, dtype) for part in parts])
        return reshape(joined, shape=(*lead, *shape_of(joined)[1:]))

    def _empty(self, lead: Shape) -> Any:
        if self._otypes is None or (self._signature and any(self._signature[1])):
            hint = "give otypes=, the dtypes of the results"
            raise ArgumentError(message("vectorize", "there must be at least one element", str(lead), hint))
        results = tuple(np.zeros(lead, dtype) for dtype in self._otypes)
        return results[0] if len(self._otypes) == 1 else results


def _called(memories: Sequence[Any], shape: Shape, dtype: Any, /) -> Any:
    """Return the memory of a result: NumPy copies the arguments as arrays of objects, for a ufunc."""
    return jointly([alike([memory], shape, dtype) for memory in memories], shape, dtype)


def _core_ranks(signature: str) -> tuple[list[int], list[int]]:
    """Return the number of axes of each argument and result of one call."""
    sides = [re.findall(r"\(([^()]*)\)", side) for side in signature.split("->")]
    arguments, results = (
        [len([name for name in axes.split(",") if name.strip()]) for axes in side] for side in sides
    )
    return arguments, results


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the position and the value of each element, which may be a box; as `np.ndenumerate`.

    Args:
        arr: an array.

    Returns:
        An iterator over pairs of a tuple of integers and a number.

    Example:
        >>> list(ndenumerate([[1.0, 2.0]]))
        [((0, 0), np.float64(1.0)), ((0, 1), np.float64(2.0))]
    """
    values = operand(arr)
    return ((index, values[index]) for index in np.ndindex(*shape_of(values)))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    result = operand(a)
    rank = rank_of(result)
    for axis in integers(axes):
        dim = axis_index("apply_over_axes", axis, rank)
        reduced = func(result, dim)
        if rank_of(reduced) == rank - 1:
            reduced = expand_dims(reduced, dim)
        if rank_of(reduced) != rank:
            requirement = "the function must keep the axes, or remove the one that it is given"
            raise ShapeError(
                message("apply_over_axes", requirement, show(reduced) if is_box(reduced) else "")
            )
        result = reduced
    return result
