"""Calls of BLAS and LAPACK on the calling thread alone.

The threads of OpenBLAS share matrices of some hundred rows, too, where starting and waiting for each other takes longer
than the work. OpenBLAS keeps the number of its threads for the whole process: a counter tells when the last call that
needs one thread ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Generator

from wengert.compiler.codegen.routine import SERIAL
from wengert.compiler.llvm.object_code import Library, stored_library
from wengert.core.blas_threads import PACKAGES, thread_number

_IR = """
%State = type { i32, i32, i64, ptr, ptr } ; lock, usual number of threads, calls, functions that get and set it
@states = internal global [2 x %State] zeroinitializer, align 8

define internal void @lock(ptr %state) nounwind {
entry:
  br label %try
try:
  %held = atomicrmw xchg ptr %state, i32 1 acquire
  %free = icmp eq i32 %held, 0
  br i1 %free, label %end, label %try
end:
  ret void
}

define void @wengert_serial_functions(i64 %package, ptr %get, ptr %set) nounwind {
  %state = getelementptr [2 x %State], ptr @states, i64 0, i64 %package
  %get.at = getelementptr %State, ptr %state, i64 0, i32 3
  %set.at = getelementptr %State, ptr %state, i64 0, i32 4
  store ptr %get, ptr %get.at, align 8
  store ptr %set, ptr %set.at, align 8
  ret void
}

define void @wengert_serial_reset() nounwind {
  store atomic i32 0, ptr @states release, align 8
  %calls.0 = getelementptr %State, ptr @states, i64 0, i32 2
  store i64 0, ptr %calls.0, align 8
  %state.1 = getelementptr %State, ptr @states, i64 1
  store atomic i32 0, ptr %state.1 release, align 8
  %calls.1 = getelementptr %State, ptr %state.1, i64 0, i32 2
  store i64 0, ptr %calls.1, align 8
  ret void
}

define void @wengert_serial_begin(i64 %package) nounwind {
entry:
  %state = getelementptr [2 x %State], ptr @states, i64 0, i64 %package
  %get.at = getelementptr %State, ptr %state, i64 0, i32 3
  %get = load ptr, ptr %get.at, align 8
  %unknown = icmp eq ptr %get, null
  br i1 %unknown, label %end, label %known
known:
  %set.at = getelementptr %State, ptr %state, i64 0, i32 4
  %set = load ptr, ptr %set.at, align 8
  %usual.at = getelementptr %State, ptr %state, i64 0, i32 1
  %calls.at = getelementptr %State, ptr %state, i64 0, i32 2
  call void @lock(ptr %state)
  %calls = load i64, ptr %calls.at, align 8
  %more = add i64 %calls, 1
  store i64 %more, ptr %calls.at, align 8
  %first = icmp eq i64 %calls, 0
  br i1 %first, label %one, label %unlock
one:
  %usual = call i32 %get()
  store i32 %usual, ptr %usual.at, align 4
  %several = icmp sgt i32 %usual, 1
  br i1 %several, label %change, label %unlock
change:
  call void %set(i32 1)
  br label %unlock
unlock:
  store atomic i32 0, ptr %state release, align 8
  br label %end
end:
  ret void
}

define void @wengert_serial_end(i64 %package) nounwind {
entry:
  %state = getelementptr [2 x %State], ptr @states, i64 0, i64 %package
  %get.at = getelementptr %State, ptr %state, i64 0, i32 3
  %get = load ptr, ptr %get.at, align 8
  %unknown = icmp eq ptr %get, null
  br i1 %unknown, label %end, label %known
known:
  %set.at = getelementptr %State, ptr %state, i64 0, i32 4
  %set = load ptr, ptr %set.at, align 8
  %usual.at = getelementptr %State, ptr %state, i64 0, i32 1
  %calls.at = getelementptr %State, ptr %state, i64 0, i32 2
  call void @lock(ptr %state)
  %calls = load i64, ptr %calls.at, align 8
  %fewer = sub i64 %calls, 1
  store i64 %fewer, ptr %calls.at, align 8
  %usual = load i32, ptr %usual.at, align 4
  %last = icmp eq i64 %fewer, 0
  %several = icmp sgt i32 %usual, 1
  %return = and i1 %last, %several
  br i1 %return, label %change, label %unlock
change:
  call void %set(i32 %usual)
  br label %unlock
unlock:
  store atomic i32 0, ptr %state release, align 8
  br label %end
end:
  ret void
}
"""


@functools.cache
def _native() -> Library:
    """Return the native functions, which know those of OpenBLAS where the packages contain it."""
    library = stored_library("serial_blas", _IR)
    address, number = ctypes.c_void_p, ctypes.c_int64
    give = ctypes.CFUNCTYPE(None, number, address, address)(library.address("wengert_serial_functions"))
    for position, package in enumerate(PACKAGES):
        if functions := thread_number(package):
            give(position, *(ctypes.cast(function, address) for function in functions))
    if hasattr(os, "register_at_fork"):
        # The threads whose calls the counter counts are not in the child.
        os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(library.address("wengert_serial_reset")))
    return library


def symbols() -> dict[str, int]:
    """Return the addresses of the native functions that compiled code calls around a routine.

    ``void wengert_serial_begin(i64 package)`` and ``void wengert_serial_end(i64 package)``.
    """
    return {name: _native().address(name) for name in SERIAL}


@functools.cache
def _functions() -> tuple[Callable[[int], None], ...]:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64)
    return tuple(kind(address) for address in symbols().values())


@contextlib.contextmanager
def serial(package: str) -> Generator[None]:
    """Have a package's OpenBLAS compute on the calling thread.

    Example:
        >>> with serial("numpy"):
        ...     pass
    """
    (begin, end), position = _functions(), PACKAGES.index(package)
    begin(position)
    try:
        yield
    finally:
        end(position)
