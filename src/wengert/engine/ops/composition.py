"""`composed`: elementwise primitives that are compositions of others, with a derivative of their own."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, Trace, running
from wengert.engine.core.dtypes import DEFAULT_DTYPE, NUMPY_VALUE, Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.parsing import expression
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.elementwise import elementwise, evaluation, float_type
from wengert.engine.primitive import Partial, Primitive

_SINGLE = np.dtype(np.float32)


def composed(*partials: Partial | None, **statement: Any) -> Callable[[Callable[..., Any]], Primitive]:
    """State a function of other primitives as an elementwise primitive, which has its name and docstring.

    The function gives the evaluation, the native code with its cost, and the NumPy source. It gets floating operands of
    one dtype. A composition needs a statement of its own where the chain rule through its parts loses accuracy, or is
    not finite where the derivative is.

    Args:
        partials: the partial derivatives, one for each operand.
        statement: the other arguments of `elementwise`: the domain of samples, singular points, kinks.

    Returns:
        A decorator that turns the function into a `Primitive`.

    Example:
        >>> from wengert.engine.ops.exponential import log, log1p
        >>> def ln_ratio(x):
        ...     return log1p(x) - log(x)
        >>> _source(ln_ratio, "x")
        'np.log1p(x) - np.log(x)'
    """

    def state(program: Callable[..., Any]) -> Primitive:
        name = program.__name__
        evaluate = evaluation(partial(_evaluate, program, float_type(name)))
        written = partial(_source, program)
        return elementwise(
            name, program, *partials, evaluate=evaluate, native=program, source=written, **statement
        )

    return state


def _evaluate(
    program: Callable[..., Any], type_rule: Callable[..., TensorType], *operands: Any, **params: Any
) -> Any:
    """Evaluate a composition with operands of the result's dtype; half precision is computed in single."""
    values = [
        x if isinstance(x, NUMPY_VALUE) or type(x) in DEFAULT_DTYPE else np.asarray(x) for x in operands
    ]
    dtype = type_rule(*map(type_of, values)).dtype
    working = np.promote_types(dtype, _SINGLE)
    with np.errstate(all="ignore"):
        result = program(*(np.asarray(x, working)[()] for x in values), **params)
    return result if working == dtype else result.astype(dtype)


# -- NumPy source ----------------------------------------------------------------------------------------


class _Text(NamedTuple):
    """The state of a box that stands for an expression of NumPy source."""

    text: str
    type: TensorType

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> Dtype:
        return self.type.dtype


class _TextTrace(Trace):
    """Writes a composition as one NumPy expression."""

    name = "source"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        texts = [f"({x.state.text})" if isinstance(x, Box) else _number(x) for x in operands]
        result = primitive.infer(*map(type_of, operands), **params)
        return self.box(_Text(primitive.source(*texts, **params), result))


def _source(program: Callable[..., Any], *operands: str, **params: Any) -> str:
    text = _source_of(program, len(operands), **params)
    return re.sub(r"\boperand(\d+)\b", lambda match: _enclosed(operands[int(match[1])]), text)


@lru_cache(64)  # Python takes long for the parentheses of a long one
def _source_of(program: Callable[..., Any], count: int, **params: Hashable) -> str:
    """Return the source for operands that are called ``operand0``, ``operand1`` and so on."""
    scalar = type_of(np.float64())
    with running(_TextTrace()) as trace:
        operands = [trace.box(_Text(f"operand{number}", scalar)) for number in range(count)]
        result = program(*operands, **params)
    return ast.unparse(expression(result.state.text))  # without needless parentheses


def _number(value: Any) -> str:
    return repr(value) if math.isfinite(value) else f"np.{float(value)}".replace("np.-", "-np.")


def _enclosed(operand: str) -> str:
    return f"({operand})" if operand.startswith("-") or " " in operand else operand
