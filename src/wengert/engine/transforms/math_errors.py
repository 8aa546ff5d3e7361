"""The exceptions of `math` and `cmath` for numbers that only a run knows.

CPython has one rule for most functions: a NaN of numbers that are no NaNs is a `ValueError`, and an infinite result of
finite numbers is an `OverflowError`, or a `ValueError` at a pole. Where the domain of a function is an interval, a
comparison of the argument says the same, and a compiler can prove that it holds.

A result depends on the truth value that its call raises nothing. So does its derivative, which may not need the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, below
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import RangeError, message, place, user_frame
from wengert.engine.core.raised import enter
from wengert.engine.ops.comparison import (
    equal,
    isinf,
    less,
    less_equal,
    logical_and,
    logical_not,
    not_equal,
    require_valid,
)
from wengert.engine.transforms.staging import GraphTrace

#: A truth value, and an exception that is raised where it holds.
Failure = tuple[Any, type[Exception]]
#: The least float beyond the integers of a program.
_RANGE = 2.0**63


def _is_pole(x: Any) -> Any:
    """Return whether x is an integer that is not positive: a pole of the gamma function."""
    return (x <= 0) & (np.floor(x) == x)


#: Where numbers lie outside of the domain of a function of one number.
_OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda x: less(x, 0),
    **dict.fromkeys(("log", "log2", "log10"), lambda x: less_equal(x, 0)),
    "log1p": lambda x: less_equal(x, -1),
    **dict.fromkeys(("acos", "asin"), lambda x: np.abs(x) > 1),
    "acosh": lambda x: less(x, 1),
    "atanh": lambda x: np.abs(x) >= 1,
    **dict.fromkeys(("sin", "cos", "tan"), isinf),
    "gamma": _is_pole,
    "lgamma": lambda x: _is_pole(x) & (x > -math.inf),
}
#: The functions that overflow: to infinity alone, where the argument is large, and the others.
_UPWARD = {"exp", "exp2", "expm1"}
_UNBOUNDED = {"sinh", "cosh", "gamma", "lgamma", "pow", "ldexp", "fsum", "fma"}
#: The functions of two and more numbers that have no result for some.
_PARTIAL = {"fmod", "remainder", "pow", "fma", "fsum"}
#: The functions of complex numbers with poles.
_POLES = {"log", "log10", "atan", "atanh"}


def _all(*conditions: Any) -> Any:
    if any(x is False for x in conditions):
        return False
    unknown = [x for x in conditions if x is not True]
    return functools.reduce(lambda a, b: a & b, unknown) if unknown else True


def _is_number(x: Any) -> Any:
    return _plain(np.all(x == x)) if is_inexact(dtype_of(x)) else True


def _is_finite(x: Any) -> Any:
    return _plain(np.all(np.isfinite(x))) if is_inexact(dtype_of(x)) else True


def _plain(condition: Any) -> Any:
    return condition if isinstance(condition, Box) else bool(condition)


def _is_invalid(result: Any, numbers: Sequence[Any]) -> Any:
    return _all(result != result, *map(_is_number, numbers))


def _is_infinite(result: Any, numbers: Sequence[Any]) -> Any:
    return _all(np.isinf(result), *map(_is_finite, numbers))


def _of_real(name: str, result: Any, numbers: Sequence[Any]) -> Iterator[Failure]:
    """Yield the exceptions that a function of `math` may raise."""
    if name in ("floor", "ceil", "trunc"):
        (x,) = numbers
        if is_inexact(dtype_of(x)):
            yield x != x, ValueError
            is_half = dtype_of(x).itemsize == 2
            yield np.abs(x) >= (math.inf if is_half else _RANGE), RangeError
        return
    outside: Any = False
    if name in _OUTSIDE:
        for x in numbers:  # a number, or one and a base
            outside = _plain(_OUTSIDE[name](x))
            yield outside, ValueError
        if len(numbers) > 1:
            yield _plain(numbers[1] == 1), ZeroDivisionError
    elif name in _PARTIAL:
        yield _is_invalid(result, numbers), ValueError
        if name == "pow":
            outside = _all(_plain(numbers[0] == 0), _plain(numbers[1] < 0), _is_finite(numbers[1]))
            yield outside, ValueError
    if name in _UPWARD:
        yield logical_and(equal(result, math.inf), not_equal(numbers[0], math.inf)), OverflowError
    elif name in _UNBOUNDED:
        overflows = _is_infinite(result, numbers)
        yield overflows if outside is False else _all(overflows, ~outside), OverflowError


def _of_complex(name: str, result: Any, numbers: Sequence[Any]) -> Iterator[Failure]:
    """Yield the exceptions that a function of `cmath` may raise."""
    yield _is_invalid(result, numbers), ValueError
    yield _is_infinite(result, numbers), ValueError if name in _POLES else OverflowError
    if name == "log" and len(numbers) > 1:
        yield _plain(numbers[1] == 1), ZeroDivisionError


def checked(function: Callable[..., Any], result: Any, arguments: tuple[Any, Any]) -> Any:
    """Return the result of a function of `math` or `cmath`; the program raises what Python raises.

    Args:
        function: Python's function.
        result: what the function of boxes has returned.
        arguments: those of the call, by position and by name.
    """
    name, is_real = function.__name__, function.__module__ == math.__name__
    if type(result) is tuple:  # of `polar`, `modf` and `frexp`
        parts = cast("tuple[Any, ...]", result)
        return checked(function, parts[0], arguments), *parts[1:]
    if not isinstance(result, Box) or (not is_real and not is_inexact(result.dtype)):
        return result
    positional, named = arguments
    is_flat = not named and not any(isinstance(x, (list, tuple)) for x in positional)
    numbers = positional if is_flat else tree.leaves(arguments)
    failures = (_of_real if is_real else _of_complex)(name, result, numbers)
    for happens, kind in list(failures):
        if isinstance(happens, Box) or happens:
            holds = logical_not(happens)
            text = _text(function, kind)
            result = require_valid(result, holds, operation="math", requirement=text)
            _note(holds, text)
    return result


def guarded(value: Any, holds: Any, problem: Exception) -> Any:
    """Return a value; the program raises an exception at the user's line where a truth value does not hold."""
    frame = user_frame()
    origin = (
        ("", 0, "") if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    )
    where = f" [{place(*origin[:2])}]" if frame is not None else ""
    text = f"{type(problem).__name__}: {problem}{where}".replace("|", "/")
    enter(text, problem, *origin, of_math=True)
    _note(holds, text)
    return require_valid(value, holds, operation="math", requirement=text)


def _note(holds: Any, text: str) -> None:
    """Have the graph to which a truth value belongs check it, even if nothing reads the result."""
    while isinstance(holds, Box):
        if isinstance(holds.owner, GraphTrace):
            holds.owner.calls.append((holds, text))
            return
        holds = below(holds)


def _text(function: Callable[..., Any], kind: type[Exception]) -> str:
    """Return the text that stands for an exception at the user's line."""
    frame = user_frame()
    if frame is None:
        return _entered(function, kind, "", 0, "")
    return _entered(function, kind, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


@functools.lru_cache(maxsize=1024)
def _entered(function: Callable[..., Any], kind: type[Exception], file: str, line: int, name: str) -> str:
    """Enter the exception of a line, and return the text that stands for it."""
    problem = _example(function, kind)
    where = f" [{place(file, line)}]" if file else ""
    text = f"{kind.__name__}: {problem}{where}".replace("|", "/")
    enter(text, problem, file, line, name, of_math=True)
    return text


#: Numbers of which each function that may raise an exception raises it for some.
_EXAMPLES = (-1.0, 2.0, 0.0, 1e308, math.inf, -0.5, math.nan)


@functools.cache
def _example(function: Callable[..., Any], kind: type[Exception]) -> Exception:
    """Return an exception of a kind that Python's function raises."""
    if kind is RangeError:
        return RangeError(message(f"math.{function.__name__}", "the integer must fit in 64 bits"))
    pairs = [(x, y) for x in _EXAMPLES for y in (-1.0, 0.0, 1.0, 1e308)]
    calls: list[tuple[Any, ...]] = [(x,) for x in _EXAMPLES]
    calls += [*pairs, *((pair,) for pair in pairs), ((math.inf, -math.inf),), ((1e308, 1e308),), (1.0, 5000)]
    calls += [(x, y, 0.0) for x, y in pairs]
    calls += [(1e200 + 1e308j,), (1e308 + 1e308j,), (1e4,), (1j,)]
    for call in calls:
        try:
            function(*call)
        except TypeError:
            continue
        except Exception as problem:
            if type(problem) is kind:
                return kind(str(problem).partition(", got ")[0])  # later versions add the number
    return kind("math range error" if kind is OverflowError else "math domain error")
