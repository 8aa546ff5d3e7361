"""What `jit` tells in its log."""

from __future__ import annotations

import itertools
import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.running import run
from wengert.compiler import compile_log
from wengert.compiler.llvm.host import host
from wengert.compiler.pipeline import Pass
from wengert.compiler.unit import Options, Unit
from wengert.engine.transforms import turns

X = np.linspace(-1.0, 1.0, 7)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")


def test_recompiles_are_told(caplog: pytest.LogCaptureFixture) -> None:
    @wg.jit
    def identity(x: Any) -> Any:
        return x

    with caplog.at_level(logging.INFO, "wengert.jit"):
        for count in range(1, 11):
            identity(np.zeros(count))
    told = [record.getMessage() for record in caplog.records]
    assert sum(" for (f64[3]) in " in one for one in told) == 1
    assert sum("because argument 0 (x) is now f64[3], before f64[2]" in one for one in told) == 1
    assert "because" not in told[0]
    assert sum(" for (f64[" in one and "ms" in one for one in told) == 10
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "9 times: argument 0 (x) is now f64[9], before f64[8]; pad to one shape" in warning


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ([X], r"the containers are now .*\[\*\].*, before .*\*"),
        (2.0, r"is now a float, before f64\[8\]"),
        (X.astype("float32"), r"is now f32\[7\], before f64\[8\]"),
    ],
)
def test_why_a_function_is_compiled_again(caplog: pytest.LogCaptureFixture, last: Any, why: str) -> None:
    compiled = wg.jit(lambda x: x)
    for count in range(1, 9):
        compiled.nests(np.zeros(count))
    with caplog.at_level(logging.WARNING, "wengert.jit"):
        compiled(last)
    assert re.search(why, caplog.messages[-1])


NUMBERED: dict[str, tuple[Any, Any, str]] = {
    "by position": (
        lambda x, n: x,
        [((X, n), {}) for n in range(9)],
        "argument 1, which is static, is now 8;",
    ),
    "by name": (lambda x, *, n: x, [((X,), {"n": n}) for n in range(9)], "n, which is static, is now 8;"),
    "left out": (
        lambda x, *, n=0: x,
        [((X,), {"n": n} if n < 8 else {}) for n in range(9)],
        "another number of static arguments is given;",
    ),
    "keys": (
        lambda x, n=0: x,
        [(({str(n): X},), {}) for n in range(9)],
        r"now .*'8': \*.*, before .*'7': \*",
    ),
    "order": (
        lambda x, n=0: x,
        [((dict.fromkeys(keys, X),), {}) for keys in itertools.permutations("abcd", 4)][:9],
        "in another order, or a setting",
    ),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_why_it_is_for_what_is_fixed(caplog: pytest.LogCaptureFixture, name: str) -> None:
    function, calls, why = NUMBERED[name]
    compiled = wg.jit(function, static_argnames="n")
    with caplog.at_level(logging.WARNING, "wengert.jit"):
        for args, kwargs in calls:
            compiled(*args, **kwargs)
    assert re.search(why, caplog.messages[-1])


def test_what_came_from_the_cache_is_told(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    with caplog.at_level(logging.INFO, "wengert.jit"):
        for _ in range(2):
            wg.jit(np.cosh)(np.ones(5))
    first, second = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"jit: compiled cosh for \(f64\[5\]\) in \d+ ms", first)
    assert re.fullmatch(r"jit: loaded cosh for \(f64\[5\]\) from the cache in \d+ ms", second)


MODEL = """
import logging
from wengert import nn

logging.basicConfig(format="%(message)s", level=logging.INFO)
rng = np.random.default_rng(0)
model = nn.Chain(nn.Dense(3, 4, seed=rng), nn.relu, np.tanh, nn.Dense(4, 1, seed=rng))
wg.jit(wg.grad(lambda model, x: np.sum(model(x))))(model, np.ones((2, 3)))
"""


def test_models_that_hold_functions_are_found_in_the_cache_by_other_processes(tmp_path: Path) -> None:
    found = [run(MODEL, WENGERT_CACHE=str(tmp_path), PYTHONHASHSEED=str(seed)).stderr for seed in range(2)]
    assert "jit: compiled" in found[0]
    assert all("from the cache" in text for text in found[1:])


# -- that it takes long ----------------------------------------------------------------------------------


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return what gives the warnings told so far, if already the first moment is long."""
    monkeypatch.setattr(compile_log, "PATIENCE", 0.0)
    monkeypatch.setattr(compile_log, "_UNROLLED", 20)
    caplog.set_level(logging.WARNING, "wengert.jit")
    return lambda: list(caplog.messages)


def wait_for(told: Callable[[], list[str]]) -> None:
    """Take as long as it takes until something is told."""
    end = time.monotonic() + 60
    while not told() and time.monotonic() < end:
        time.sleep(0.001)


def unrolled(x: Any) -> Any:
    for _ in range(30):
        x = np.sin(x) * x
    return np.sum(x)


START = unrolled.__code__.co_firstlineno


def test_a_trace_that_takes_long_is_told_once(told: Callable[[], list[str]]) -> None:
    def function(x: Any) -> Any:
        wait_for(told)
        return np.sum(np.sin(x))

    start = function.__code__.co_firstlineno
    compiled = wg.jit(wg.grad(function))
    for x in (X, X[1:]):
        compiled(x)
    assert told() == [
        f"jit: grad(function) [test_compile_log.py:{start}] is still being traced after 0 s of processor time",
    ]


def test_a_trace_that_unrolls_a_loop_names_its_line(
    told: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [0.0]
    monkeypatch.setattr(compile_log, "PATIENCE", 0.02)
    monkeypatch.setattr(compile_log, "_clock", lambda thread: lambda: seconds[0])
    monkeypatch.setattr(turns, "MOST_TURNS", 20)

    def function(x: Any) -> Any:
        for i in range(30):
            x = x + i**i
        seconds[0] = 1.0
        wait_for(told)
        return x

    wg.jit(function)(X)
    line = function.__code__.co_firstlineno + 2
    assert (
        f"after 0.02 s of processor time: it unrolls Python's own loop at test_compile_log.py:{line}, 30 turns so far; "
        in told()[0]
    )


def test_a_graph_that_takes_long_names_the_line_that_fills_it(told: Callable[[], list[str]]) -> None:
    patience = compile_log.Patience(unrolled)
    with patience.with_compiling(wg.trace(wg.grad(unrolled))(X)):
        wait_for(told)
    (message,) = told()
    where = rf"unrolled \[test_compile_log.py:{START}\]"
    count = rf"2\d\d operations, 2\d\d of them from test_compile_log.py:{START + 2}"
    assert re.fullmatch(
        rf"jit: {where} is still being compiled after 0 s of processor time \(in LLVM\): {count}; "
        "wg.scan and wg.fori_loop keep a loop as one operation; "
        "WENGERT_CACHE is off, so later processes compile again",
        message,
    )


def test_a_compilation_that_takes_long_names_its_pass(told: Callable[[], list[str]]) -> None:
    graph = wg.trace(unrolled)(X)

    def waits(unit: Unit) -> Unit:
        with compile_log.Patience(unrolled).with_compiling(graph):
            wait_for(told)
        return unit

    Pass("waits", "wait until something is told", waits)(Unit(graph, {}, host(), Options()))
    assert "is still being compiled after 0 s of processor time (in the pass waits): " in told()[0]


def test_a_graph_without_a_loop_is_not_said_to_have_one(
    told: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    patience = compile_log.Patience(np.tanh)
    with patience.with_compiling(wg.trace(lambda x: np.tanh(x) + 1)(X)):
        wait_for(told)
    assert told() == [
        "jit: tanh is still being compiled after 0 s of processor time (in LLVM): 2 operations; "
        "later processes load the result from the cache"
    ]


def test_the_operations_of_a_scan_are_counted(told: Callable[[], list[str]]) -> None:
    def twice(x: Any) -> Any:
        return wg.scan(lambda carry, one: (carry + unrolled(carry) * one, None), x, np.ones(2))[0]

    with compile_log.Patience(twice).with_compiling(wg.trace(twice)(X)):
        wait_for(told)
    assert re.search(
        rf"\(in LLVM\): 6\d operations, 60 of them from test_compile_log.py:{START + 2}",
        told()[0],
    )


def test_what_is_quick_is_not_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_log, "PATIENCE", 600.0)

    def fails(x: Any) -> Any:
        raise KeyError

    with caplog.at_level(logging.WARNING, "wengert.jit"):
        wg.jit(lambda x: x * 3)(X)
        with pytest.raises(KeyError):
            wg.jit(fails)(X)
    assert caplog.messages == []
    for watch in [one for one in threading.enumerate() if one.name == "wengert-patience"]:
        watch.join(10)
        assert not watch.is_alive()


def test_time_that_the_thread_only_waits_does_not_count(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_log, "PATIENCE", 0.02)
    with caplog.at_level(logging.WARNING, "wengert.jit"), compile_log.Patience(unrolled).with_tracing():
        time.sleep(0.1)
    assert caplog.messages == []


def test_the_users_function_is_named_for_programs_of_ours(told: Callable[[], list[str]]) -> None:
    def valley(x: Any) -> Any:
        wait_for(told)
        return np.sum(x**2)

    wg.optimize.lbfgs(valley, np.ones(2))
    assert re.match(
        r"jit: wg\.optimize\.lbfgs\(valley, .*\) \[test_compile_log\.py:\d+\] is still", told()[0]
    )


def test_recursion_is_not_said_to_be_one(told: Callable[[], list[str]]) -> None:
    def down(x: Any, count: int) -> Any:
        return down(np.sin(x), count - 1) if count else x

    graph = wg.trace(lambda x: down(x, 40))(X)
    with compile_log.Patience(np.sin).with_compiling(graph):
        wait_for(told)
    assert "loop" not in told()[-1]
    assert f"40 of them from test_compile_log.py:{down.__code__.co_firstlineno + 1}; " in told()[-1]
