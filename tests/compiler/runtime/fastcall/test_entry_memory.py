"""The reference counts of entries are right, whatever happens during a call."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import tracemalloc
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.entries import (
    POINT,
    assert_same,
    compiled,
    gradient,
    object_code,
    refuse,
    rosenbrock,
    staged,
    where_there_are_entries,
)
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.compiler.llvm.object_code import load
from wengert.compiler.runtime.execute import Executable
from wengert.compiler.runtime.fastcall import entry
from wengert.compiler.runtime.threads import team

pytestmark = [where_there_are_entries, pytest.mark.usefixtures("young_heap")]


def tracked(work: Callable[[], object]) -> int:
    """Return how much memory some work leaves in use."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_references_and_memory(rosenbrock_entry: Any, wengert_entry: Any, scalars: Any) -> None:
    served = compiled(lambda x, i: ([x[i], None], (x * 2, x.sum())), POINT, 1, following=lambda *_: None)
    everything = compiled(lambda d: [d["x"], None, ({"two": d["x"]},)], {"x": POINT})
    x, number, value = POINT.copy(), 12345678901, 2.5
    objects = (x, number, value, None, np.float64, np.dtype(float), np.ndarray, True, rosenbrock_entry)

    def work() -> None:
        for _ in range(1_000):
            rosenbrock_entry(x)
            wengert_entry(value, value)
            scalars(number, True, value)
            served(x, 3)
            served(x, 30)  # reports an error
            everything({"x": x})

    def change() -> int:
        counts = list(map(sys.getrefcount, objects))
        work()
        return max(abs(sys.getrefcount(x) - count) for x, count in zip(objects, counts, strict=True))

    assert tracked(work) < 10_000
    # One for each call would be 1,000; what earlier tests left may go meanwhile.
    assert min(change() for _ in range(3)) < 200


def test_the_code_lives_as_long_as_its_function() -> None:
    signature, module = staged(rosenbrock, POINT)
    program, own = object_code(signature, module)
    executable = Executable(module.interface, load(program, team.symbols()))
    library = load(own, {"main": executable.address})
    served = entry.make(signature, executable, library, refuse)
    alive = [weakref.ref(executable.library), weakref.ref(library)]
    del executable, library
    gc.collect()
    assert all(one() is not None for one in alive)
    assert_same(served(POINT), rosenbrock(POINT))
    del served
    gc.collect()
    assert all(one() is None for one in alive)


class Holder:
    """Holds the entry that may call it, as `Jitted` does."""

    __slots__ = ("__call__", "__weakref__")

    def slow(self, *args: Any) -> str:
        return "slow"


def test_an_entry_that_leads_back_to_its_owner_is_collected() -> None:
    holder: Any = Holder()
    holder.__call__ = compiled(rosenbrock, POINT, following=holder.slow)
    assert_same(holder(POINT), rosenbrock(POINT))
    assert holder(1.0) == "slow"
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_a_function_that_is_dropped_while_it_runs() -> None:
    holder: Any = Holder()
    compiled_pair = [compiled(gradient, 2.0, 5.0, following=holder.slow) for _ in range(2)]
    expected = compiled_pair[0](2.0, 5.0)
    holder.__call__ = compiled_pair[0]
    actual: list[Any] = []
    ready, stop = threading.Event(), threading.Event()

    def call() -> None:
        while not stop.is_set():
            actual[:] = [holder(2.0, 5.0)]
            ready.set()

    thread = threading.Thread(target=call)
    thread.start()
    ready.wait(10)
    for number in range(1000):
        holder.__call__ = holder.slow if number % 2 else compiled_pair[1]
        compiled_pair[1] = compiled_pair[0]
        holder.__call__ = compiled_pair[0]
    compiled_pair.clear()
    holder.__call__ = lambda *_: expected
    gc.collect()
    stop.set()
    thread.join()
    assert actual in ([expected], ["slow"])


def test_a_collection_of_garbage_in_the_middle_of_a_call(wengert_entry: Any) -> None:
    """A new tuple may start a collection, and finalisers may call the same function."""
    inside: list[Any] = []

    class Garbage:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            inside.append(wengert_entry(4.0, 1.0))

    expected, other = wengert_entry(2.0, 5.0), wengert_entry(4.0, 1.0)
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            Garbage()
            assert wengert_entry(2.0, 5.0) == expected
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert inside == [other] * 300


def test_threads_that_call_at_once(rosenbrock_entry: Any) -> None:
    problems: list[BaseException] = []

    def call(seed: int) -> None:
        try:
            x = np.random.default_rng(seed).standard_normal(10)
            expected = wg.value_and_grad(rosenbrock)(x)
            for _ in range(2000):
                assert_equal(rosenbrock_entry(x), expected)
        except BaseException as problem:
            problems.append(problem)

    def assert_equal(actual: Any, expected: Any) -> None:
        assert np.allclose(actual[0], expected[0], rtol=1e-12)
        assert np.allclose(actual[1], expected[1], rtol=1e-12)

    with switching(1e-6):
        threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []


@contextlib.contextmanager
def switching(interval: float) -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_memory_that_runs_out() -> None:
    """Each allocation of a call fails once, even those of containers too large for Python's free lists."""
    testcapi = pytest.importorskip("_testcapi")
    served = compiled(lambda x: [[None, x * 2], {f"key{n}": (x[n], x.sum()) for n in range(9)}], POINT)
    expected = served(POINT)
    gc.collect()
    count = sys.getrefcount(POINT)

    def call(start: int) -> Any:
        testcapi.set_nomemory(start, start + 1)
        try:
            return served(POINT)
        except MemoryError:
            return None
        finally:
            testcapi.remove_mem_hooks()

    outcomes = list(map(call, range(40)))
    assert None in outcomes
    assert outcomes[-1] is not None
    for actual in outcomes:
        if actual is not None:
            assert_same(actual, expected)
    del outcomes, actual
    assert tracked(lambda: deque(map(call, [*range(40)] * 10), 0)) < 10_000
    assert sys.getrefcount(POINT) == count
