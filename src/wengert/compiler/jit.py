"""`jit`: a Python function as one native function for each type of its arguments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from wengert.compiler.dispatch import Dispatch
from wengert.compiler.llvm.object_code import assembly
from wengert.compiler.report import Report, report_of
from wengert.compiler.runtime import arguments
from wengert.compiler.runtime.threads.team import get_threads
from wengert.compiler.specialisation import Specialisation
from wengert.compiler.static_and_donated import Roles
from wengert.core.errors import ArgumentError, message, name_of
from wengert.ir.graph import Graph
from wengert.nest.printer import text

P = ParamSpec("P")
R = TypeVar("R")


class Jitted(Generic[P, R]):
    """A function that is compiled when it is first called with arguments of new types. Made by `jit`."""

    # A slot, not a method: Python finds the newest entry in it and calls that, with no frame of Python code.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[P, R]
    """Carries out the function, compiling it if the types of the arguments are new."""

    def __init__(self, function: Callable[P, R], roles: Roles, flags: str) -> None:
        self._dispatch = Dispatch(self, function, roles, flags)
        self.__call__ = self._dispatch.call
        functools.update_wrapper(self, function, updated=())

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle a decorated function by its name, any other by what it is made of: it is compiled again then."""
        made = self._dispatch
        name = getattr(made.function, "__qualname__", "")
        if getattr(sys.modules.get(self.__module__), name, None) is self:
            return name
        return Jitted, (made.function, made.roles, made.flags)

    # -- looking inside ----------------------------------------------------------------------------------

    def report(self, /, *args: P.args, **kwargs: P.kwargs) -> Report:
        """Tell what the function became: nests, lanes, tiles, operations, bytes, memory, and the cost of each line.

        Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> report = wg.jit(lambda x: np.sum(x * x)).report(np.ones(1000))
            >>> report.operations
            2000
        """
        found = self._traced(args, kwargs)
        return report_of(found.compiled.scheduled)

    def memory(self, /, *args: P.args, **kwargs: P.kwargs) -> int:
        """Return the bytes that a call needs beside its arguments and results. Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> wg.jit(lambda x: np.sum(x * x)).memory(np.ones(1000))
            0
        """
        return self._traced(args, kwargs).compiled.module.bytes(get_threads())

    def graph(self, /, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """Return the simplified graph for arguments of these types. Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> print(wg.jit(lambda x: np.exp(x) * 2).graph(np.ones(3)))
            graph(x1: f64[3]) {
              v1: f64[3] = exp(x1)         # ...
              v2: f64[3] = multiply(v1, 2) # ...
              return v2
            }
        """
        return self._traced(args, kwargs).graph

    def nests(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the loop nests as text. Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> print(wg.jit(lambda x: np.exp(x) * 2).nests(np.ones(3)))
            program(x1: f64[3])
              nest i<3:
                out0[i] = (exp(x1[i]) * 2.0)
              return out0
        """
        return text(self._traced(args, kwargs).compiled.program)

    def stages(self, /, *args: P.args, **kwargs: P.kwargs) -> list[tuple[str, str]]:
        """Return each pass of the compiler by name, with the program after it as text. Nothing is carried out.

        The first is ``trace``, the graph as the function wrote it.

        Example:
            >>> import numpy as np, wengert as wg
            >>> stages = dict(wg.jit(lambda x: np.exp(x) * 2).stages(np.ones(3)))
            >>> print(stages["fuse"])
            program(x1: f64[3])
              nest i<3:
                out0[i] = (exp(x1[i]) * 2.0)
              return out0
        """
        return self._traced(args, kwargs).stages()

    def llvm(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the program in LLVM's language, as it is handed over. Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> "fmul" in wg.jit(lambda x: np.exp(x) * 2).llvm(np.ones(3))
            True
        """
        return self._traced(args, kwargs).compiled.module.text

    def assembly(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the processor's instructions, as LLVM's assembly. Nothing is carried out.

        Example:
            >>> import numpy as np, wengert as wg
            >>> len(wg.jit(lambda x: np.exp(x) * 2).assembly(np.ones(3)).splitlines()) > 10
            True
        """
        compiled = self._traced(args, kwargs).compiled
        return assembly(compiled.module.text, compiled.target)

    def _traced(self, args: Any, kwargs: Any) -> Specialisation:
        return self._dispatch.traced(args, kwargs)

    def __repr__(self) -> str:
        made = self._dispatch
        count = len(made)
        return f"<jit of {name_of(made.function)}, compiled for {count} type{'' if count == 1 else 's'} of arguments>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind the function as a method, whose first argument is the object."""
        return self if instance is None else MethodType(self, instance)


_LATER: Any = object()
"""Stands for the function where `jit` is called with its options only."""


class _Decorator(Protocol):
    """`jit` with its options, waiting for the function."""

    def __call__(self, fun: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: int | Sequence[int] = ...,
    fastmath: bool = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: int | Sequence[int] = ...,
    fastmath: bool = ...,
) -> _Decorator: ...


def jit(
    fun: Any = _LATER,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate: int | Sequence[int] = (),
    fastmath: bool = False,
) -> Any:
    """Compile a function to one native function, when it is first called and for each type of its arguments.

    The function runs once on values that have types and no numbers. What it does with them, derivatives and updates
    included, becomes one program: fused into few loops, laid out along vector registers, in memory planned ahead,
    spread over threads (`wengert.set_threads`). Python's own ``if`` and ``while`` are decided then: on values they
    raise an error; `wengert.cond`, `wengert.while_loop` and `wengert.scan` become part of the program.

    Args:
        fun: takes arrays, numbers and containers of them, and returns such; what else it returns is a constant, the
            same object in every call. Without it, the result takes the function: ``@wg.jit(donate=0)``.
        static_argnums: positions of arguments that are no arrays; each value of them is compiled for itself.
        static_argnames: names of such arguments; the only way for those that cannot be given by position.
        donate: positions of arguments whose memory results of the same type may take. A donated array is refused from
            then on. Views taken of it before, such as ``x.T`` or ``x[0]``, are not known to be: they go on looking at
            the memory, which holds the result, or, if the array was moved to a cache line, what it held before.
        fastmath: allow what is not exact: no NaN and no infinities, reassociation anywhere, reciprocals for quotients.

    Returns:
        The compiled function, which has besides ``report``, ``memory``, ``graph``, ``nests``, ``llvm`` and
        ``assembly``, all called with arguments.

    Raises:
        DtypeError: an argument is neither array nor number, or a result is an iterator or holds a traced value.
        ConcreteError: the program or a text that it returns depends on a number that only a call knows.
        ArgumentError: a donated array cannot be given up, or was already; an option names no argument of the function.
        IndexingError: an index of the program lay outside its array.
        OutOfRangeError: a label, a symbol or a length of the program lay outside its range.
        RangeError: a Python integer is none of 64 bits, or of the dtype that it is used with.
        CompileError: LLVM refused the program.

    Example:
        >>> import numpy as np, wengert as wg
        >>> fast = wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * x)))
        >>> fast(np.array([0.0, 1.0]))
        array([0.        , 1.38177329])
    """
    if fun is _LATER:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate=donate,
            fastmath=fastmath,
        )
    if not callable(fun):
        raise ArgumentError(message("jit", "a function is required", type(fun).__name__))
    static, donated = _numbers("static_argnums", static_argnums), _numbers("donate", donate)
    more, named = arguments.places_of(fun, "static_argnames", static_argnames)
    static = tuple(dict.fromkeys((*static, *more)))
    if set(static) & set(donated):
        both = ", ".join(map(str, sorted(set(static) & set(donated))))
        raise ArgumentError(message("jit", "a static argument is no array and cannot be donated", both))
    roles = Roles(fun, static, named, donated)
    roles.check()
    return Jitted(fun, roles, "fast" if fastmath else "")


def _numbers(name: str, numbers: int | Sequence[int]) -> tuple[int, ...]:
    found = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    if not all(isinstance(number, int) and number >= 0 for number in found):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(message("jit", f"{name} must be positions of arguments, from 0", repr(numbers)))
    return found
