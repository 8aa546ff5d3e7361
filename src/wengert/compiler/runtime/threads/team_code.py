"""The team of threads as LLVM IR: how a loop's tiles are dealt out to whoever is there.

The thread that runs a program offers the tiles of a loop to the team, takes part, and waits only for tiles that
another thread has begun: no thread is waited for because it exists. The tiles lie in grains, and a chunk of so many
grains is claimed with one addition to a word that holds the number of grains, and how many are taken from the front, by
the owner, and from the back, by workers::

    word = grains << 32 | back << 16 | front

While more than half of the grains are left, chunks are equal; then each is a part of what is left, so that the threads
are done at about the same time (guided self-scheduling; Polychronopoulos and Kuck, 1987). From one loop to the next
each thread has about the same tiles, whose data are in its cache. Whatever the addition returns belongs to the region
of that moment, though its size was chosen a moment before: with ``front + back < grains`` it is a claim, of as many
grains as there still are, and what describes the region stays as it is until the chunk is done, because the owner waits
for that; otherwise it is nothing, and the owner overwrites it. So a worker may sleep between any two instructions. The
claim acquires what the owner released with the word, and the owner acquires what a worker released with the count of
grains done.

A worker that was not running while the owner waited for its chunk, because another process has its processor, stays
away for a while: one such wait takes as long as thousands of loops.

A worker that did a chunk watches the word while that region is open, within limits, and for a short time after it or
after a ring of the bell. Then it sleeps in the kernel until the bell is rung again (a futex on Linux): where a program
begins, and in a region that turns out to be long. It counts itself before the kernel compares the bell, and who rings
changes the bell before reading the count, both in the one order of sequential consistency, so that one of them sees the
other (Dekker's argument; Drepper, Futexes are tricky, 2011). The owner waits for the last chunks in the same way.
"""

from __future__ import annotations

from wengert.compiler.runtime.threads.shared_block import at
from wengert.compiler.runtime.threads.system_code import system_ir
from wengert.compiler.runtime.threads.worker_code import WORKER

#: How often the owner yields its processor before it sleeps.
_YIELDS = 4
#: What is left of a region when the owner has done its first chunk, in nanoseconds of one thread, so that to wake a
#: worker repays its way there; measured with two processors.
_WORTH = 200_000

_BELL = f"""
define internal i32 @ring(ptr %word, i32 %more, ptr %sleepers) nounwind alwaysinline {{
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
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %done, label %some
some:
  {at("grains", "i64")}
  %alone = icmp ult i64 %grains, 2
  br i1 %alone, label %done, label %call
call:
  {at("bell")}
  {at("sleepers")}
  {at("place")}
  %processor = call i32 @processor()
  store atomic i32 %processor, ptr %place.at monotonic, align 4
  %asleep = call i32 @ring(ptr %bell.at, i32 1, ptr %sleepers.at)
  br label %done
done:
  ret void
}}

define void @wengert_stop(ptr %team) nounwind {{
  {at("stop")}
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

# How many grains to claim where so many are taken: at least one, even if none is left.
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

# How many grains are taken.
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
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %alone, label %some
some:
  {at("threads", "i64")}
  ret i64 %threads
alone:
  ret i64 1
}}
"""

# What no one has begun takes as long for each grain as the first chunk did.
_ROUSE = f"""
define internal void @rouse(ptr %team, i64 %start, i64 %first, i64 %others) nounwind {{
entry:
  {at("sleepers")}
  {at("surplus", "i64")}
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
  %nobody = icmp eq ptr %team, null
  br i1 %nobody, label %alone, label %some
some:
  {at("grains", "i64")}
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
  {at("word")}
  {at("function")}
  {at("frame")}
  {at("size")}
  {at("longer")}
  {at("expected", "i32")}
  {at("parts", "i64")}
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
  call void @rouse(ptr %team, i64 %start, i64 %long, i64 %others)
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
  {at("done")}
  {at("waiting")}
  {at("since")}
  {at("usual")}
  {at("wait", "i64")}
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


def team_ir(triple: str) -> str:
    """Return the module of the team: how to share a loop, and to be a worker.

    * ``void wengert_share(team, function, frame, tiles, most)`` calls ``function(frame, first, last, index)`` for
      chunks that together are all the tiles from 0 on, so many at most, on whichever threads of the team are there,
      and returns when all are done; the index is 0 for the owner, and from 1 on for the workers.
    * ``i64 wengert_threads(team)`` tells how many threads of the team run at the same time.
    * ``void wengert_wake(team)`` wakes the workers that sleep; `wengert_share` does so only in a long region.
    * ``void wengert_worker(team, index)`` takes part in whatever is shared until ``wengert_stop(team)``.
    * ``void wengert_pause(count)`` passes a time of that many looks at a word.

    Example:
        >>> "@syscall(i64 202" in team_ir("x86_64-unknown-linux-gnu")
        True
    """
    return "".join(
        (system_ir(triple), _BELL, _CHUNK, _PORTION, _TAKEN, _THREADS, _ROUSE, _SHARE, _FINISH, WORKER)
    )
