"""Calls of a compiled program from Python: it reads arrays, fills arrays, and reports errors."""

from __future__ import annotations

import ctypes
import functools
import logging
import math
import sys
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from wengert.compiler.codegen.interface import ARENA, CALLBACK, STATUS, HostCall, Interface, Located
from wengert.compiler.llvm.object_code import Library
from wengert.compiler.runtime.threads import team
from wengert.compiler.runtime.threads.serial_blas import serial
from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.errors import (
    ArgumentError,
    IndexingError,
    KinkError,
    LimitError,
    MatrixError,
    OutOfRangeError,
    RangeError,
    WengertError,
    located,
    split_location,
)
from wengert.engine.core.float_classes import error_of, is_made, requirement_of
from wengert.engine.core.raised import is_users_own, user_error
from wengert.engine.core.shapes import Shape
from wengert.engine.primitive import REGISTRY

_log = logging.getLogger("wengert.jit")
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_MAIN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_ALIGNMENT = 64  # a cache line, as `wengert.compiler.schedule.arena` places buffers in the arena
#: Bytes of an array of the program's own that begins on a cache line.
_LONG = 1 << 14


class Context:
    """The arena, the status words and the block of addresses, for one call at a time.

    A context refers to its program during a call only, and its callback does not refer to the context: a program that
    is dropped is freed at once, with its native code, whose size the garbage collector does not see.
    """

    def __init__(self, executable: Executable) -> None:
        interface = executable.interface
        self.executable: Executable | None = executable
        self.threads = 0
        self.status = np.zeros(8, np.int64)
        self.block = (ctypes.c_void_p * interface.slots)()
        self.problem: BaseException | None = None
        self.block[STATUS] = address_of(self.status)
        for slot, value in executable.constants:
            self.block[slot] = address_of(value)
        served = _serve(weakref.ref(self))
        next(served)
        self.callback = _CALLBACK(served.send)
        self.block[CALLBACK] = ctypes.cast(self.callback, ctypes.c_void_p).value
        self.address = ctypes.addressof(self.block)
        self.interface = interface
        self.new = executable.new
        self.make_room(1)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exception: object) -> None:
        executable, self.executable = self.executable, None
        if executable is not None:
            executable.free.append(self)

    def take(self, inputs: Iterable[Any]) -> None:
        """Write the addresses of the arguments into the block."""
        for slot, array in zip(self.interface.inputs, inputs, strict=True):
            self.block[slot] = address_of(array)

    def give(self, outputs: Sequence[Any]) -> None:
        """Write the addresses of the results, but for those in the memory of an argument."""
        for number, slot in self.new:
            self.block[slot] = address_of(outputs[number])

    def make_room(self, threads: int) -> None:
        """Make the arena large enough for a number of threads."""
        if threads > self.threads:
            self.arena = aligned(self.interface.arena + self.interface.private * threads)
            self.block[ARENA], self.threads = address_of(self.arena), threads


def _serve(owner: weakref.ref[Context]) -> Generator[None, int]:
    """Run the operations left to NumPy, by number; at a negative number, only let Python handle its signals.

    Python handles signals where a function begins, so that Ctrl-C would be raised before a function could catch it, and
    be lost on the way through native code. A generator continues in the middle of its ``try``.
    """
    context: Context | None = None
    while True:
        try:
            while True:
                context = None
                number = yield
                context = owner()
                if context and number >= 0 and context.problem is None and context.executable is not None:
                    context.executable.host(number, context)
        except GeneratorExit:
            return
        except BaseException as problem:
            context = context or owner()
            if context is not None:
                context.problem = problem
                context.status[1] = 1


def aligned(size: int) -> Any:
    """Return zeroed bytes that begin on a cache line."""
    return _placed(np.zeros(size + _ALIGNMENT, np.uint8), (size,), np.dtype(np.uint8))


def empty(shape: Shape, dtype: Dtype) -> Any:
    """Return an uninitialised array; a long one begins on a cache line.

    NumPy's arrays begin anywhere, so that vectors as long as a line all lie in two lines: parameters, say, which every
    training step reads and writes, then take twice the accesses.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _LONG:
        return np.empty(shape, dtype)
    return _placed(np.empty(size + _ALIGNMENT, np.uint8), shape, dtype)


def _placed(raw: Any, shape: Shape, dtype: Dtype) -> Any:
    """Return an array in some bytes, at the beginning of their first cache line."""
    return np.ndarray(shape, dtype, raw, -address_of(raw) % _ALIGNMENT)


def must_begin(size: int) -> int:
    """Return the alignment of the arrays of this many bytes that `empty` makes."""
    return 1 if size < _LONG else _ALIGNMENT


def is_placed(array: Any) -> bool:
    """Return whether an array is aligned as one of `empty`."""
    return address_of(array) % must_begin(array.nbytes) == 0


class Executable:
    """A program in memory."""

    def __init__(self, interface: Interface, library: Library) -> None:
        self.interface = interface
        self.library = library
        self.address = library.address("main")
        self.constants = [(slot, np.ascontiguousarray(value)) for slot, value in interface.constants]
        self._main = _MAIN(self.address)
        given = frozenset(interface.inputs)
        self.new = [(n, slot) for n, slot in enumerate(interface.outputs) if slot not in given]
        """The results in new memory, and their slots."""
        self.free: list[Context] = []
        """The contexts that no call uses."""

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run the program.

        Args:
            inputs: C-contiguous arrays of the types of the program.
            outputs: arrays to fill; for a result in the memory of an input, that input.

        Raises:
            IndexingError: an index lay outside its array.
            OutOfRangeError: a number such as a label lay outside its range.
            RangeError: a Python integer does not fit the dtype that it is used with.
            MatrixError: a matrix is singular, or not positive definite.
            NanError: under ``WENGERT_CHECK=nan``, an operation made a NaN.
            SubnormalError: under ``WENGERT_CHECK=subnormal``, an operation made a subnormal number.
        """
        with self.context() as context:
            context.take(inputs)
            context.give(outputs)
            self.run(context)

    def context(self) -> Context:
        """Return a context that no other call uses, for a ``with`` statement."""
        try:
            context = self.free.pop()
        except IndexError:  # all are in use
            return Context(self)
        context.executable = self
        return context

    def run(self, context: Context) -> None:
        """Run the program with the addresses in a context; it raises the errors of a call."""
        interface = self.interface
        context.status[:2], context.problem = 0, None
        threads = team.get_threads() if interface.parallel else 1
        if threads == 1:
            self._main(context.address, _alone().address)
        else:
            with _team(threads) as workers:
                if interface.private:
                    context.make_room(workers.threads)
                self._main(context.address, workers.address)
        problem, context.problem = context.problem, None
        if problem is not None:
            raise problem
        if context.status[0]:
            raise reported(interface.places[int(context.status[0]) - 1])

    def host(self, number: int, context: Context) -> None:
        """Run an operation that is left to NumPy."""
        call = self.interface.hosts[number]
        operands = [_operand(x, context) if isinstance(x, Located) else x for x in call.operands]
        try:
            with np.errstate(all="ignore"), serial("numpy") if call.serial else nullcontext():
                results = REGISTRY[call.primitive].evaluate(*operands, **call.params)
        except Exception as problem:
            raise _located(problem, call, operands) from None
        if len(call.outputs) == 1 and not isinstance(results, tuple):
            results = (results,)
        if call.check and is_made(call.check, REGISTRY[call.primitive].elementwise, operands, results):
            raise _made_error(call.check, call.primitive, call.location)
        for output, result in zip(call.outputs, results, strict=True):
            _array(output, context)[...] = result


def _located(problem: Exception, call: HostCall, operands: Sequence[Any]) -> Exception:
    """Return the error that names the operation and the user's line."""
    if is_users_own(problem):
        return problem
    if not isinstance(problem, WengertError):
        problem = REGISTRY[call.primitive].explained(problem, operands, call.params)
    return type(problem)(located(str(problem), call.location))


def _made_error(kind: str, operation: str, location: str) -> WengertError:
    return error_of(kind)(located(f"{operation}: {requirement_of(kind)}.", location))


def slow_address_of(array: Any) -> int:
    """Return the address of an array's elements. Its ``ctypes`` attribute imports a module, which fails at exit."""
    return array.__array_interface__["data"][0]


def _quick_address_of(array: Any) -> int:
    return _POINTER.from_address(id(array) + _DATA).value or 0


_POINTER = ctypes.c_void_p
#: The offset of this address in an array object of CPython and NumPy.
_DATA = object.__basicsize__
_sample = np.arange(3)
#: Return the address of an array's elements.
address_of = (
    _quick_address_of
    if sys.implementation.name == "cpython" and _quick_address_of(_sample) == slow_address_of(_sample)
    else slow_address_of
)


def _operand(located: Located, context: Context) -> Any:
    array = _array(located, context)
    return array.item() if located.weak else array


def _array(located: Located, context: Context) -> Any:
    size = math.prod(located.shape)
    if not size:
        return np.empty(located.shape, located.dtype)
    address = (context.block[located.slot] or 0) + located.offset
    raw: Any = (ctypes.c_char * (size * located.dtype.itemsize)).from_address(address)
    return np.frombuffer(raw, located.dtype, size).reshape(located.shape)


@functools.cache
def _alone() -> team.Team:
    """Return the team of one, which any number of calls may use at a time: it shares nothing."""
    return team.acquire(1)


def _team(threads: int) -> team.Team:
    """Return a team of threads; the team of one, if the system does not start them."""
    try:
        return team.acquire(threads)
    except team.TeamError as problem:
        _log_alone(split_location(str(problem))[0])
        return _alone()


@functools.cache
def _log_alone(problem: str) -> None:
    """Log once that a single thread runs programs, unless the interpreter is ending."""
    if not sys.is_finalizing():
        _log.warning("jit: one thread carries out the programs: %s", problem)


def reported(place: str) -> Exception:
    """Return the error for a place of `Interface.places`."""
    check, requirement, location = place.split("|", 2)
    text = located(f"{requirement}.", location)
    match check:
        case "made_nan" | "made_subnormal":
            return _made_error(check.removeprefix("made_"), requirement, location)
        case "bounded":
            return RangeError(text)
        case "required":
            return MatrixError(text)
        case "ended":
            return LimitError(text)
        case "fitting":
            return ArgumentError(text)
        case "smooth":
            return KinkError(text)
        case "raised":
            return user_error(requirement)
        case _ if requirement:
            return OutOfRangeError(text)
        case _:
            return IndexingError(located("index: indices must lie inside the array.", location))
