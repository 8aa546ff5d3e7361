"""`low_level_callable`: a compiled function that SciPy's C code calls without Python."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.freestanding.function import typed
from wengert.compiler.freestanding.program import Freestanding, freestanding
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import compile_module, load
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ArgumentError, MissingExtraError, message
from wengert.engine.ir.types import show

_OPERATION = "low_level_callable"
_STACK = 1 << 15
"""The most bytes of a call's memory that lie on the stack."""
_DOUBLES: Any = ctypes.POINTER(ctypes.c_double)
#: double (int, double *, void *): an integrand of `scipy.integrate`.
_INTEGRAND: Any = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _DOUBLES, ctypes.c_void_p)
#: int (double *, intptr_t, double *, void *): a filter of `scipy.ndimage`.
_FILTER: Any = ctypes.CFUNCTYPE(ctypes.c_int, _DOUBLES, ctypes.c_ssize_t, _DOUBLES, ctypes.c_void_p)


def low_level_callable(fun: Callable[..., Any], *, size: int | None = None) -> Any:
    """Compile a function to a `scipy.LowLevelCallable`, which SciPy's C code calls without Python.

    Args:
        fun: for `scipy.integrate.quad`, `dblquad`, `tplquad` and `nquad`, a function of float64 numbers, the variables
            and the ``args`` of the integral, that returns a number. With ``size``, for `scipy.ndimage.generic_filter`,
            a function of one array of so many elements. Values that it reads from outside are constant.
        size: how many elements the footprint of a filter has.

    Returns:
        A `scipy.LowLevelCallable`, which holds the native code. An integrand with another number of arguments returns
        NaN; so does a function in which an index lies outside of its array. A filter of another size fails.

    Raises:
        ArgumentError: the function does not return one float64 number, or the number of its parameters is not known.
        UnsupportedError: NumPy or SciPy carries out an operation of the function.
        MissingExtraError: SciPy is not installed.

    Example:
        >>> import numpy as np
        >>> from scipy.integrate import quad
        >>> bell = low_level_callable(lambda x, width: np.exp(-((x / width) ** 2)))
        >>> print(f"{quad(bell, -np.inf, np.inf, args=(2.0,))[0] ** 2:.6f}")  # 4 pi
        12.566371
    """
    try:
        from scipy import LowLevelCallable
    except ImportError:
        raise MissingExtraError(message(_OPERATION, "SciPy is needed", hint="pip install scipy")) from None
    count = _count_of(fun) if size is None else 1
    examples = [np.float64(0.5)] * count if size is None else [np.full(size, 0.5)]
    function = typed(fun, examples, {})
    results = [leaf.type for leaf in function.results]
    if len(results) != 1 or results[0].shape or results[0].dtype != FLOAT64 or function.fixed:
        requirement = "the function must return one float64 number"
        raise ArgumentError(
            message(_OPERATION, requirement, show(*results), "return a number that depends on x")
        )
    made = freestanding(function, "function", host())
    entry = _integrand(made, count) if size is None else _filter(made, size)
    library = load(compile_module(f"{made.text}\n{entry}", host()))
    pointer = (_INTEGRAND if size is None else _FILTER)(library.address("entry"))
    pointer.library = library  # the code lives as long as the pointer, which the result holds
    return LowLevelCallable(pointer)


def _count_of(fun: Callable[..., Any]) -> int:
    """Return the number of parameters that a function needs."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    needed = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    if not needed:
        requirement = "the function must name its parameters: the variables, and the further arguments"
        raise ArgumentError(message(_OPERATION, requirement, str(fun), "write lambda x: ..."))
    return len(needed)


def _call(made: Freestanding, places: list[str]) -> str:
    """Return the instructions that call the function and load its result and its code."""
    arguments = ", ".join(f"ptr {place}" for place in [*places, "%result"])
    call = f"call i32 @{made.name}({arguments}, ptr %memory)"
    if made.arena > _STACK:
        call = f"call i32 @{made.name}_static({arguments})"
    return f"""  %result = alloca double, align 8
  %memory = alloca [{min(made.arena, _STACK)} x i8], align 64
  %code = {call}
  %value = load double, ptr %result, align 8
  %is_right = icmp eq i32 %code, 0"""


_NAN = "0x7FF8000000000000"


def _integrand(made: Freestanding, count: int) -> str:
    places = [f"%x{n}" for n in range(count)]
    addresses = [f"  {place} = getelementptr double, ptr %xx, i64 {n}" for n, place in enumerate(places)]
    lines = "\n".join(addresses)
    return f"""
define double @entry(i32 %count, ptr %xx, ptr %data) nounwind {{
  %fits = icmp eq i32 %count, {count}
  br i1 %fits, label %run, label %wrong
run:
{lines}
{_call(made, places)}
  %answer = select i1 %is_right, double %value, double {_NAN}
  ret double %answer
wrong:
  ret double {_NAN}
}}"""


def _filter(made: Freestanding, size: int) -> str:
    return f"""
define i32 @entry(ptr %buffer, i64 %count, ptr %answer, ptr %data) nounwind {{
  %fits = icmp eq i64 %count, {size}
  br i1 %fits, label %run, label %wrong
run:
{_call(made, ["%buffer"])}
  %kept = select i1 %is_right, double %value, double {_NAN}
  store double %kept, ptr %answer, align 8
  ret i32 1
wrong:
  ret i32 0
}}"""
