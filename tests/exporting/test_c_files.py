"""Functions as C: linked by a C compiler, with results whose bits are those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.exporting.programs import CASES, copied, vanishing
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, UnsupportedError
from wengert.exporting.targets import NAMES

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
MICROCONTROLLER = Path(__file__).parents[2] / "examples" / "microcontroller"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(*programs: str) -> tuple[str, ...]:
    """Skip the test where a program is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    return programs


class Exported(dict[str, Path]):
    """The object files of programs, which are exported when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> Path:
        fun, arguments = CASES[name]()
        wg.export(fun, *arguments).c(self.folder / name)
        self[name] = self.folder / f"{name}.o"
        return self[name]


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Exported:
    return Exported(tmp_path_factory.mktemp("c"))


@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_the_test_program_finds_all_as_expected(exported, name, tmp_path) -> None:
    code = exported[name]
    test = code.with_name(f"{name}_test.c")
    run("gcc", *STRICT, test, code, "-o", tmp_path / "test")  # without -lm
    assert run(tmp_path / "test") == "all results are as expected\n"


@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_python(exported, name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    jitted = fun if hasattr(fun, "report") else wg.jit(fun)
    expected = [np.asarray(leaf) for leaf in tree.leaves(jitted(*copied(arguments)))]
    stated = json.loads(exported[name].with_suffix(".json").read_text())["functions"][0]
    types = {parameter["name"]: parameter["dtype"] for parameter in stated["parameters"]}
    names = list(stated["results"].values())
    lines = [
        f"    fwrite(buffer_{name}_{result}, sizeof buffer_{name}_{result}, 1, stdout);" for result in names
    ]
    text = exported[name].with_name(f"{name}_test.c").read_text()
    text = text[: text.index("int main(void)")] + "int main(void) {\n    (void)failures;\n"
    text += f"    test_{name}();\n    set_{name}();\n    check_{name}({name}_static("
    text += ", ".join(f"buffer_{name}_{parameter['name']}" for parameter in stated["parameters"]) + "));\n"
    (tmp_path / "print.c").write_text(text + "\n".join(lines) + "\n    return failures;\n}\n")
    shutil.copy(exported[name].with_suffix(".h"), tmp_path)
    run("gcc", tmp_path / "print.c", exported[name], "-o", tmp_path / "print")
    raw = subprocess.run([tmp_path / "print"], capture_output=True, check=True).stdout
    for result, value in zip(names, expected, strict=True):
        assert value.dtype == types[result]
        assert raw[: value.nbytes] == value.tobytes(), result
        raw = raw[max(value.nbytes, value.itemsize) :]


@needs_gcc
@pytest.mark.parametrize("name", CASES)
def test_sanitizers_find_nothing(exported, name, tmp_path) -> None:
    code = exported[name]
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    run("gcc", *flags, code.with_name(f"{name}_test.c"), code, "-o", tmp_path / name)
    run(tmp_path / name)


@needs_gcc
def test_two_exports_link_into_one_program_of_cplusplus(exported, tmp_path) -> None:
    (tmp_path / "main.cpp").write_text("""
        #include "branch.h"
        #include "newton_loop.h"
        #include <cstdio>
        int main() {
            double x[3] = {0.5, -0.25, 1.0}, value, slope[3], root;
            int64_t turns;
            double two = 2.0;
            if (branch_static(x, &value, slope) || newton_loop_static(&two, &root, &turns)) return 1;
            std::printf("%.6f %.6f %d\\n", value, root, (int)turns);
            return branch_error(99)[0] == 0;
        }
    """)
    folder = exported["branch"].parent
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    run(
        "g++",
        *flags,
        tmp_path / "main.cpp",
        exported["branch"],
        exported["newton_loop"],
        "-o",
        tmp_path / "both",
    )
    assert run(tmp_path / "both") == "1.073493 1.414214 5\n"


@needs_gcc
def test_only_entries_are_global_symbols_and_memory_alone_is_undefined(exported) -> None:
    for name, code in exported.items():
        symbols = [line.split()[-2:] for line in run("nm", "-g", code).splitlines()]
        own = [symbol for symbol in symbols if symbol not in (["U", "memset"], ["U", "memcpy"])]
        assert sorted(own) == [["T", name], ["T", f"{name}_error"], ["T", f"{name}_static"]]


@needs_gcc
def test_an_error_has_a_code_that_names_the_line(tmp_path) -> None:
    wg.export(lambda x, i: x[i] * 2, np.arange(3.0), 1).c(tmp_path / "pick")
    (tmp_path / "main.c").write_text("""
        #include "pick.h"
        #include <stdio.h>
        int main(void) {
            double x[3] = {1, 2, 3}, y;
            int64_t i = 7;
            puts(pick_error(pick_static(x, &i, &y)));
            return 0;
        }
    """)
    run("gcc", *STRICT, tmp_path / "main.c", tmp_path / "pick.o", "-o", tmp_path / "main")
    assert "indices must lie inside the array. [test_c_files.py:" in run(tmp_path / "main")


@needs_gcc
def test_a_second_function_for_other_shapes(tmp_path) -> None:
    exported = wg.export(wg.grad(lambda x: np.sum(np.sin(x) ** 2)), np.ones(3)).add(np.ones((2, 40)))
    exported.c(tmp_path / "slope")
    run("gcc", *STRICT, tmp_path / "slope_test.c", tmp_path / "slope.o", "-o", tmp_path / "test")
    run(tmp_path / "test")
    assert "int slope_2_static(" in (tmp_path / "slope.h").read_text()


def test_a_state_is_updated_in_its_place(tmp_path) -> None:
    @wg.jit(donate=0)
    def step(state, x):
        return np.sum(x), {"count": state["count"] + 1, "w": state["w"] * x}

    wg.export(step, {"count": 0, "w": np.ones(3)}, np.ones(3)).c(tmp_path / "step")
    text = (tmp_path / "step.h").read_text()
    assert "int64_t *state_count,\n    double *state_w,\n    const double *x,\n    double *out_0,\n" in text
    assert "state_w[3]: in, out, state['w']" in text


@pytest.mark.parametrize("name", ["branch", pytest.param("elementary_functions", marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", NAMES)
def test_every_target_makes_an_object_file(target, name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    wg.export(fun, *arguments).c(tmp_path / "f", target=target)
    kind = {"macos-arm64": b"\xcf\xfa\xed\xfe", "wasm32": b"\0asm", "windows-x86-64": b"\x64\x86"}
    assert (tmp_path / "f.o").read_bytes().startswith(kind.get(target, b"\x7fELF"))


@pytest.mark.parametrize("name", CASES)
def test_bits_on_aarch64(name, tmp_path) -> None:
    compiler, emulator = installed("aarch64-linux-gnu-gcc", "qemu-aarch64")
    fun, arguments = CASES[name]()
    wg.export(fun, *arguments).c(tmp_path / name, target="aarch64")
    run(compiler, *STRICT, tmp_path / f"{name}_test.c", tmp_path / f"{name}.o", "-o", tmp_path / "test")
    run(emulator, "-L", "/usr/aarch64-linux-gnu", tmp_path / "test")


BOARD = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Wl,--no-warnings"]


@pytest.mark.parametrize("name", CASES)
def test_bits_on_a_microcontroller_without_a_system(name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    wg.export(fun, *arguments).c(tmp_path / name, target="cortex-m4f")
    assert (
        on_the_board(tmp_path / f"{name}_test.c", tmp_path / f"{name}.o") == "all results are as expected\n"
    )


def on_the_board(*sources: Path) -> str:
    """Return the output of a program on a microcontroller that is emulated."""
    compiler, emulator = installed("arm-none-eabi-gcc", "qemu-system-arm")
    library = ["--specs=rdimon.specs", "-nostartfiles", "-T", MICROCONTROLLER / "link.ld"]
    program = sources[0].with_suffix("")
    run(compiler, *STRICT, *BOARD, *library, MICROCONTROLLER / "start.c", *sources, "-o", program)
    machine = ["-M", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-semihosting"]
    return run(emulator, *machine, "-kernel", program)


#: Prints how many results are zero, and whether the program itself has subnormal numbers before and after the call.
FLAGS = """
#include "f.h"
#include <float.h>
#include <stdio.h>
int main(void) {
    volatile float least = FLT_MIN;
    float x[5], y[5], product[5], halved[5];
    int i, code, zeros = 0, before = least / 2 > 0;
    for (i = 0; i < 5; i++) {
        x[i] = 1e-30f;
        y[i] = 1e-10f;
    }
    code = f_static(x, y, product, halved);
    for (i = 0; i < 5; i++)
        zeros += (product[i] == 0) + (halved[i] == 0);
    printf("%d %d %d %d\\n", code, zeros, before, least / 2 > 0);
    return 0;
}
"""


@pytest.mark.parametrize("target", ["host", "aarch64", "cortex-m4f"])
def test_subnormal_numbers_are_flushed_in_the_call_alone(target, tmp_path) -> None:
    fun, arguments = vanishing(flush=True)
    wg.export(fun, *arguments).c(tmp_path / "f", target=target)
    (tmp_path / "flags.c").write_text(FLAGS)
    assert "Subnormal numbers count as zeros" in (tmp_path / "f.h").read_text()
    for source, expected in (("flags", "0 10 1 1\n"), ("f_test", "all results are as expected\n")):
        sources = [tmp_path / f"{source}.c", tmp_path / "f.o"]
        if target == "cortex-m4f":
            assert on_the_board(*sources) == expected
            continue
        (compiler,) = installed("gcc" if target == "host" else "aarch64-linux-gnu-gcc")
        emulator = installed("qemu-aarch64") if target == "aarch64" else ()
        place = ["-L", "/usr/aarch64-linux-gnu"] if emulator else []
        run(compiler, *STRICT, *sources, "-o", tmp_path / source)
        assert run(*emulator, *place, tmp_path / source) == expected


@pytest.mark.parametrize("target", ["riscv64", "wasm32"])
def test_processors_without_flags_keep_subnormal_numbers(target, tmp_path) -> None:
    for flush in (True, False):
        fun, arguments = vanishing(flush=flush)
        wg.export(fun, *arguments).c(tmp_path / f"{flush}" / "f", target=target)
    for name in ("f.o", "f.h", "f_test.c", "f.json"):
        assert (tmp_path / "True" / name).read_bytes() == (tmp_path / "False" / name).read_bytes()
    assert (
        json.loads((tmp_path / "True" / "f.json").read_text())["functions"][0]["flushes_subnormals"] is False
    )


def test_this_processor_computes_what_a_microcontroller_does(tmp_path) -> None:
    exported = wg.export(*(lambda fun, arguments: (fun, *arguments))(*CASES["kalman_filter"]()))
    texts = []
    for name, options in (("here", {"like": "cortex-m4f"}), ("there", {"target": "cortex-m4f"})):
        exported.c(tmp_path / name / "f", **options)
        texts.append((tmp_path / name / "f_test.c").read_text())
    assert texts[0] == texts[1]  # both have the same expected bits


def test_errors_come_before_any_file(tmp_path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"export: .* got eigh; compute it in Python .* \[test_c_files\.py:\d+\]$"
    ):
        wg.export(lambda x: np.linalg.eigh(x)[0], np.eye(40)).c(tmp_path / "values")
    with pytest.raises(ArgumentError, match="the target must be host, x86-64-v2"):
        wg.export(np.sum, np.ones(3)).c(tmp_path / "total", target="z80")
    with pytest.raises(ArgumentError, match="identifier of C"):
        wg.export(np.sum, np.ones(3)).c(tmp_path / "my-total")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("target", "like"), [("cortex-m4f", "aarch64"), ("aarch64", "cortex-m4f"), ("aarch64", "x86-64-v4")]
)
def test_orders_that_a_processor_cannot_follow(target, like, tmp_path) -> None:
    with pytest.raises(ArgumentError, match="like must name a target with the same instructions"):
        wg.export(np.sum, np.ones(3)).c(tmp_path / "total", target=target, like=like)


@needs_gcc
def test_keys_do_not_end_a_comment(tmp_path) -> None:
    wg.export(lambda p: p["*/ int"] * 2, {"*/ int": np.ones(2)}).c(tmp_path / "twice")
    run("gcc", *STRICT, tmp_path / "twice_test.c", tmp_path / "twice.o", "-o", tmp_path / "test")
    run(tmp_path / "test")


@needs_gcc
@pytest.mark.parametrize("language", ["c", "c++"])
def test_leaves_may_have_any_name(language, tmp_path) -> None:
    names = [
        "slope",
        "set",
        "check",
        "error",
        "static",
        "memory",
        "given",
        "x",
        "x_given",
        "explicit",
        "goto",
        "xor",
    ]

    def total(leaves: Any, slope: Any, error: Any, xor: Any, goto: Any) -> Any:
        return sum(leaves.values()) + slope * error + xor - goto

    x = np.ones(2)
    wg.export(total, dict.fromkeys(names, x), x, x, x, x).c(tmp_path / "total")
    source = ["-x", language, tmp_path / "total_test.c", "-x", "none"]
    flags = [flag for flag in STRICT if language == "c" or flag != "-std=c99"]
    run("gcc", *flags, *source, tmp_path / "total.o", "-o", tmp_path / "test")
    run(tmp_path / "test")


@needs_gcc
def test_arrays_without_elements_pass_their_test(tmp_path) -> None:
    export = wg.export(lambda x, y: (x * 2, np.sum(x) + y), np.ones((0, 3)), np.ones(2))
    export.add(np.ones((0, 3)), np.ones(0)).c(tmp_path / "f")
    run("gcc", *STRICT, tmp_path / "f_test.c", tmp_path / "f.o", "-o", tmp_path / "test")
    run(tmp_path / "test")


@pytest.mark.parametrize(
    "name", ["my-total", "total.c", "1total", "double", "co_await", "exp", "sinf", "spread"]
)
def test_a_name_that_c_cannot_call_is_refused(name, tmp_path) -> None:
    with pytest.raises(ArgumentError, match=f"the last part of the path must be .*; got '{name}'; write '"):
        wg.export(np.sum, np.ones(3)).c(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("x86_64-unknown-linux-gnu:z80:", "'z80' is not a recognized processor"),
        ("x86_64-unknown-linux-gnu:i386:", "64-bit code"),
        ("aarch64-unknown-linux-gnu:cortex-a72:+abacus", "is not a recognized feature"),
        ("abacus-none:beads:", "No available targets"),
    ],
)
def test_a_target_that_llvm_does_not_know_is_refused(target, reason, tmp_path) -> None:
    with pytest.raises(ArgumentError, match=f"that LLVM knows; got '.*{reason}"):
        wg.export(np.sum, np.ones(3)).c(tmp_path / "total", target=target)
    assert not list(tmp_path.iterdir())


def test_examples_fit_the_function() -> None:
    for fun in (lambda x, y: x * y, wg.jit(lambda x, y: x * y, donate=0)):
        with pytest.raises(ArgumentError, match=r"export: an example for each argument .* missing .*'y'"):
            wg.export(fun, np.ones(3))
    with pytest.raises(TypeError, match="has no len"):
        wg.export(lambda x: len(3) * x, np.ones(3))  # pyright: ignore[reportArgumentType]


def test_an_error_at_the_examples_is_quoted(tmp_path) -> None:
    with pytest.raises(
        ArgumentError, match=r"got 'index: .*array'; give other examples\. \[test_c_files.py:\d+\]$"
    ):
        wg.export(lambda x, i: x[i], np.ones(5), 9).c(tmp_path / "element")


def test_half_precision_is_refused(tmp_path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"got multiply of float16; convert .* \[test_c_files\.py:\d+\]$"
    ):
        wg.export(lambda x: x * np.float16(2), np.arange(4, dtype=np.float16)).c(tmp_path / "twice")
