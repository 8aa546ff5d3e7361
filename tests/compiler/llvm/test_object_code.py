"""LLVM IR to functions in memory."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.compiler.llvm import disk_cache, object_code
from wengert.compiler.llvm.host import host, identity, named
from wengert.compiler.llvm.object_code import (
    CompileError,
    assembly,
    compile_module,
    load,
    optimised,
    stored_library,
)
from wengert.engine.core.errors import WengertError

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
LINEAR = "define i64 @linear(i64 %x) nounwind {{ %y = mul i64 %x, {0} %z = add i64 %y, {1} ret i64 %z }}"
Unary = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def unary(library: object_code.Library) -> Callable[[int], int]:
    function = Unary(library.address("linear"))
    return lambda x: library and function(x)  # the code lives as long as the library


def mapped(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, stop = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < stop:
            return True
    return False


@examples(10)
@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_a_function_computes_what_its_text_says(a: int, b: int, x: int) -> None:
    library = load(compile_module(LINEAR.format(a, b), host()))
    assert unary(library)(x) == a * x + b


def test_the_same_text_gives_the_same_object_code() -> None:
    text = LINEAR.format(3, 4)
    assert compile_module(text, host()) == compile_module(text, host())


def test_several_functions_and_constants_are_found() -> None:
    text = """
    @table = private constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0]
    define double @entry(i64 %i) {
      %p = getelementptr double, ptr @table, i64 %i
      %x = load double, ptr %p
      ret double %x
    }
    define i64 @seven() { ret i64 7 }
    define internal i64 @hidden() noinline { ret i64 8 }
    define i64 @eight() { %x = call i64 @hidden() ret i64 %x }
    """
    library = load(compile_module(text, host()))
    entry = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(library.address("entry"))
    assert [entry(i) for i in range(4)] == [1.0, 2.0, 4.0, 8.0]
    assert [ctypes.CFUNCTYPE(ctypes.c_int64)(library.address(name))() for name in ("seven", "eight")] == [
        7,
        8,
    ]
    for name in ("hidden", "missing"):
        with pytest.raises(KeyError):
            library.address(name)


CALLS = "declare i64 @outside(i64)\ndefine i64 @linear(i64 %x) { %y = call i64 @outside(i64 %x) ret i64 %y }"


def test_functions_of_others_are_called_at_the_addresses_given() -> None:
    triple, square = Unary(lambda x: 3 * x), Unary(lambda x: x * x)
    code = compile_module(CALLS, host(), {"outside": 1})
    for other, expected in ((triple, 21), (square, 49)):
        address = ctypes.cast(other, ctypes.c_void_p).value
        assert address is not None
        assert unary(load(code, {"outside": address}))(7) == expected


def test_functions_of_the_process_need_no_address() -> None:
    text = """
    declare ptr @memcpy(ptr, ptr, i64)
    declare ptr @memset(ptr, i32, i64)
    define void @move(ptr %to, ptr %from) {
      call ptr @memcpy(ptr %to, ptr %from, i64 8)
      %rest = getelementptr i8, ptr %to, i64 8
      call ptr @memset(ptr %rest, i32 7, i64 8)
      ret void
    }"""
    library = load(compile_module(text, host()))
    to, source = (ctypes.c_uint8 * 16)(), (ctypes.c_uint8 * 8)(*range(8))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("move"))(
        ctypes.addressof(to), ctypes.addressof(source)
    )
    assert list(to) == [*range(8), *[7] * 8]


BROKEN = {
    "define i64 @f( { }": "LLVM must accept the program; got .*expected '\\)'",
    "define i64 @f(i64 %x) { ret i64 %y }": "LLVM must accept the program; got .*undefined value '%y'",
    "define i64 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i64 1, 2\n br label %b\nb:\n ret i64 %x }": (
        "must be well formed; got .*does not dominate"
    ),
    CALLS: "every function must be defined or given; got outside",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_refused_program_is_an_error_with_the_reason_and_a_place(text: str) -> None:
    with pytest.raises(CompileError, match=BROKEN[text]) as caught:
        compile_module(text, host())
    assert isinstance(caught.value, WengertError)
    assert isinstance(caught.value, RuntimeError)
    assert "test_object_code.py" in str(caught.value)
    assert unary(load(compile_module(LINEAR.format(2, 1), host())))(5) == 11


@pytest.mark.parametrize("cut", [0, 5, 20, 100])
def test_damaged_object_code_is_an_error(cut: int) -> None:
    code = compile_module(LINEAR.format(2, 1), host())
    for damaged in (code[:cut], code[:-cut] if cut else b"\0", b"x" * cut):
        with pytest.raises(CompileError, match="the object code must link"):
            load(damaged)
    assert unary(load(code))(1) == 3


def test_object_code_that_lacks_a_function_does_not_link() -> None:
    code = compile_module(CALLS, host(), {"outside": 1})
    with pytest.raises(CompileError, match="the object code must link"):
        load(code)


INLINED = """
define internal double @square(double %x) alwaysinline { %y = fmul double %x, %x ret double %y }
define void @scale(ptr noalias %out, ptr noalias readonly %factor, i64 %n) nounwind {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %f = load double, ptr %factor
  %s = call double @square(double %f)
  %at = getelementptr inbounds double, ptr %out, i64 %i
  %x = load double, ptr %at
  %y = fmul double %x, %s
  store double %y, ptr %at
  %next = add nsw i64 %i, 1
  br label %head
done:
  ret void
}
"""


def test_the_passes_inline_and_hoist_and_leave_the_loops_alone() -> None:
    text = optimised(INLINED, host())
    assert "@square" not in text
    loop = text[text.index("phi i64") :]
    assert loop.count("load double") == 1  # the factor is read and squared before the loop
    assert loop.count("fmul") == 1
    assert "x double>" not in text  # LLVM neither vectorises nor unrolls


def test_constants_are_operands_of_the_instructions_that_use_them() -> None:
    text = "define double @f(double %x) nounwind { %y = fmul double %x, 0x3FB999999999999A ret double %y }"
    assert "mulsd\t.LCPI0_0(%rip), %xmm0" in assembly(text, named("sse2"))


@linux_only
@pytest.mark.usefixtures("young_heap")
def test_memory_is_given_back_with_the_library() -> None:
    library = load(compile_module(LINEAR.format(5, 6), host()))
    address = library.address("linear")
    assert mapped(address)
    assert unary(library)(7) == 41
    del library
    gc.collect()
    assert not mapped(address)


@linux_only
@pytest.mark.usefixtures("young_heap")
def test_many_libraries_take_no_memory_in_the_end() -> None:
    code = compile_module(LINEAR.format(5, 6), host())

    def pages() -> int:
        for _ in range(300):
            load(code)
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    pages()
    assert pages() - pages() < 256  # of 4 KiB, for 300 libraries of at least 4 pages each


def test_threads_compile_and_load_at_the_same_time() -> None:
    def work(number: int) -> int:
        return unary(load(compile_module(LINEAR.format(number, 1), host())))(100)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(40))) == [100 * number + 1 for number in range(40)]


def test_another_process_loads_the_object_code(tmp_path: Path) -> None:
    (tmp_path / "code").write_bytes(compile_module(LINEAR.format(6, 0), host()))
    program = """
import ctypes, sys
from pathlib import Path
from wengert.compiler.llvm.object_code import load
library = load(Path(sys.argv[1]).read_bytes())
print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("linear"))(7))
"""
    answer = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "code")], capture_output=True, text=True, timeout=60
    )
    assert (answer.stdout, answer.stderr) == ("42\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_compiles_although_its_parent_was_compiling() -> None:
    over = threading.Event()

    def compile_on() -> None:
        while not over.is_set():
            compile_module(INLINED, host())
            time.sleep(0.001)  # between two compilations other threads can run

    busy = threading.Thread(target=compile_on)
    busy.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(unary(load(compile_module(LINEAR.format(2, 2), host())))(20))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    finally:
        over.set()
        busy.join()


def test_functions_of_another_version_on_the_disk_are_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    text = LINEAR.format(7, 1)
    key = disk_cache.key("some", identity(host()), text)
    disk_cache.default().put(key, b"linear\0" + bytes(100))
    for _ in range(2):
        assert unary(stored_library("some", text))(2) == 15
    assert unary(load(disk_cache.default().get(key) or b""))(2) == 15


def test_masked_accesses_are_in_the_form_that_every_llvm_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before LLVM 22, alignment is an operand; in LLVM 22 it is an attribute, but it reads the older form, too."""
    texts: list[str] = []
    monkeypatch.setattr(disk_cache, "default", lambda: disk_cache.Cache(None))
    monkeypatch.setattr(object_code.llvm, "parse_assembly", _noting(texts, object_code.llvm.parse_assembly))
    x = np.arange(7.0)
    rows = np.array([6, 0, 3, 3, 5, 1, 2])
    np.testing.assert_array_equal(
        wg.jit(lambda x: (x[::-1] + x[rows])[1:6] * 2)(x), (x[::-1] + x[rows])[1:6] * 2
    )
    calls = [line for text in texts for line in text.splitlines() if " @llvm.masked." in line]
    assert calls
    assert all(re.search(r"\bi32( \d+)?, <", line) for line in calls)


def _noting(texts: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    def noted(text: str, context: Any) -> Any:
        texts.append(text)
        return function(text, context)

    return noted


# -- loops turn by turn ------------------------------------------------------------------------------------

TURNS = """define i64 @linear(i64 %n) nounwind "control-flow" {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %turn ]
  %sum = phi i64 [ 0, %entry ], [ %more, %turn ]
  %going = icmp slt i64 %i, %n
  br i1 %going, label %turn, label %end
turn:
  %square = mul i64 %i, {0}
  %crossed = xor i64 %square, %sum
  %more = add i64 %crossed, {1}
  %next = add i64 %i, 1
  br label %head
end:
{2}  ret i64 %sum
}}
"""


def turns(a: int, b: int, long: bool = False) -> str:
    return TURNS.format(a, b, "  call void @llvm.donothing()\n" * (1500 if long else 0)) + (
        "declare void @llvm.donothing()\n"
    )


@examples(10)
@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(0, 40), st.booleans())
def test_unrolled_loops_take_as_many_turns_as_they_should(a: int, b: int, n: int, long: bool) -> None:
    total = 0
    for i in range(n):
        total = ((i * a) ^ total) + b
    assert unary(load(compile_module(turns(a, b, long), host())))(n) == total


@pytest.mark.parametrize(("long", "is_unrolled"), [(False, True), (True, False)])
def test_the_loops_of_short_functions_are_unrolled(long: bool, is_unrolled: bool) -> None:
    text = optimised(turns(3, 5, long), named("avx2"))
    assert (text.count("= xor") > 2) == is_unrolled
