"""A compiled program called from Python: buffers in, arrays out, and the errors that it found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.backend import team
from wengert.backend.module import CALLBACK, FIRST, Module
from wengert.backend.native import Library
from wengert.errors import IndexingError, message
from wengert.nest.expression import Buffer
from wengert.primitive import REGISTRY

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
_JOB = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_ALIGNMENT = 64


class _Context:
    """What one call at a time needs: the arena, the status words and the block of addresses."""

    def __init__(self, executable: Executable) -> None:
        module = executable.module
        self.arena = aligned(module.memory.size)
        self.status = np.zeros(8, np.int64)
        self.block = np.zeros(FIRST + len(module.slots), np.uintp)
        self.problem: BaseException | None = None
        self.block[0] = self.status.ctypes.data
        self.block[1] = self.arena.ctypes.data
        for buffer, value in executable.constants:
            self.block[module.slots[buffer]] = value.ctypes.data
        self.callback = _CALLBACK(self._call_back)
        self.block[CALLBACK] = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
        self.address = self.block.ctypes.data
        self.executable = executable

    def _call_back(self, number: int, block: int) -> None:
        try:
            if number >= 0 and self.problem is None:
                self.executable.host(number, self)
        except BaseException as problem:
            self.problem = problem
            self.status[1] = 1


def aligned(size: int) -> Any:
    """Return bytes that begin where a cache line does."""
    raw = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size]


class Executable:
    """A program in memory."""

    def __init__(self, module: Module, library: Library) -> None:
        self.module = module
        self.library = library
        self.address = library.address("main")
        self.constants = [(b, np.ascontiguousarray(value)) for b, value in module.program.constants]
        self._job = _JOB(self.address)
        self._free: list[_Context] = []

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Carry out the program.

        Args:
            inputs: C-contiguous arrays of the types of the program.
            outputs: arrays to be filled; for a result that takes the place of an input, that input.

        Raises:
            IndexingError: an index lay outside its array.
        """
        context = self._free.pop() if self._free else _Context(self)
        try:
            self._run(context, inputs, outputs)
        finally:
            self._free.append(context)

    def _run(self, context: _Context, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        program, slots, block = self.module.program, self.module.slots, context.block
        for buffer, array in zip((*program.inputs, *program.outputs), (*inputs, *outputs), strict=True):
            block[slots[buffer]] = array.ctypes.data
        context.status[:2] = 0
        threads = team.get_threads() if self.module.parallel else 1
        if threads == 1:
            with team.acquire(1) as alone:
                self._job(context.address, 0, 1, alone.address)
        else:
            with team.acquire(threads) as workers:
                workers.run(self.address, context.address)
        problem, context.problem = context.problem, None
        if problem is not None:
            raise problem
        if context.status[0]:
            place = self.module.checks.places[int(context.status[0]) - 1]
            raise IndexingError(message("index", "indices must lie inside the array", place and f"[{place}]"))

    def host(self, number: int, context: _Context) -> None:
        """Carry out an operation that is left to NumPy."""
        step = self.module.hosts[number]
        operands = [self._array(x, context) if isinstance(x, Buffer) else x for x in step.operands]
        with np.errstate(all="ignore"):
            results = REGISTRY[step.primitive].evaluate(*operands, **step.params)
        if len(step.outputs) == 1 and not isinstance(results, tuple):
            results = (results,)
        for buffer, result in zip(step.outputs, results, strict=True):
            self._array(buffer, context)[...] = result

    def _array(self, buffer: Buffer, context: _Context) -> Any:
        place = self.module.memory.places.get(buffer)
        if place is None:
            address = int(context.block[self.module.slots[buffer]])
        else:
            address = context.arena.ctypes.data + place.offset
        size = buffer.size * buffer.dtype.itemsize
        raw = (ctypes.c_char * max(size, 1)).from_address(address)
        return np.frombuffer(raw, buffer.dtype, buffer.size).reshape(buffer.shape)


Runner = Callable[[Sequence[Any], Sequence[Any]], None]
