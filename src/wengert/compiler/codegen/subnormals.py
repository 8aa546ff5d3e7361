"""The flags of a processor that flush subnormal numbers: operations take such operands as zeros, and return zeros.

Each function that Python, a thread of the team or another language calls sets them when it begins, and restores the
register when it ends. A compiled program has no other way out: errors and Ctrl-C are words in memory.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.target import Target


class _Register(NamedTuple):
    """The control register of floating-point arithmetic."""

    kind: Kind
    flags: int
    """The bits that flush."""
    read: str
    write: str
    """LLVM's functions that read and write it."""
    in_memory: bool = False
    """Whether these take an address."""


_MXCSR = _Register(Kind("i32"), 0x8040, "llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr", in_memory=True)
"""Bit 15 is FTZ, flush to zero; bit 6 is DAZ, denormals are zeros."""
_FPCR = _Register(Kind("i64"), 1 << 24, "llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr")
_FPSCR = _Register(Kind("i32"), 1 << 24, "llvm.arm.get.fpscr", "llvm.arm.set.fpscr")
"""Bit 24 of both is FZ, for operands and results."""


def _register(target: Target) -> _Register | None:
    architecture = target.triple.split("-")[0]
    if architecture == "x86_64":
        return _MXCSR
    if architecture in ("aarch64", "arm64"):
        return _FPCR
    return _FPSCR if architecture.startswith(("arm", "thumb")) else None


def can_flush(target: Target) -> bool:
    """Return whether a processor has flags that flush subnormal numbers.

    Example:
        >>> from wengert.compiler.llvm.host import named
        >>> can_flush(named("sse2"))
        True
    """
    return _register(target) is not None


class Flush:
    """Flushes subnormal numbers from the first block of a function up to `end`, except in the code within `outside`.

    On a processor without flags they stay.
    """

    def __init__(self, builder: Builder, target: Target) -> None:
        self._builder = builder
        self._register = _register(target)
        if self._register is None:
            return
        caller = self._read(self._register)
        self._given = caller
        self._flushing = self._with_flags(caller, self._register)
        self._write(self._flushing)

    def end(self) -> None:
        """Restore the register."""
        if self._register is not None:
            self._write(self._given)

    @contextmanager
    def outside(self) -> Generator[None]:
        """Execute the instructions inside with the flags of the caller."""
        self.end()
        yield
        if self._register is not None:
            self._write(self._flushing)

    def _read(self, register: _Register) -> Value:
        """Return the value of the register, or the address of a copy."""
        if not register.in_memory:
            return self._builder.call(register.read, result=register.kind)
        place = self._place(register)
        self._builder.call(register.read, place, result=None)
        return place

    def _place(self, register: _Register) -> Value:
        return self._builder.emit(f"alloca {register.kind}, align 4", Kind("ptr"))

    def _with_flags(self, caller: Value, register: _Register) -> Value:
        b = self._builder
        word = b.load(caller, register.kind, 4) if register.in_memory else caller
        flushing = b.either(word, constant(register.kind, register.flags))
        if not register.in_memory:
            return flushing
        place = self._place(register)
        b.store(flushing, place, 4)
        return place

    def _write(self, value: Value) -> None:
        assert self._register is not None
        self._builder.call(self._register.write, value, result=None)
