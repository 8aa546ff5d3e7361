"""The registry of implementations that NumPy's functions have for boxes, and the helpers that they share."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import re
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from wengert.engine.array.array import DISCARDS, FUNCTIONS
from wengert.engine.array.suggestions import advised
from wengert.engine.array.ufunc_calls import write_out
from wengert.engine.boxes import Box, Unsized, concrete
from wengert.engine.core.dtypes import FLOAT64, check_known, dtype_of, is_inexact
from wengert.engine.core.errors import ConcreteError, LostDerivativeError, UnsupportedError, message
from wengert.engine.core.shapes import axes_tuple, shape_of
from wengert.engine.ir.types import is_weak, show
from wengert.engine.ops.conversion import cast

Implementation = TypeVar("Implementation", bound=Callable[..., Any])
_OF_FIXED_SIZE = "compute it outside, where the values are known, or write it for a fixed size with np.where"
#: Functions that hand ``out=`` to a ufunc, which may broadcast its result.
_UFUNCS_INSIDE = ("np.clip", "np.fix", "np.isposinf", "np.isneginf")
ALL_AXES = tuple(tuple(range(rank)) for rank in range(65))


def implements(*functions: Any) -> Callable[[Implementation], Implementation]:
    """Register a function as the implementation of NumPy's functions for boxes, under NumPy's name.

    The implementation has NumPy's parameters, works on plain arrays as well, and is composed of primitives, which
    supply its derivative. NumPy's docstring describes it; its own one adds the choices made for derivatives. No
    implementation reads ``out``: NumPy's call writes there.

    Args:
        functions: NumPy's functions; the first names the operation in errors. None leaves the function unregistered.

    Returns:
        A decorator that returns the implementation itself.

    Example:
        >>> FUNCTIONS[np.trapezoid].__module__, FUNCTIONS[np.trapezoid].__name__
        ('wengert.numpy.finite_differences', 'trapezoid')
    """

    def register(implementation: Implementation) -> Implementation:
        if functions:
            named: Any = implementation
            named.__name__ = functions[0].__name__
            complete_docstring(implementation, functions[0])
            FUNCTIONS.update(dict.fromkeys(functions, _writing_out(named, functions)))
        return implementation

    return register


def _qualified(function: Any) -> str:
    module = getattr(function, "__module__", "numpy")  # ufuncs of earlier versions of NumPy have none
    return f"np{module.removeprefix('numpy')}.{function.__name__}"


def _writing_out(implementation: Any, functions: Sequence[Any]) -> Callable[..., Any]:
    """Return an implementation that writes to ``out``, if it has the parameter.

    Its first call compiles it with the parameters of the implementation, which makes later ones 0.2 us faster than with
    ``*arguments`` and ``**options``.
    """
    if "out" not in itertools.chain(*_parameters(implementation.__code__)):
        return implementation

    @functools.wraps(implementation)
    def first(*arguments: Any, **options: Any) -> Any:
        checked = _compiled(implementation, _qualified(functions[0]))
        FUNCTIONS.update(dict.fromkeys(functions, checked))
        return checked(*arguments, **options)

    return first


def _compiled(implementation: Any, operation: str) -> Callable[..., Any]:
    """Return an implementation compiled with the check of ``out``."""
    code: types.CodeType = implementation.__code__
    positional, keywords = _parameters(code)
    more = ["**kwargs"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    slash = ["/"] if code.co_posonlyargcount else []
    star, gathered = ["*"] if keywords else [], list[str]()
    if code.co_flags & inspect.CO_VARARGS:
        star = gathered = [f"*{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}"]
    leading, others = positional[: code.co_posonlyargcount], positional[code.co_posonlyargcount :]
    parameters = ", ".join([*leading, *slash, *others, *star, *keywords, *more])
    arguments = ", ".join([*positional, *gathered, *(f"{name}={name}" for name in keywords), *more])
    without_out = re.sub(
        r"(?<![\w*=])out\b(=out)?", lambda match: "out=None" if match[1] else "None", arguments
    )
    source = (
        f"lambda {parameters}: implementation({arguments}) if out is None "
        f"else write_out(operation, out, implementation({without_out}), broadcasts=broadcasts)"
    )
    scope = {"implementation": implementation, "operation": operation, "write_out": write_out}
    scope["broadcasts"] = operation in _UFUNCS_INSIDE
    checked = eval(compile(source, __file__, "eval"), scope)
    checked.__defaults__, checked.__kwdefaults__ = implementation.__defaults__, implementation.__kwdefaults__
    return functools.wraps(implementation)(checked)


def _parameters(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the parameters, and of those by keyword alone."""
    count = code.co_argcount
    return code.co_varnames[:count], code.co_varnames[count : count + code.co_kwonlyargcount]


def complete_docstring(function: Any, numpys: Any) -> None:
    """Add the sections "Args" and "Returns", which refer to NumPy's, to a docstring that has an example only."""
    summary, heading, example = inspect.cleandoc(function.__doc__ or "").partition("Example:")
    if heading and "Args:" not in summary:
        name = _qualified(numpys)
        arguments = [
            f"    {parameter}: as for `{name}`.\n" for parameter in inspect.signature(function).parameters
        ]
        returns = f"Returns:\n    The result of `{name}`, or a box of it."
        function.__doc__ = f"{summary}Args:\n{''.join(arguments)}\n{returns}\n\n{heading}{example}\n"


def since(*names: str) -> list[Any]:
    """Return those of NumPy's functions that the installed version has."""
    return [getattr(np, name) for name in names if hasattr(np, name)]


def refuse(operation: str, **options: Any) -> None:
    """Raise an error if an option is given, other than as None, that boxes do not support."""
    for name, value in options.items():
        if value is None:
            continue
        got = repr(value) if isinstance(value, (str, bool, int, float)) else ""
        raise UnsupportedError(message(operation, f"{name}= is not supported", got))


def axes_of(operation: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that an ``axis`` argument names, in rising order; None names all."""
    if axis is None:
        return ALL_AXES[rank]
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    return axes_tuple(operation, axis, rank)


def check_axes(operation: str, axis: Any, x: Any) -> None:
    """Check an ``axis`` argument before the operations that implement this one, so that an error names this one."""
    if rank := rank_of(x):
        axes_of(operation, axis, rank)


def known(operation: str, value: Any, hint: str = "") -> Any:
    """Return the array behind a value that determines a shape, or raise `ConcreteError`."""
    array = concrete(value)
    if array is None:
        requirement = "the result's shape depends on the values, and only their type is known here"
        raise ConcreteError(message(operation, requirement, show(value), advised(hint or _OF_FIXED_SIZE)))
    return np.asarray(array)


def lost(operation: str, hint: str) -> NoReturn:
    """Raise the error for a box that would be written into a plain array."""
    raise LostDerivativeError(message(operation, "a box cannot be written into a plain array", hint=hint))


def floating(x: Any) -> Any:
    """Return a value in floating point: integers and truth values become float64."""
    return x if is_inexact(dtype_of(x)) else cast(x, dtype=FLOAT64)


def floating_for(ufunc: np.ufunc, x: Any) -> Any:
    """Return a value in the floating dtype in which a ufunc of one operand computes, small for small integers."""
    if is_inexact(dtype_of(x)):
        return x
    return cast(x, dtype=ufunc.resolve_dtypes((dtype_of(x), *(None,) * ufunc.nout))[0])


def strong(x: Any, dtype: Any = None) -> Any:
    """Return a value with a dtype of its own, as NumPy's functions do; a Python scalar becomes NumPy's.

    A complex value loses its imaginary part in a real dtype, with NumPy's warning.
    """
    if dtype is None:
        return cast(x, dtype=dtype_of(x)) if is_weak(x) else x
    wanted = check_known("astype", np.dtype(dtype))
    if (own := dtype_of(x)).kind == "c" and wanted.kind in "iuf":
        warnings.warn(DISCARDS, np.exceptions.ComplexWarning, stacklevel=2)
    return cast(x, dtype=wanted) if own != wanted or is_weak(x) else x


def is_box(value: Any) -> bool:
    """Report whether a value is a box: a transform follows it, or a program may write boxes into it."""
    return isinstance(value, Box)


def is_array(value: Any) -> bool:
    """Report whether a value is a box or an array, as opposed to a scalar or a sequence."""
    return isinstance(value, (Box, np.ndarray))


def is_sequence(value: Any) -> bool:
    """Report whether a value is a tuple or a list of a known length."""
    return isinstance(value, (tuple, list)) and not isinstance(value, Unsized)


def integers(value: Any) -> list[int]:
    """Return the integers of an argument such as an axis or a shape: a single one, or a sequence."""
    if type(value) is int:
        return [value]
    if not isinstance(value, (tuple, list)):
        try:
            return [operator.index(value)]
        except TypeError:  # a range, an array
            if not shape_of(value):
                raise
    return list(map(operator.index, value))


def rank_of(x: Any) -> int:
    """Return the number of axes."""
    return len(shape_of(x))
