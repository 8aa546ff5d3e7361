"""A compiled program called from Python: arrays in, arrays filled, and the errors that it found."""

from __future__ import annotations

import ctypes
import functools
import logging
import math
import sys
import weakref
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.codegen.interface import ARENA, CALLBACK, STATUS, HostCall, Interface, Located
from wengert.compiler.llvm.object_code import Library
from wengert.compiler.runtime.threads import team
from wengert.core.dtypes import Dtype
from wengert.core.errors import (
    IndexingError,
    MatrixError,
    OutOfRangeError,
    RangeError,
    WengertError,
    split_location,
)
from wengert.core.shapes import Shape
from wengert.primitive import REGISTRY

_log = logging.getLogger("wengert.jit")
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_MAIN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_ALIGNMENT = 64  # a cache line, as `wengert.compiler.schedule.arena` places buffers in the arena
#: Bytes from which on an array of the program's own begins where a cache line does.
_LONG = 1 << 14


class NanError(WengertError, FloatingPointError):
    """An operation made a NaN, under ``WENGERT_CHECK=nan``."""


class Context:
    """What one call at a time needs: the arena, the status words and the block of addresses.

    It holds its program during a call only, and its callback does not hold it: a dropped program is freed at
    once, with its native code, whose size the garbage collector does not see.
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
        """Write the addresses of the results, and none for one that takes the place of an argument."""
        for number, slot in self.new:
            self.block[slot] = address_of(outputs[number])

    def make_room(self, threads: int) -> None:
        """Let the arena have room for so many threads."""
        if threads > self.threads:
            self.arena = aligned(self.interface.arena + self.interface.private * threads)
            self.block[ARENA], self.threads = address_of(self.arena), threads

    def host(self, number: int) -> None:
        """Carry out an operation that is left to NumPy, unless an earlier one failed."""
        if number >= 0 and self.problem is None and self.executable is not None:
            self.executable.host(number, self)


def _serve(owner: weakref.ref[Context]) -> Generator[None, int]:
    """Carry out the operations of NumPy's that are asked for; at a negative number only see to Python's signals.

    Python sees to its signals where a function begins, so that Ctrl-C would be raised before a function could catch
    it, and be lost on the way through native code. A generator goes on in the middle of its ``try``.
    """
    context: Context | None = None
    while True:
        try:
            while True:
                context = None
                number = yield
                context = owner()
                if context is not None:
                    context.host(number)
        except GeneratorExit:
            return
        except BaseException as problem:
            context = context or owner()
            if context is not None:
                context.problem = problem
                context.status[1] = 1


def aligned(size: int) -> Any:
    """Return bytes, all zero, that begin where a cache line does."""
    return _placed(np.zeros(size + _ALIGNMENT, np.uint8), (size,), np.dtype(np.uint8))


def empty(shape: Shape, dtype: Dtype) -> Any:
    """Return a new array to be filled; a long one begins where a cache line does.

    NumPy's own begin anywhere, so that vectors as long as a line all lie in two lines: what is read and written in each
    step of a training, such as parameters, then takes twice the accesses.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _LONG:
        return np.empty(shape, dtype)
    return _placed(np.empty(size + _ALIGNMENT, np.uint8), shape, dtype)


def _placed(raw: Any, shape: Shape, dtype: Dtype) -> Any:
    """Return an array in some bytes, from where their first cache line begins."""
    return np.ndarray(shape, dtype, raw, -address_of(raw) % _ALIGNMENT)


def must_begin(size: int) -> int:
    """Return what the address of an array of so many bytes is a multiple of, if `empty` made it."""
    return 1 if size < _LONG else _ALIGNMENT


def is_placed(array: Any) -> bool:
    """Tell whether an array begins where one of `empty` would."""
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
        """The results that take no argument's place, and their slots."""
        self.free: list[Context] = []
        """The contexts that no call has."""

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Carry out the program.

        Args:
            inputs: C-contiguous arrays of the types of the program.
            outputs: arrays to be filled; for a result that takes the place of an input, that input.

        Raises:
            IndexingError: an index lay outside its array.
            OutOfRangeError: a number such as a label lay outside its range.
            RangeError: a Python integer is none of the dtype that it is used with.
            MatrixError: a matrix is singular, or not positive definite.
            NanError: under ``WENGERT_CHECK=nan``, an operation made a NaN.
        """
        with self.context() as context:
            context.take(inputs)
            context.give(outputs)
            self.run(context)

    def context(self) -> Context:
        """Return a context that no other call has; use it in a ``with`` statement."""
        try:
            context = self.free.pop()
        except IndexError:  # every context is in a call
            return Context(self)
        context.executable = self
        return context

    def run(self, context: Context) -> None:
        """Carry out the program with the addresses in a context; the errors are those of a call."""
        interface = self.interface
        context.status[:2], context.problem = 0, None
        threads = team.get_threads() if interface.parallel else 1
        if threads == 1:
            self._main(context.address, _alone().address)
        else:
            with _helped(threads) as workers:
                if interface.private:
                    context.make_room(workers.threads)
                self._main(context.address, workers.address)
        problem, context.problem = context.problem, None
        if problem is not None:
            raise problem
        if context.status[0]:
            raise _reported(interface.places[int(context.status[0]) - 1])

    def host(self, number: int, context: Context) -> None:
        """Carry out an operation that is left to NumPy."""
        call = self.interface.hosts[number]
        operands = [_operand(x, context) if isinstance(x, Located) else x for x in call.operands]
        try:
            with np.errstate(all="ignore"):
                results = REGISTRY[call.primitive].evaluate(*operands, **call.params)
        except Exception as problem:
            raise _with_place(problem, call, operands) from None
        if len(call.outputs) == 1 and not isinstance(results, tuple):
            results = (results,)
        if call.check_nan and _made_one(REGISTRY[call.primitive].elementwise, operands, results):
            raise _made_nan(call.primitive, call.location)
        for output, result in zip(call.outputs, results, strict=True):
            _array(output, context)[...] = result


def _with_place(problem: Exception, call: HostCall, operands: Sequence[Any]) -> Exception:
    """Return the error that names the operation and the user's line."""
    said = problem
    if not isinstance(problem, WengertError):
        said = REGISTRY[call.primitive].explained(problem, operands, call.params)
    text = split_location(str(said))[0]
    return type(said)(f"{text} [{call.location}]" if call.location else text)


def _made_one(elementwise: bool, operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Tell whether a NaN is among the results of which there was none among what it was made of."""
    had: Any = np.False_
    for operand in operands:
        had = had | (_is_nan(operand) if elementwise else np.any(_is_nan(operand)))
    return any(np.any(_is_nan(result) & ~had) for result in results)


def _is_nan(value: Any) -> Any:
    return np.isnan(value) if np.asarray(value).dtype.kind == "f" else np.False_


def _made_nan(what: str, location: str) -> NanError:
    where = f" [{location}]" if location else ""
    return NanError(f"{what}: the result must be no NaN while WENGERT_CHECK=nan is set.{where}")


def slow_address_of(array: Any) -> int:
    """Return where an array's elements begin. Its ``ctypes`` would import something, which fails at exit."""
    return array.__array_interface__["data"][0]


def _quick_address_of(array: Any) -> int:
    return _POINTER.from_address(id(array) + _DATA).value or 0


_POINTER = ctypes.c_void_p
#: Where in the object of an array CPython and NumPy keep the address of its elements.
_DATA = object.__basicsize__
_sample = np.arange(3)
#: Return where an array's elements begin.
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


_TEAMS: list[team.Team] = []


def _alone() -> team.Team:
    """Return the team of one, which any number of calls may use at a time: it shares nothing."""
    if not _TEAMS:
        _TEAMS.append(team.acquire(1))
    return _TEAMS[0]


def _helped(threads: int) -> team.Team:
    """Return a team of so many threads; the team of one, if the system does not start them."""
    try:
        return team.acquire(threads)
    except team.TeamError as problem:
        _tell_alone(split_location(str(problem))[0])
        return _alone()


@functools.cache
def _tell_alone(problem: str) -> None:
    """Log once that no threads help, unless the interpreter is ending."""
    if not sys.is_finalizing():
        _log.warning("jit: one thread carries out the programs: %s", problem)


def _reported(place: str) -> WengertError:
    check, _, rest = place.partition("|")
    what, _, location = rest.partition("|")
    where = f" [{location}]" if location else ""
    if check == "made":
        return _made_nan(what, location)
    if check == "bounded":
        return RangeError(f"{what}.{where}")
    if check == "required":
        return MatrixError(f"{what}.{where}")
    if what:
        return OutOfRangeError(f"{what}.{where}")
    return IndexingError(f"index: indices must lie inside the array.{where}")
