"""Functions as C source: no warnings, and the results of Python to rounding."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.programs import Program
from tests.compiler.test_random_graphs import assert_close, gradient, length
from tests.compiler.test_registry_compiled import seed_of
from tests.draws import many
from tests.exporting.c_sources import STRICT, Sources
from tests.exporting.programs import CASES
from tests.exporting.test_onnx_primitives import SAMPLED, drawn
from tests.programs.loops.catalogue import PROGRAMS
from tests.programs.loops.checking import Checked
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError, UnsupportedError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

UNDEFINED = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def close(found: Sequence[Any], expected: Any, tolerance: float) -> None:
    """Compare leaves: floats relative to the largest number, all else exactly."""
    for x, y in zip(found, tree.leaves(expected), strict=True):
        y = np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if y.dtype.kind not in "fc":
            np.testing.assert_array_equal(x, y)
            continue
        finite = np.isfinite(y)
        scale = float(np.max(np.abs(y[finite]), initial=0.0))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


def edges(dtype: str) -> Any:
    """Return numbers of a dtype at which operations are special."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        few = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2 + 1]
        few += [-1, -2, -3, -7] if limits.min else []
        return np.array(few, dtype)
    limits = np.finfo(dtype)
    sizes = [
        0.0,
        1.0,
        0.5,
        2.5,
        3.0,
        0.1,
        float(limits.max),
        float(limits.tiny),
        np.inf,
        1e5,
        2.0**31,
        2.0**62,
    ]
    return np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)


BINARY = (
    *(np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.fmod, np.maximum, np.minimum),
    *(np.fmax, np.fmin, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.copysign, np.divide, np.logaddexp, np.hypot),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift, np.arctan2),
)
UNARY = (
    *(np.negative, np.absolute, np.sign, np.square, np.invert, np.floor, np.ceil, np.trunc, np.rint),
    *(np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.reciprocal, np.sqrt, np.exp, np.log),
    *(np.tanh, np.arctan, np.expm1, np.log1p, np.cbrt, lambda x: x**3, lambda x: x**9),
)
CASTS = ("bool", *INTEGERS, "float32", "float64")


def every_operation(dtype: str) -> Callable[..., Any]:
    """Return a function of two arrays that applies each operation that NumPy has for a dtype."""
    one = np.ones(2, dtype)

    def works(operation: Callable[..., Any], count: int) -> bool:
        if operation in (np.signbit, np.reciprocal, np.copysign) and not dtype.startswith("float"):
            return False  # NumPy carries them out
        try:
            with np.errstate(all="ignore"):
                return operation(*[one] * count).dtype != np.float16
        except TypeError:
            return False

    binary = [operation for operation in BINARY if works(operation, 2)]
    unary = [operation for operation in UNARY if works(operation, 1)]

    def f(x: Any, y: Any) -> Any:
        results = [operation(x, y) for operation in binary] + [operation(x) for operation in unary]
        tame = np.where(np.abs(x) < 100, x, 1) if dtype.startswith("float") else x
        results += [np.where(x == y, x, y), *(tame.astype(to) for to in CASTS)]
        return results, [x.astype(to) for to in CASTS]  # of what has no counterpart, NumPy makes any number

    return f


def check_edges(dtypes: Sequence[str], folder: Path, *flags: str) -> None:
    sources = Sources(folder)
    cases: dict[str, Any] = {}
    for dtype in dtypes:
        few = edges(dtype)
        arguments = tuple(np.ascontiguousarray(z.reshape(-1)) for z in np.meshgrid(few, few))
        function = every_operation(dtype)
        cases[sources.add(function, arguments)] = (function, arguments)
    call = sources.compiled(*flags)
    for name, (function, arguments) in cases.items():
        with np.errstate(all="ignore"):
            expected, _ = function(*arguments)
        for number, (x, y) in enumerate(zip(call(name, *arguments), expected, strict=False)):
            place = f"{name}, result {number}"
            if y.dtype.kind != "f":
                np.testing.assert_array_equal(x, y, err_msg=place)
                continue
            np.testing.assert_allclose(x, y, rtol=1e-6 if y.dtype.itemsize == 4 else 1e-14, err_msg=place)
            zeros = y == 0
            np.testing.assert_array_equal(np.signbit(x[zeros]), np.signbit(y[zeros]), err_msg=place)


def test_operations_at_their_edges_are_those_of_numpy(tmp_path) -> None:
    check_edges(["float32"], tmp_path, "-O0")


@pytest.mark.slow
def test_no_operation_is_undefined_at_its_edges(tmp_path) -> None:
    check_edges(["bool", *INTEGERS, "float32", "float64"], tmp_path, "-O1", *UNDEFINED)


def check_programs(seeds: Sequence[int], folder: Path, *flags: str) -> None:
    """Compare random programs, and their gradients, with eager mode."""
    sources = Sources(folder)
    cases: dict[str, Any] = {}
    for seed in seeds:
        dtype = np.float32 if seed % 5 == 4 else np.float64
        plain = Program(seed, length(seed), differentiable=False)
        for function in (plain, gradient(Program(seed, length(seed)))):
            arguments = plain.arguments(dtype)

            def run(integers: Any, floats: Any, function: Any = function) -> Any:
                return function(integers, floats)

            cases[sources.add(run, arguments)] = (run, arguments)
    call = sources.compiled(*flags)
    for name, (function, arguments) in cases.items():
        with np.errstate(all="ignore"):
            assert_close(call(name, *arguments), tree.leaves(function(*arguments)))


def test_random_programs(tmp_path) -> None:
    check_programs(range(100, 100 + many(3)), tmp_path, "-O0")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_many_random_programs(first, tmp_path) -> None:
    check_programs(range(first, first + 10), tmp_path, "-O1", *UNDEFINED)


@pytest.mark.parametrize("target", ["host", pytest.param("cortex-m4f", marks=pytest.mark.slow)])
def test_rows_and_sums_of_vectors(target, tmp_path) -> None:
    def f(x: Any, w: Any, long: Any, n: Any) -> Any:
        product = x @ w
        turned = x @ w[:, :5] + (w[:, :5].T @ x.T).T
        dots = np.stack([x @ row for row in w.T[:3, :]]) + np.einsum("ik,jk->ij", x, x)[0, 0]
        filtered = np.convolve(long, long[:9], "valid")
        pairs = long[:480].reshape(12, 40) @ np.reshape(long[20:], (12, 40)).T
        rows = np.max(w, axis=0), np.min(w * w, axis=0), np.sum(n, axis=0), np.argmax(w, axis=0)
        return product, turned, dots, filtered, pairs, rows, np.mean(long), np.sum(n), np.cumsum(long)[-1]

    r = np.random.default_rng(0)
    sources = Sources(tmp_path, target)
    cases: dict[str, Any] = {}
    for dtype, inner, outer in (("f4", 37, 300), ("f8", 64, 256)):
        x, w, long = (r.normal(size=size).astype(dtype) for size in ((3, inner), (inner, outer), 500))
        given = x, w, long, r.integers(-(2**30), 2**30, (40, 200)).astype("i4")
        cases[sources.add(f, given)] = given
    call = sources.compiled("-O1")
    assert ("parts" in (tmp_path / "f0.c").read_text()) == (target == "host")
    for name, given in cases.items():
        close(call(name, *given), f(*given), 1e-5 if given[0].dtype == np.float32 else 1e-12)


def sums(a: Any, b: Any, x: Any, h: Any) -> Any:
    """Return sums along rows, along columns, over windows, and of products of rows, some with choices behind them."""
    products = a @ b.T
    rows = (
        np.sum(a * a, axis=1),
        np.max(a, axis=0),
        np.sum(b, axis=0),
        np.sum(a[:, :, None] * b.T, axis=(0, 1)),
    )
    return np.where(products > 0, products, 0.1 * products), np.convolve(x, h, "valid"), a @ b[0], rows


def check_sums(seeds: Sequence[int], folder: Path) -> None:
    """Compare sums of drawn extents, and their gradients, with NumPy."""
    sources = Sources(folder)
    cases: dict[str, Any] = {}
    for seed in seeds:
        r = np.random.default_rng(seed)
        i, j, k, taps = r.integers(1, (70, 70, 70, 12))
        shapes = (i, k), (j, k), 300 * seed % 700 + taps, taps
        given = tuple(r.normal(size=shape).astype(("f4", "f8")[seed % 2]) for shape in shapes)
        total = wg.grad(lambda *z: sum(map(np.sum, tree.leaves(sums(*z)))), argnums=(0, 1, 2, 3))
        for function in (sums, total):
            cases[sources.add(lambda *z, function=function: function(*z), given)] = (function, given)
    call = sources.compiled("-O2")
    for name, (function, given) in cases.items():
        close(call(name, *given), function(*given), 2e-5 if given[0].dtype == np.float32 else 1e-12)


@pytest.mark.slow
def test_sums_of_drawn_extents(tmp_path) -> None:
    check_sums(range(12), tmp_path)


def check_primitives(primitives: Sequence[Any], folder: Path, number: int) -> None:
    """Compare samples of primitives with NumPy, but those that have no form in C."""
    sources = Sources(folder)
    cases: dict[str, Any] = {}
    for primitive in primitives:
        if primitive.name == "eigh":  # the sign of an eigenvector is that of the method
            continue
        seed = seed_of(primitive, number)
        function, operands = drawn(primitive, seed, ("float32", "float64")[seed % 2])

        def run(*values: Any, function: Any = function) -> Any:
            return function(*values)

        try:
            name = sources.add(run, operands)
        except (UnsupportedError, DtypeError):  # of float32, or left to NumPy
            continue
        cases[name] = (run, operands)
    call = sources.compiled("-O0")
    for name, (function, operands) in cases.items():
        with np.errstate(all="ignore"):
            expected = function(*operands)
        given = [np.asarray(x).dtype for x in (*operands, *tree.leaves(expected))]
        is_single = any(dtype in (np.float32, np.complex64) for dtype in given)
        close(call(name, *operands), expected, 2e-5 if is_single else 1e-9)


def test_a_few_primitives(tmp_path) -> None:
    first = [
        primitive for primitive in SAMPLED if primitive.name in ("digamma", "erfinv", "contract", "sort")
    ]
    check_primitives(first, tmp_path, 0)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_every_primitive(number, tmp_path) -> None:
    check_primitives(SAMPLED, tmp_path, number)


def check_loops(names: Sequence[str], folder: Path, *flags: str) -> None:
    """Compare textbook programs of loops, and their gradients, with Python."""
    sources = Sources(folder)
    cases: dict[str, Any] = {}
    for name in names:
        checked = Checked(PROGRAMS[name], PROGRAMS[name].small)
        dynamic = [n for n in range(len(checked.arguments)) if n not in PROGRAMS[name].static]
        for function in (PROGRAMS[name].function, checked.gradient()):

            def run(*values: Any, function: Any = function, checked: Any = checked, at: Any = dynamic) -> Any:
                every = list(checked.arguments)
                for n, value in zip(at, values, strict=True):
                    every[n] = value
                return function(*every)

            arguments = tuple(checked.arguments[n] for n in dynamic)
            cases[sources.add(run, arguments)] = (run, arguments)
    call = sources.compiled(*flags)
    for name, (function, arguments) in cases.items():
        close(call(name, *arguments), function(*arguments), 1e-9)


@pytest.mark.slow
def test_loops(tmp_path) -> None:
    check_loops([*PROGRAMS][:10], tmp_path, "-O1", *UNDEFINED)


@pytest.mark.parametrize(
    "name", ["branch", *(pytest.param(name, marks=pytest.mark.slow) for name in CASES if name != "branch")]
)
def test_the_test_program_finds_all_as_expected(name, tmp_path) -> None:
    fun, arguments = CASES[name]()
    files = wg.export(fun, *arguments).c(tmp_path / name, source=True)
    assert [file.name for file in files] == [f"{name}.h", f"{name}.c", f"{name}_test.c"]
    code, test = str(tmp_path / f"{name}.c"), str(tmp_path / f"{name}_test.c")
    tested = [flag for flag in STRICT if flag != "-Wconversion"]
    run("gcc", *tested, *UNDEFINED, test, code, "-o", str(tmp_path / "test"), "-lm")
    assert run(str(tmp_path / "test")) == "all results are as expected\n"
    for compiler in ("clang", "arm-none-eabi-gcc"):
        if shutil.which(compiler):
            run(compiler, *STRICT, "-O2", "-c", code, "-o", str(tmp_path / "other.o"))
    without_comments = re.sub(r"/\*.*?\*/", "", Path(code).read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(malloc|free|static \w+ \w+;|goto)\b", without_comments)
    assert set(re.findall(r"#include <(.*?)>", without_comments)) <= {"math.h", "stdbool.h"}


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_dict_keeps_its_order_in_every_language(tmp_path) -> None:
    given = {"w": np.ones(2), "b": np.ones(3), "a": np.ones(4)}
    export = wg.export(lambda p, x: {"z": p["w"] * x, "y": p["b"] + p["a"][0]}, given, 2.0)
    for stem, options in (("source", {"source": True}), ("object", {})):
        export.c(tmp_path / stem, **options)
        header = (tmp_path / f"{stem}.h").read_text()
        names = re.findall(r"\*(\w+)[,)]", header[header.index(f"int {stem}(") :])[:6]
        assert names == ["p_w", "p_b", "p_a", "x", "out_z", "out_y"]


@pytest.mark.parametrize("source", [True, False])
def test_a_function_named_like_an_argument_is_refused(source, tmp_path) -> None:
    for name in ("x", "out"):
        with pytest.raises(ArgumentError, match=f"must not be the name of an argument .*; got '{name}'"):
            wg.export(lambda x: x * 2, np.ones(2)).c(tmp_path / name, source=source)
    assert not list(tmp_path.iterdir())


def test_names_of_the_library_and_comments_are_harmless(tmp_path) -> None:
    names = [
        "exp",
        "sin",
        "work",
        "i",
        "sum",
        "t1",
        "*/ int",
        "times_double",
        "sort_double",
        "f",
        "NAN",
        "bool",
        "c1",
    ]

    def total(leaves: Any) -> Any:
        return sum(np.exp(x) + np.array([1.0, 2.0]) for x in leaves.values())  # */ ??/

    sources = Sources(tmp_path)
    given = {name: np.full(2, 0.1 * n) for n, name in enumerate(names)}
    name = sources.add(total, (given,), "g")
    close(sources.compiled()(name, given), total(given), 1e-14)


def test_errors_name_the_line(tmp_path) -> None:
    sources = Sources(tmp_path)
    name = sources.add(lambda x, i: x[i] * 2, (np.arange(3.0), 1))
    call = sources.compiled()
    close(call(name, np.arange(3.0), -1), np.float64(4.0), 0)
    with pytest.raises(RuntimeError, match=r"indices must lie inside the array\. \[test_c_source.py:\d+\]"):
        call(name, np.arange(3.0), -4)


def test_what_has_no_form_is_refused_by_its_line(tmp_path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"got eigh; compute it in Python .*\[test_c_source\.py:\d+\]$"
    ):
        wg.export(lambda x: np.linalg.eigh(x)[0], np.eye(40)).c(tmp_path / "f", source=True)
    assert not list(tmp_path.iterdir())


def test_comments_are_the_users_lines(tmp_path) -> None:
    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden[:, 0] * hidden[0, :]) / hidden[0, 0]

    wg.export(loss, np.ones((3, 4)), np.ones((4, 3))).c(tmp_path / "f", source=True)
    text = (tmp_path / "f.c").read_text()
    assert re.search(r"/\* test_c_source\.py:\d+:  hidden = np\.tanh\(x @ w\) \*/", text)
    assert "work->hidden[4 * i + j] = tanh(" in text


def test_the_program_on_the_page_finds_the_filter(tmp_path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
    section = page[page.index("### C that people can read") :]
    python, main = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("python", "c"))
    names: dict[str, Any] = {"np": np, "wg": wg}
    exec(compile(python[: python.index("files =")], "page", "exec"), names)
    (tmp_path / "main.c").write_text(main)
    given = names["taps"], names["samples"], np.float32(1)
    wg.export(names["adapt"], *given).c(tmp_path / "lms", source=True)
    sources = [str(tmp_path / "main.c"), str(tmp_path / "lms.c")]
    run("gcc", *STRICT[:3], "-Werror", *sources, "-o", str(tmp_path / "main"), "-lm")
    assert run(str(tmp_path / "main")) == "0.500 -0.250 0.125 1.000\n"


@pytest.mark.slow
def test_complex_numbers_empty_arrays_no_arguments_and_two_functions(tmp_path) -> None:
    def waves(z: Any) -> Any:
        return np.exp(z) * z, np.abs(z)

    exports = {
        "waves": wg.export(waves, np.ones(3) + 1j),
        "empty": wg.export(lambda x: (x * 2, np.sum(x)), np.ones((0, 3))),
        "nothing": wg.export(lambda: np.arange(5) * 2.0),
        "both": wg.export(lambda x: np.sum(np.sin(x)), np.ones(3)).add(np.ones((2, 40))),
        "fast": wg.export(wg.jit(lambda x: np.sum(np.sin(x) / x), fastmath=True), np.ones(50)),
    }
    for name, export in exports.items():
        export.c(tmp_path / name, source=True)
        files = [str(tmp_path / f"{name}{end}.c") for end in ("", "_test")]
        flags = ["-ffast-math"] if name == "fast" else []
        run("gcc", *STRICT[:3], "-Werror", "-pedantic", *flags, *files, "-o", str(tmp_path / "test"), "-lm")
        assert run(str(tmp_path / "test")) == "all results are as expected\n"
