"""The statement of elementwise primitives: type rules, evaluation, batching and samples, and `elementwise` itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import (
    BOOL,
    DEFAULT_DTYPE,
    FLOAT64,
    INT64,
    NUMPY_SCALAR,
    PYTHON_TYPE,
    Dtype,
    dtype_of,
    is_float,
)
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType, promote, show
from wengert.engine.nest.lowering import Elementwise, Lowering
from wengert.engine.ops.shape import reshape
from wengert.engine.primitive import (
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

#: The primitive of each NumPy ufunc that has one; `elementwise` fills it.
UFUNCS: dict[np.ufunc, Primitive] = {}
Interval = tuple[float, float]
_PYTHON = DEFAULT_DTYPE.keys()
#: The ufuncs for which Python's True stays a truth value; for the others it is the integer 1, as in Python.
_OF_TRUTH = {
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.isnan, np.isinf, np.isfinite, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
}


def _dtype_arguments(ufunc: np.ufunc, types: Sequence[TensorType]) -> Sequence[Any]:
    """Return the operands as NumPy's dtype resolution of a ufunc takes them."""
    if not all(operand.weak for operand in types):
        return [operand.scalar for operand in types]
    dtypes = [operand.dtype for operand in types]
    is_integer = _takes_integers(ufunc) and all(dtype == BOOL for dtype in dtypes)
    return [INT64] * len(dtypes) if is_integer else dtypes


def _takes_integers(function: Callable[..., Any]) -> bool:
    """Return whether a function takes Python's True as the integer 1."""
    return isinstance(function, np.ufunc) and function not in _OF_TRUTH


def ufunc_type(name: str, ufunc: np.ufunc) -> Callable[..., TensorType]:
    """Return the type rule of a ufunc: NumPy's own dtype resolution and broadcasting."""

    def rule(*types: TensorType, **params: Any) -> TensorType:
        shape = broadcast(name, *(operand.shape for operand in types))
        weak = all(operand.weak for operand in types)
        try:
            dtype = ufunc.resolve_dtypes((*_dtype_arguments(ufunc, types), None))[-1]
        except TypeError:
            requirement = "NumPy defines no such operation for these types"
            raise DtypeError(message(name, requirement, show(*types))) from None
        return TensorType(DEFAULT_DTYPE[PYTHON_TYPE[dtype.kind]] if weak else dtype, shape, weak)

    return rule


def ufunc_inputs(ufunc: np.ufunc) -> Callable[..., Sequence[Dtype]]:
    """Return the dtypes that a ufunc converts its operands to."""

    def inputs(types: Sequence[TensorType], result: TensorType) -> Sequence[Dtype]:
        return ufunc.resolve_dtypes((*_dtype_arguments(ufunc, types), None))[: ufunc.nin]

    return inputs


def float_type(name: str) -> Callable[..., TensorType]:
    """Return the type rule of a function that NumPy lacks: floats keep their dtype, integers become float64."""
    promoted = same_type(name)

    def rule(*types: TensorType, **params: Any) -> TensorType:
        result = promoted(*types)
        return result if is_float(result.dtype) else result._replace(dtype=FLOAT64)

    return of_real(name, rule)


def check_real(name: str, *operands: Any, hint: str = "") -> None:
    """Raise `DtypeError` for complex operands, or the types of some."""
    for operand in operands:
        if (operand.dtype if type(operand) is np.ndarray else dtype_of(operand)).kind == "c":
            raise DtypeError(message(name, "real numbers or booleans are required", show(*operands), hint))


def of_real(name: str, function: Callable[..., Any], hint: str = "") -> Callable[..., Any]:
    """Return a type rule, or an evaluation, that refuses complex operands."""

    def checked(*operands: Any, **params: Any) -> Any:
        check_real(name, *operands, hint=hint)
        return function(*operands, **params)

    return checked


def same_type(name: str) -> Callable[..., TensorType]:
    """Return the type rule of an operation whose result has the promoted type of its operands."""

    def rule(*types: TensorType, **params: Any) -> TensorType:
        dtype, weak = promote(*types)
        return TensorType(dtype, broadcast(name, *(operand.shape for operand in types)), weak)

    return rule


def evaluation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the evaluation by NumPy; Python scalars give a Python scalar, so that they stay weak."""
    takes_integers = _takes_integers(function)

    def evaluate_one(x: Any) -> Any:
        return evaluate(x) if type(x) in _PYTHON else function(x)

    def evaluate_two(x: Any, y: Any) -> Any:
        return evaluate(x, y) if type(x) in _PYTHON and type(y) in _PYTHON else function(x, y)

    def evaluate(*operands: Any, **params: Any) -> Any:
        if (
            takes_integers
            and type(operands[0]) is bool
            and all(type(operand) is bool for operand in operands)
        ):
            operands = tuple(map(int, operands))
        result = function(*operands, **params)
        if isinstance(result, NUMPY_SCALAR) and all(type(operand) in _PYTHON for operand in operands):
            return result.item()
        return result

    operands = function.nin if isinstance(function, np.ufunc) and function.nout == 1 else 0
    return {1: evaluate_one, 2: evaluate_two}.get(operands, evaluate)


def operator_evaluation(ufunc: Callable[..., Any], operator: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the evaluation by Python's operator: faster for NumPy's scalars; for two Python scalars it may raise."""

    def evaluate(x: Any, y: Any) -> Any:
        if type(x) in _PYTHON and type(y) in _PYTHON:
            return ufunc(+x, +y).item()  # +: truth values become integers, as in Python
        return operator(x, y)

    return evaluate


def align(
    size: int, operands: Sequence[Any], batched: Sequence[bool], inner: Sequence[int] | None = None
) -> list[Any]:
    """Return the operands with as many leading axes for all batched ones, so that broadcasting aligns their batch axes.

    The batch axis comes first. The last axes of each operand, as many as ``inner`` says, do not broadcast.
    """
    inner = inner or [0] * len(operands)
    leading = [len(shape_of(x)) - flag - n for x, flag, n in zip(operands, batched, inner, strict=True)]
    most = max(leading)
    aligned: list[Any] = []
    for x, flag, lead in zip(operands, batched, leading, strict=True):
        shape, missing = shape_of(x), most - lead
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
    """Batch an operation on operands that broadcast along their leading axes."""
    return operation(*align(size, operands, batched), **params)


def elementwise_samples(domains: Sequence[Interval], params: Mapping[str, Any]) -> Any:
    """Return the samples of operands that broadcast together, each drawn from its interval."""

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        shapes = draw.broadcastable(len(domains))
        arrays = [draw.array(shape, low, high) for shape, (low, high) in zip(shapes, domains, strict=True)]
        return tuple(arrays), dict(params)

    return samples


def elementwise(
    name: str,
    function: Callable[..., Any],
    *partials: Partial | None,
    doc: str = "",
    domain: Interval | Sequence[Interval] = (-2.0, 2.0),
    singular: Sequence[Point] = (),
    kinks: Sequence[Point] = (),
    at_once: bool = False,
    derivative: Derivative | None = None,
    operator: Callable[[Any, Any], Any] | None = None,
    evaluate: Callable[..., Any] | None = None,
    native: Callable[..., Any] | None = None,
    source: str | Callable[..., str] = "",
    params: Mapping[str, Any] | None = None,
    operands: int = 0,
    type_rule: Callable[..., TensorType] | None = None,
    samples: Samples | None = None,
    lowering: Lowering | None = None,
    unchecked: Callable[..., tuple[Any, ...]] | None = None,
) -> Primitive:
    """State an elementwise primitive.

    Args:
        name: the name; NumPy's own where NumPy has the function.
        function: a ufunc, or a function that works elementwise on arrays.
        partials: the partial derivatives, one for each operand.
        doc: one line that names the choice at each kink; by default the docstring of ``function``.
        domain: the interval of samples, or one for each operand.
        singular: see `Partials`.
        kinks: see `Partials`.
        at_once: see `Partials`.
        derivative: replaces ``partials``.
        operator: Python's operator, which evaluates faster than the ufunc.
        evaluate: replaces the evaluation by ``function``.
        native: the operation as a composition of primitives that have native code, where the backend has no code
            under its name.
        source: the NumPy expression, with ``{0}`` for the first operand, or a function that returns it.
        params: the parameters of samples.
        operands: the number of operands, without partials to count.
        type_rule: replaces the rule of the ufunc, or "floats keep their dtype".
        samples: replaces the samples from ``domain``.
        lowering: replaces the scalar operation of the same name.
        unchecked: see `Primitive`.
    """
    ufunc = function if isinstance(function, np.ufunc) else None
    count = ufunc.nin if ufunc else operands or len(partials)
    call = f"np.{name}" if ufunc else f"wengert.special.{name}"
    text = source or f"{call}({', '.join(f'{{{position}}}' for position in range(count))})"
    domains: Sequence[Any] = domain if isinstance(domain[0], tuple) else [domain] * count
    inputs = ufunc_inputs(ufunc) if ufunc else None
    plain = function if ufunc or type_rule else of_real(name, function)
    evaluator = evaluate or (operator_evaluation(function, operator) if operator else evaluation(plain))
    if params:  # their types, by which saved programs are checked
        evaluator.__annotations__ |= {name: function.__annotations__[name] for name in params}
    operation = primitive(
        name=name,
        doc=doc or inspect.getdoc(function),
        type_rule=type_rule or (ufunc_type(name, ufunc) if ufunc else float_type(name)),
        evaluate=evaluator,
        derivative=derivative or Partials(*partials, singular=singular, kinks=kinks, at_once=at_once),
        batch=batch_elementwise,
        lowering=lowering or Elementwise(name, inputs, program=native),
        source=text.format if isinstance(text, str) else text,
        samples=samples or elementwise_samples(domains, params or {}),
        elementwise=True,
        operands=_operand_names(partials, count),
        parameters=tuple(params or ()),
        of_arrays=evaluator if evaluate else operator or plain,
        unchecked=unchecked,
    )
    if ufunc:
        UFUNCS[ufunc] = operation
    return operation


def _operand_names(partials: Sequence[Partial | None], count: int) -> tuple[str, ...]:
    """Return the names that a partial derivative gives to the operands."""
    named = next((partial for partial in partials if callable(partial)), None)
    return named.__code__.co_varnames[1 : count + 1] if named else ("x", "y", "z")[:count]


def locally_constant(name: str, ufunc: np.ufunc, doc: str, reason: str, **more: Any) -> Primitive:
    """State an elementwise primitive without a derivative."""
    return elementwise(name, ufunc, doc=doc, derivative=NonDifferentiable(reason), **more)
