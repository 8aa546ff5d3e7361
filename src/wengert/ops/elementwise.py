"""What elementwise primitives share: type rule, evaluation, batching, samples, and how one is stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import (
    BOOL,
    DEFAULT_DTYPE,
    FLOAT64,
    INT64,
    NUMPY_SCALAR,
    PYTHON_TYPE,
    Dtype,
    is_float,
)
from wengert.core.errors import DtypeError, message
from wengert.core.shapes import broadcast, shape_of
from wengert.ir.types import TensorType, promote, show
from wengert.nest.lowering import Elementwise, Lowering
from wengert.ops.shape import reshape
from wengert.primitive import (
    Derivative,
    Draw,
    NonDifferentiable,
    Partial,
    Partials,
    Point,
    Primitive,
    Samples,
    primitive,
)

#: NumPy's ufunc for each primitive that has one, filled as the primitives are stated.
UFUNCS: dict[np.ufunc, Primitive] = {}
Interval = tuple[float, float]
_PYTHON = DEFAULT_DTYPE.keys()


_OF_TRUTH = {
    *(
        np.equal,
        np.not_equal,
        np.less,
        np.less_equal,
        np.greater,
        np.greater_equal,
        np.isnan,
        np.isinf,
        np.isfinite,
    ),
    *(
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.logical_not,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
    ),
    *(np.maximum, np.minimum, np.fmax, np.fmin),
}
"""The ufuncs for which Python's True stays a truth value; for the others it is 1, as for Python."""


def _standing(ufunc: np.ufunc, types: Sequence[TensorType]) -> Sequence[Any]:
    """Return what stands for operands where NumPy resolves the dtypes of a ufunc."""
    if not all(one.weak for one in types):
        return [one.scalar for one in types]
    dtypes = [one.dtype for one in types]
    return [INT64] * len(dtypes) if _counts(ufunc) and all(dtype == BOOL for dtype in dtypes) else dtypes


def _counts(function: Callable[..., Any]) -> bool:
    return isinstance(function, np.ufunc) and function not in _OF_TRUTH


def ufunc_type(name: str, ufunc: np.ufunc) -> Callable[..., TensorType]:
    """Return the type rule of a ufunc: NumPy's own dtype resolution and broadcasting."""

    def rule(*types: TensorType, **params: Any) -> TensorType:
        shape = broadcast(name, *(one.shape for one in types))
        weak = all(one.weak for one in types)
        try:
            dtype = ufunc.resolve_dtypes((*_standing(ufunc, types), None))[-1]
        except TypeError:
            raise DtypeError(
                message(name, "NumPy defines no such operation for these types", show(*types))
            ) from None
        return TensorType(DEFAULT_DTYPE[PYTHON_TYPE[dtype.kind]] if weak else dtype, shape, weak)

    return rule


def ufunc_inputs(ufunc: np.ufunc) -> Callable[..., Sequence[Dtype]]:
    """Return the dtypes that a ufunc converts its operands to."""

    def inputs(types: Sequence[TensorType], result: TensorType) -> Sequence[Dtype]:
        return ufunc.resolve_dtypes((*_standing(ufunc, types), None))[: ufunc.nin]

    return inputs


def float_type(name: str) -> Callable[..., TensorType]:
    """Return the type rule of a function that NumPy lacks: floats stay, everything else becomes float64."""

    def rule(*types: TensorType, **params: Any) -> TensorType:
        dtype, weak = promote(*types)
        shape = broadcast(name, *(one.shape for one in types))
        return TensorType(dtype if is_float(dtype) else FLOAT64, shape, weak)

    return rule


def same_type(name: str) -> Callable[..., TensorType]:
    """Return the type rule of an operation whose result has the promoted type of its operands."""

    def rule(*types: TensorType, **params: Any) -> TensorType:
        dtype, weak = promote(*types)
        return TensorType(dtype, broadcast(name, *(one.shape for one in types)), weak)

    return rule


def evaluation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Evaluate by NumPy; Python scalars alone give a Python scalar, so that they stay weak."""
    counts = _counts(function)

    def evaluate(*operands: Any, **params: Any) -> Any:
        if counts and type(operands[0]) is bool and all(type(operand) is bool for operand in operands):
            operands = tuple(map(int, operands))
        result = function(*operands, **params)
        if isinstance(result, NUMPY_SCALAR) and all(type(operand) in _PYTHON for operand in operands):
            return result.item()
        return result

    return evaluate


def operator_evaluation(ufunc: Callable[..., Any], operator: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Evaluate by Python's operator, which is quicker on scalars, except on Python's own, which may raise."""

    def evaluate(x: Any, y: Any) -> Any:
        if type(x) in _PYTHON and type(y) in _PYTHON:
            return ufunc(+x, +y).item()  # +: of truth values Python makes numbers
        return operator(x, y)

    return evaluate


def align(size: int, operands: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Give the batched operands one rank, so that their leading batch axes meet under broadcasting."""
    rank = max(len(shape_of(x)) - flag for x, flag in zip(operands, batched, strict=True))
    aligned: list[Any] = []
    for x, flag in zip(operands, batched, strict=True):
        shape = shape_of(x)
        missing = rank + 1 - len(shape)
        if flag and missing:
            x = reshape(x, shape=(size, *(1,) * missing, *shape[1:]))
        aligned.append(x)
    return aligned


def batch_elementwise(
    operation: Primitive,
    size: int,
    operands: Sequence[Any],
    batched: Sequence[bool],
    params: Mapping[str, Any],
) -> Any:
    """Batch an elementwise operation: broadcasting does the rest."""
    return operation(*align(size, operands, batched), **params)


def elementwise_samples(domains: Sequence[Interval], params: Mapping[str, Any]) -> Any:
    """Return samples that broadcast together, each operand drawn from its interval."""

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        shapes = draw.broadcastable(len(domains))
        arrays = [draw.array(shape, low, high) for shape, (low, high) in zip(shapes, domains, strict=True)]
        return tuple(arrays), dict(params)

    return samples


def elementwise(
    name: str,
    function: Callable[..., Any],
    *partials: Partial | None,
    doc: str,
    domain: Interval | Sequence[Interval] = (-2.0, 2.0),
    singular: Sequence[Point] = (),
    kinks: Sequence[Point] = (),
    at_once: bool = False,
    derivative: Derivative | None = None,
    evaluate: Callable[..., Any] | None = None,
    source: str = "",
    params: Mapping[str, Any] | None = None,
    operands: int = 0,
    type_rule: Callable[..., TensorType] | None = None,
    samples: Samples | None = None,
    lowering: Lowering | None = None,
) -> Primitive:
    """State an elementwise primitive.

    Args:
        name: its name, NumPy's own where NumPy has it.
        function: a ufunc, or a function that works elementwise on arrays.
        partials: its partial derivatives, one for each operand.
        doc: what it computes, and the choice at each kink.
        domain: where samples are drawn, one interval or one for each operand.
        singular: see `Partials`.
        kinks: see `Partials`.
        at_once: see `Partials`.
        derivative: instead of ``partials``.
        evaluate: instead of calling ``function``.
        source: the NumPy expression, ``{0}`` standing for the first operand.
        params: parameters for the samples.
        operands: how many operands, where there are no partials to count.
        type_rule: where neither NumPy's ufunc nor "floats stay floats" decides.
        samples: where an interval for each operand does not describe them.
        lowering: where it is not the scalar operation of the same name.
    """
    if isinstance(function, np.ufunc):
        count, rule, text = function.nin, ufunc_type(name, function), f"np.{function.__name__}"
    else:
        count, rule, text = operands or len(partials), float_type(name), f"wengert.special.{name}"
    call = source or f"{text}({', '.join(f'{{{i}}}' for i in range(count))})"
    domains: Sequence[Any] = domain if isinstance(domain[0], tuple) else [domain] * count
    operation = primitive(
        name=name,
        doc=doc,
        type_rule=type_rule or rule,
        evaluate=evaluate or evaluation(function),
        derivative=derivative or Partials(*partials, singular=singular, kinks=kinks, at_once=at_once),
        batch=batch_elementwise,
        lowering=lowering
        or Elementwise(name, ufunc_inputs(function) if isinstance(function, np.ufunc) else None),
        source=call.format,
        samples=samples or elementwise_samples(domains, params or {}),
        elementwise=True,
    )
    if isinstance(function, np.ufunc):
        UFUNCS[function] = operation
    return operation


def locally_constant(name: str, ufunc: np.ufunc, doc: str, reason: str, **more: Any) -> Primitive:
    """State an elementwise primitive through which no derivative passes."""
    return elementwise(name, ufunc, doc=doc, derivative=NonDifferentiable(reason), **more)
