"""Teams of threads: acquiring them, their number, and their end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.compiler.sharing import Code, workers
from wengert.compiler.runtime.threads import team as teams
from wengert.compiler.runtime.threads.team import (
    TeamError,
    acquire,
    available,
    get_threads,
    set_threads,
)
from wengert.engine.core.errors import ArgumentError

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def code() -> Code:
    return Code()


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.delenv(teams.VARIABLE, raising=False)
    monkeypatch.setattr(teams, "_threads", None)
    teams._stop_idle()  # pyright: ignore[reportPrivateUsage]
    yield
    teams._stop_idle()  # pyright: ignore[reportPrivateUsage]


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
            if held:  # its workers stay in the parent, and the child works alone
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
sys.path.insert(0, {root!r})
from tests.compiler.sharing import *
from wengert.compiler.runtime.threads.team import *
code = Code()
"""


def run(program: str) -> str:
    """Return the output of a program in a process of its own, which must end by itself."""
    text = START.format(root=str(Path(__file__).parents[4])) + textwrap.dedent(program)
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
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
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
    assert run(program) == "interrupted\n0\n0\n"
