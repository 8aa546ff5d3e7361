"""The statement of SciPy's special functions: primitives whose values SciPy computes.

SciPy is imported when a function is first evaluated: then the program has imported it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, INT64, UINT64, Dtype, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import DtypeError, UnsupportedError, message
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise, check_real
from wengert.engine.primitive import Draw, Explicit, Partials, Point, Primitive, primitive

#: The function for each ufunc of `scipy.special`, by its name.
BY_NAME: dict[str, Callable[..., Any]] = {}
#: The functions for operands of which one is complex.
COMPLEX: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class OfTypes:
    """A function that takes operands of their own dtypes, which may be whole orders, as a primitive does."""

    call: Callable[..., Any]

    def __call__(self, *operands: Any) -> Any:
        """Call the function."""
        return self.call(*operands)


def scipys(name: str) -> Any:
    """Return a function of `scipy.special`."""
    from scipy import special

    return getattr(special, name)


def of_scipy(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return the function for a ufunc of `scipy.special`; None for other ufuncs."""
    module = sys.modules.get("scipy.special._ufuncs")
    function = BY_NAME.get(ufunc.__name__) if getattr(module, ufunc.__name__, None) is ufunc else None
    if function is not None and ufunc.__name__ in COMPLEX:
        return functools.partial(_of_either, ufunc, function)
    if function is None or (isinstance(function, Primitive) and _takes_complex(ufunc)):
        return function
    return functools.partial(_of_floats, ufunc, function)


def _of_either(ufunc: np.ufunc, function: Callable[..., Any], *operands: Any) -> Any:
    """Call the function for operands of which one is complex, or the one for real operands."""
    if any(is_complex(dtype_of(x)) for x in operands):
        return COMPLEX[ufunc.__name__](*operands)
    return function(*operands) if isinstance(function, Primitive) else _of_floats(ufunc, function, *operands)


def _takes_complex(ufunc: np.ufunc) -> bool:
    return any("D" in loop.partition("->")[0] for loop in ufunc.types)


def _of_floats(ufunc: np.ufunc, function: Callable[..., Any], *operands: Any) -> Any:
    """Call a function with operands that SciPy takes: real ones, or complex ones where it has complex loops.

    A composition gets operands of one floating dtype: a square of integers would overflow.
    """
    if not _takes_complex(ufunc):
        check_real(ufunc.__name__, *operands)
    if isinstance(function, (Primitive, OfTypes)):
        return function(*operands)
    dtype, _ = promote(*map(type_of, operands))
    dtype = dtype if is_inexact(dtype) else FLOAT64
    return function(*(x if dtype_of(x) == dtype else cast(x, dtype=dtype) for x in operands))


def _type(name: str) -> Callable[..., TensorType]:
    """Return the type rule: floats keep their dtype, integers count as float64."""

    def rule(*types: TensorType) -> TensorType:
        dtype, _ = promote(*types)
        if is_complex(dtype):
            hint = "take the derivative outside, or give it a rule: wg.custom_jvp"
            raise DtypeError(message(name, "real numbers are required", show(*types), hint))
        return TensorType(dtype if is_inexact(dtype) else FLOAT64, broadcast(name, *(t.shape for t in types)))

    return rule


def stated(
    name: str,
    *partials: Any,
    doc: str,
    domain: Any = (0.5, 3.0),
    part: int | None = None,
    singular: Sequence[Point] = (),
    kinks: Sequence[Point] = (),
    of: str = "",
    source: str = "",
    whole: int = 0,
    by: Callable[..., Any] | None = None,
) -> Primitive:
    """State a function that SciPy evaluates; an operand with the partial None has no derivative here.

    ``part`` chooses one of several results of SciPy's function, ``of`` is SciPy's name where it is another one. The
    first ``whole`` operands have whole numbers as samples, as those without a derivative have. ``by`` computes the
    function of arrays where SciPy has none or, with ``of``, loses digits. ``source`` is the NumPy expression, where
    SciPy's function is less accurate in single precision.
    """
    count, rule, theirs = len(partials), _type(name), of or name

    def evaluate(*operands: Any) -> Any:
        dtype = rule(*map(type_of, operands)).dtype
        with np.errstate(all="ignore"):
            result = (by or scipys(theirs))(*map(double, operands))
        result = result if part is None else result[part]
        return np.asarray(result, dtype)[()]

    arguments = ", ".join(f"{{{n}}}" for n in range(count))
    call = f"scipy.special.{theirs}({arguments})"
    source = source or (call if part is None else f"{call}[{part}]")
    domains = domain if isinstance(domain[0], tuple) else [domain] * count
    operation = primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=_derivative(theirs, partials, singular, kinks),
        batch=batch_elementwise,
        lowering=OnHost("SciPy computes it" if by is None else "a quadrature or a series computes it"),
        source=source.format,
        samples=_samples([p is None or n < whole for n, p in enumerate(partials)], domains),
        elementwise=True,
        operands=("n", "a", "b", "x")[4 - count :],
    )
    if part is None and (by is None or of):
        BY_NAME[theirs] = operation
    return operation


def double(x: Any) -> Any:
    """Return an operand as SciPy takes it: an integer order, or a double."""
    array = np.asarray(x)
    return array.astype(_taken(array.dtype))


def _taken(dtype: Dtype) -> Dtype:
    """Return the dtype in which SciPy takes an operand: int64 does not hold every uint64."""
    return INT64 if dtype.kind in "biu" and dtype != UINT64 else FLOAT64


def signed(x: Any) -> Any:
    """Return an operand of which an expression takes no sum that wraps around, and no root in half precision."""
    return cast(x, dtype=_taken(dtype)) if (dtype := dtype_of(x)).kind in "iub" else x


def _derivative(name: str, partials: Sequence[Any], singular: Sequence[Point], kinks: Sequence[Point]) -> Any:
    """Return the derivative: partials of a single operand, or a rule that raises for an operand without one."""
    if len(partials) == 1:
        return Partials(*partials, singular=singular, kinks=kinks)

    return Explicit(functools.partial(tangent_by, name, partials))


def tangent_by(
    name: str, partials: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any], out: Any
) -> Any:
    """Return the tangent of a function by its partials; raise for an operand without one."""
    total = None
    for position, (partial, moved) in enumerate(zip(partials, tangents, strict=True)):
        if moved is None:
            continue
        if partial is None:
            requirement = f"there is no derivative by operand {position}"
            hint = "pass wg.stop_gradient of it, or choose other argnums"
            raise UnsupportedError(message(f"scipy.special.{name}", requirement, show(*primals), hint))
        with np.errstate(all="ignore"):
            term = multiply_no_nan(moved, partial(out, *map(signed, primals)))
        total = term if total is None else total + term
    return total


def _samples(are_orders: Sequence[bool], domains: Sequence[Any]) -> Any:
    """Return samples with whole numbers for the operands without a derivative: 2 to 4, or from integer ends."""

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rows = zip(draw.broadcastable(len(are_orders)), are_orders, domains, strict=True)
        operands = (
            draw.integers(shape, *(ends if isinstance(ends[0], int) else (2, 4)))
            if order
            else draw.array(shape, *ends)
            for shape, order, ends in rows
        )
        return tuple(operands), {}

    return samples
