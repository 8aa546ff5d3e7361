"""LLVM on several threads: who may enter, and that no one is in the middle of something when a process forks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding as llvm

from wengert.backend import together
from wengert.backend.together import USERS, Users, let_users_pass


def started(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_llvmlite_is_as_we_know_it() -> None:
    assert let_users_pass()


def test_if_it_is_not_threads_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "_LONG_CALLS", ("LLVMPY_OfAnotherVersion",))
    assert not let_users_pass.__wrapped__()


class Lock:
    """Counts who waits for it."""

    def __init__(self) -> None:
        self.entered = self.left = 0

    def __enter__(self) -> None:
        self.entered += 1

    def __exit__(self, *exception: Any) -> None:
        self.left += 1


def test_users_pass_and_others_wait() -> None:
    lock = Lock()
    passable = together._Passable(lock)  # pyright: ignore[reportPrivateUsage]
    with USERS, passable:
        assert (lock.entered, lock.left) == (0, 0)
        with USERS:  # once more, in the middle of it
            pass
        other = started(lambda: passable.__enter__() or passable.__exit__())
        other.join()
        assert (lock.entered, lock.left) == (1, 1)
    with passable:
        assert (lock.entered, lock.left) == (2, 1)


def test_the_long_calls_alone_are_passable() -> None:
    library: Any = llvm.ffi.lib
    assert let_users_pass()
    changed = {name for name, call in library._fntab.items() if isinstance(call._lock, together._Passable)}
    assert changed == set(together._LONG_CALLS)


def test_a_fork_waits_for_others_and_keeps_new_ones_out() -> None:
    users = Users()
    inside, leave, order = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        with users:
            inside.set()
            leave.wait(10)
            with users:  # who is inside may enter again
                order.append("again")
        order.append("left")

    def late() -> None:
        with users:
            order.append("late")

    first = started(work)
    inside.wait(10)
    forking = started(
        lambda: (users.before_fork(), order.append("fork"), time.sleep(0.05), users.after_fork())
    )
    time.sleep(0.05)
    assert order == []
    second = started(late)
    time.sleep(0.05)
    assert order == []
    leave.set()
    for thread in (first, forking, second):
        thread.join(10)
    assert order.index("again") < order.index("fork") < order.index("late")


def test_who_forks_may_be_inside() -> None:
    users = Users()
    with users:
        users.before_fork()
        with users:  # a finalizer that runs meanwhile
            pass
        users.after_fork()
    assert threading.get_ident() not in users
