"""The workers of a team as LLVM IR: threads that wait for loops, take chunks of them, and stay away if they are late.

See `team_ir`.
"""

from __future__ import annotations

from wengert.compiler.runtime.threads.shared_block import at

#: How often a worker yields its processor while a region is open that has no chunk for it, before it sleeps all the
#: same: some 20 milliseconds.
_OPEN_YIELDS = 4096
#: A worker that takes this many times what a chunk takes the owner was not running.
_LATE = 4
#: A worker that was there for so many times what the owner now waited for it has made up for that. Otherwise it stays
#: away, so many times as long, twice as long as before, or so many nanoseconds.
_GOOD = 8
_PENALTY = 4
_LONGEST = 50_000_000

# A region is open while the workers have done more than their owner knows of, or less. To look at that now and then is
# enough, and keeps its line of the cache with the owner.
_TAKE = f"""
define void @wengert_worker(ptr %team, i64 %index) nounwind {{
entry:
  {at("word")}
  {at("function")}
  {at("frame")}
  {at("size")}
  {at("longer")}
  {at("done")}
  {at("expected")}
  {at("waiting")}
  {at("bell")}
  {at("sleepers")}
  {at("stop")}
  {at("watchers", "i64")}
  {at("watch", "i64")}
  {at("yield", "i64")}
  {at("parts", "i64")}
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
  %kept = call i32 @ring(ptr %done.at, i32 %grains.done, ptr %waiting.at)
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
  {at("place")}
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
  {at("since")}
  {at("usual")}
  {at("stop")}
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

#: Needs ``chunk``, ``portion``, ``taken`` and ``ring`` of `team_ir`, and `team_system`.
WORKER = _TAKE + _PART + _AWAY
