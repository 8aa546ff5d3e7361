"""Threads that run a compiled function together."""

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

from wengert.backend import team as teams
from wengert.backend.native import Library, assembly, compile_module, load
from wengert.backend.target import host, named
from wengert.backend.team import Team, TeamError, acquire, available, get_threads, set_threads
from wengert.backend.team_ir import team_ir
from wengert.errors import ArgumentError

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Every thread writes the number of the round where it alone writes, and after the barrier counts where it does not
# find it. A second barrier ends the round. The words are apart, so that threads run at different speeds.
PROGRAM = """
declare void @wengert_barrier(ptr)
declare i32 @wengert_run(ptr, ptr, ptr)

define void @rounds(ptr %args, i64 %thread, i64 %threads, ptr %team) nounwind {
entry:
  %count = load i64, ptr %args
  %words = getelementptr i64, ptr %args, i64 1
  %own = getelementptr i64, ptr %words, i64 %thread
  %errors.base = getelementptr i64, ptr %words, i64 %threads
  %errors.at = getelementptr i64, ptr %errors.base, i64 %thread
  br label %round
round:
  %i = phi i64 [ 1, %entry ], [ %next, %checked ]
  store i64 %i, ptr %own
  call void @wengert_barrier(ptr %team)
  br label %check
check:
  %k = phi i64 [ 0, %round ], [ %k.next, %check ]
  %errors = phi i64 [ 0, %round ], [ %errors.next, %check ]
  %at = getelementptr i64, ptr %words, i64 %k
  %found = load i64, ptr %at
  %wrong = icmp ne i64 %found, %i
  %one = zext i1 %wrong to i64
  %errors.next = add i64 %errors, %one
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %threads
  br i1 %k.more, label %check, label %checked
checked:
  %before = load i64, ptr %errors.at
  %total = add i64 %before, %errors.next
  store i64 %total, ptr %errors.at
  call void @wengert_barrier(ptr %team)
  %next = add i64 %i, 1
  %more = icmp ule i64 %next, %count
  br i1 %more, label %round, label %done
done:
  ret void
}

define void @mark(ptr %args, i64 %thread, i64 %threads, ptr %team) nounwind {
  %at = getelementptr i64, ptr %args, i64 %thread
  %old = load i64, ptr %at
  %new = add i64 %old, %threads
  store i64 %new, ptr %at
  ret void
}

define i64 @often(ptr %team, ptr %args, i64 %count) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %busy = phi i64 [ 0, %entry ], [ %busy.next, %loop ]
  %code = call i32 @wengert_run(ptr %team, ptr @mark, ptr %args)
  %wide = zext i32 %code to i64
  %busy.next = add i64 %busy, %wide
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret i64 %busy.next
}
"""


class Code:
    """The program in memory."""

    def __init__(self) -> None:
        symbols = teams.symbols()
        self.library: Library = load(compile_module(PROGRAM, host(), symbols), symbols)
        often = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.often: Callable[[int, int, int], int] = often(self.library.address("often"))

    def rounds(self, team: Team, count: int) -> int:
        """Return how often a thread saw what was not there yet, or no longer."""
        words = (ctypes.c_int64 * (1 + 2 * team.threads))(count)
        team.run(self.library.address("rounds"), ctypes.addressof(words))
        assert words[1 : 1 + team.threads] == [count] * team.threads
        return sum(words[1 + team.threads :])

    def marks(self, team: Team) -> list[int]:
        """Return what each thread took the number of threads for."""
        words = (ctypes.c_int64 * team.threads)()
        team.run(self.library.address("mark"), ctypes.addressof(words))
        return list(words)


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


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 16])
def test_no_thread_passes_a_barrier_before_all_have_come(code: Code, threads: int) -> None:
    with acquire(threads) as team:
        assert code.rounds(team, 3000 // threads) == 0


@pytest.mark.parametrize("patience", [0, 1, 100_000])
def test_threads_meet_whether_they_watch_or_sleep(code: Code, patience: int) -> None:
    team = Team(2)
    try:
        ctypes.c_int64.from_address(team.address + teams.FIELDS["patience"]).value = patience
        for count in (1, 1000):
            assert code.rounds(team, count) == 0
    finally:
        team.stop()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_thread_runs_its_share_once(code: Code, threads: int) -> None:
    with acquire(threads) as team:
        for _ in range(20):
            assert code.marks(team) == [threads] * threads


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_compiled_code_calls_the_team_itself(code: Code, threads: int) -> None:
    words = (ctypes.c_int64 * threads)()
    with acquire(threads) as team:
        assert code.often(team.address, ctypes.addressof(words), 2000) == 0
    assert list(words) == [2000 * threads] * threads


def test_a_busy_team_refuses_and_another_takes_over(code: Code) -> None:
    seen: list[object] = []
    job = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)

    @job
    def outer(_args: int, thread: int, _threads: int, address: int) -> None:
        if thread == 0:
            words = (ctypes.c_int64 * 2)()
            seen.append(code.often(address, ctypes.addressof(words), 3))
            seen.append(list(words))
            seen.append(code.marks(team))

    with acquire(2) as team:
        pointer = ctypes.cast(outer, ctypes.c_void_p).value
        assert pointer is not None
        team.run(pointer, 0)
        assert seen == [3, [0, 0], [2, 2]]
        assert code.marks(team) == [2, 2]


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ("x86_64-unknown-linux-gnu", ("syscall", "pause")),
        ("x86_64-apple-darwin", ("usleep", "pause")),
        ("aarch64-unknown-linux-gnu", ("syscall", "yield", "ldaddal", "stlr")),
        ("arm64-apple-darwin", ("usleep", "yield")),
    ],
)
def test_the_team_compiles_for_every_system(triple: str, expected: tuple[str, ...]) -> None:
    model = named("aarch64" if triple.startswith("a") else "sse2")
    text = assembly(team_ir(triple), model._replace(triple=triple))
    for instruction in expected:
        assert instruction in text


def test_the_team_compiles_without_a_hint_to_wait() -> None:
    assert "pause()" not in team_ir("riscv64-unknown-linux-gnu")
    assert assembly(team_ir("riscv64-unknown-linux-gnu"), named("sse2"))


def test_a_team_is_used_again(code: Code) -> None:
    with acquire(3) as team:
        assert code.marks(team) == [3, 3, 3]
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
            assert code.marks(team) == [threads] * threads
            return code.rounds(team, 50)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(call, [2, 3, 2, 1] * 15)) == {0}
    assert workers() <= 2 * (1 + 2)  # two teams of each size stay


def test_sharing_a_team_is_no_mistake(code: Code) -> None:
    with acquire(2) as team, ThreadPoolExecutor(3) as pool:
        assert set(pool.map(lambda _: code.rounds(team, 200), range(20))) == {0}


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
            code.marks(team)
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
            if held:  # its workers stayed with the parent
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
            return code.rounds(team, count) + len(code.marks(team))
    work(5)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [10] * 6))
    """
    assert run(program) == "[2, 2, 2, 2, 2, 2]\n"


@pytest.mark.parametrize(
    "state",
    [
        "pass",
        "held = acquire(4); code.marks(held)",
        "set_threads(1)",
        "import threading; threading.Thread(target=code.rounds, args=(acquire(2), 10**12), daemon=True).start()",
    ],
)
def test_the_process_ends_whatever_the_workers_do(state: str) -> None:
    program = f"""
    with acquire(3) as team:
        print(code.marks(team))
    {state}
    """
    assert run(program) == "[3, 3, 3]\n"


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_process_goes_on() -> None:
    program = """
    import os, signal, threading
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            with acquire(2) as team:
                code.rounds(team, 20_000)
    except KeyboardInterrupt:
        print("interrupted")
    for threads in (2, 3):
        with acquire(threads) as team:
            print(code.rounds(team, 100), code.marks(team))
    """
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    assert run(program) == "interrupted\n0 [2, 2]\n0 [3, 3, 3]\n"
