"""What the team of threads needs of the processor and of the system, as LLVM IR.

Each function here is the same for every system but in what it does:

* ``void pause()`` is a hint that the thread waits in a loop;
* ``void sleep(word, old, sleepers)`` counts the thread as one of the sleepers until a word is no longer what it was;
* ``void nap(word, old, time)`` sleeps for a time, or less;
* ``void wake(word)`` wakes all that sleep on a word;
* ``i64 clock()`` is a time in nanoseconds;
* ``i32 processor()`` is the processor of the thread, or -1;
* ``void leave(processor)`` moves the thread to another processor, if it may use one.
"""

from __future__ import annotations

from typing import NamedTuple

_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, among the threads of one process
_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}


class _System(NamedTuple):
    """What differs between systems."""

    sleep: str
    nap: str
    wake: str
    clock: int
    processors: str
    declarations: str


# The system keeps a thread where it is as long as it may be there; so it is forbidden and allowed again.
_PROCESSORS = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @processor() nounwind alwaysinline {
  %number = call i32 @sched_getcpu()
  ret i32 %number
}

define internal void @leave(i32 %processor) nounwind noinline {
entry:
  %allowed = alloca [128 x i8], align 8
  %others = alloca [128 x i8], align 8
  %some = icmp ult i32 %processor, 1024
  br i1 %some, label %ask, label %done
ask:
  %asked = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %known = icmp eq i32 %asked, 0
  br i1 %known, label %move, label %done
move:
  %all = load [128 x i8], ptr %allowed, align 8
  store [128 x i8] %all, ptr %others, align 8
  %index = lshr i32 %processor, 3
  %byte.at = getelementptr i8, ptr %others, i32 %index
  %byte = load i8, ptr %byte.at, align 1
  %low = and i32 %processor, 7
  %shift = trunc i32 %low to i8
  %bit = shl i8 1, %shift
  %mask = xor i8 %bit, -1
  %without = and i8 %byte, %mask
  store i8 %without, ptr %byte.at, align 1
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  %again = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %done
done:
  ret void
}
"""

_NO_PROCESSORS = """
define internal i32 @processor() nounwind alwaysinline {
  ret i32 -1
}

define internal void @leave(i32 %processor) nounwind alwaysinline {
  ret void
}
"""


def _system(triple: str, architecture: str) -> _System:
    """Return how threads wait on a system."""
    if "linux" in triple and architecture in _FUTEX:
        call = f"call i64 (i64, ...) @syscall(i64 {_FUTEX[architecture]}, ptr %word"
        return _System(
            f"{call}, i32 {_WAIT}, i32 %old, ptr null)",
            f"{call}, i32 {_WAIT}, i32 %old, ptr %time)",
            f"{call}, i32 {_WAKE}, i32 2147483647)",
            1,
            _PROCESSORS,
            "declare i64 @syscall(i64, ...)",
        )
    # Elsewhere a sleeper looks at the word now and then.
    sleep, nap = (f"call i32 @usleep(i32 {length})" for length in (100, 1000))
    clock = 1 if "linux" in triple else 6
    return _System(sleep, nap, "add i32 0, 0", clock, _NO_PROCESSORS, "declare i32 @usleep(i32)")


def _waiting(system: _System) -> str:
    """Write how a thread sleeps and is woken."""
    return f"""{system.declarations}
define internal void @sleep(ptr %word, i32 %old, ptr %sleepers) nounwind noinline {{
entry:
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst, align 4
  br label %again
again:
  %slept = {system.sleep}
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %old
  br i1 %same, label %again, label %done
done:
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst, align 4
  ret void
}}

define internal void @nap(ptr %word, i32 %old, ptr %time) nounwind noinline {{
  %slept = {system.nap}
  ret void
}}

define internal void @wake(ptr %word) nounwind noinline {{
  %woken = {system.wake}
  ret void
}}
"""


def _time(system: _System, pause: str) -> str:
    """Write how a thread passes the time, and what time it is on the clock that only goes forward."""
    return f"""
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()

define internal void @pause() nounwind alwaysinline {{
  {pause}
  ret void
}}

define void @wengert_pause(i64 %count) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @pause()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}

define internal i64 @clock() nounwind noinline {{
  %time = alloca [2 x i64], align 8
  %status = call i32 @clock_gettime(i32 {system.clock}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}
"""


def system_ir(triple: str) -> str:
    """Return the functions that the team calls, as a part of a module.

    Example:
        >>> "@syscall(i64 202" in system_ir("x86_64-unknown-linux-gnu")
        True
    """
    architecture = triple.split("-")[0]
    system = _system(triple, architecture)
    hint = _PAUSE.get(architecture)
    declaration = f"declare void @{hint.replace('i32 1', 'i32')}\n" if hint else ""
    pause = f"call void @{hint}" if hint else ""
    return f"{declaration}{_waiting(system)}{_time(system, pause)}{system.processors}"
