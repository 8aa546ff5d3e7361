"""Calls of compiled programs: errors, Ctrl-C, operations left to NumPy, threads, forks, memory."""

from __future__ import annotations

import os
import re
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same
from tests.compiler.graphs import compile_graph
from tests.compiler.running import output, run
from wengert.compiler.llvm.object_code import compile_module
from wengert.compiler.runtime.execute import Executable
from wengert.compiler.runtime.threads import team
from wengert.engine.core.errors import ArgumentError, IndexingError

RNG = np.random.default_rng(0)


# -- errors ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gather() -> Any:
    return wg.jit(lambda x, i: np.sin(x)[i] * 2)


@pytest.mark.parametrize("index", [[0, 3], [-4, 1], [2**62, 0], [-(2**63), 0], [3] * 40], ids=str)
def test_an_index_out_of_range(gather: Any, index: list[int]) -> None:
    x = np.arange(3.0)
    with pytest.raises(IndexingError, match=r"index -?\d+ is out of bounds for axis 0 with size 3"):
        gather(x, np.array(index))
    np.testing.assert_array_equal(gather(x, np.array([-1, -3])), np.sin(x)[[-1, -3]] * 2)


def test_errors_name_the_line(gather: Any, inverse: Any) -> None:
    with pytest.raises(IndexError, match=r"\[test_execute.py:\d+\]"):
        gather(np.arange(3.0), np.array([3]))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        inverse(np.zeros((9, 9)))
    assert "[test_execute.py:" in str(caught.value)


def test_an_index_out_of_range_ends_a_loop() -> None:
    program = """
loop = wg.jit(lambda x: wg.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] + 1, x[c[0]]), (0, 0.0)))
try:
    loop(np.ones(5))
except IndexError as problem:
    print("ended")
"""
    assert output(program, timeout=60) == "ended\n"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_indices_of_every_width(gather: Any, dtype: str) -> None:
    with pytest.raises(IndexError):
        gather(np.arange(3.0), np.array([1, 3], dtype))


def test_an_index_out_of_range_where_something_is_written() -> None:
    add = wg.jit(wg.grad(lambda x, i: np.sum(x[i] ** 2)))
    np.testing.assert_array_equal(add(np.ones(3), np.array([0, 0, -1])), [4.0, 0.0, 2.0])
    with pytest.raises(IndexError):
        add(np.ones(3), np.array([0, 3]))


def test_an_index_that_is_wrong_in_the_branch_not_taken() -> None:
    compiled = wg.jit(lambda x, i: wg.cond(i < 3, lambda: x[i], lambda: -1.0))
    assert [compiled(np.arange(3.0), i) for i in (2, 7, -1)] == [2.0, -1.0, 2.0]


@pytest.fixture(scope="module")
def inverse() -> Any:
    return wg.jit(lambda x: np.linalg.inv(x) * 2)


# The program itself inverts matrices of few rows.
@pytest.mark.parametrize("rows", [2, 9, 99])
def test_an_error_of_numpys(inverse: Any, rows: int) -> None:
    identity = np.eye(rows)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
            inverse(0 * identity)
        said = rf"^inverse: Singular matrix; got f64\[{rows},{rows}\]\. \[test_execute.py:\d+\]$"
        assert re.search(said, str(caught.value))
        assert isinstance(caught.value, wg.WengertError)
        np.testing.assert_allclose(inverse(identity), 2 * identity)


@pytest.mark.parametrize("rows", [2, 9, 99])
def test_an_error_of_numpys_ends_a_loop(rows: int) -> None:
    def function(x: Any) -> Any:
        return wg.fori_loop(0, 10**12, lambda i, c: c + np.linalg.inv(x - i * np.eye(rows)), x)

    with pytest.raises(np.linalg.LinAlgError):
        wg.jit(function)(3 * np.eye(rows))


def test_operations_left_to_numpy_among_others() -> None:
    def function(x: Any) -> Any:
        y = wg.fori_loop(0, 3, lambda i, c: np.linalg.solve(c.T @ c + np.eye(99), c) + i, x)
        z = wg.cond(y[0, 0] > 0, np.linalg.inv, lambda y: y * 2, y)
        return np.sum(np.sort(z, axis=0) * y), np.linalg.cholesky(x @ x.T + np.eye(99)), np.linalg.det(x)

    x = RNG.normal(size=(99, 99)) + 20 * np.eye(99)

    def total(x: Any) -> Any:
        results = function(x)
        return results[0] + results[1].sum() + results[2], results

    gradient = wg.grad(total, has_aux=True)
    slopes, results = wg.jit(gradient)(x)
    expected_slopes, expected = gradient(x)
    assert_same(results, expected, ulp=1e5, scale=1.0)
    assert_same(slopes, expected_slopes, ulp=1e6, scale=1.0)


def test_memory_that_is_not_there(inverse: Any) -> None:
    def sort(x: Any) -> Any:
        y = np.cumsum(np.broadcast_to(x, (1 << 22, 1 << 22)), axis=0)
        return np.sort(y, axis=0)[-1, -1] + y[0, 0]

    compiled = wg.jit(sort)
    assert compiled.memory(1.0) >= 8 << 44
    for _ in range(2):
        with pytest.raises(MemoryError):
            compiled(1.0)
    np.testing.assert_allclose(inverse(np.eye(2)), 2 * np.eye(2))


def test_a_sum_of_products_with_a_factor_that_is_looked_up() -> None:
    def function(w: Any, i: Any, u: Any) -> Any:
        return np.sum(w[:, :, i] * u, axis=-1)

    arguments = RNG.normal(size=(64, 64, 10)), np.arange(64) % 10, RNG.normal(size=64)
    assert_same(wg.jit(function)(*arguments), function(*arguments), ulp=500, scale=1.0)


# -- NaN -------------------------------------------------------------------------------------------------

NAN_PROGRAM = """
def call(function, *args):
    try:
        print(wg.jit(function)(*args))
    except FloatingPointError as problem:
        print(problem)

call(lambda x: np.sqrt(x - 1.0) * 2, np.arange(3.0))  # line 8
def angle(x):
    return np.arctan2(x[0], x[1])  # line 10
call(wg.grad(lambda x: angle(x) + x[2]), np.zeros(3))
def loop(x):
    return wg.scan(lambda c, y: (
        np.log(c) - 1.0, c),  # line 14
        x, None, 4)
call(loop, 1.5)
call(lambda x: (x / x).sum(), np.zeros(20, "float32"))  # line 17
call(lambda x: np.where(x > 0, np.log(x), 0.0), np.array([1.0, np.e]))
call(lambda x: x * 2, np.array([np.nan, 1.0]))
call(lambda x: x - np.inf, np.array([-np.inf, 1.0]))
call(lambda x: np.log(x.astype(np.float16)), np.array([1.0, -1.0]))  # line 21
call(lambda x: np.nansum(np.where(x > 0, x, np.nan)) + np.sum(x + np.nan), np.array([1.0, -1.0]))
call(lambda x: np.sort(x.astype(np.float16)), np.array([1.0, np.nan]))
call(lambda x: np.sum(x), np.array([1.0, np.nan]))
call(lambda x: np.sum(x), np.array([np.inf, -np.inf]))  # line 25
call(lambda x: np.sqrt(x.astype(np.float16)), np.array([np.nan, -1.0]))  # line 26
def accumulated(x, y):
    z = x * 1
    np.add.at(z, np.array([0, 0, 1]), y)  # line 29
    return z
call(accumulated, np.ones(2), np.array([np.inf, -np.inf, 1.0]))
call(accumulated, np.array([1.0, np.nan]), np.arange(3.0))
"""


def test_the_operation_that_made_a_nan() -> None:
    said = output(NAN_PROGRAM, WENGERT_CHECK="nan").splitlines()
    assert said[0] == "sqrt: the result must not be NaN while WENGERT_CHECK=nan is set. [user.py:8]"
    assert re.fullmatch(r"\w+: the result must not be NaN .* \[adjoint of user.py:10\]", said[1])
    assert re.fullmatch(r"log: .* \[user.py:14\]", said[2])
    assert re.fullmatch(r"divide: .* \[user.py:17\]", said[3])
    assert said[4:7] == ["[0. 1.]", "[nan  2.]", "[-inf -inf]"]
    assert re.fullmatch(r"log: .* \[user.py:21\]", said[7])
    assert said[8:11] == ["nan", "[ 1. nan]", "nan"]
    assert re.fullmatch(r"\w+: .* \[user.py:25\]", said[11])
    assert re.fullmatch(r"sqrt: .* \[user.py:26\]", said[12])
    assert re.fullmatch(r"scatter_add: .* \[user.py:29\]", said[13])
    assert said[14:] == ["[ 2. nan]"]
    assert np.isnan(wg.jit(lambda x: np.sqrt(x - 1.0) * 2)(np.arange(3.0))[0])  # unless it is asked for


@pytest.mark.parametrize("asked", ["nna", "nan,inf"])
def test_checks_that_there_are_none_of(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CHECK", asked)
    with pytest.raises(
        ArgumentError, match=f"^WENGERT_CHECK: must be 'nan', 'subnormal', 'kink' or unset; got '{asked}'"
    ):
        wg.jit(lambda x: x * 2)(1.0)


def test_nan_checks_are_told_from_errors_of_indices() -> None:
    graph = wg.jit(lambda x: np.sqrt(x)[1:] * 2).graph(np.ones(3))
    executable = compile_graph(graph, check="nan").executable
    out = np.empty(2)
    executable([np.array([4.0, 9.0, 16.0])], [out])
    np.testing.assert_array_equal(out, [6.0, 8.0])
    with pytest.raises(FloatingPointError, match=r"sqrt: .*test_execute.py"):
        executable([np.array([4.0, 9.0, -16.0])], [out])


# -- Ctrl-C ----------------------------------------------------------------------------------------------

INTERRUPTED = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupted(function, *args):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.perf_counter()
    try:
        function(*args)
    except KeyboardInterrupt:
        print("interrupted", time.perf_counter() - start < 5)
    else:
        print("not interrupted")

def loop(body):
    return wg.jit(lambda x, n: wg.fori_loop(0, n, lambda i, c: body(i, c), x))

turn = loop(lambda i, c: np.sin(c) + i * 1e-3)
host = loop(lambda i, c: np.linalg.inv(c))
wide = loop(lambda i, c: np.sin(c) + 1.0)
wait = wg.jit(lambda x, least: wg.while_loop(lambda c: c[0] > least, lambda c: np.tanh(c) * 0.5, x))
for threads in (1, 2):
    wg.set_threads(threads)
    for function, x, brief, long in (
        (turn, np.ones(3), 2, 10**12),
        (host, np.eye(99), 2, 10**12),
        (wide, np.ones(100_000), 2, 10**12),
        (wait, np.ones(3), 0.5, -1.0),
    ):
        function(x, brief)
        interrupted(function, x, long)
print(turn(np.zeros(1), 3), wg.jit(wg.grad(np.sin))(0.0))
"""


def test_ctrl_c_ends_a_compiled_loop() -> None:
    done = run(INTERRUPTED)
    assert done.stdout.splitlines()[:8] == ["interrupted True"] * 8, done.stderr
    expected = np.sin(np.sin(0.0) + 1e-3) + 2e-3
    assert done.stdout.splitlines()[8] == f"{np.array([expected])} 1.0"
    assert done.stderr == ""


# -- threads ---------------------------------------------------------------------------------------------


def model(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.sum(np.exp(hidden - hidden.max(1, keepdims=True)), 1).mean() + np.sum(hidden**2)


STEP = wg.jit(wg.value_and_grad(model))
W, INPUT = RNG.normal(size=(40, 33)), RNG.normal(size=(257, 40))


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_run_gives_the_same(threads: int) -> None:
    wg.set_threads(threads)
    value, gradient = STEP(W, INPUT)
    expected = wg.value_and_grad(model)(W, INPUT)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-9, atol=1e-12)
    for _ in range(10):
        again = STEP(W, INPUT)
        assert again[0] == value
        np.testing.assert_array_equal(again[1], gradient)


def recurrence(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x)
        return h, h.sum()

    return wg.scan(step, np.zeros_like(xs[0]), xs)


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_inside_a_loop(threads: int) -> None:
    w, xs = RNG.normal(size=(64, 64)) / 8, RNG.normal(size=(9, 100, 64))
    gradient = wg.grad(lambda w: sum(map(np.sum, recurrence(w, xs))))
    compiled = wg.jit(gradient)
    wg.set_threads(threads)
    expected = gradient(w)
    for _ in range(5):
        np.testing.assert_allclose(compiled(w), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("threads", [1, 2])
def test_two_threads_of_pythons_call_one_function(threads: int) -> None:
    wg.set_threads(threads)
    compiled = wg.jit(wg.value_and_grad(model))  # and compile it at the same time
    given = [(W * n, INPUT + n) for n in range(4)]
    expected = [wg.value_and_grad(model)(*arguments) for arguments in given]
    start = threading.Barrier(4)

    def work(number: int) -> list[Any]:
        start.wait()
        return [compiled(*given[number]) for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        for number, actual in enumerate(pool.map(work, range(4))):
            for value, gradient in actual:
                np.testing.assert_allclose(value, expected[number][0], rtol=1e-12)
                np.testing.assert_allclose(gradient, expected[number][1], rtol=1e-9, atol=1e-11)


def test_a_compiled_function_called_from_inside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = wg.jit(lambda x: np.tanh(x) + np.linalg.pinv(x * 2.0))
    inner, outer = np.eye(99), np.eye(99) * 2.0 + np.eye(99, k=1)
    expected = compiled(inner), compiled(outer)
    actual: list[Any] = []
    carry_out = Executable.host

    def host(self: Executable, number: int, context: Any) -> None:
        if not actual:
            actual.append(None)
            actual.append(compiled(inner))
        carry_out(self, number, context)

    monkeypatch.setattr(Executable, "host", host)
    assert_same((compiled(outer), actual[1]), (expected[1], expected[0]))


FORK = """
import os
compiled = wg.jit(lambda x: np.tanh(x) @ x)
host = wg.jit(lambda x: np.linalg.pinv(x) + 1)
wg.set_threads(2)
x = np.linspace(0, 1, 200_000)
expected, inverse = compiled(x), host(np.eye(99))
child = os.fork()
same = compiled(x) == expected and (host(np.eye(99)) == inverse).all()
new = np.isclose(wg.jit(lambda x: np.cos(x).sum())(x), np.cos(x).sum())
if child == 0:
    os._exit(0 if same and new else 1)
print(same, os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_goes_on() -> None:
    assert output("import warnings\nwarnings.simplefilter('ignore')\n" + FORK) == "True 0\n"


# -- memory ----------------------------------------------------------------------------------------------


def dense_step(params: Any, x: Any, y: Any) -> Any:
    def loss(params: Any) -> Any:
        hidden = np.tanh(x @ params["w"] + params["b"])
        return np.mean((hidden @ params["v"] - y) ** 2)

    value, gradient = wg.value_and_grad(loss)(params)
    return {name: params[name] - 0.01 * gradient[name] for name in params}, value


@pytest.fixture(scope="module")
def training() -> tuple[Callable[..., Any], Any, Any, Any]:
    params = {"w": RNG.normal(size=(50, 64)) / 7, "b": np.zeros(64), "v": RNG.normal(size=64) / 8}
    return wg.jit(dense_step, donate=0), params, RNG.normal(size=(9000, 50)), RNG.normal(size=9000)


def test_a_call_allocates_its_results_and_little_else(training: Any) -> None:
    step, params, x, y = training
    params = {name: value.copy() for name, value in params.items()}
    for _ in range(5):
        params, _ = step(params, x, y)
    tracemalloc.start()
    try:
        for _ in range(25):
            params, _ = step(params, x, y)
        _, most = tracemalloc.get_traced_memory()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        left = tracemalloc.take_snapshot().filter_traces([arrays]).statistics("lineno")
    finally:
        tracemalloc.stop()
    assert not left
    assert most < x.nbytes // 2  # Python's own tables sometimes take a megabyte


def test_native_code_calls_no_allocator(training: Any) -> None:
    step, params, x, y = training
    text = step.llvm(params, x, y)
    declared = set(re.findall(r"^declare .* @([\w.]+)\(", text, re.MULTILINE))
    assert all(name.startswith(("llvm.", "wengert_")) for name in declared)
    compiled = compile_graph(step.graph(params, x, y))
    code = compile_module(compiled.module.text, compiled.target, team.symbols())
    assert not re.search(rb"malloc|calloc|realloc|mmap|_Zn[wa]m|alloca", code)


def test_loss_falls(training: Any) -> None:
    step, params, x, y = training
    mine = {name: value.copy() for name, value in params.items()}
    other = params
    losses: list[float] = []
    for _ in range(5):
        mine, value = step(mine, x, y)
        other, expected = dense_step(other, x, y)
        losses.append(value)
        assert value == pytest.approx(expected)
    assert losses[-1] < losses[0]
