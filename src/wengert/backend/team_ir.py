"""The team of threads as LLVM IR: how a loop's tiles are dealt out to whoever is there.

The thread that runs a program offers the tiles of a loop to the team, takes part, and waits only for tiles that
another thread has begun: no thread is waited for because it exists (self-scheduling; Polychronopoulos and Kuck,
Guided self-scheduling, 1987, section 2). The tiles lie in chunks, and a chunk is claimed with one addition to a word
that holds the number of chunks, and how many are taken from the front, by the owner, and from the back, by workers::

    word = chunks << 32 | back << 16 | front

From one loop to the next each thread so has about the same tiles, whose data are in its cache. Whatever the addition
returns belongs to the region of that moment: with ``front + back < chunks`` it is a claim, and what describes the
region stays as it is until the chunk is done, because the owner waits for that; otherwise it is nothing, and the owner
overwrites it. So a worker may sleep between any two instructions. The claim acquires what the owner released with the
word, and the owner acquires what a worker released with the count of chunks done.

A worker that was not running while the owner waited for its chunk, because another process has its processor, stays
away for a while: one such wait takes as long as thousands of loops.

A worker watches the word for a short time after the last region or ring of the bell, then sleeps in the kernel until
the bell is rung again (a futex on Linux). It counts itself before the kernel compares the bell, and who rings changes
the bell before reading the count, both in the one order of sequential consistency, so that one of them sees the other
(Dekker's argument; Drepper, Futexes are tricky, 2011). The owner waits for the last chunks in the same way.
"""

from __future__ import annotations

from wengert.backend.team_system import system_ir

#: Two cache lines: processors fetch them in pairs.
_APART = 128

#: Where each field of the block begins.
FIELDS = {
    # Written once, before there are workers.
    "chunks": 0,  # i64: into how many chunks a loop goes; 1 for a team of one
    "watchers": 8,  # i64: how many threads watch for regions; the others sleep whenever there is none
    "watch": 16,  # i64: how many looks at the word after a region, before a worker sleeps
    "yield": 24,  # i64: after how many of them it yields its processor, each time
    "wait": 32,  # i64: how many looks at what is done, before the owner sleeps
    # The region.
    "word": _APART,  # i64: chunks << 32 | back << 16 | front
    "function": _APART + 8,  # ptr
    "frame": _APART + 16,  # ptr
    "size": _APART + 24,  # i64: tiles of a chunk
    "longer": _APART + 32,  # i64: how many chunks, the first ones, have a tile more
    # How many chunks the workers have done, ever.
    "done": 2 * _APART,  # i32
    "waiting": 2 * _APART + 4,  # i32: whether the owner sleeps
    "since": 2 * _APART + 8,  # i64: when it began to
    "usual": 2 * _APART + 16,  # i64: how long a chunk took the owner
    # What workers sleep on.
    "bell": 3 * _APART,  # i32: how often it was rung
    "sleepers": 3 * _APART + 4,  # i32
    "stop": 3 * _APART + 8,  # i32: whether the workers must leave
    "place": 3 * _APART + 12,  # i32: the processor of the owner
    # What only the owner uses.
    "expected": 4 * _APART,  # i32: how many chunks the workers were given, ever
}
#: The size of the block.
BLOCK_BYTES = 5 * _APART

#: How often the owner yields its processor before it sleeps.
_YIELDS = 4
#: A worker that takes this many times what a chunk takes the owner was not running.
_LATE = 4
#: A worker that was there for so many times what the owner now waited for it has made up for that. Otherwise it stays
#: away, so many times as long, twice as long as before, or so many nanoseconds.
_GOOD = 8
_PENALTY = 4
_LONGEST = 50_000_000


def _at(field: str, kind: str = "") -> str:
    """Write how to find a field of the block and, if it has a type here, to load it."""
    place = f"%{field}.at = getelementptr inbounds i8, ptr %team, i64 {FIELDS[field]}"
    return f"{place}\n  %{field} = load {kind}, ptr %{field}.at, align 8" if kind else place


_BELL = f"""
define internal i32 @ring(ptr %word, ptr %sleepers) nounwind alwaysinline {{
  %before = atomicrmw add ptr %word, i32 1 seq_cst, align 4
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
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %done, label %some
some:
  {_at("chunks", "i64")}
  %alone = icmp ult i64 %chunks, 2
  br i1 %alone, label %done, label %call
call:
  {_at("bell")}
  {_at("sleepers")}
  {_at("place")}
  %processor = call i32 @processor()
  store atomic i32 %processor, ptr %place.at monotonic, align 4
  %asleep = call i32 @ring(ptr %bell.at, ptr %sleepers.at)
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

define internal void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %number, i64 %index)
    nounwind alwaysinline {
  %all = mul i64 %number, %size
  %more = call i64 @llvm.umin.i64(i64 %number, i64 %longer)
  %first = add i64 %all, %more
  %long = icmp ult i64 %number, %longer
  %one = zext i1 %long to i64
  %own = add i64 %size, %one
  %last = add i64 %first, %own
  call void %function(ptr %frame, i64 %first, i64 %last, i64 %index)
  ret void
}
"""

# How many chunks are taken.
_TAKEN = """
define internal i64 @taken(i64 %word) alwaysinline nounwind {
  %front = and i64 %word, 65535
  %shifted = lshr i64 %word, 16
  %back = and i64 %shifted, 65535
  %both = add i64 %front, %back
  ret i64 %both
}
"""

_SHARE = f"""
define void @wengert_share(ptr %team, ptr %function, ptr %frame, i64 %tiles) nounwind {{
entry:
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %alone, label %some
some:
  {_at("chunks", "i64")}
  %number = call i64 @llvm.umin.i64(i64 %chunks, i64 %tiles)
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
  {_at("word")}
  {_at("function")}
  {_at("frame")}
  {_at("size")}
  {_at("longer")}
  {_at("expected", "i32")}
  %start = call i64 @clock()
  %size = udiv i64 %tiles, %number
  %longer = urem i64 %tiles, %number
  store ptr %function, ptr %function.at, align 8
  store ptr %frame, ptr %frame.at, align 8
  store i64 %size, ptr %size.at, align 8
  store i64 %longer, ptr %longer.at, align 8
  %high = shl i64 %number, 32
  %open = or i64 %high, 1
  store atomic i64 %open, ptr %word.at release, align 8
  br label %mine
mine:
  %this = phi i64 [ 0, %publish ], [ %next, %mine ]
  %own = phi i64 [ 1, %publish ], [ %owned, %mine ]
  call void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %this, i64 0)
  %claimed = atomicrmw add ptr %word.at, i64 1 monotonic, align 8
  %next = and i64 %claimed, 65535
  %both = call i64 @taken(i64 %claimed)
  %owned = add i64 %own, 1
  %left = icmp ult i64 %both, %number
  br i1 %left, label %mine, label %ours
ours:
  %theirs = sub i64 %number, %own
  %given = trunc i64 %theirs to i32
  %then = add i32 %expected, %given
  store i32 %then, ptr %expected.at, align 8
  call void @finish(ptr %team, i32 %then, i64 %start, i64 %own)
  ret void
}}
"""

_FINISH = f"""
define internal void @finish(ptr %team, i32 %expected, i64 %start, i64 %own) nounwind {{
entry:
  {_at("done")}
  {_at("waiting")}
  {_at("since")}
  {_at("usual")}
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
  %usual = udiv i64 %passed, %own
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

_WORKER = f"""
define void @wengert_worker(ptr %team, i64 %index) nounwind {{
entry:
  {_at("word")}
  {_at("function")}
  {_at("frame")}
  {_at("size")}
  {_at("longer")}
  {_at("done")}
  {_at("waiting")}
  {_at("bell")}
  {_at("sleepers")}
  {_at("stop")}
  {_at("watchers", "i64")}
  {_at("watch", "i64")}
  {_at("yield", "i64")}
  %memory = alloca [2 x i64], align 8
  store [2 x i64] zeroinitializer, ptr %memory, align 8
  %watcher = icmp ult i64 %index, %watchers
  %patience = select i1 %watcher, i64 %watch, i64 0
  br label %awake
awake:
  %heard = load atomic i32, ptr %bell.at acquire, align 4
  %stopped = load atomic i32, ptr %stop.at monotonic, align 4
  %leave = icmp ne i32 %stopped, 0
  br i1 %leave, label %end, label %look
look:
  %looks = phi i64 [ 0, %awake ], [ %more, %again ], [ %more, %give ], [ 0, %claim ]
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
  br label %look
again:
  call void @pause()
  br label %look
claim:
  %claimed = atomicrmw add ptr %word.at, i64 65536 acquire, align 8
  %chunks = lshr i64 %claimed, 32
  %before = call i64 @taken(i64 %claimed)
  %won = icmp ult i64 %before, %chunks
  br i1 %won, label %work, label %look
work:
  %shifted = lshr i64 %claimed, 16
  %back = and i64 %shifted, 65535
  %after = add i64 %back, 1
  %number = sub i64 %chunks, %after
  %function = load ptr, ptr %function.at, align 8
  %frame = load ptr, ptr %frame.at, align 8
  %size = load i64, ptr %size.at, align 8
  %longer = load i64, ptr %longer.at, align 8
  call void @chunk(ptr %function, ptr %frame, i64 %size, i64 %longer, i64 %number, i64 %index)
  %kept = call i32 @ring(ptr %done.at, ptr %waiting.at)
  %waited = icmp ne i32 %kept, 0
  br i1 %waited, label %late, label %claim
late:
  call void @away(ptr %team, ptr %memory)
  br label %awake
idle:
  call void @sleep(ptr %bell.at, i32 %heard, ptr %sleepers.at)
  br label %awake
end:
  ret void
}}
"""

# A thread that wakes another may get it on its own processor, where neither helps the other.
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

# The memory of a worker: for how long it was away the last time, and when it came back.
_AWAY = f"""
define internal void @away(ptr %team, ptr %memory) nounwind noinline {{
entry:
  {_at("since")}
  {_at("usual")}
  {_at("stop")}
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
  %told = icmp ne i32 %stopped, 0
  %return = or i1 %over, %told
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
    """Return the module of the team: how to share a loop, and to be a worker.

    * ``void wengert_share(team, function, frame, tiles)`` calls ``function(frame, first, last, index)`` for chunks that
      together are all the tiles from 0 on, on whichever threads of the team are there, and returns when all are done;
      the index is 0 for the owner, and from 1 on for the workers.
    * ``void wengert_wake(team)`` wakes the workers that sleep; `wengert_share` leaves them alone.
    * ``void wengert_worker(team, index)`` takes part in whatever is shared until ``wengert_stop(team)``.
    * ``void wengert_pause(count)`` passes a time of that many looks at a word.

    Example:
        >>> "@syscall(i64 202" in team_ir("x86_64-unknown-linux-gnu")
        True
    """
    return "".join((system_ir(triple), _BELL, _CHUNK, _TAKEN, _SHARE, _FINISH, _WORKER, _PART, _AWAY))
