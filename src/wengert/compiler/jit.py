"""`jit`: compile a Python function to one native function for each type of its arguments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

from wengert.compiler.dispatch import Dispatch, Traced
from wengert.compiler.llvm.object_code import assembly
from wengert.compiler.runtime import arguments
from wengert.compiler.runtime.threads.team import get_threads
from wengert.compiler.specialisation import Specialisation
from wengert.compiler.static_and_donated import Roles
from wengert.compiler.unit import Options
from wengert.engine.core.calls import UNSET, advising
from wengert.engine.core.errors import ArgumentError, message, name_of
from wengert.engine.ir.graph import Graph
from wengert.engine.nest.printer import text

if TYPE_CHECKING:
    from wengert.compiler.report import Report

P = ParamSpec("P")
R = TypeVar("R")
#: LLVM's flags of inexact arithmetic: none by which the rounding of a value depends on the code around it.
_FAST = "nnan ninf nsz"


class Jitted(Generic[P, R]):
    """A function that is compiled when it is first called with arguments of new types. Made by `jit`."""

    # A slot, not a method: Python finds the newest entry in it and calls that, with no frame of Python code.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[P, R]
    """Call the function; compile it first if the types of the arguments are new."""

    def __init__(self, function: Callable[P, R], roles: Roles, options: Options) -> None:
        self._dispatch = Dispatch(self, function, roles, options)
        self.__call__ = self._dispatch.call
        functools.update_wrapper(self, function, updated=())

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle a decorated function by its name, any other by its parts; unpickling compiles nothing."""
        made = self._dispatch
        name = getattr(made.function, "__qualname__", "")
        if getattr(sys.modules.get(self.__module__), name, None) is self:
            return name
        return Jitted, (made.function, made.roles, made.options)

    # -- inspection ----------------------------------------------------------------------------------

    def report(self, /, *args: P.args, **kwargs: P.kwargs) -> Report:
        """Describe the compiled function: nests, lanes, tiles, operations, bytes, memory, and the cost of each line.

        This executes nothing, as all methods of this class but the call itself.

        Example:
            >>> import numpy as np, wengert as wg
            >>> report = wg.jit(lambda x: np.sum(x * x)).report(np.ones(1000))
            >>> report.operations
            2000
        """
        from wengert.compiler.report import report_of

        found = self._traced(args, kwargs)
        return report_of(found.compiled.scheduled)

    def memory(self, /, *args: P.args, **kwargs: P.kwargs) -> int:
        """Return the bytes that a call needs beside its arguments and results.

        Example:
            >>> import numpy as np, wengert as wg
            >>> wg.jit(lambda x: np.sum(x * x)).memory(np.ones(1000))
            0
        """
        return self._traced(args, kwargs).compiled.bytes(get_threads())

    def graph(self, /, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """Return the simplified graph for arguments of these types.

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
        """Return the loop nests as text.

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
        """Return the name of each pass of the compiler, and the program after it as text.

        The first stage is ``trace``, the graph before any pass.

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
        """Return the LLVM IR of the program.

        Example:
            >>> import numpy as np, wengert as wg
            >>> "fmul" in wg.jit(lambda x: np.exp(x) * 2).llvm(np.ones(3))
            True
        """
        return self._traced(args, kwargs).compiled.module.text

    def assembly(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Return the instructions of the program as assembly.

        Example:
            >>> import numpy as np, wengert as wg
            >>> len(wg.jit(lambda x: np.exp(x) * 2).assembly(np.ones(3)).splitlines()) > 10
            True
        """
        compiled = self._traced(args, kwargs).compiled
        return assembly(compiled.module.text, compiled.target)

    def traced(self, /, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """Return the function traced for arguments of these types, for `wengert.export`."""
        return self._dispatch.traced(args, kwargs)

    def _traced(self, args: Any, kwargs: Any) -> Specialisation:
        return self._dispatch.traced(args, kwargs).specialisation

    def __repr__(self) -> str:
        made = self._dispatch
        count = len(made)
        return f"<jit of {name_of(made.function)}, compiled for {count} type{'' if count == 1 else 's'} of arguments>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind the function as a method, whose first argument is the object."""
        return self if instance is None else MethodType(self, instance)


class _Decorator(Protocol):
    """`jit` with options, which takes the function."""

    def __call__(self, fun: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit(
    fun: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: int | Sequence[int] = ...,
    fastmath: bool = ...,
    flush_subnormals: bool = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: int | Sequence[int] = ...,
    fastmath: bool = ...,
    flush_subnormals: bool = ...,
) -> _Decorator: ...


@advising("wg.jit(f)(x)")
def jit(
    fun: Any = UNSET,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate: int | Sequence[int] = (),
    fastmath: bool = False,
    flush_subnormals: bool = False,
) -> Any:
    """Compile a function to one native function for each type of its arguments, at its first call with them.

    The function runs once on values that have types and no numbers. All its operations, derivatives and updates
    included, become one program: fused into few loops, laid out along vector registers, with memory planned ahead,
    spread over threads (`wengert.set_threads`). Python's own ``if`` and ``while`` run during this trace; on traced
    values they become part of the program, as `wengert.cond`, `wengert.while_loop` and `wengert.scan` do.

    Args:
        fun: a function of arrays, numbers and containers of them, which returns such. Any other result is a constant,
            the same object in every call. Without ``fun``, `jit` returns a decorator: ``@wg.jit(donate=0)``.
        static_argnums: positions of arguments that are not arrays; each value is compiled separately.
        static_argnames: names of such arguments; required for keyword-only ones.
        donate: positions of arguments whose memory results of the same type may reuse. Compiled functions refuse a
            donated array afterwards. Earlier views of it, such as ``x.T``, still read that memory: it holds the
            result or, if the array was moved to a cache line, the old values.
        fastmath: allow inexact rewrites: assume no NaN and no infinities, ignore signs of zeros, use reciprocals.
        flush_subnormals: let arithmetic take subnormal numbers, which are closer to zero than 1.2e-38 in float32 and
            2.2e-308 in float64, as zeros, and return zeros for them. Many processors are slow with such numbers, which
            vanishing gradients become. The call sets the flags of the processor in each thread that takes part, and
            restores them. Of nested compiled functions, the outermost one decides.

    Returns:
        The compiled function. Its methods ``report``, ``memory``, ``graph``, ``nests``, ``stages``, ``llvm`` and
        ``assembly`` take the same arguments.

    Raises:
        DtypeError: an argument is neither array nor number, or a result is an iterator or holds a traced value.
        ConcreteError: the trace needs the value of an argument, of which it knows only the type.
        ArgumentError: an array cannot be donated, or was donated before; an option names no argument of the function.
        IndexingError: an index of the program lay outside its array.
        OutOfRangeError: a label, a symbol or a length of the program lay outside its range.
        RangeError: a Python integer does not fit 64 bits, or the dtype of its operation.
        CompileError: LLVM refused the program.

    Example:
        >>> import numpy as np, wengert as wg
        >>> fast = wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * x)))
        >>> fast(np.array([0.0, 1.0]))
        array([0.        , 1.38177329])
    """
    if fun is UNSET:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate=donate,
            fastmath=fastmath,
            flush_subnormals=flush_subnormals,
        )
    if not callable(fun):
        hint = "write @wg.jit, or wg.jit(f) and then its call: types come from the arguments"
        raise ArgumentError(message("jit", "a function is required", type(fun).__name__, hint))
    static, donated = _numbers("static_argnums", static_argnums), _numbers("donate", donate)
    more, named = arguments.places_of(fun, "static_argnames", static_argnames)
    static = tuple(dict.fromkeys((*static, *more)))
    if set(static) & set(donated):
        both = ", ".join(map(str, sorted(set(static) & set(donated))))
        raise ArgumentError(message("jit", "a static argument cannot be donated", both))
    roles = Roles(fun, static, named, donated)
    roles.check()
    return Jitted(fun, roles, Options(_FAST if fastmath else "", flush_subnormals=flush_subnormals))


def _numbers(name: str, numbers: int | Sequence[int]) -> tuple[int, ...]:
    found = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    if not all(isinstance(number, int) and number >= 0 for number in found):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(message("jit", f"{name} must be positions of arguments, from 0", repr(numbers)))
    return found
