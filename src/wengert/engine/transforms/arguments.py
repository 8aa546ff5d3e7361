"""The arguments that a transform differentiates, and the values that enter and leave it."""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, Trace, Unsized, inside_transform, snapshot
from wengert.engine.core import tree
from wengert.engine.core.dtypes import (
    NDARRAY,
    SEQUENCE,
    SHORT_NAMES,
    as_float,
    check_known,
    check_plain,
    dtype_of,
    is_complex,
    is_inexact,
)
from wengert.engine.core.errors import RETURNED, YIELDED, ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.memory import lay_as
from wengert.engine.ops.shape import reshape
from wengert.engine.transforms.substitution import current

Argnums = int | Sequence[int]

_BY_PARTS = "differentiate by the real and the imaginary part"
_PART = "return the real or the imaginary part (z.real, z.imag)"
_NUMBERS: Any = (Box, np.ndarray, np.generic, bool, int, float, complex)


def is_number(leaf: Any) -> bool:
    """Return whether a leaf is an array or a number, and not a setting such as a string."""
    return isinstance(leaf, _NUMBERS)


class Inputs(NamedTuple):
    """The leaves of the differentiated arguments, and the function of these leaves."""

    leaves: list[Any]
    structure: tree.Structure
    """Of the differentiated arguments: a tree for one argnum, a tuple of trees for several."""
    call: Callable[[Sequence[Any]], Any]
    """Calls the function with other values for the leaves."""
    function: Callable[..., Any]
    """The user's function."""


def named(
    wrapper: Callable[..., Any], transform: str, fun: Callable[..., Any], argnums: Any = 0
) -> Callable[..., Any]:
    """Name a transformed function after the transform and the user's function, and check its argnums."""
    check_function(transform, fun, argnums)
    name = getattr(fun, "__name__", type(fun).__name__)
    wrapper.__name__ = wrapper.__qualname__ = f"{transform}({name})"
    wrapper.__doc__ = getattr(fun, "__doc__", None)
    wrapper.__wrapped__ = fun  # pyright: ignore[reportFunctionMemberAccess]
    return wrapper


def check_function(transform: str, fun: Any, argnums: Any = 0) -> None:
    """Raise `DtypeError`, a `TypeError`, if ``fun`` is not callable; `ArgumentError` if argnums are no positions."""
    if not callable(fun):
        hint = f"write wg.{transform}(f)(x), not wg.{transform}(f(x))"
        raise DtypeError(message(transform, "a function is needed", type(fun).__name__, hint))
    if type(argnums) is not int:
        numbers_of(transform, argnums, fun)


def numbers_of(operation: str, argnums: Any, fun: Callable[..., Any], name: str = "argnums") -> list[int]:
    """Return argnums as a list, or raise `ArgumentError`."""
    listed: list[Any] = list(argnums) if isinstance(argnums, SEQUENCE) else [argnums]
    try:
        return list(map(operator.index, listed))
    except TypeError:
        hint, got = f"write wg.{operation}(f)(x), not wg.{operation}(f, x)", type(argnums).__name__
    if all(isinstance(name, str) for name in listed):
        got, hint = repr(argnums), "positions count from 0"
        with contextlib.suppress(TypeError, ValueError):
            names = list(inspect.signature(fun).parameters)
            numbers = [names.index(name) for name in listed]
            hint = f"write {name}={tuple(numbers) if isinstance(argnums, SEQUENCE) else numbers[0]}"
    elif isinstance(argnums, (*SEQUENCE, float)):
        got = repr(argnums)
    raise ArgumentError(message(operation, f"{name} must be an integer or a tuple of integers", got, hint))


def select_inputs(
    operation: str, fun: Callable[..., Any], argnums: Any, arguments: tuple[Any, ...], options: Any
) -> Inputs:
    """Select the arguments that ``argnums`` names, and check that they can be differentiated."""
    check_function(operation, fun)
    positions = _positions(operation, fun, argnums, len(arguments))
    several = isinstance(argnums, SEQUENCE)
    chosen = [arguments[position] for position in positions]
    inputs, structure = tree.flatten(tuple(chosen) if several else chosen[0])
    try:
        leaves = [differentiable(operation, leaf) for leaf in inputs]
    except DtypeError:  # find the argument and the path for the message
        for position, argument in zip(positions, chosen, strict=True):
            parts, form = tree.flatten(argument)
            for leaf, path in zip(parts, tree.paths(form), strict=True):
                differentiable(operation, leaf, f"argument {position}", path)
        raise

    def call(values: Sequence[Any]) -> Any:
        replaced = tree.unflatten(structure, [*map(lay_as, values, inputs)])
        inside = list(arguments)
        for position, part in zip(positions, replaced if several else (replaced,), strict=True):
            inside[position] = part
        return current(fun, inside, options)(*inside, **options)

    return Inputs(leaves, structure, call, fun)


def _positions(operation: str, fun: Callable[..., Any], argnums: Any, count: int) -> list[int]:
    """Return the positions that ``argnums`` names, counted from the front, or raise `ArgumentError`."""
    named: Any = argnums if isinstance(argnums, SEQUENCE) else [argnums]
    if type(only := named[0] if len(named) == 1 else None) is int and 0 <= only < count:
        return [only]
    numbers = numbers_of(operation, argnums, fun)
    if not all(-count <= number < count for number in numbers):
        requirement = f"argnums must name one of the {count} positional arguments"
        hint = "" if count else "pass the differentiated arguments by position"
        raise ArgumentError(message(operation, requirement, str(argnums), hint))
    positions = [number % count for number in numbers]
    if len(set(positions)) != len(positions):
        raise ArgumentError(message(operation, "argnums must name each argument once", str(argnums)))
    return positions


#: The hint for a part of an argument that is not a number.
SETTING = "let the function take it from outside, or declare the field of a dataclass as a setting: wg.tree.static()"


def differentiable(operation: str, leaf: Any, argument: str = "", path: str = "") -> Any:
    """Return a leaf that can carry a derivative, or raise a `DtypeError` that names its argument and path."""
    if type(leaf) is float or type(leaf) is complex:
        return leaf
    if type(leaf) is NDARRAY and leaf.dtype.kind in "fc" and leaf.dtype in SHORT_NAMES:
        return leaf
    where = f" in {argument}{path}" if argument else ""
    if not isinstance(leaf, _NUMBERS):
        requirement = "arguments must be arrays, numbers or containers of them"
        hint = (
            SETTING if path else "choose other argnums, or make its class a dataclass whose fields are arrays"
        )
        raise DtypeError(message(operation, requirement, type(leaf).__name__ + where, hint))
    dtype = check_known(operation, dtype_of(leaf))
    if not is_inexact(dtype):
        hint = "write 2.0 for 2, x.astype(float) for an array, or choose other argnums"
        if path:
            hint += (
                "; keep values without a derivative in another argument, or in a wengert.tree.static() field"
            )
        requirement = "derivatives need floating-point arguments"
        raise DtypeError(message(operation, requirement, show(leaf) + where, hint))
    if isinstance(leaf, Box):
        return snapshot(leaf)
    if isinstance(leaf, float) and not isinstance(leaf, np.generic):  # a subclass of float
        return float(leaf)
    check_plain(operation, leaf)
    return leaf if leaf.dtype == dtype else leaf.astype(dtype)


def check_primals(operation: str, leaves: Sequence[Any], holomorphic: bool | None) -> None:
    """Raise `DtypeError` unless the leaves are complex with ``holomorphic``, and real without.

    A Jacobian holds one number for each input and output, so complex ones need a holomorphic function. None stands for
    a transform without this option.
    """
    for leaf in leaves:
        if is_complex(dtype_of(leaf)) != bool(holomorphic):
            requirement = f"{'complex' if holomorphic else 'real'} arguments are required"
            hint = "leave out holomorphic=True, or pass x + 0j" if holomorphic else _BY_PARTS
            if holomorphic is False:
                hint = f"pass holomorphic=True if the function is; otherwise {_BY_PARTS}"
            raise DtypeError(message(operation, requirement, show(leaf), hint))


def check_results(operation: str, values: Sequence[Any], holomorphic: bool | None) -> None:
    """Raise `DtypeError` unless the outputs are complex with ``holomorphic``, and real floating-point without.

    None stands for a transform without this option.
    """
    for value in values:
        if not is_inexact(dtype_of(value)):
            requirement = "the function must return floating-point values"
            raise DtypeError(message(operation, requirement, show(value)))
        if is_complex(dtype_of(value)) != bool(holomorphic):
            requirement = f"the function must return {'complex' if holomorphic else 'real'} values"
            hint = f"{_BY_PARTS}: the function is not holomorphic" if holomorphic else _PART
            if holomorphic is False:
                hint += ", or, where it is holomorphic, pass x + 0j with holomorphic=True"
            raise DtypeError(message(operation, requirement, show(value), hint))


def conform(operation: str, requirement: str, direction: Any, like: Any) -> Any:
    """Return a tangent or cotangent with the dtype of its value, or raise `ShapeError` if the shapes differ."""
    check_plain(operation, direction)
    if not hasattr(direction, "dtype"):
        direction = np.asarray(as_float(operation, direction) if type(direction) is int else direction)[()]
    if shape_of(direction) != shape_of(like):
        raise ShapeError(message(operation, requirement, show(direction, like)))
    dtype = dtype_of(like)
    if dtype_of(direction) == dtype or not is_inexact(dtype):
        return direction
    check_known(operation, dtype_of(direction))
    if is_complex(dtype_of(direction)) and not is_complex(dtype):
        raise DtypeError(
            message(operation, "a real value has a real tangent", show(direction, like), "pass x.real")
        )
    return direction.astype(dtype)


def release(trace: Trace, value: Any) -> Any:
    """Return the value that a box of an ending trace holds; other values stay as they are."""
    if isinstance(value, Box):
        value.refresh()
        if value.owner is trace:
            return value.state.value
        if value.owner.plain and not inside_transform():
            return np.array(value.state.value)
        value.owner.check_open("return")
    return value


def flatten_output(
    operation: str, result: Any, has_aux: bool | None = None
) -> tuple[list[Any], tree.Structure, Any]:
    """Return the outputs of a function, their structure, and its aux; call it while the transform runs.

    None stands for a transform without the option ``has_aux``.
    """
    aux: Any = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
            requirement = "with has_aux=True the function must return (output, aux)"
            raise ArgumentError(message(operation, requirement, type(result).__name__))  # pyright: ignore[reportUnknownArgumentType]
        pair: Any = result  # pyright: ignore[reportUnknownVariableType]
        result, aux = pair
        refresh(tree.leaves(aux))
    outputs, structure = tree.flatten(result)
    if result is None:
        raise ArgumentError(message(operation, "the function must return its result", "None", RETURNED))
    refresh(outputs)
    for value in outputs:
        if isinstance(value, Unsized):
            value.refuse_result(operation)
        if not isinstance(value, _NUMBERS):
            requirement = "the function must return arrays, numbers or containers of them"
            hint = "" if has_aux is None else "return other values as aux: (output, aux), has_aux=True"
            hint = YIELDED if isinstance(value, GeneratorType) else hint
            raise DtypeError(message(operation, requirement, type(value).__name__, hint))
    return outputs, structure, aux


def refresh(values: Sequence[Any]) -> None:
    """Update the views among the values, while their transform still runs."""
    for value in values:
        if isinstance(value, Box):
            value.refresh()


def check_scalar(operation: str, output: Any) -> Any:
    """Return the output of a function if it is one floating-point number, or raise `ArgumentError`.

    An array of one element counts as a number, as it does for SciPy's optimisers.
    """
    single = size(shape_of(output)) == 1
    if not single or not is_inexact(dtype_of(output)):
        hint = "reduce it (np.sum, np.mean), or use wg.jacobian for the derivative of an array"
        if single:
            hint = "only floating-point values have a derivative"
        requirement = "the function must return a floating-point scalar"
        raise ArgumentError(message(operation, requirement, show(output), hint))
    return output


def objective_value(operation: str, result: Any) -> Any:
    """Return the real number that an objective returns, as a floating-point scalar.

    Raises:
        ArgumentError: the objective returns a container, several numbers, or an integer.
        DtypeError: the number is complex.
    """
    outputs, structure, _ = flatten_output(operation, result)
    if structure.kind is not None:
        requirement = "the objective must return one number"
        raise ArgumentError(message(operation, requirement, tree.words(structure)))
    value = check_scalar(operation, outputs[0])
    check_results(operation, [value], holomorphic=None)
    return reshape(value, shape=())


def zeros_like(value: Any) -> Any:
    """Return zeros of the shape and dtype of a value."""
    return np.zeros(shape_of(value), dtype_of(value))


def or_zeros(derivatives: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return derivatives, zeros for None."""
    pairs = zip(derivatives, values, strict=True)
    return [zeros_like(value) if derivative is None else derivative for derivative, value in pairs]


def as_results(values: Sequence[Any], leaves: Sequence[Any], directions: Sequence[Any] = ()) -> list[Any]:
    """Return derivatives for the user: of the kind of their leaf, and sharing no memory with one another.

    They do not share memory with the user's ``directions`` either, which linear operations may return unchanged.
    """
    results: list[Any] = []
    taken = set(map(id, directions))
    for value, leaf in zip(values, leaves, strict=True):
        if value is None:
            value = zeros_like(leaf)[()]
        if isinstance(value, Box):
            value.refresh()
            results.append(value.owner.box(value.state))
            continue
        if type(leaf) is float or type(leaf) is complex:
            results.append(type(leaf)(value))
            continue
        if isinstance(leaf, np.generic):
            value = value[()]
        elif isinstance(value, NDARRAY) and (
            value.base is not None or not value.flags.writeable or id(value) in taken
        ):
            value = value.copy()
        taken.add(id(value))
        results.append(np.asarray(value) if isinstance(leaf, NDARRAY) else value)
    return results
