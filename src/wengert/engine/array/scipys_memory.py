"""The memory of the results of SciPy's functions: one call of SciPy for each kind of operands tells it.

The result of LAPACK lies in columns, that of a filter as the filter moved its axes. A few depend on the numbers, and
where these are not known, as in a compiled program, on those of an example. Results of modules that are not in
`ASKED` have the memory of the operations that compute them.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.core.dtypes import NDARRAY
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.memory import is_strided, lay_new, memory_of, strides_of, with_strides

#: The modules of the functions whose memory SciPy tells.
ASKED = ("scipy.linalg.", "scipy.signal.")
#: Those whose memory depends on the numbers, too: a squared matrix lies in rows, a solution in columns.
_OF_NUMBERS = ("scipy.linalg.expm_frechet",)
_MOST_KINDS = 256
_places_of: dict[Any, Any] = {}


class _Place(NamedTuple):
    """The memory of an array."""

    shape: Shape
    strides: tuple[int, ...] | None
    """In elements; None for rows."""


def laid_out(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results lie in memory as those of SciPy's function of a name."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not any(isinstance(x, (Box, NDARRAY)) and x.ndim for x in _leaves(result)):
            return result
        return _laid(result, _places(name, args, kwargs), [*_leaves((*args, *kwargs.values()))])

    return call


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the parts of a tuple or list, and of those inside."""
    if isinstance(value, (tuple, list)):
        for part in cast("Sequence[Any]", value):
            yield from _leaves(part)
    else:
        yield value


def _laid(result: Any, places: Any, operands: list[Any]) -> Any:
    """Give new arrays their places; a result of another shape than SciPy's stays as it is."""
    if isinstance(places, _Place):
        if not isinstance(result, (Box, NDARRAY)) or result.shape != places.shape:
            return result
        new: Any = result
        if isinstance(result, Box) and any(result is x for x in operands):
            new = result.owner.box(result.state)
        strides = places.strides
        return lay_new(new, None if strides is None else with_strides(places.shape, new.dtype, strides))
    if isinstance(result, tuple) and isinstance(places, tuple):
        parts, of_parts = cast("tuple[Any, ...]", result), cast("tuple[Any, ...]", places)
        if len(parts) == len(of_parts):
            laid = [_laid(part, place, operands) for part, place in zip(parts, of_parts, strict=True)]
            return type(parts)(*laid) if hasattr(parts, "_fields") else tuple(laid)
    return cast("Any", result)


def _places(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return where SciPy's results lie; None where it is not loaded, or raises errors."""
    module, _, attribute = name.rpartition(".")
    function = getattr(sys.modules.get(module), attribute, None)
    key = (name, _kind(args), _kind(tuple(kwargs.items())))
    if function is None:
        return None
    if name in _OF_NUMBERS:
        return _asked(function, args, kwargs)
    if key not in _places_of:
        if len(_places_of) >= _MOST_KINDS:
            _places_of.clear()
        _places_of[key] = _asked(function, args, kwargs)
    return _places_of[key]


def _kind(value: Any) -> Any:
    """Return what the memory of results depends on: all but the numbers."""
    if isinstance(value, (Box, NDARRAY)):
        memory = memory_of(value)
        return value.shape, value.dtype, strides_of(memory) if is_strided(memory) else None
    if isinstance(value, (tuple, list)):
        return tuple(map(_kind, cast("Sequence[Any]", value)))
    return value if value is None or isinstance(value, (bool, int, str)) else cast("Any", type(value))


def _asked(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call SciPy's function with arrays in the memory of the operands, and return where its results lie.

    Where the numbers are not known, the arrays are positive definite matrices, or the bands of such matrices.
    """
    for fill in (_definite, _upper_bands, _lower_bands):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = function(*_like(args, fill), **{name: _like(x, fill) for name, x in kwargs.items()})
            return _place_of(result)
        except Exception:  # the function itself has raised an error for wrong arguments
            continue
    return None


def _place_of(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_place_of, cast("tuple[Any, ...]", result)))
    if isinstance(result, NDARRAY):
        return _Place(result.shape, strides_of(result) if is_strided(result) else None)
    return None


def _like(value: Any, fill: Callable[[Shape], Any]) -> Any:
    """Return plain arguments like those given."""
    if isinstance(value, (tuple, list)):
        parts = [_like(part, fill) for part in cast("Sequence[Any]", value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    if not isinstance(value, Box):
        return value
    numbers = concrete(value)
    if numbers is None or np.shape(numbers) != value.shape:
        numbers = _positions(value.shape) if value.dtype.kind in "iu" else fill(value.shape)
    array = with_strides(value.shape, value.dtype, strides_of(memory_of(value)), holds_numbers=True)
    array[...] = numbers
    return array if value.shape else array[()]


def _definite(shape: Shape) -> Any:
    position = np.indices(shape[-2:])
    distance = position[0] - position[1] if len(shape) > 1 else position.sum(axis=0)
    return 1.0 / (1 + abs(distance)) + max(shape, default=1) * (distance == 0)


def _positions(shape: Shape) -> Any:
    """Return integers that are positions in any array: LAPACK exchanges rows by them, and does not check them."""
    if len(shape) < 2 or min(shape) < 2:
        return np.zeros(shape)
    row, column = np.indices(shape[-2:])
    return np.broadcast_to(row == column, shape)


def _upper_bands(shape: Shape) -> Any:
    return _lower_bands(shape)[::-1]


def _lower_bands(shape: Shape) -> Any:
    numbers = np.full(shape or (1,), 0.1)
    numbers[:1] = 1.0 + len(numbers)
    return numbers
