"""Threads that take part in the loops of a compiled function."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.backend import team as teams
from wengert.backend.native import Library, assembly, compile_module, load
from wengert.backend.target import host, named
from wengert.backend.team import Team, TeamError, acquire, available, get_threads, set_threads
from wengert.backend.team_ir import FIELDS, team_ir
from wengert.errors import ArgumentError

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Round i adds i to each word of the tiles that are shared, and then looks for i in these and nothing in the others.
# Each round has another number of tiles, and every other round other words and another frame, so that a chunk that is
# done twice, not at all, too late or for another round is seen.
PROGRAM = """
declare void @wengert_share(ptr, ptr, ptr, i64)
declare void @wengert_wake(ptr)

define void @add(ptr %frame, i64 %first, i64 %last) nounwind {
entry:
  %words = load ptr, ptr %frame
  %step.at = getelementptr i64, ptr %frame, i64 1
  %step = load i64, ptr %step.at
  %spin.at = getelementptr i64, ptr %frame, i64 2
  %spin = load i64, ptr %spin.at
  br label %tile
tile:
  %t = phi i64 [ %first, %entry ], [ %t.next, %added ]
  br label %delay
delay:
  %k = phi i64 [ 0, %tile ], [ %k.next, %delay ]
  %ignored = load volatile i64, ptr %spin.at
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k, %spin
  br i1 %k.more, label %delay, label %added
added:
  %at = getelementptr i64, ptr %words, i64 %t
  %old = atomicrmw add ptr %at, i64 %step monotonic
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %last
  br i1 %t.more, label %tile, label %done
done:
  ret void
}

define i64 @rounds(ptr %team, ptr %all, i64 %most, i64 %count, i64 %spin) nounwind {
entry:
  %frames = alloca [6 x i64]
  br label %round
round:
  %i = phi i64 [ 1, %entry ], [ %next, %end ]
  %errors = phi i64 [ 0, %entry ], [ %errors.next, %end ]
  %odd = and i64 %i, 1
  %skip = mul i64 %odd, %most
  %words = getelementptr i64, ptr %all, i64 %skip
  %fields = mul i64 %odd, 3
  %frame = getelementptr i64, ptr %frames, i64 %fields
  store ptr %words, ptr %frame
  %step.at = getelementptr i64, ptr %frame, i64 1
  store i64 %i, ptr %step.at
  %spin.at = getelementptr i64, ptr %frame, i64 2
  store i64 %spin, ptr %spin.at
  %far = mul i64 %i, 7919
  %rest = urem i64 %far, %most
  %tiles = add i64 %rest, 1
  %rare = urem i64 %i, 64
  %now = icmp eq i64 %rare, 1
  br i1 %now, label %wake, label %share
wake:
  call void @wengert_wake(ptr %team)
  br label %share
share:
  call void @wengert_share(ptr %team, ptr @add, ptr %frame, i64 %tiles)
  br label %check
check:
  %t = phi i64 [ 0, %share ], [ %t.next, %check ]
  %e = phi i64 [ %errors, %share ], [ %errors.next, %check ]
  %at = getelementptr i64, ptr %words, i64 %t
  %found = load i64, ptr %at
  store i64 0, ptr %at
  %shared = icmp ult i64 %t, %tiles
  %right = select i1 %shared, i64 %i, i64 0
  %wrong = icmp ne i64 %found, %right
  %one = zext i1 %wrong to i64
  %errors.next = add i64 %e, %one
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %most
  br i1 %t.more, label %check, label %end
end:
  %next = add i64 %i, 1
  %more = icmp ule i64 %next, %count
  br i1 %more, label %round, label %done
done:
  ret i64 %errors.next
}
"""

_SHARED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _SHARED, ctypes.c_void_p, ctypes.c_int64)
_WAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ROUNDS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)


class Code:
    """The program in memory."""

    def __init__(self) -> None:
        symbols = teams.symbols()
        self.library: Library = load(compile_module(PROGRAM, host(), symbols), symbols)
        self._rounds: Callable[..., int] = _ROUNDS(self.library.address("rounds"))

    def rounds(self, team: Team, count: int, most: int = 50, spin: int = 10) -> int:
        """Return how many words were found wrong."""
        words = (ctypes.c_int64 * (2 * most))()
        return self._rounds(team.address, words, most, count, spin)


def share(team: Team, tiles: int, function: Callable[[int, int], None]) -> None:
    """Share tiles out to a function of Python."""
    shared = _SHARED(lambda _frame, first, last: function(first, last))
    _SHARE(teams.symbols()["wengert_share"])(team.address, shared, None, tiles)


def wake(team: Team) -> None:
    _WAKE(teams.symbols()["wengert_wake"])(team.address)


def chunks(team: Team, tiles: int) -> list[tuple[int, int]]:
    """Return the chunks that tiles are done in, in order."""
    done: list[tuple[int, int]] = []
    share(team, tiles, lambda first, last: done.append((first, last)))
    return sorted(done)


def field(team: Team, name: str) -> int:
    return ctypes.c_int32.from_address(team.address + FIELDS[name]).value


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def helped(team: Team, patience: float, delay: float = 0.0) -> bool:
    """Return whether a worker takes part in what the caller is at for a time, and let it take a time itself."""
    caller = threading.get_ident()
    came = threading.Event()

    def function(_first: int, _last: int) -> None:
        if threading.get_ident() == caller:
            came.wait(patience)
        else:
            came.set()
            time.sleep(delay)

    share(team, 2, function)
    return came.is_set()


@pytest.fixture(scope="module")
def code() -> Code:
    return Code()


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.delenv(teams.VARIABLE, raising=False)
    monkeypatch.setattr(teams, "_threads", None)
    yield
    teams._stop_idle()


def workers() -> int:
    return sum(thread.name.startswith("wengert-") for thread in threading.enumerate())


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the workers be there whatever the machine."""
    monkeypatch.setattr(teams, "available", lambda: 8)
    monkeypatch.setattr(teams, "_WATCH_SECONDS", 0.05)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("most", "count", "spin"), [(7, 20_000, 0), (50, 2000, 30), (300, 200, 300)])
@pytest.mark.usefixtures("watching")
def test_every_tile_is_done_once(code: Code, threads: int, most: int, count: int, spin: int) -> None:
    with acquire(threads) as team:

        def workers_do_their_part() -> bool:
            assert code.rounds(team, count, most, spin) == 0
            return field(team, "done") > 100

        if threads == 1:
            assert not workers_do_their_part()
        else:
            until(workers_do_their_part)


@pytest.mark.parametrize("watch", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("wait", [0.0, 1e-3])
def test_workers_and_callers_watch_or_sleep(
    code: Code, monkeypatch: pytest.MonkeyPatch, watch: float, wait: float
) -> None:
    monkeypatch.setattr(teams, "_WATCH_SECONDS", watch)
    monkeypatch.setattr(teams, "_WAIT_SECONDS", wait)
    team = Team(3)
    try:
        assert code.rounds(team, 1000, 100, 100) == 0
    finally:
        team.stop()


@given(st.integers(1, 4), st.integers(0, 1000))
def test_chunks_are_as_long_as_one_another(threads: int, tiles: int) -> None:
    with acquire(threads) as team:
        ranges = chunks(team, tiles)
    assert [t for first, last in ranges for t in range(first, last)] == list(range(tiles))
    assert len(ranges) <= 4 * threads
    lengths = {last - first for first, last in ranges}
    assert not lengths or max(lengths) - min(lengths) <= 1
    if threads == 1:
        assert ranges == [(0, tiles)][:tiles]
    elif available() > 1 and tiles >= 8:
        assert len(ranges) >= 8


def test_there_may_be_no_team() -> None:
    done: list[tuple[int, int]] = []
    shared = _SHARED(lambda _frame, first, last: done.append((first, last)))
    for tiles in (5, 0, 1):
        _SHARE(teams.symbols()["wengert_share"])(None, shared, None, tiles)
    assert done == [(0, 5), (0, 1)]
    _WAKE(teams.symbols()["wengert_wake"])(None)


def test_no_one_is_waited_for_who_does_not_come(code: Code) -> None:
    team = Team(4)
    team.stop()  # no worker is left
    assert code.rounds(team, 1000) == 0
    assert field(team, "done") == 0


@pytest.mark.usefixtures("watching")
@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_what_a_worker_has_begun_is_waited_for(delay: float) -> None:
    finished: list[tuple[int, int]] = []
    caller = threading.get_ident()
    came = threading.Event()

    def function(first: int, last: int) -> None:
        if threading.get_ident() == caller:
            assert came.wait(20)
        else:
            came.set()
            time.sleep(delay)
        finished.append((first, last))

    team = Team(2)
    try:
        for _ in range(2):
            wake(team)
            came.clear()
            finished.clear()
            share(team, 2, function)
            assert sorted(finished) == [(0, 1), (1, 2)]
    finally:
        team.stop()


def test_workers_that_sleep_come_when_they_are_woken() -> None:
    team = Team(3)
    try:
        until(lambda: field(team, "sleepers") == 2)
        assert not helped(team, 0.02)  # sharing alone wakes no one
        assert field(team, "sleepers") == 2
        for _ in range(20):
            until(lambda: field(team, "sleepers") == 2)
            wake(team)
            until(lambda: helped(team, 0.01))
    finally:
        team.stop()


@pytest.mark.usefixtures("watching")
def test_a_worker_that_is_late_again_stays_away_for_a_while() -> None:
    team = Team(2)
    try:
        for _ in range(2):
            wake(team)
            assert helped(team, 20, delay=0.1)  # the first time it is forgiven
        start = time.monotonic()
        wake(team)
        assert not helped(team, 0.05)
        assert field(team, "sleepers") == 0  # to wake it is no use and costs no time

        def back() -> bool:
            wake(team)
            return helped(team, 0.01)

        until(back)
        assert time.monotonic() - start > 0.2
        assert helped(team, 20, delay=0.1)
        start = time.monotonic()
    finally:
        team.stop()
    assert time.monotonic() - start < 0.5  # it was away, for twice as long
    assert workers() == 0


@pytest.mark.usefixtures("watching")
def test_a_worker_that_is_but_a_little_slower_stays() -> None:
    caller = threading.get_ident()

    def rounds() -> bool:
        done: list[bool] = []

        def function(_first: int, _last: int) -> None:
            mine = threading.get_ident() == caller
            time.sleep(0.01 if mine else 0.015)
            done.append(mine)

        for _ in range(20):
            wake(team)
            share(team, 2, function)
        return done.count(False) >= 15

    team = Team(2)
    try:
        until(rounds)
    finally:
        team.stop()


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("x86_64-unknown-linux-gnu", ("syscall", "pause")),
        ("x86_64-apple-darwin", ("usleep", "pause")),
        ("aarch64-unknown-linux-gnu", ("syscall", "yield", "ldadda", "ldaddal", "stlr")),
        ("arm64-apple-darwin", ("usleep", "yield")),
    ],
)
def test_the_team_compiles_for_every_system(triple: str, expected: tuple[str, ...]) -> None:
    model = named("aarch64" if triple.startswith("a") else "sse2")
    text = assembly(team_ir(triple), model._replace(triple=triple))
    for instruction in expected:
        assert instruction in text


def test_the_team_compiles_without_a_hint_to_wait() -> None:
    assert "llvm.x86" not in team_ir("riscv64-unknown-linux-gnu")
    assert "hint" not in team_ir("riscv64-unknown-linux-gnu")
    assert assembly(team_ir("riscv64-unknown-linux-gnu"), named("sse2"))


def test_a_team_is_used_again(code: Code) -> None:
    with acquire(3) as team:
        assert code.rounds(team, 100) == 0
    with acquire(3) as again:
        assert again is team
        with acquire(3) as other:
            assert other is not team
            assert workers() == 4
    assert workers() == 4


def test_one_thread_needs_no_other() -> None:
    with acquire(1) as team, acquire(1) as again:
        assert team is again
        assert workers() == 0


def test_calls_from_many_threads_do_not_meet(code: Code) -> None:
    def call(threads: int) -> int:
        with acquire(threads) as team:
            return code.rounds(team, 50)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(call, [2, 3, 2, 1] * 15)) == {0}
    assert workers() <= 2 * (1 + 2)  # two teams of each size stay


def test_idle_workers_take_no_time(code: Code) -> None:
    with acquire(4) as team:
        code.rounds(team, 10)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.02


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_team_that_cannot_start_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if thread.name == "wengert-3":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(TeamError, match=r"must start 5; got can't start new thread; ask for fewer"):
        acquire(5)
    assert workers() == 0


def test_there_are_as_many_threads_as_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_threads() == available() >= 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6}, raising=False)
    assert get_threads() == 3


def test_the_environment_and_then_the_program_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(teams.VARIABLE, " 7 ")
    assert get_threads() == 7
    set_threads(3)
    assert get_threads() == 3


@pytest.mark.parametrize("threads", [0, -2, 1.0, "2", None])
def test_the_number_of_threads_is_checked(threads: int) -> None:
    with pytest.raises(ArgumentError, match=r"set_threads: .* must be an integer of at least 1; got"):
        set_threads(threads)
    assert get_threads() == available()


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(teams.VARIABLE, text)
    with pytest.raises(ArgumentError, match=f"WENGERT_THREADS: .* of at least 1; got '{text}'"):
        get_threads()


def test_other_sizes_leave_when_the_number_changes(code: Code) -> None:
    for threads in (2, 3):
        with acquire(threads) as team:
            code.rounds(team, 10)
    assert workers() == 3
    set_threads(2)
    assert workers() == 1
    set_threads(1)
    assert workers() == 0


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("held", [False, True])
def test_a_child_makes_its_own_team(code: Code, held: bool) -> None:
    team = acquire(3)
    try:
        assert code.rounds(team, 10) == 0
        if not held:
            team.release()
        child = os.fork()
        if child == 0:
            with acquire(3) as own:
                sound = code.rounds(own, 100) == 0 and own is not team and workers() == 2
            if held:  # its workers stayed with the parent, and the child works alone
                sound = sound and code.rounds(team, 100) == 0
                team.release()
                sound = sound and acquire(3) is not team
            os._exit(0 if sound else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with acquire(3) as again:
            assert code.rounds(again, 100) == 0
    finally:
        team.stop()


START = """
import sys
sys.path.insert(0, {tests!r})
from test_team import *
code = Code()
"""


def run(program: str) -> str:
    """Return what a program prints, in a process of its own that must end by itself."""
    text = START.format(tests=os.path.dirname(__file__)) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@forks
def test_processes_of_a_pool_make_their_own_teams() -> None:
    program = """
    import multiprocessing
    def work(count):
        with acquire(2) as team:
            return code.rounds(team, count)
    work(5)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [10] * 6))
    """
    assert run(program) == "[0, 0, 0, 0, 0, 0]\n"


@pytest.mark.parametrize(
    "state",
    [
        "pass",
        "held = acquire(4); code.rounds(held, 100)",
        "set_threads(1)",
        "import threading; threading.Thread(target=code.rounds, args=(acquire(2), 10**12), daemon=True).start()",
    ],
)
def test_the_process_ends_whatever_the_workers_do(state: str) -> None:
    program = f"""
    with acquire(3) as team:
        print(code.rounds(team, 100))
    {state}
    """
    assert run(program) == "0\n"


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_process_goes_on() -> None:
    program = """
    import os, signal, threading
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            with acquire(2) as team:
                code.rounds(team, 5000)
    except KeyboardInterrupt:
        print("interrupted")
    for threads in (2, 3):
        with acquire(threads) as team:
            print(code.rounds(team, 100))
    """
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    assert run(program) == "interrupted\n0\n0\n"
