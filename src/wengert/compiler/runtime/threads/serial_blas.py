"""Calls of BLAS and LAPACK on the calling thread alone.

OpenBLAS divides even matrices of some hundred rows among threads. There, starting threads and waiting for them takes
longer than the work. OpenBLAS keeps the number of its threads for the whole process: a counter tells when the last call
that needs one thread ends. A large product that another thread begins meanwhile has one thread, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Generator

from wengert.compiler.codegen.interface import SERIAL
from wengert.compiler.llvm.object_code import Library, stored_library
from wengert.engine.core.blas_threads import PACKAGES, thread_number

_IR = """
%State = type { i32, i32, i64, ptr, ptr } ; lock, usual number of threads, calls, the functions that get and set it
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

define internal i32 @number(ptr %state) nounwind {
  %get.at = getelementptr %State, ptr %state, i64 0, i32 3
  %get = load ptr, ptr %get.at, align 8
  %number = call i32 %get()
  ret i32 %number
}

define internal void @set(ptr %state, i32 %number) nounwind {
  %set.at = getelementptr %State, ptr %state, i64 0, i32 4
  %set = load ptr, ptr %set.at, align 8
  call void %set(i32 %number)
  ret void
}

define internal void @return(ptr %state) nounwind { ; unless someone has set another number meanwhile
entry:
  %usual.at = getelementptr %State, ptr %state, i64 0, i32 1
  %usual = load i32, ptr %usual.at, align 4
  %now = call i32 @number(ptr %state)
  %kept = icmp eq i32 %now, 1
  %several = icmp sgt i32 %usual, 1
  %change = and i1 %kept, %several
  br i1 %change, label %back, label %end
back:
  call void @set(ptr %state, i32 %usual)
  br label %end
end:
  ret void
}

define internal void @forget(i64 %package) nounwind {
entry:
  %state = getelementptr [2 x %State], ptr @states, i64 0, i64 %package
  %calls.at = getelementptr %State, ptr %state, i64 0, i32 2
  %calls = load i64, ptr %calls.at, align 8
  store i64 0, ptr %calls.at, align 8
  store atomic i32 0, ptr %state release, align 8
  %inside = icmp sgt i64 %calls, 0
  br i1 %inside, label %back, label %end
back:
  call void @return(ptr %state)
  br label %end
end:
  ret void
}

define void @wengert_serial_reset() nounwind {
  call void @forget(i64 0)
  call void @forget(i64 1)
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

define void @wengert_serial_begin(i64 %package) nounwind {
entry:
  %state = getelementptr [2 x %State], ptr @states, i64 0, i64 %package
  %get.at = getelementptr %State, ptr %state, i64 0, i32 3
  %get = load ptr, ptr %get.at, align 8
  %unknown = icmp eq ptr %get, null
  br i1 %unknown, label %end, label %known
known:
  call void @lock(ptr %state)
  %calls.at = getelementptr %State, ptr %state, i64 0, i32 2
  %calls = load i64, ptr %calls.at, align 8
  %more = add i64 %calls, 1
  store i64 %more, ptr %calls.at, align 8
  %first = icmp eq i64 %calls, 0
  br i1 %first, label %one, label %unlock
one:
  %usual.at = getelementptr %State, ptr %state, i64 0, i32 1
  %usual = call i32 @number(ptr %state)
  store i32 %usual, ptr %usual.at, align 4
  %several = icmp sgt i32 %usual, 1
  br i1 %several, label %change, label %unlock
change:
  call void @set(ptr %state, i32 1)
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
  %calls.at = getelementptr %State, ptr %state, i64 0, i32 2
  call void @lock(ptr %state)
  %calls = load i64, ptr %calls.at, align 8
  %begun = icmp sgt i64 %calls, 0 ; a forked child has forgotten its parent's calls
  br i1 %begun, label %leave, label %unlock
leave:
  %fewer = sub i64 %calls, 1
  store i64 %fewer, ptr %calls.at, align 8
  %last = icmp eq i64 %fewer, 0
  br i1 %last, label %back, label %unlock
back:
  call void @return(ptr %state)
  br label %unlock
unlock:
  store atomic i32 0, ptr %state release, align 8
  ret void
}
"""

_lock = threading.Lock()
_library: Library | None = None
_known: set[str] = set()


def _native(package: str) -> Library:
    """Return the native functions, which know those of a package's OpenBLAS where it contains one."""
    global _library
    address, number = ctypes.c_void_p, ctypes.c_int64
    with _lock:
        if _library is None:
            _library = stored_library("serial_blas", _IR)
            reset = ctypes.CFUNCTYPE(None)(_library.address("wengert_serial_reset"))
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=reset)
        if package not in _known and (functions := thread_number(package)):
            give = ctypes.CFUNCTYPE(None, number, address, address)(
                _library.address("wengert_serial_functions")
            )
            give(PACKAGES.index(package), *(ctypes.cast(function, address) for function in functions))
        _known.add(package)
        return _library


def symbols() -> dict[str, int]:
    """Return the addresses of the native functions that compiled code calls around a routine of SciPy's.

    ``void wengert_serial_begin(i64 package)`` and ``void wengert_serial_end(i64 package)``.
    """
    return {name: _native("scipy").address(name) for name in SERIAL}


@functools.cache
def _functions(package: str) -> tuple[Callable[[int], None], ...]:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64)
    return tuple(kind(_native(package).address(name)) for name in SERIAL)


@contextlib.contextmanager
def serial(package: str) -> Generator[None]:
    """Have a package's OpenBLAS compute on the calling thread.

    Example:
        >>> with serial("numpy"):
        ...     pass
    """
    (begin, end), position = _functions(package), PACKAGES.index(package)
    begin(position)
    try:
        yield
    finally:
        end(position)
