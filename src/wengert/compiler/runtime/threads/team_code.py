"""The team of threads as LLVM IR: guided self-scheduling of loops, without a barrier.

The thread that runs a program, the primary thread, offers the tiles of a loop to the team, takes part, and waits only
for tiles that a worker has started. The tiles are grouped in grains. A thread claims a chunk of grains with one
addition to a word that holds the number of grains, and how many are claimed from the front, by the primary thread, and
from the back, by workers::

    word = grains << 32 | back << 16 | front

While more than half of the grains are left, chunks are equal; then each is a part of the rest, so that the threads end
at about the same time (guided self-scheduling; Polychronopoulos and Kuck, 1987). Each thread has about the same tiles
in one loop and the next, so that their data are in its cache. A claim belongs to the region that is open at that
moment, though its size was chosen a moment before. With ``front + back < grains`` it gets as many grains as are left,
and the fields that describe the region stay until the chunk is done, because the primary thread waits for it;
otherwise the claim is empty, and the next region overwrites it. So a worker may be preempted between any two
instructions. A claim acquires the fields that the primary thread released with the word, and the primary thread
acquires the results that a worker released with the count of done grains.

If a worker did not run while the primary thread waited for its chunk, because another process has its processor, it
leaves the team for a while: one such wait takes as long as thousands of loops.

A worker that did a chunk spins on the word while that region is open, within limits, and for a short time after it or
after an event. Then it sleeps in the kernel until the next event (a futex on Linux): the start of a program, or a
region that turns out to be long. A worker counts itself as a sleeper before the kernel compares the event count, and
the thread that advances the event count does so before it reads the number of sleepers. Both are sequentially
consistent, so that one of them sees the other (Dekker's argument; eventcounts: Reed and Kanodia, 1979; Drepper,
Futexes are tricky, 2011). The primary thread waits for the last chunks in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

# -- the memory that the threads of a team share ---------------------------------------------------------

#: Two cache lines: processors prefetch them in pairs.
_APART = 128

#: The offset of each field of the block.
FIELDS = {
    # Written once, before there are workers.
    "grains": 0,  # i64: the grains of a loop, at most; 1 for a team of one
    "spinners": 8,  # i64: how many threads spin between regions; the others sleep
    "spin": 16,  # i64: how often a worker reads the word after a region, before it sleeps
    "yield": 24,  # i64: after how many of these reads it yields its processor, each time
    "wait": 32,  # i64: how often the primary thread reads the count of done grains, before it sleeps
    "threads": 40,  # i64: how many threads run at the same time
    "surplus": 48,  # i64: how many workers are more than that, and do not spin
    "parts": 56,  # i64: a chunk is this part of half of the grains, or of the rest if that is less
    # The region.
    "word": _APART,  # i64: grains << 32 | back << 16 | front
    "function": _APART + 8,  # ptr
    "frame": _APART + 16,  # ptr
    "size": _APART + 24,  # i64: tiles of a grain
    "longer": _APART + 32,  # i64: how many grains, the first ones, have one tile more
    # How many grains the workers have done, ever.
    "done": 2 * _APART,  # i32
    "waiting": 2 * _APART + 4,  # i32: whether the primary thread sleeps
    "since": 2 * _APART + 8,  # i64: when it fell asleep
    "usual": 2 * _APART + 16,  # i64: how long the primary thread takes for one of the longest chunks
    # Workers sleep on the event count.
    "event": 3 * _APART,  # i32: the number of events
    "sleepers": 3 * _APART + 4,  # i32
    "stop": 3 * _APART + 8,  # i32: whether the workers must leave
    "place": 3 * _APART + 12,  # i32: the processor of the primary thread
    # Written by the primary thread only: how many grains workers got, ever, without the region that is open.
    "expected": 4 * _APART,  # i32
}
#: The size of the block.
BLOCK_BYTES = 5 * _APART


def _at(fields: str, kind: str = "") -> str:
    """Return the IR for the addresses of fields of the block and, with a type, for loads of them."""
    lines: list[str] = []
    for field in fields.split():
        lines.append(f"%{field}.at = getelementptr inbounds i8, ptr %team, i64 {FIELDS[field]}")
        if kind:
            lines.append(f"%{field} = load {kind}, ptr %{field}.at, align 8")
    return "\n  ".join(lines)


# -- the operating system and the processor --------------------------------------------------------------

_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, among the threads of one process
_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}


class _System(NamedTuple):
    """The IR that differs between systems."""

    sleep: str
    nap: str
    wake: str
    clock: int
    processors: str
    declarations: str


# The kernel leaves a thread on its processor while it is allowed there; so forbid that processor, then allow it again.
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
    # Elsewhere a sleeper reads the word now and then.
    sleep, nap = (f"call i32 @usleep(i32 {length})" for length in (100, 1000))
    clock = 1 if "linux" in triple else 6
    return _System(sleep, nap, "add i32 0, 0", clock, _NO_PROCESSORS, "declare i32 @usleep(i32)")


def _waiting(system: _System, pause: str) -> str:
    """Return how a thread sleeps, is woken and spins."""
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
"""


def _clock(system: _System) -> str:
    """Return how a thread reads the monotonic clock, in nanoseconds."""
    return f"""define internal i64 @clock() nounwind noinline {{
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


def _system_ir(triple: str) -> str:
    """Return the functions that depend on the system.

    * ``void pause()`` is a hint that the thread waits in a loop;
    * ``void sleep(word, old, sleepers)`` counts the thread as a sleeper until a word has another value;
    * ``void nap(word, old, time)`` sleeps for a time, or less;
    * ``void wake(word)`` wakes all that sleep on a word;
    * ``i64 clock()`` is a time in nanoseconds;
    * ``i32 processor()`` is the processor of the thread, or -1;
    * ``void leave(processor)`` moves the thread to another processor, if it may use one.
    """
    architecture = triple.split("-")[0]
    system = _system(triple, architecture)
    hint = _PAUSE.get(architecture)
    declaration = f"declare void @{hint.replace('i32 1', 'i32')}\n" if hint else ""
    pause = f"call void @{hint}" if hint else ""
    return f"{declaration}{_waiting(system, pause)}\n{_clock(system)}{system.processors}"


# -- the primary thread ----------------------------------------------------------------------------------

#: How often the primary thread yields its processor before it sleeps.
_YIELDS = 4
#: It pays to wake a worker if more than this is left after the first chunk of the primary thread, in nanoseconds of one
#: thread; measured with two processors.
_WORTH = 200_000

_EVENT = f"""
define internal i32 @advance(ptr %word, i32 %more, ptr %sleepers) nounwind alwaysinline {{
  %before = atomicrmw add ptr %word, i32 %more seq_cst, align 4
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %call
call:
  call void @wake(ptr %word)
  br label %done
done:
  ret i32 %count
}}

define void @wengert_wake(ptr %team) nounwind {{
entry:
  %no.team = icmp eq ptr %team, null
  br i1 %no.team, label %done, label %some
some:
  {_at("grains", "i64")}
  %alone = icmp ult i64 %grains, 2
  br i1 %alone, label %done, label %call
call:
  {_at("event sleepers place")}
  %processor = call i32 @processor()
  store atomic i32 %processor, ptr %place.at monotonic, align 4
  %asleep = call i32 @advance(ptr %event.at, i32 1, ptr %sleepers.at)
  br label %done
done:
  ret void
}}

define void @wengert_stop(ptr %team) nounwind {{
  {_at("stop")}
  store atomic i32 1, ptr %stop.at seq_cst, align 4
  call void @wake(ptr %stop.at)
  call void @wengert_wake(ptr %team)
  ret void
}}
"""

_CHUNK = """
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

define internal i64 @begin(i64 %grain, i64 %size, i64 %longer) nounwind alwaysinline {
  %all = mul i64 %grain, %size
  %more = call i64 @llvm.umin.i64(i64 %grain, i64 %longer)
  %tile = add i64 %all, %more
  ret i64 %tile
}

define internal void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %grain, i64 %count, i64 %index)
    nounwind alwaysinline {
  %end = add i64 %grain, %count
  %first = call i64 @begin(i64 %grain, i64 %size, i64 %longer)
  %last = call i64 @begin(i64 %end, i64 %size, i64 %longer)
  call void %function(ptr %frame, i64 %first, i64 %last, i64 %index)
  ret void
}
"""

# The size of the next chunk when some grains are claimed: at least one, even if none is left.
_PORTION = """
define internal i64 @portion(i64 %grains, i64 %taken, i64 %parts) nounwind alwaysinline {
  %left = sub i64 %grains, %taken
  %half = lshr i64 %grains, 1
  %counted = call i64 @llvm.umin.i64(i64 %left, i64 %half)
  %some = udiv i64 %counted, %parts
  %portion = call i64 @llvm.umax.i64(i64 %some, i64 1)
  ret i64 %portion
}
"""

# The number of claimed grains.
_TAKEN = """
define internal i64 @taken(i64 %word) alwaysinline nounwind {
  %front = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %back = and i64 %shifted, 65535
  %both = add i64 %front, %back
  ret i64 %both
}
"""

_THREADS = f"""
define i64 @wengert_threads(ptr %team) nounwind {{
entry:
  %no.team = icmp eq ptr %team, null
  br i1 %no.team, label %alone, label %some
some:
  {_at("threads", "i64")}
  ret i64 %threads
alone:
  ret i64 1
}}
"""

# The estimate: each unclaimed grain takes as long as one of the first chunk.
_WAKE_IF_LONG = f"""
define internal void @wake_if_long(ptr %team, i64 %start, i64 %first, i64 %others) nounwind {{
entry:
  {_at("sleepers")}
  {_at("surplus", "i64")}
  %sleepers = load atomic i32, ptr %sleepers.at monotonic, align 4
  %asleep = zext i32 %sleepers to i64
  %missing = icmp ugt i64 %asleep, %surplus
  br i1 %missing, label %look, label %done
look:
  %now = call i64 @clock()
  %chunk = sub i64 %now, %start
  %product = mul i64 %chunk, %others
  %left = udiv i64 %product, %first
  %long = icmp sgt i64 %left, {_WORTH}
  br i1 %long, label %wake, label %done
wake:
  call void @wengert_wake(ptr %team)
  br label %done
done:
  ret void
}}
"""

_SHARE = f"""
define void @wengert_share(ptr %team, ptr %function, ptr %frame, i64 %tiles, i64 %most) nounwind {{
entry:
  %no.team = icmp eq ptr %team, null
  br i1 %no.team, label %alone, label %some
some:
  {_at("grains", "i64")}
  %enough = call i64 @llvm.umin.i64(i64 %grains, i64 %most)
  %number = call i64 @llvm.umin.i64(i64 %enough, i64 %tiles)
  %few = icmp ult i64 %number, 2
  br i1 %few, label %alone, label %publish
alone:
  %any = icmp ne i64 %tiles, 0
  br i1 %any, label %whole, label %return
whole:
  call void %function(ptr %frame, i64 0, i64 %tiles, i64 0)
  br label %return
return:
  ret void
publish:
  {_at("word function frame size longer")}
  {_at("expected", "i32")}
  {_at("parts", "i64")}
  %start = call i64 @clock()
  %size = udiv i64 %tiles, %number
  %longer = urem i64 %tiles, %number
  store ptr %function, ptr %function.at, align 8
  store ptr %frame, ptr %frame.at, align 8
  store i64 %size, ptr %size.at, align 8
  store i64 %longer, ptr %longer.at, align 8
  %high = shl i64 %number, 32
  %long = call i64 @portion(i64 %number, i64 0, i64 %parts)
  %open = or i64 %high, %long
  store atomic i64 %open, ptr %word.at release, align 8
  br label %mine
mine:
  %this = phi i64 [ 0, %publish ], [ %next, %further ], [ %next, %count ]
  %given = phi i64 [ %long, %publish ], [ %won, %further ], [ %won, %count ]
  %own = phi i64 [ %long, %publish ], [ %owned, %further ], [ %owned, %count ]
  %known = phi i64 [ %long, %publish ], [ %begun, %further ], [ %begun, %count ]
  call void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %this, i64 %given, i64 0)
  %portion = call i64 @portion(i64 %number, i64 %known, i64 %parts)
  %claimed = atomicrmw add ptr %word.at, i64 %portion monotonic, align 8
  %next = and i64 %claimed, 65535
  %both = call i64 @taken(i64 %claimed)
  %any.left = icmp ult i64 %both, %number
  br i1 %any.left, label %further, label %ours
further:
  %left = sub i64 %number, %both
  %won = call i64 @llvm.umin.i64(i64 %portion, i64 %left)
  %begun = add i64 %both, %won
  %owned = add i64 %own, %won
  %first = icmp eq i64 %this, 0
  br i1 %first, label %count, label %mine
count:
  %others = sub i64 %number, %begun
  call void @wake_if_long(ptr %team, i64 %start, i64 %long, i64 %others)
  br label %mine
ours:
  %theirs = sub i64 %number, %own
  %grains.theirs = trunc i64 %theirs to i32
  %then = add i32 %expected, %grains.theirs
  store atomic i32 %then, ptr %expected.at monotonic, align 4
  call void @finish(ptr %team, i32 %then, i64 %start, i64 %long, i64 %own)
  ret void
}}
"""

_FINISH = f"""
define internal void @finish(ptr %team, i32 %expected, i64 %start, i64 %long, i64 %own) nounwind {{
entry:
  {_at("done waiting since usual")}
  {_at("wait", "i64")}
  %late = add i64 %wait, {_YIELDS}
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %more, %again ], [ %more, %yield ]
  %now = load atomic i32, ptr %done.at acquire, align 4
  %over = icmp eq i32 %now, %expected
  br i1 %over, label %end, label %stay
stay:
  %more = add i64 %looks, 1
  %patient = icmp ult i64 %looks, %wait
  br i1 %patient, label %again, label %give
again:
  call void @pause()
  br label %look
give:
  %awake = icmp ult i64 %looks, %late
  br i1 %awake, label %yield, label %tired
yield:
  %yielded = call i32 @sched_yield()
  br label %look
tired:
  %since = call i64 @clock()
  %passed = sub i64 %since, %start
  %product = mul i64 %passed, %long
  %usual = udiv i64 %product, %own
  store atomic i64 %since, ptr %since.at monotonic, align 8
  store atomic i64 %usual, ptr %usual.at monotonic, align 8
  br label %rest
rest:
  %seen = phi i32 [ %now, %tired ], [ %then, %rest ]
  call void @sleep(ptr %done.at, i32 %seen, ptr %waiting.at)
  %then = load atomic i32, ptr %done.at acquire, align 4
  %finished = icmp eq i32 %then, %expected
  br i1 %finished, label %end, label %rest
end:
  ret void
}}
"""

# -- workers ---------------------------------------------------------------------------------------------

#: How often a worker yields its processor while a region is open that has no chunk for it, before it sleeps: 20 ms.
_OPEN_YIELDS = 4096
#: A worker that takes this many times as long for a chunk as the primary thread was preempted.
_LATE = 4
#: A late worker stays if it was in the team for this many times the wait. Otherwise it leaves, for this many times the
#: wait or twice as long as the last time, and at most for this many nanoseconds.
_GOOD = 8
_PENALTY = 4
_LONGEST = 50_000_000

# A region is open while `done` and `expected` differ. The worker compares them only now and then, so that the cache
# line of `expected` stays with the primary thread.
_WORKER = f"""
define void @wengert_worker(ptr %team, i64 %index) nounwind {{
entry:
  {_at("word function frame size longer done expected waiting event sleepers stop")}
  {_at("spinners spin yield parts", "i64")}
  %memory = alloca [2 x i64], align 8
  store [2 x i64] zeroinitializer, ptr %memory, align 8
  %spinner = icmp ult i64 %index, %spinners
  %patience = select i1 %spinner, i64 %spin, i64 0
  br label %awake
awake:
  %heard = load atomic i32, ptr %event.at acquire, align 4
  %stopped = load atomic i32, ptr %stop.at monotonic, align 4
  %leave = icmp ne i32 %stopped, 0
  br i1 %leave, label %end, label %look
look:
  %looks = phi i64 [ 0, %awake ], [ %more, %again ], [ %counted, %give ], [ 0, %claim ]
  %yields = phi i64 [ 0, %awake ], [ %yields, %again ], [ %yields.next, %give ], [ 0, %claim ]
  %until = phi i64 [ 0, %awake ], [ %sooner, %again ], [ %yield, %give ], [ %yield, %claim ]
  %word = load atomic i64, ptr %word.at monotonic, align 8
  %of = lshr i64 %word, 32
  %at = call i64 @taken(i64 %word)
  %open = icmp ult i64 %at, %of
  br i1 %open, label %claim, label %closed
closed:
  %patient = icmp ult i64 %looks, %patience
  br i1 %patient, label %stay, label %idle
stay:
  %more = add i64 %looks, 1
  %sooner = sub i64 %until, 1
  %polite = icmp slt i64 %sooner, 0
  br i1 %polite, label %give, label %again
give:
  call void @part(ptr %team)
  %yielded = call i32 @sched_yield()
  %ready = load atomic i32, ptr %done.at monotonic, align 4
  %ended = load atomic i32, ptr %expected.at monotonic, align 4
  %unfinished = icmp ne i32 %ready, %ended
  %yields.next = add i64 %yields, 1
  %early = icmp ult i64 %yields, {_OPEN_YIELDS}
  %free = and i1 %unfinished, %early
  %counted = select i1 %free, i64 0, i64 %more
  br label %look
again:
  call void @pause()
  br label %look
claim:
  %all = phi i64 [ %of, %look ], [ %grains, %work ]
  %known = phi i64 [ %at, %look ], [ %begun, %work ]
  %portion = call i64 @portion(i64 %all, i64 %known, i64 %parts)
  %high = shl i64 %portion, 16
  %claimed = atomicrmw add ptr %word.at, i64 %high acquire, align 8
  %grains = lshr i64 %claimed, 32
  %before = call i64 @taken(i64 %claimed)
  %any.left = icmp ult i64 %before, %grains
  br i1 %any.left, label %work, label %look
work:
  %left = sub i64 %grains, %before
  %won = call i64 @llvm.umin.i64(i64 %portion, i64 %left)
  %begun = add i64 %before, %won
  %shifted = lshr i64 %claimed, 16
  %back = and i64 %shifted, 65535
  %after = add i64 %back, %won
  %first = sub i64 %grains, %after
  %function = load ptr, ptr %function.at, align 8
  %frame = load ptr, ptr %frame.at, align 8
  %size = load i64, ptr %size.at, align 8
  %longer = load i64, ptr %longer.at, align 8
  call void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %first, i64 %won, i64 %index)
  %grains.done = trunc i64 %won to i32
  %kept = call i32 @advance(ptr %done.at, i32 %grains.done, ptr %waiting.at)
  %waited = icmp ne i32 %kept, 0
  br i1 %waited, label %late, label %claim
late:
  call void @away(ptr %team, ptr %memory)
  br label %awake
idle:
  call void @sleep(ptr %event.at, i32 %heard, ptr %sleepers.at)
  br label %awake
end:
  ret void
}}
"""

# The kernel may place a woken thread on the processor of the thread that woke it, where neither helps the other.
_PART = f"""
define internal void @part(ptr %team) nounwind {{
entry:
  {_at("place")}
  %place = load atomic i32, ptr %place.at monotonic, align 4
  %here = call i32 @processor()
  %same = icmp eq i32 %place, %here
  br i1 %same, label %move, label %done
move:
  call void @leave(i32 %here)
  br label %done
done:
  ret void
}}
"""

# The memory of a worker: how long it was away the last time, and when it came back.
_AWAY = f"""
define internal void @away(ptr %team, ptr %memory) nounwind noinline {{
entry:
  {_at("since usual stop")}
  %time = alloca [2 x i64], align 8
  %rest.at = getelementptr i64, ptr %time, i64 1
  %back.at = getelementptr i64, ptr %memory, i64 1
  %since = load atomic i64, ptr %since.at monotonic, align 8
  %usual = load atomic i64, ptr %usual.at monotonic, align 8
  %now = call i64 @clock()
  %waited = sub i64 %now, %since
  %fair = mul i64 %usual, {_LATE}
  %late = icmp sgt i64 %waited, %fair
  br i1 %late, label %leave, label %end
leave:
  %before = load i64, ptr %memory, align 8
  %back = load i64, ptr %back.at, align 8
  %there = sub i64 %since, %back
  %fine = mul i64 %waited, {_GOOD}
  %bad = icmp slt i64 %there, %fine
  %first = mul i64 %waited, {_PENALTY}
  %twice = mul i64 %before, 2
  %long = call i64 @llvm.umax.i64(i64 %first, i64 %twice)
  %short = call i64 @llvm.umin.i64(i64 %long, i64 {_LONGEST})
  %length = select i1 %bad, i64 %short, i64 0
  %until = add i64 %now, %length
  store i64 %length, ptr %memory, align 8
  store i64 %until, ptr %back.at, align 8
  br label %check
check:
  %clock = phi i64 [ %now, %leave ], [ %later, %sleep ]
  %left = sub i64 %until, %clock
  %over = icmp slt i64 %left, 1
  %stopped = load atomic i32, ptr %stop.at monotonic, align 4
  %stop.now = icmp ne i32 %stopped, 0
  %return = or i1 %over, %stop.now
  br i1 %return, label %end, label %sleep
sleep:
  %seconds = udiv i64 %left, 1000000000
  %rest = urem i64 %left, 1000000000
  store i64 %seconds, ptr %time, align 8
  store i64 %rest, ptr %rest.at, align 8
  call void @nap(ptr %stop.at, i32 0, ptr %time)
  %later = call i64 @clock()
  br label %check
end:
  ret void
}}
"""


def team_ir(triple: str) -> str:
    """Return the module of the team.

    * ``void wengert_share(team, function, frame, tiles, most)`` calls ``function(frame, first, last, index)`` for
      chunks that together are all the tiles from 0 on, at most ``most`` of them, on the threads of the team that are
      running, and returns when all are done; the index is 0 for the primary thread, and from 1 on for the workers.
    * ``i64 wengert_threads(team)`` returns how many threads of the team run at the same time.
    * ``void wengert_wake(team)`` wakes the sleeping workers; `wengert_share` does so only in a long region.
    * ``void wengert_worker(team, index)`` takes part in all regions until ``wengert_stop(team)``.
    * ``void wengert_pause(count)`` spins as long as that many reads of a word take.

    Example:
        >>> "@syscall(i64 202" in team_ir("x86_64-unknown-linux-gnu")
        True
    """
    primary = _EVENT + _CHUNK + _PORTION + _TAKEN + _THREADS + _WAKE_IF_LONG + _SHARE + _FINISH
    return _system_ir(triple) + primary + _WORKER + _PART + _AWAY
