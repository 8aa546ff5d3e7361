"""Programs compile and run where no thread can start."""

from __future__ import annotations

import threading

import pytest

from tests.compiler.running import output, run
from wengert.engine.core import helper_threads

#: A program of several parts, one that threads share, and one that calls NumPy.
WORK = """
def work(wg, np):
    x = np.linspace(0.0, 1.0, 200_000)
    slope = wg.jit(wg.grad(lambda x: np.sum(np.sin(x) * x)))
    for _ in range(2):
        print(np.max(np.abs(slope(x) - np.sin(x) - x * np.cos(x))) < 1e-12)
    many = wg.jit(lambda x, n: [np.tanh(x + k) for k in range(n)], static_argnums=1)
    for _ in range(2):
        print(np.max(np.abs(many(np.ones(3), 4)[3] - np.tanh(4.0))) < 1e-15)
    sort = wg.jit(lambda x: np.sort(x) * 2)
    print(np.max(np.abs(sort(np.array([3.0, 1.0, 2.0])) - np.array([2.0, 4.0, 6.0]))) == 0)
"""
RIGHT = ["True"] * 5

AT_EXIT = """
import atexit
atexit.register(work, wg, np)
"""

DELETED = """
class Last:
    def __init__(self):
        self.needs = wg, np
        wg.jit  # imports what it needs

    def __del__(self, work=work):
        work(*self.needs)

last = Last()
"""

IN_A_CYCLE = DELETED + "import gc; last.itself = last; gc.disable()\n"

REFUSED = """
import threading

def refuse(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

threading.Thread.start = refuse
wg.set_threads(4)
work(wg, np)
"""

FEW = """
import resource
wg.set_threads(64)
resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))  # no room for that many stacks
import threading
threading.stack_size(1 << 28)
work(wg, np)
"""


@pytest.mark.parametrize("cache", ["off", "kept"])
@pytest.mark.parametrize("end", [AT_EXIT, DELETED, IN_A_CYCLE], ids=["atexit", "deleted", "cycle"])
def test_when_the_interpreter_ends(end: str, cache: str, tmp_path: object) -> None:
    done = run(WORK + end, timeout=60, WENGERT_CACHE="off" if cache == "off" else str(tmp_path))
    assert (done.stdout.split(), done.returncode) == (RIGHT, 0), done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("limit", [REFUSED, FEW], ids=["refused", "few"])
def test_where_the_system_starts_no_thread(limit: str) -> None:
    done = run(WORK + limit)
    assert done.stdout.split() == RIGHT, done.stderr
    (told,) = done.stderr.splitlines()
    assert told.startswith("jit: one thread carries out the programs: threads: the system must start")


def test_nothing_waits_for_a_message_that_cannot_come() -> None:
    program = "import wengert.compiler.compile_log\nwengert.compiler.compile_log.PATIENCE = 0.0\n"
    assert output(program + WORK + REFUSED).split() == RIGHT


def test_a_thread_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert helper_threads.start(threading.Thread()) == ""
    with monkeypatch.context() as patched:
        patched.setattr(helper_threads.sys, "is_finalizing", lambda: True)
        assert helper_threads.start(threading.Thread()) == "the interpreter is ending"

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert helper_threads.start(threading.Thread()) == "can't start new thread"
