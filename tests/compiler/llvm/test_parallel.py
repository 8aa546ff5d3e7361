"""Programs in parts: one is compiled while the next is written."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.compiler.graphs import compile_graph
from wengert.compiler.llvm import parallel
from wengert.compiler.llvm.host import host
from wengert.compiler.llvm.object_code import CompileError, load
from wengert.compiler.llvm.parallel import Compilation
from wengert.compiler.llvm.recent import Recent
from wengert.engine.ir.types import TensorType
from wengert.engine.machine import costs
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import stage

MODULES = [
    "define void @one(ptr %x) nounwind {\n  store i64 1, ptr %x\n  ret void\n}\n",
    *(
        f"declare void @one(ptr)\ndefine void @part{n}(ptr %x) nounwind {{\n  call void @one(ptr %x)\n  ret void\n}}\n"
        for n in range(6)
    ),
]
LAST = "declare void @part3(ptr)\ndefine void @main(ptr %x) {\n  call void @part3(ptr %x)\n  ret void\n}\n"
BROKEN = "define void @broken(ptr %x) { ret i64 %y }"


@pytest.fixture(autouse=True)
def nothing_is_recent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile each module, as if no test before had compiled it."""
    monkeypatch.setattr(parallel, "RECENT", Recent(0))


def code(modules: list[str] = MODULES, last: str = LAST) -> bytes:
    with Compilation(host(), frozenset[str]) as compiling:
        for module in modules:
            compiling.add(module, names_in(module))
        return compiling.finish(last)


def names_in(module: str) -> list[str]:
    return re.findall(r"define void @(\w+)", module)


def wait_for_threads() -> None:
    """Wait for threads that have said that they are done, but may not have left yet."""
    for thread in threading.enumerate():
        if thread.name == "wengert-compiler":
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    interval = sys.getswitchinterval()
    yield
    assert sys.getswitchinterval() == pytest.approx(interval, abs=1e-6)
    wait_for_threads()


@pytest.mark.parametrize("processors", [1, 2, 8])
def test_the_code_is_the_same_on_any_number_of_threads(processors: int, monkeypatch: Any) -> None:
    expected = code()
    monkeypatch.setattr(parallel, "available", lambda: processors)
    assert code() == expected
    library = load(expected)
    assert len({library.address(name) for name in ("one", "part0", "part5", "main")}) == 4


def test_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = code()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(parallel, "available", lambda: 8)
        patched.setattr(threading.Thread, "start", refuse)
        assert code() == expected


@pytest.mark.parametrize("processors", [1, 4])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_part_that_is_refused(place: int, processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available", lambda: processors)
    modules = [*MODULES, LAST]
    modules[place] = BROKEN
    with pytest.raises(CompileError, match="LLVM must accept the program"):
        code(modules[:-1], modules[-1])


def test_a_function_of_a_later_part_is_not_known() -> None:
    with pytest.raises(CompileError, match="every function must be defined or given; got one"):
        code(MODULES[1:])


def test_an_interrupted_program_leaves_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    compiled: list[str] = []

    def slow(text: str, *_: Any) -> bytes:
        compiled.append(text)
        begun.set()
        go_on.wait(10)
        return b""

    monkeypatch.setattr(parallel, "compile_module", slow)
    monkeypatch.setattr(parallel, "available", lambda: 2)

    def interrupted() -> None:
        with Compilation(host(), frozenset[str]) as compiling:
            for module in MODULES:
                compiling.add(module, names_in(module))
            begun.wait(10)
            threading.Timer(0.05, go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert compiled == MODULES[:1]


def test_programs_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available", lambda: 4)
    expected = code()
    actual: list[bytes] = []
    threads = [threading.Thread(target=lambda: actual.append(code())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert actual == [expected] * 6


# -- whole programs --------------------------------------------------------------------------------------


def network(w: Any, x: Any) -> Any:
    h = np.tanh(x @ w)
    for _ in range(3):
        h = np.exp(-h * h) @ w
    return np.sum(np.log(1 + np.exp(h))) + np.sort(h, axis=1)[0, 0]


def looped(w: Any, x: Any) -> Any:
    def turn(h: Any, row: Any) -> Any:
        h = np.tanh(h @ w + row)
        return h, np.sum(np.sin(h))

    return wg.scan(turn, np.zeros_like(x), np.stack([x, x * 2, x * 3]))


def chosen(w: Any, x: Any) -> Any:
    return wg.cond(x[0, 0] > 0, lambda: np.exp(x) @ w, lambda: np.sin(x @ w))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "network": network,
    "gradient": wg.value_and_grad(network),
    "loop": looped,
    "gradient of a loop": wg.grad(lambda w, x: np.sum(looped(w, x)[1])),
    "branches": chosen,
    "callback": lambda w, x: np.linalg.inv(w @ w.T + 9 * np.eye(len(w))) + np.exp(w),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("size", [20, 200])
def test_a_function_a_part(function: Callable[..., Any], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, module_part_characters=1))
    monkeypatch.setattr(parallel, "available", lambda: 3)
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(size, size)) / size, rng.normal(size=(size, size))
    check(function, w, x, ulp=2000, scale=10.0)


def test_the_parts_are_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts together define the functions of one module, each once; a call follows its definition."""
    types = [TensorType(np.dtype(np.float64), (30, 30))] * 2
    graph = simplify(stage(wg.grad(network), types)[0])
    whole = compile_graph(graph).module.text
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, module_part_characters=2000))
    taken: list[tuple[str, list[str]]] = []
    compiled = compile_graph(graph)
    module = compiled._built(lambda *part: taken.append(part))  # pyright: ignore[reportPrivateUsage]
    assert len(taken) > 3
    defined: list[str] = []
    for text, names in (*taken, (module.text, [])):
        called = set(re.findall(r"call void @(nest\d+)\(", text)) - set(names_of("define", text))
        assert called <= set(defined)
        assert called <= set(names_of("declare", text))
        assert set(names) <= set(names_of("define", text))
        defined += names_of("define", text)
    assert len(defined) == len(set(defined))
    assert sorted(defined) == sorted(names_of("define", whole))


def names_of(keyword: str, text: str) -> list[str]:
    return re.findall(rf"^{keyword} (?:internal )?void @([\w.]+)\(", text, re.MULTILINE)


# -- Ctrl-C ----------------------------------------------------------------------------------------------


class Interrupt:
    """Raises `KeyboardInterrupt` in this thread, at a line of the module `parallel`."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != parallel.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def test_ctrl_c_at_any_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "available", lambda: 3)
    monkeypatch.setattr(parallel, "compile_module", lambda text, *_: text.encode())
    line, outcomes = 0, list[bool]()
    while not outcomes or not outcomes[-1]:
        line += 1
        before = sys.gettrace()
        interrupt = Interrupt(line)
        sys.settrace(interrupt)
        try:
            code(MODULES[:3])
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        outcomes.append(interrupt.left > 0)
        wait_for_threads()
    assert len(outcomes) > 40
    assert code() == code()  # nothing is left locked


class Program:
    """A weakly referenced object in place of a program."""


def test_programs_in_any_order_leave_the_usual_interval() -> None:
    usual = sys.getswitchinterval()
    interval_of_threads = parallel._SwitchInterval()  # pyright: ignore[reportPrivateUsage]

    def work(programs: list[object]) -> None:
        for program in programs:
            interval_of_threads.begin(program)
            interval_of_threads.end(program)

    sys.setswitchinterval(1e-3)
    try:
        threads = [threading.Thread(target=work, args=([Program() for _ in range(3000)],)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sys.getswitchinterval() == pytest.approx(1e-3)
        sys.setswitchinterval(1e-5)  # shorter than ours
        work([Program()])
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_meanwhile_has_the_usual_interval_and_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "available", lambda: 2)
    interval = sys.getswitchinterval()
    with Compilation(host(), frozenset[str]) as compiling:
        for module in MODULES:
            compiling.add(module, names_in(module))
        assert sys.getswitchinterval() < interval
        child = os.fork()
        if not child:
            os._exit(0 if sys.getswitchinterval() == interval and code() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert compiling.finish(LAST) == code()
