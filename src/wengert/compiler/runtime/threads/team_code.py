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

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager

from wengert.compiler.llvm.ir_builder import I64, POINTER, Builder, Kind, Value, constant
from wengert.engine.core.named_tuples import NamedTuple

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
    # The number of grains that the workers have done, ever.
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


# -- functions under construction ------------------------------------------------------------------------

_I8, _I32 = Kind("i8"), Kind("i32")
_NULL, _TEAM = Value("null", POINTER), Value("%team", POINTER)
#: Two words on the stack.
_PAIR = "alloca [2 x i64], align 8"
_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, among the threads of one process
_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}
_PARAMETER = r"(\w+) (%\w+)"
_NAME = r"@([\w.]+)\("
_Emit = Callable[..., None]
#: The functions of the team: what emits the body of each, by its signature.
_FUNCTIONS: dict[str, _Emit] = {}


def _function(signature: str) -> Callable[[_Emit], _Emit]:
    """Return a decorator for what emits the body of a function: it takes a builder and the parameters."""

    def enter(emit: _Emit) -> _Emit:
        _FUNCTIONS[signature] = emit
        return emit

    return enter


class _Builder(Builder):
    """Writes a function of the team: with the fields of the block, atomic operations and system calls."""

    def __init__(self, triple: str) -> None:
        super().__init__()
        architecture, is_linux = triple.split("-")[0], "linux" in triple
        self.futex = _FUTEX.get(architecture) if is_linux else None
        """The number of the system call by which threads sleep on a word.

        Where there is none, a sleeper reads the word now and then, and threads stay on their processors.
        """
        self.clock_number = 1 if is_linux else 6
        """The number of the monotonic clock."""
        self.hint = _PAUSE.get(architecture)
        """The intrinsic that says that the thread waits in a loop, with its operands."""

    def op(self, operation: str, x: Value, y: Value | int) -> Value:
        """Write a binary operation on integers, of which the second may be a number."""
        return self.binary(operation, x, constant(x.kind, y) if isinstance(y, int) else y)

    def test(self, condition: str, x: Value, y: Value | int) -> Value:
        """Compare integers, of which the second may be a number."""
        return self.compare(condition, x, constant(x.kind, y) if isinstance(y, int) else y)

    def ret(self, value: Value | str = "void") -> None:
        """Return from the function."""
        self.do(f"ret {value}")

    def return_if(self, condition: Value) -> None:
        """Return from the function on a condition."""
        with self.only_if(condition):
            self.ret()

    # -- memory ------------------------------------------------------------------------------------------

    def field(self, name: str) -> Value:
        """Return the address of a field of the block."""
        return self.element(_TEAM, "i8", constant(I64, FIELDS[name]))

    def get(self, name: str, kind: Kind = I64) -> Value:
        """Read a field of the block."""
        return self.load(self.field(name), kind, 8)

    def second(self, pair: Value) -> Value:
        """Return the address of the second of two words."""
        return self.element(pair, "i64", constant(I64, 1))

    def read(self, address: Value | str, kind: Kind, order: str) -> Value:
        """Read a word, or a field of the block, atomically."""
        address = self.field(address) if isinstance(address, str) else address
        return self.emit(f"load atomic {kind}, {address} {order}, align {kind.bytes}", kind)

    def write(self, name: str, value: Value, order: str) -> None:
        """Write a field of the block atomically."""
        self.do(f"store atomic {value}, {self.field(name)} {order}, align {value.kind.bytes}")

    def fetch_add(self, address: Value, number: Value, order: str) -> Value:
        """Add to a word atomically, and return what it was."""
        text = f"atomicrmw add {address}, {number} {order}, align {number.kind.bytes}"
        return self.emit(text, number.kind)

    # -- the operating system and the processor ----------------------------------------------------------

    def pause(self) -> None:
        """Tell the processor that the thread waits in a loop."""
        if self.hint:
            self.declared.add(f"declare void @{self.hint.replace('i32 1', 'i32')}")
            self.do(f"call void @{self.hint}")

    def wait(self, word: Value, old: Value, time: Value | None = None) -> None:
        """Sleep while a word has its old value, until it is woken or, if given, for a time at most."""
        if self.futex:
            self._call_futex(f"{word}, i32 {_WAIT}, {old}, {time or _NULL}")
        else:
            self.call("usleep", constant(_I32, 1000 if time else 100), result=_I32)

    def wake(self, word: Value) -> None:
        """Wake all threads that sleep on a word."""
        if self.futex:
            self._call_futex(f"{word}, i32 {_WAKE}, i32 {2**31 - 1}")

    def _call_futex(self, operands: str) -> None:
        self.declared.add("declare i64 @syscall(i64, ...)")
        self.emit(f"call i64 (i64, ...) @syscall(i64 {self.futex}, {operands})", I64)

    def processor(self) -> Value:
        """Return the number of the processor of the thread, or -1."""
        return self.call("sched_getcpu", result=_I32) if self.futex else constant(_I32, -1)

    def clock(self) -> Value:
        """Return the time in nanoseconds."""
        return self.call("clock", result=I64)

    # -- regions -----------------------------------------------------------------------------------------

    def advance(self, word: Value, number: Value, sleepers: Value) -> Value:
        """Add to a word, and wake the threads that sleep on it; return how many there were."""
        self.fetch_add(word, number, "seq_cst")
        asleep = self.read(sleepers, _I32, "seq_cst")
        with self.only_if(self.test("ne", asleep, 0)):
            self.call("wake", word, result=None)
        return asleep

    def front(self, word: Value) -> Value:
        """Return how many grains the primary thread claimed."""
        return self.op("and", word, 0xFFFF)

    def back(self, word: Value) -> Value:
        """Return how many grains the workers claimed."""
        return self.front(self.op("lshr", word, 16))

    def taken(self, word: Value) -> Value:
        """Return how many grains are claimed."""
        return self.op("add", self.front(word), self.back(word))

    def portion(self, grains: Value, taken: Value, parts: Value) -> Value:
        """Return the size of the next chunk: at least one grain, even if no grains are left."""
        left = self.op("sub", grains, taken)
        counted = self.intrinsic("umin", left, self.op("lshr", grains, 1))
        return self.intrinsic("umax", self.op("udiv", counted, parts), constant(I64, 1))

    def won(self, grains: Value, taken: Value, portion: Value) -> tuple[Value, Value]:
        """Return how many grains a claim gets, and how many are claimed with it."""
        won = self.intrinsic("umin", portion, self.op("sub", grains, taken))
        return won, self.op("add", taken, won)

    def chunk(self, region: _Region, grain: Value, count: Value, index: Value) -> None:
        """Call the function of a region for the tiles of a chunk of grains."""
        ends = grain, self.op("add", grain, count)
        first, last = (
            self.op("add", self.op("mul", end, region.size), self.intrinsic("umin", end, region.longer))
            for end in ends
        )
        self.do(f"call void {region.function.text}({region.frame}, {first}, {last}, {index})")


class _Region(NamedTuple):
    """The fields that describe a region."""

    function: Value
    frame: Value
    size: Value
    longer: Value


# -- the operating system --------------------------------------------------------------------------------


@_function("internal void @sleep(ptr %word, i32 %old, ptr %sleepers) noinline")
def _sleep(b: _Builder, word: Value, old: Value, sleepers: Value) -> None:
    """Count the thread as a sleeper until a word has another value."""
    b.fetch_add(sleepers, constant(_I32, 1), "seq_cst")
    with b.repeat() as loop:
        b.wait(word, old)
        loop.leave_if(b.compare("ne", b.read(word, _I32, "acquire"), old))
        loop.again()
    b.fetch_add(sleepers, constant(_I32, -1), "seq_cst")
    b.ret()


@_function("internal void @wake(ptr %word) noinline")
def _wake(b: _Builder, word: Value) -> None:
    b.wake(word)
    b.ret()


@_function("internal i64 @clock() noinline")
def _clock(b: _Builder) -> None:
    time = b.emit(_PAIR, POINTER)
    b.call("clock_gettime", constant(_I32, b.clock_number), time, result=_I32)
    seconds, nanoseconds = b.load(time, I64, 8), b.load(b.second(time), I64, 8)
    b.ret(b.op("add", b.op("mul", seconds, 10**9), nanoseconds))


@_function("internal void @leave(i32 %processor) noinline")
def _leave(b: _Builder, processor: Value) -> None:
    """Move the thread to another processor, if it may use one.

    The kernel leaves a thread on its processor while it is allowed there; so forbid that one, then allow it again.
    """
    if b.futex:
        bits, size, thread = Kind("[128 x i8]"), constant(I64, 128), constant(_I32, 0)
        allowed, others = (b.emit(f"alloca {bits}, align 8", POINTER) for _ in range(2))
        b.return_if(b.test("uge", processor, 1024))
        b.return_if(b.test("ne", b.call("sched_getaffinity", thread, size, allowed, result=_I32), 0))
        b.store(b.load(allowed, bits, 8), others, 8)
        byte = b.element(others, "i8", b.op("lshr", processor, 3))
        bit = b.op("shl", constant(_I8, 1), b.convert("trunc", b.op("and", processor, 7), "i8"))
        b.store(b.op("and", b.load(byte, _I8, 1), b.op("xor", bit, -1)), byte, 1)
        for mask in (others, allowed):
            b.call("sched_setaffinity", thread, size, mask, result=_I32)
    b.ret()


@_function("void @wengert_pause(i64 %count)")
def _pause(b: _Builder, count: Value) -> None:
    with b.loop(constant(I64, 0), count):
        b.pause()
    b.ret()


# -- the primary thread ----------------------------------------------------------------------------------

#: The number of times that the primary thread yields its processor before it sleeps.
_YIELDS = 4
#: It pays to wake a worker if more than this is left after the first chunk of the primary thread, in nanoseconds of one
#: thread; measured with two processors.
_WORTH = 200_000


@_function("void @wengert_wake(ptr %team)")
def _wake_team(b: _Builder, team: Value) -> None:
    b.return_if(b.compare("eq", team, _NULL))
    b.return_if(b.test("ult", b.get("grains"), 2))
    b.write("place", b.processor(), "monotonic")
    b.advance(b.field("event"), constant(_I32, 1), b.field("sleepers"))
    b.ret()


@_function("void @wengert_stop(ptr %team)")
def _stop(b: _Builder, team: Value) -> None:
    b.write("stop", constant(_I32, 1), "seq_cst")
    b.call("wake", b.field("stop"), result=None)
    b.call("wengert_wake", team, result=None)
    b.ret()


@_function("i64 @wengert_threads(ptr %team)")
def _threads(b: _Builder, team: Value) -> None:
    with b.only_if(b.compare("eq", team, _NULL)):
        b.ret("i64 1")
    b.ret(b.get("threads"))


@_function("internal void @wake_if_long(ptr %team, i64 %start, i64 %first, i64 %others)")
def _wake_if_long(b: _Builder, team: Value, start: Value, first: Value, others: Value) -> None:
    """Wake sleepers if the other grains take long: as long each, by estimate, as one of the first chunk."""
    asleep = b.convert("zext", b.read("sleepers", _I32, "monotonic"), "i64")
    b.return_if(b.compare("ule", asleep, b.get("surplus")))
    passed = b.op("sub", b.clock(), start)
    left = b.op("udiv", b.op("mul", passed, others), first)
    with b.only_if(b.test("sgt", left, _WORTH)):
        b.call("wengert_wake", team, result=None)
    b.ret()


@_function("void @wengert_share(ptr %team, ptr %function, ptr %frame, i64 %tiles, i64 %most)")
def _share(b: _Builder, team: Value, function: Value, frame: Value, tiles: Value, most: Value) -> None:
    zero = constant(I64, 0)

    def alone_if(condition: Value) -> None:
        with b.only_if(condition):
            b.return_if(b.test("eq", tiles, 0))
            b.do(f"call void {function.text}({frame}, {zero}, {tiles}, {zero})")
            b.ret()

    alone_if(b.compare("eq", team, _NULL))
    grains = b.intrinsic("umin", b.intrinsic("umin", b.get("grains"), most), tiles)
    alone_if(b.test("ult", grains, 2))
    expected, parts = b.get("expected", _I32), b.get("parts")
    start = b.clock()
    region = _Region(function, frame, b.op("udiv", tiles, grains), b.op("urem", tiles, grains))
    for name, value in region._asdict().items():
        b.store(value, b.field(name), 8)
    first = b.portion(grains, zero, parts)
    b.write("word", b.op("or", b.op("shl", grains, 32), first), "release")
    with b.repeat(zero, first, first, first) as loop:
        grain, count, own, taken = loop.values
        b.chunk(region, grain, count, zero)
        portion = b.portion(grains, taken, parts)
        word = b.fetch_add(b.field("word"), portion, "monotonic")
        taken = b.taken(word)
        loop.leave_if(b.compare("uge", taken, grains))
        won, taken = b.won(grains, taken, portion)
        with b.only_if(b.test("eq", grain, 0)):
            b.call("wake_if_long", team, start, first, b.op("sub", grains, taken), result=None)
        loop.again(b.front(word), won, b.op("add", own, won), taken)
    expected = b.op("add", expected, b.convert("trunc", b.op("sub", grains, own), "i32"))
    b.write("expected", expected, "monotonic")
    b.call("finish", team, expected, start, first, own, result=None)
    b.ret()


@_function("internal void @finish(ptr %team, i32 %expected, i64 %start, i64 %first, i64 %own)")
def _finish(b: _Builder, _team: Value, expected: Value, start: Value, first: Value, own: Value) -> None:
    """Wait until the workers have done their chunks: spin, then yield the processor, then sleep."""

    def look() -> Value:
        done = b.read("done", _I32, "acquire")
        b.return_if(b.compare("eq", done, expected))
        return done

    zero = constant(I64, 0)
    with b.loop(zero, b.get("wait")):
        look()
        b.pause()
    with b.loop(zero, constant(I64, _YIELDS)):
        look()
        b.call("sched_yield", result=_I32)
    done = look()
    since = b.clock()
    b.write("since", since, "monotonic")
    b.write("usual", b.op("udiv", b.op("mul", b.op("sub", since, start), first), own), "monotonic")
    with b.repeat(done) as loop:
        b.call("sleep", b.field("done"), *loop.values, b.field("waiting"), result=None)
        loop.again(look())
    b.ret()


# -- workers ---------------------------------------------------------------------------------------------

#: The yields of a worker without a chunk, while a region is open, before it sleeps: 20 ms.
_OPEN_YIELDS = 4096
#: A worker that takes this many times as long for a chunk as the primary thread was preempted.
_LATE = 4
#: A late worker stays if it was in the team for this many times the wait. Otherwise it leaves, for this many times the
#: wait or twice as long as the last time, and at most for this many nanoseconds.
_GOOD = 8
_PENALTY = 4
_LONGEST = 50_000_000


@_function("void @wengert_worker(ptr %team, i64 %index)")
def _worker(b: _Builder, team: Value, index: Value) -> None:
    zero = constant(I64, 0)
    memory = b.emit(_PAIR, POINTER)
    b.do(f"store [2 x i64] zeroinitializer, {memory}, align 8")
    patience = b.select(b.compare("ult", index, b.get("spinners")), b.get("spin"), zero)
    pauses, parts = b.get("yield"), b.get("parts")
    with b.repeat() as awake:
        event = b.read("event", _I32, "acquire")
        awake.leave_if(b.test("ne", b.read("stop", _I32, "monotonic"), 0))
        with b.repeat(zero, zero, zero) as look:
            looks, yields, pauses_left = look.values
            word = b.read("word", I64, "monotonic")
            grains, taken = b.op("lshr", word, 32), b.taken(word)
            with b.only_if(b.compare("ult", taken, grains)):
                with (
                    _chunks(b, grains, taken, parts, index) as waiting,
                    b.only_if(b.test("ne", waiting, 0)),
                ):
                    b.call("away", team, memory, result=None)
                    awake.again()
                look.again(zero, zero, pauses)
            look.leave_if(b.compare("uge", looks, patience))
            looks, pauses_left = b.op("add", looks, 1), b.op("sub", pauses_left, 1)
            with b.only_if(b.test("slt", pauses_left, 0)):
                b.call("part", team, result=None)
                b.call("sched_yield", result=_I32)
                # A region is open while these differ. The worker compares them only now and then, so that the cache
                # line of `expected` stays with the primary thread.
                is_open = b.compare("ne", *(b.read(name, _I32, "monotonic") for name in ("done", "expected")))
                is_early = b.test("ult", yields, _OPEN_YIELDS)
                again = b.select(b.both(is_open, is_early), zero, looks)
                look.again(again, b.op("add", yields, 1), pauses)
            b.pause()
            look.again(looks, yields, pauses_left)
        b.call("sleep", b.field("event"), event, b.field("sleepers"), result=None)
        awake.again()
    b.ret()


@contextmanager
def _chunks(b: _Builder, grains: Value, taken: Value, parts: Value, index: Value) -> Generator[Value]:
    """Claim and do chunks until no grains are left; after each, yield whether the primary thread waits."""
    with b.repeat(grains, taken) as loop:
        grains, taken = loop.values
        portion = b.portion(grains, taken, parts)
        word = b.fetch_add(b.field("word"), b.op("shl", portion, 16), "acquire")
        grains, taken = b.op("lshr", word, 32), b.taken(word)
        loop.leave_if(b.compare("uge", taken, grains))
        won, taken = b.won(grains, taken, portion)
        first = b.op("sub", grains, b.op("add", b.back(word), won))
        region = _Region(b.get("function", POINTER), b.get("frame", POINTER), b.get("size"), b.get("longer"))
        b.chunk(region, first, won, index)
        yield b.advance(b.field("done"), b.convert("trunc", won, "i32"), b.field("waiting"))
        loop.again(grains, taken)


@_function("internal void @part(ptr %team)")
def _part(b: _Builder, _team: Value) -> None:
    """Leave the processor of the primary thread.

    The kernel may place a woken thread on the processor of the thread that woke it, where neither helps the other.
    """
    here = b.processor()
    with b.only_if(b.compare("eq", b.read("place", _I32, "monotonic"), here)):
        b.call("leave", here, result=None)
    b.ret()


@_function("internal void @away(ptr %team, ptr %memory) noinline")
def _away(b: _Builder, _team: Value, memory: Value) -> None:
    """Leave the team for a while, if the last chunk was late.

    The memory of a worker: how long it was away the last time, and when it came back.
    """
    time = b.emit(_PAIR, POINTER)
    since, usual = (b.read(name, I64, "monotonic") for name in ("since", "usual"))
    now = b.clock()
    waited = b.op("sub", now, since)
    b.return_if(b.compare("sle", waited, b.op("mul", usual, _LATE)))
    penalty, back = b.load(memory, I64, 8), b.load(b.second(memory), I64, 8)
    is_bad = b.compare("slt", b.op("sub", since, back), b.op("mul", waited, _GOOD))
    penalty = b.intrinsic("umax", b.op("mul", waited, _PENALTY), b.op("mul", penalty, 2))
    penalty = b.intrinsic("umin", penalty, constant(I64, _LONGEST))
    penalty = b.select(is_bad, penalty, constant(I64, 0))
    until = b.op("add", now, penalty)
    b.store(penalty, memory, 8)
    b.store(until, b.second(memory), 8)
    with b.repeat(now) as loop:
        left = b.op("sub", until, *loop.values)
        is_over = b.test("slt", left, 1)
        is_stopped = b.test("ne", b.read("stop", _I32, "monotonic"), 0)
        loop.leave_if(b.either(is_over, is_stopped))
        b.store(b.op("udiv", left, 10**9), time, 8)
        b.store(b.op("urem", left, 10**9), b.second(time), 8)
        b.wait(b.field("stop"), constant(_I32, 0), time)
        loop.again(b.clock())
    b.ret()


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
    texts: list[str] = []
    declared: set[str] = set()
    for signature, emit in _FUNCTIONS.items():
        builder = _Builder(triple)
        emit(builder, *(Value(name, Kind(kind)) for kind, name in re.findall(_PARAMETER, signature)))
        texts.append(builder.function(f"define {signature} nounwind"))
        declared |= builder.declared
    defined = {re.findall(_NAME, signature)[0] for signature in _FUNCTIONS}
    external = sorted(line for line in declared if re.findall(_NAME, line)[0] not in defined)
    return "\n".join([*external, *texts])
