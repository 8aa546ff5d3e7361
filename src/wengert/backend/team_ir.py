"""The team of threads as LLVM IR: how its members wait for one another.

The state is a block of memory with a cache line pair for each word that several threads write (see `FIELDS`). Whoever
waits watches a word for a short time and then sleeps in the kernel until the word changes (a futex on Linux). Who
changes the word wakes the sleepers, if there are any: a waiter counts itself before the kernel compares the word, and
the other side changes the word before it reads the count, both in the one order of sequential consistency, so that one
of them sees the other (Dekker's argument; Drepper, Futexes are tricky, 2011).

The barrier counts arrivals and ends with a change of generation (Mellor-Crummey and Scott, Algorithms for scalable
synchronization on shared-memory multiprocessors, 1991, section 3.1).
"""

from __future__ import annotations

from typing import NamedTuple

#: Two cache lines: processors fetch them in pairs.
_APART = 128

#: Where each field of the block begins.
FIELDS = {
    # Written once, before there are workers.
    "threads": 0,  # i64
    "patience": 8,  # i64: how many times to look at a word before sleeping
    # The job: written by the thread that calls, read by the workers.
    "job": _APART,  # i32: counts the jobs
    "job_sleepers": _APART + 4,  # i32
    "function": _APART + 8,  # ptr: null tells the workers to leave
    "args": _APART + 16,  # ptr
    # The end of the job: how many workers are still at it.
    "remaining": 2 * _APART,  # i32
    "remaining_sleepers": 2 * _APART + 4,  # i32
    "busy": 2 * _APART + 8,  # i32: whether there is a job at all
    # The barrier within a job.
    "arrived": 3 * _APART,  # i32
    "generation": 4 * _APART,  # i32
    "generation_sleepers": 4 * _APART + 4,  # i32
}
#: The size of the block.
BLOCK_BYTES = 5 * _APART

_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, among the threads of one process
_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}


class _System(NamedTuple):
    """What differs between systems: a hint to the processor, and how a thread sleeps and wakes others."""

    pause: str
    sleep: str
    wake: str
    declarations: str


def _system(triple: str) -> _System:
    """Return how threads wait on a system."""
    architecture = triple.split("-")[0]
    hint = _PAUSE.get(architecture)
    pause = f"call void @{hint}" if hint else ""
    kind = {"x86_64": "declare void @llvm.x86.sse2.pause()"}.get(
        architecture, "declare void @llvm.aarch64.hint(i32)"
    )
    declared = kind if hint else ""
    if "linux" in triple and architecture in _FUTEX:
        call = f"call i64 (i64, ...) @syscall(i64 {_FUTEX[architecture]}"
        return _System(
            pause,
            f"{call}, ptr %word, i32 {_WAIT}, i32 %old, ptr null)",
            f"{call}, ptr %word, i32 {_WAKE}, i32 2147483647)",
            f"{declared}\ndeclare i64 @syscall(i64, ...)",
        )
    # Elsewhere a sleeper looks at the word now and then.
    return _System(pause, "call i32 @usleep(i32 50)", "add i32 0, 0", f"{declared}\ndeclare i32 @usleep(i32)")


def _at(field: str) -> str:
    """Return the instruction that finds a field of the block."""
    return f"getelementptr inbounds i8, ptr %team, i64 {FIELDS[field]}"


def _waiting(system: _System) -> str:
    """Write how to wait until a word is no longer what it was, and how to wake those who wait."""
    return f"""
define internal void @wait(ptr %team, ptr %word, i32 %old, ptr %sleepers) nounwind noinline {{
entry:
  %patience_at = {_at("patience")}
  %patience = load i64, ptr %patience_at, align 8
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %more, %again ]
  %now = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %stay
stay:
  %patient = icmp ult i64 %looks, %patience
  br i1 %patient, label %again, label %sleep
again:
  {system.pause}
  %more = add i64 %looks, 1
  br label %look
sleep:
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst, align 4
  %slept = {system.sleep}
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst, align 4
  %later = load atomic i32, ptr %word acquire, align 4
  %different = icmp ne i32 %later, %old
  br i1 %different, label %done, label %sleep
done:
  ret void
}}

define internal void @wake(ptr %word, ptr %sleepers) nounwind alwaysinline {{
  fence seq_cst
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %call
call:
  %woken = {system.wake}
  br label %done
done:
  ret void
}}

define void @wengert_pause(i64 %count) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {system.pause}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


_BARRIER = f"""
define void @wengert_barrier(ptr %team) nounwind {{
entry:
  %threads_at = {_at("threads")}
  %threads = load i64, ptr %threads_at, align 8
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %generation_at = {_at("generation")}
  %sleepers = {_at("generation_sleepers")}
  %arrived_at = {_at("arrived")}
  %generation = load atomic i32, ptr %generation_at monotonic, align 4
  %before = atomicrmw add ptr %arrived_at, i32 1 acq_rel, align 4
  %wide = zext i32 %before to i64
  %place = add i64 %wide, 1
  %last = icmp eq i64 %place, %threads
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %arrived_at monotonic, align 4
  %next = add i32 %generation, 1
  store atomic i32 %next, ptr %generation_at seq_cst, align 4
  call void @wake(ptr %generation_at, ptr %sleepers)
  br label %done
wait:
  call void @wait(ptr %team, ptr %generation_at, i32 %generation, ptr %sleepers)
  br label %done
done:
  ret void
}}
"""

_RUN = f"""
define internal void @publish(ptr %team, ptr %function, ptr %args) nounwind alwaysinline {{
  %function_at = {_at("function")}
  %args_at = {_at("args")}
  %job_at = {_at("job")}
  %sleepers = {_at("job_sleepers")}
  store ptr %function, ptr %function_at, align 8
  store ptr %args, ptr %args_at, align 8
  %before = atomicrmw add ptr %job_at, i32 1 seq_cst, align 4
  call void @wake(ptr %job_at, ptr %sleepers)
  ret void
}}

define i32 @wengert_run(ptr %team, ptr %function, ptr %args) nounwind {{
entry:
  %threads_at = {_at("threads")}
  %threads = load i64, ptr %threads_at, align 8
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %single, label %try
single:
  call void %function(ptr %args, i64 0, i64 1, ptr %team)
  ret i32 0
try:
  %busy_at = {_at("busy")}
  %exchange = cmpxchg ptr %busy_at, i32 0, i32 1 acquire monotonic, align 4
  %free = extractvalue {{ i32, i1 }} %exchange, 1
  br i1 %free, label %start, label %refuse
refuse:
  ret i32 1
start:
  %remaining_at = {_at("remaining")}
  %sleepers = {_at("remaining_sleepers")}
  %short = trunc i64 %threads to i32
  %workers = sub i32 %short, 1
  store atomic i32 %workers, ptr %remaining_at monotonic, align 4
  call void @publish(ptr %team, ptr %function, ptr %args)
  call void %function(ptr %args, i64 0, i64 %threads, ptr %team)
  br label %finish
finish:
  %left = load atomic i32, ptr %remaining_at acquire, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %done, label %wait
wait:
  call void @wait(ptr %team, ptr %remaining_at, i32 %left, ptr %sleepers)
  br label %finish
done:
  store atomic i32 0, ptr %busy_at release, align 4
  ret i32 0
}}

define void @wengert_stop(ptr %team) nounwind {{
  call void @publish(ptr %team, ptr null, ptr null)
  ret void
}}
"""

_WORKER = f"""
define void @wengert_worker(ptr %team, i64 %thread) nounwind {{
entry:
  %threads_at = {_at("threads")}
  %threads = load i64, ptr %threads_at, align 8
  %job_at = {_at("job")}
  %job_sleepers = {_at("job_sleepers")}
  %function_at = {_at("function")}
  %args_at = {_at("args")}
  %remaining_at = {_at("remaining")}
  %remaining_sleepers = {_at("remaining_sleepers")}
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %job, %work ], [ %job, %last ]
  call void @wait(ptr %team, ptr %job_at, i32 %seen, ptr %job_sleepers)
  %job = load atomic i32, ptr %job_at acquire, align 4
  %function = load ptr, ptr %function_at, align 8
  %args = load ptr, ptr %args_at, align 8
  %stop = icmp eq ptr %function, null
  br i1 %stop, label %done, label %work
work:
  call void %function(ptr %args, i64 %thread, i64 %threads, ptr %team)
  %before = atomicrmw sub ptr %remaining_at, i32 1 seq_cst, align 4
  %final = icmp eq i32 %before, 1
  br i1 %final, label %last, label %idle
last:
  call void @wake(ptr %remaining_at, ptr %remaining_sleepers)
  br label %idle
done:
  ret void
}}
"""


def team_ir(triple: str) -> str:
    """Return the module of the team: how to run a job, to wait within one, and to be a worker.

    * ``i32 wengert_run(team, function, args)`` calls ``function(args, thread, threads, team)`` on every thread of the
      team, the caller's as thread 0, and returns 0 when all have finished; 1, having done nothing, if the team is busy.
    * ``void wengert_barrier(team)`` returns when every thread of the team has come to it.
    * ``void wengert_worker(team, thread)`` runs a thread's share of every job until ``wengert_stop(team)``.
    * ``void wengert_pause(count)`` passes a time of that many looks at a word.

    Example:
        >>> "@syscall(i64 202" in team_ir("x86_64-unknown-linux-gnu")
        True
    """
    system = _system(triple)
    return f"{system.declarations}\n{_waiting(system)}{_BARRIER}{_RUN}{_WORKER}"
