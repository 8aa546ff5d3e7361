"""Compiled functions give back what they took: those that are dropped, and shapes beyond a bound."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.running import output
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.compiler import dispatch, specialisation
from wengert.compiler.dispatch import VARIABLE
from wengert.compiler.llvm import object_code
from wengert.compiler.runtime.execute import Executable
from wengert.compiler.runtime.fastcall.objects import supported
from wengert.engine.core.errors import ArgumentError
from wengert.engine.nest.expression import Apply, Buffer
from wengert.engine.nest.nest import Nest

pytestmark = pytest.mark.usefixtures("young_heap", "entries_at_once")


@pytest.fixture
def entries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each program an entry after its first call."""
    monkeypatch.setattr(dispatch, "CALLS_BEFORE_ENTRY", 1)


_GROWTH = """
import gc, os

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024

def growth(work, first, count):
    for number in range(first):
        work(number)
    gc.collect()
    before = resident()
    for number in range(first, first + count):
        work(number)
    gc.collect()
    return (resident() - before) / count
"""

_SHAPES_AND_DROPPED = """
import logging
from wengert.compiler import dispatch
from wengert.compiler.llvm.recent import RECENT
logging.disable(logging.WARNING)
dispatch.CALLS_BEFORE_ENTRY, RECENT._bound = 1, 0
compiled = wg.jit(lambda x: x * 2)
print(growth(lambda number: compiled(np.ones(5 + number)), 8, COUNT))

def work(number):
    wg.jit(wg.grad(lambda x: np.sum(x * x + number)))(np.ones(5))

print(growth(work, 4, COUNT))
"""

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


@linux
@pytest.mark.parametrize("count", [16, pytest.param(600, marks=pytest.mark.slow)])
def test_shapes_beyond_the_bound_and_dropped_functions_leave_nothing_behind(count: int) -> None:
    """Linkers make sixteen libraries each, two a step: sixteen steps grow by as much wherever they begin."""
    program = _GROWTH + _SHAPES_AND_DROPPED.replace("COUNT", str(count))
    shapes, dropped = map(float, output(program, timeout=600, WENGERT_SPECIALISATIONS="4").split())
    assert shapes < 40  # of the 59 kilobytes that each has
    assert dropped < 40  # of 78


@pytest.fixture(scope="module")
def what_all_share() -> None:
    """Load what all programs share."""
    shared = wg.jit(lambda x, n: np.linalg.svd(x)[1] * n, static_argnums=1)
    for _ in range(2):
        shared(np.eye(3), 2)


@pytest.fixture
def libraries(what_all_share: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[weakref.WeakSet[Any]]:
    """Have what is loaded from now on, while the garbage collector is at rest."""
    loaded: weakref.WeakSet[Any] = weakref.WeakSet()
    usual = object_code.Library.__init__

    def noted(library: Any, *arguments: Any) -> None:
        usual(library, *arguments)
        loaded.add(library)

    monkeypatch.setattr(object_code.Library, "__init__", noted)
    gc.collect()
    gc.disable()
    yield loaded
    gc.enable()


def donating() -> None:
    step, x = wg.jit(lambda x: x * 2, donate=0), np.ones(5000)
    for _ in range(3):
        x = step(x)


def failing() -> None:
    lookup = wg.jit(lambda x, i: x[i] * 2)
    lookup(np.ones(3), np.arange(2))
    with pytest.raises(IndexError):
        lookup(np.ones(3), np.arange(2) + 9)


def calling(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], None]:
    def work() -> None:
        compiled = wg.jit(function, **options)
        for _ in range(3):
            compiled(*arguments)

    return work


DROPPED: dict[str, Callable[[], None]] = {
    "an entry": calling(lambda x: np.sum(x * x), np.ones(3)),
    "on threads": calling(lambda x: np.exp(x), np.ones((400, 400))),
    "a static argument": calling(lambda x, n: x * n, np.ones(3), 2, static_argnums=1),
    "NumPy": calling(lambda x: np.linalg.svd(x)[1], np.eye(5)),
    "a loop": calling(wg.grad(lambda x: wg.scan(lambda c, y: (c * y, None), 1.0, x)[0]), np.ones(4)),
    "donation": donating,
    "an error": failing,
}


@pytest.mark.parametrize("name", DROPPED)
def test_native_code_goes_with_its_function(name: str, libraries: weakref.WeakSet[Any]) -> None:
    DROPPED[name]()
    assert len(libraries) == 0


def test_nothing_holds_the_nests_of_a_dropped_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")

    def count() -> int:
        gc.collect()
        return sum(isinstance(one, (Apply, Buffer)) for one in gc.get_objects())

    before = count()
    for number in range(2):
        wg.jit(wg.grad(lambda x, number=number: np.sum(x * x + number)))(np.ones(7))
    assert count() <= before


def live() -> Counter[str]:
    """Count the objects of the package and of what it calls, by class: nests, graphs, programs, entries, contexts.

    Linkers are left out: sixteen libraries share one, so that three lie in one or two.
    """
    gc.collect()
    kinds = (type(one) for one in gc.get_objects())
    return Counter(
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in kinds
        if (
            "LLJIT" not in kind.__qualname__
            and str(kind.__module__).startswith(("wengert", "llvmlite", "ctypes", "_ctypes"))
        )
        or kind.__name__ in {"CFunctionType", "CThunkObject", "builtin_function_or_method"}
    )


def loop(x: Any) -> Any:
    return wg.scan(lambda c, y: (c * y, c), 1.0, x)


VARIED: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "an entry": (wg.grad(lambda x: np.sum(x * x)), {}),
    "a loop": (wg.grad(lambda x: loop(x)[0]), {}),
    "NumPy": (lambda x: np.linalg.svd(np.outer(x, x))[1], {}),
    "donation": (lambda x: x + 1, {"donate": 0}),
    "an index": (lambda x: x[np.arange(len(x)) % 2], {}),
    "complex": (lambda x: x * 1j, {}),
}


@pytest.mark.parametrize("turns", [3, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", VARIED)
def test_shapes_beyond_the_bound_leave_no_object(
    name: str, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After new shapes, old ones and shapes that come back, in any order, as many objects live as before."""
    gc.unfreeze()  # caches exchange old objects for new ones, and both must count
    monkeypatch.setenv("WENGERT_CACHE", "off")
    monkeypatch.setattr(specialisation, "CALLS_BEFORE_READER", 0)  # the process keeps that function
    monkeypatch.setattr(dispatch, "CALLS_BEFORE_ENTRY", 1)
    monkeypatch.setenv(VARIABLE, "3")
    monkeypatch.setattr(logging.getLogger("wengert.jit"), "disabled", True)
    function, options = VARIED[name]
    compiled, draw, newest = wg.jit(function, **options), np.random.default_rng(turns), 1

    def work(count: int) -> None:
        nonlocal newest
        for _ in range(count):
            newest += 1
            for size in (newest, newest, max(newest - int(draw.integers(1, 5)), 1)):
                compiled(np.full(size, 0.5))
        for size in range(1, 4):  # the same shapes at the end
            compiled(np.full(size, 0.5))

    compiled(np.full(turns + 9, 0.5))  # the process keeps the threads of large programs
    work(6)  # an entry of each kind is there by then
    before = live()
    work(turns)
    assert live() - before == Counter()


def test_a_compiled_function_keeps_no_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    x, compiled = np.ones(7), wg.jit(wg.grad(lambda x: loop(x)[0]))

    def nests() -> int:
        gc.collect()
        return sum(isinstance(one, (Apply, Buffer, Nest)) for one in gc.get_objects())

    before = nests()
    compiled(x)
    assert nests() == before
    assert "nest" in str(compiled.nests(x))  # made anew


def test_what_is_called_often_has_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "CALLS_BEFORE_ENTRY", 3)
    x, often, numpys = np.ones(3), wg.jit(lambda x: x * 2), wg.jit(lambda x: np.linalg.eigvals(x).real)
    kinds = list[str]()
    for _ in range(4):
        often(x)
        numpys(np.eye(3))
        kinds.append(type(often.__call__).__name__)
    assert kinds[:2] == ["method"] * 2
    if supported():
        assert kinds[2:] == ["builtin_function_or_method"] * 2
    assert type(numpys.__call__).__name__ == "method"
    np.testing.assert_array_equal(often(x), x * 2)


def test_integers_of_python_lead_to_an_entry_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "CALLS_BEFORE_ENTRY", 3)

    def power(x: Any, n: int) -> Any:
        y = np.ones(3)
        for _ in range(n):
            y = y * x
        return y

    x, often = np.arange(3.0), wg.jit(power)
    for n in range(6):
        np.testing.assert_array_equal(often(x, n), x**n)
    if supported():
        assert type(often.__call__).__name__ == "builtin_function_or_method"


def test_an_entry_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    x = np.ones(3)
    for count in (2, 2):
        wg.jit(lambda x: np.sum(x) * 5)(x)
        assert len(list(tmp_path.glob("*.bin"))) == (count if supported() else 1)


class Traced:
    """A compiled function that counts how often it was traced, for each shape."""

    def __init__(self, **options: Any) -> None:
        self.sizes: list[int] = []
        self.compiled = wg.jit(self._function, **options)

    def _function(self, x: Any) -> Any:
        self.sizes.append(x.shape[0])
        return np.cumsum(x * 2)

    def __call__(self, size: int) -> None:
        np.testing.assert_array_equal(self.compiled(np.ones(size)), 2.0 * np.arange(1, size + 1))


def test_the_least_recently_used_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    function = Traced(donate=0)
    for size in (1, 2, 3, 2, 1):
        function(size)
    function(4)
    assert "compiled for 3 types" in repr(function.compiled)
    for size in (1, 2, 4, 1):
        function(size)
    assert function.sizes == [1, 2, 3, 4]
    function(3)  # comes back, and 2 goes
    function(1)
    assert function.sizes == [1, 2, 3, 4, 3]
    function(2)
    assert function.sizes == [1, 2, 3, 4, 3, 2]


def test_calls_that_python_does_not_see_count_as_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    function = Traced()
    for size in (1, 2, 3):
        function(size)
    for size in range(4, 8):
        for _ in range(3):
            function(1)
        function(size)
    function(1)
    assert function.sizes == [*range(1, 8)]


def test_static_arguments_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "4")
    scaled = wg.jit(lambda x, n: x * n, static_argnums=1)
    for n in range(7):
        np.testing.assert_array_equal(scaled(np.ones(3), n), np.full(3, n))
    assert "compiled for 4 types" in repr(scaled)


def test_freed_code_is_given_back(monkeypatch: pytest.MonkeyPatch, libraries: weakref.WeakSet[Any]) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    compiled = wg.jit(lambda x: np.cumsum(x))
    for size in range(1, 7):
        compiled(np.ones(size))
        compiled(np.ones(size))
        assert len(libraries) <= 4  # two programs and their entries


def test_a_warning_counts_what_was_freed(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setenv(VARIABLE, "9")  # as many as the first warning comes after
    compiled = wg.jit(lambda x: x)
    with caplog.at_level(logging.WARNING, "wengert.jit"):
        for size in range(1, 19):
            compiled(np.ones(size))
    times = [record.args[1] for record in caplog.records]
    assert times == [9, 17]


@pytest.mark.parametrize("text", ["0", "-1", "many", "2.5"])
def test_bounds_that_are_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ArgumentError, match=f"{VARIABLE}: how many .* must be an integer of at least 1"):
        wg.jit(lambda x: x)(1.0)


def test_a_specialisation_that_is_freed_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the program, NumPy is called; what happens there frees the program."""
    monkeypatch.setenv(VARIABLE, "1")
    usual = Executable.host
    compiled = wg.jit(lambda x: np.linalg.eigvals(x).real * 2)
    sizes, inside = iter(range(4, 6)), dict[int, Any]()

    def host(executable: Any, number: int, context: Any) -> None:
        for size in sizes:
            inside[size] = compiled(np.eye(size))
            gc.collect()
        usual(executable, number, context)

    monkeypatch.setattr(Executable, "host", host)
    np.testing.assert_allclose(compiled(3 * np.eye(3)), [6, 6, 6])
    assert {size: found.tolist() for size, found in inside.items()} == {n: [2.0] * n for n in range(4, 6)}


def test_threads_that_call_while_others_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    logging.getLogger("wengert.jit").disabled = True
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns often
    functions = [
        (wg.jit(lambda x: np.cumsum(x)), np.cumsum),
        (wg.jit(lambda x: -x), lambda x: -x),
        (wg.jit(lambda x: x + 1, donate=0), lambda x: x + 1),
    ]
    problems: list[BaseException] = []

    def call(seed: int) -> None:
        draw = np.random.default_rng(seed)
        try:
            for _ in range(15):
                compiled, plain = functions[draw.integers(3)]
                x = draw.standard_normal(int(draw.integers(1, 5)))
                expected = plain(x)
                np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(usual)
    logging.getLogger("wengert.jit").disabled = False
    assert problems == []
