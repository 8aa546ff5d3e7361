"""LLVM on several threads: which threads pass its lock, and that no call is running when a process forks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding as llvm

from tests.draws import many
from wengert.compiler.llvm import llvmlite_lock
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.llvmlite_lock import Calls, in_own_context, is_passable
from wengert.compiler.llvm.object_code import compile_module


def started(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_llvmlite_is_as_we_know_it() -> None:
    assert is_passable()


def test_if_it_is_not_threads_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvmlite_lock, "_LONG_CALLS", ("LLVMPY_OfAnotherVersion",))
    assert not is_passable.__wrapped__()
    monkeypatch.setattr(llvmlite_lock, "is_passable", lambda: False)
    inside: list[int] = []

    def work() -> None:
        with in_own_context():
            inside.append(1)
            time.sleep(0.01)
            assert sum(inside) == 1
            inside.append(-1)

    threads = [started(work) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert inside == [1, -1] * 4


class Lock:
    """A lock that counts the threads that wait for it."""

    def __init__(self) -> None:
        self.entered = self.left = 0

    def __enter__(self) -> None:
        self.entered += 1

    def __exit__(self, *exception: Any) -> None:
        self.left += 1


def test_who_has_a_context_passes_and_others_wait() -> None:
    lock = Lock()
    passable = llvmlite_lock._Passable(lock)  # pyright: ignore[reportPrivateUsage]

    def call() -> None:
        with passable:
            pass

    with in_own_context():
        with in_own_context():  # a finalizer that compiles meanwhile
            call()
        call()
        assert (lock.entered, lock.left) == (0, 0)
        started(call).join()
        assert (lock.entered, lock.left) == (1, 1)
    call()
    assert (lock.entered, lock.left) == (2, 2)


def test_the_long_calls_alone_are_passable() -> None:
    library: Any = llvm.ffi.lib
    assert is_passable()
    changed = {
        name for name, call in library._fntab.items() if isinstance(call._lock, llvmlite_lock._Passable)
    }
    assert changed == set(llvmlite_lock._LONG_CALLS)


def test_a_fork_waits_for_calls_and_keeps_new_ones_out() -> None:
    calls = Calls()
    inside, leave, order = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        with calls:
            inside.set()
            leave.wait(10)
            order.append("left")

    def late() -> None:
        with calls:
            order.append("late")

    def fork() -> None:
        calls.before_fork()
        order.append("fork")
        time.sleep(0.05)
        assert order == ["left", "fork"]
        calls.after_in_parent()

    first = started(work)
    inside.wait(10)
    forking = started(fork)
    while not calls._is_forking:  # pyright: ignore[reportPrivateUsage]
        time.sleep(0.001)
    second = started(late)
    time.sleep(0.02)
    assert order == []
    leave.set()
    for thread in (first, forking, second):
        thread.join(10)
    assert order == ["left", "fork", "late"]


def test_a_fork_waits_for_whoever_has_the_lock_of_llvmlite() -> None:
    calls = Calls()
    inside, leave, forked = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        with llvm.ffi.lib._lock:
            inside.set()
            leave.wait(10)
            assert not forked.is_set()

    thread = started(work)
    inside.wait(10)
    forking = started(lambda: (calls.before_fork(), forked.set(), calls.after_in_parent()))
    time.sleep(0.02)
    leave.set()
    thread.join(10)
    forking.join(10)
    assert forked.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_compile_and_fork_while_threads_of_the_parent_compile() -> None:
    over = threading.Event()

    def work(number: int) -> None:
        while not over.is_set():
            compile_module(f"define i64 @f(i64 %x) {{ %y = add i64 %x, {number} ret i64 %y }}", host())

    threads = [started(lambda n=n: work(n)) for n in range(3)]
    try:
        for number in range(many(10)):
            child = os.fork()
            if not child:
                compile_module(f"define i64 @g(i64 %x) {{ %y = mul i64 %x, {number} ret i64 %y }}", host())
                grandchild = os.fork()
                os._exit(os.waitpid(grandchild, 0)[1] if grandchild else 0)
            deadline = time.monotonic() + 30
            while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.005)
            assert done[0] == child, "the child hangs"
            assert done[1] == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()
