"""Compiled programs on disk: found again, told apart, rebuilt when damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.running import output, run
from tests.test_layers import FILES, contents
from wengert.compiler import compiled
from wengert.compiler.llvm import parallel
from wengert.compiler.llvm.recent import Recent
from wengert.compiler.runtime.threads import serial_blas, team

X = np.linspace(0.0, 1.0, 11)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an empty cache: the functions that all programs share are loaded before."""
    team.symbols()
    serial_blas.symbols()
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which every compilation of a program is added, also of one that the process knows."""
    found: list[str] = []
    compile_module = parallel.compile_module

    def counted(text: str, *rest: Any) -> bytes:
        found.append(text)
        return compile_module(text, *rest)

    monkeypatch.setattr(parallel, "compile_module", counted)
    monkeypatch.setattr(parallel, "RECENT", Recent(0))
    return found


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bin"))


def make(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function that is compiled as if no one had ever called it in this process."""
    return wg.jit(function, **options)(*args)


def function(x: Any) -> Any:
    return np.tanh(x) @ x, np.cumsum(x)[np.array([1, -1])], x.reshape(-1, 1) * np.arange(3.0)


@pytest.mark.usefixtures("folder")
def test_what_was_compiled_is_found_again(compilations: list[str]) -> None:
    first, second = make(function, X), make(function, X)
    assert len(compilations) == 1
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_errors_are_told_from_the_disk_as_well(folder: Path, compilations: list[str]) -> None:
    def gather(x: Any, i: Any) -> Any:
        return x[i]

    for _ in range(2):
        with pytest.raises(IndexError, match="index 11 is out of bounds for axis 0 with size 11"):
            make(gather, X, np.array([11]))
    assert (len(compilations), len(entries(folder))) == (1, 1)


def second_line(x: Any) -> Any:
    return np.sin(x)


def third_line(x: Any) -> Any:
    return np.sin(x)


def test_programs_are_told_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constant, other = np.array([0.0, 1.0] * 20), np.array([0.0, 2.0] * 20)
    assert make(second_line, X)[1] == pytest.approx(np.sin(0.1))
    make(third_line, X)  # errors would name another line
    make(second_line, X[1:])
    make(second_line, X.astype("float32"))
    for number in (0.5, np.float64(0.5)):
        assert type(make(lambda x: x * x, number)) is type(number)
    assert make(second_line, X.copy(), donate=0)[1] == pytest.approx(np.sin(0.1))
    make(second_line, X, fastmath=True)
    make(second_line, X, flush_subnormals=True)
    assert make(lambda x: x + constant, 0.0)[1] == 1.0
    assert make(lambda x: x + other, 0.0)[1] == 2.0
    for check in ("nan", "subnormal"):
        monkeypatch.setenv("WENGERT_CHECK", check)
        make(second_line, X)
    assert len(entries(folder)) == 13


def test_arguments_are_donated_from_the_disk_as_well(folder: Path) -> None:
    for _ in range(2):
        a, b = np.zeros(5), np.ones(5)
        found = make(lambda a, b: (b, a), a, b, donate=(0, 1))
        assert np.shares_memory(found[0], a)
        np.testing.assert_array_equal(found, [np.ones(5), np.zeros(5)])
    assert len(entries(folder)) == 1


def test_what_calls_numpy_is_not_kept(folder: Path, compilations: list[str]) -> None:
    for _ in range(2):
        np.testing.assert_allclose(make(np.linalg.pinv, np.eye(99) * 2), np.eye(99) / 2)
    assert (len(compilations), entries(folder)) == (2, [])


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data[:-1] + bytes([data[-1] ^ 1])],
    ids=["cut", "empty", "one bit"],
)
def test_a_damaged_entry_is_rebuilt(
    folder: Path, compilations: list[str], damage: Callable[[bytes], bytes]
) -> None:
    expected = make(function, X)
    (entry,) = entries(folder)
    sound = entry.read_bytes()
    entry.write_bytes(damage(sound))
    for one, other in zip(make(function, X), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(compilations) == 2
    assert entries(folder)[0].read_bytes() == sound
    make(function, X)
    assert len(compilations) == 2


def test_another_compiler_compiles_for_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(function, X)
    compiled._compiler.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(compiled, "__version__", "another")
    try:
        make(function, X)
    finally:
        compiled._compiler.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert len(entries(folder)) == 2


PROGRAM = """
from wengert.compiler.llvm import object_code, parallel
kept = []
for module in (object_code, parallel):
    def counted(*args, compile_module=module.compile_module):
        kept.append(args[0])
        return compile_module(*args)
    module.compile_module = counted
step = wg.jit(wg.value_and_grad(lambda w, x: np.mean(np.tanh(x @ w) ** 2)))
value, gradient = step(np.ones((4, 3)), np.arange(20.0).reshape(5, 4))
sizes = [len(kept)]
if {shared}:
    print(wg.jit(lambda x: np.sum(np.exp(np.sin(x))))(np.linspace(0.0, 1.0, 1 << 20)), len(kept))
print(*sizes, value, gradient.sum())
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    program = PROGRAM.format(shared=False)
    first, second = (output(program, WENGERT_CACHE=str(folder)).split() for _ in range(2))
    assert len(entries(folder)) == 1  # not the functions of the team, which the program does not call
    assert (first[0], second[0]) == ("1", "0")
    assert first[1:] == second[1:]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_functions_of_the_team_are_loaded_with_a_program_that_shares(
    tmp_path: Path, threads: str
) -> None:
    program = PROGRAM.format(shared=True)
    environment = {"WENGERT_CACHE": str(tmp_path / "cache"), "WENGERT_THREADS": threads}
    first, second = (output(program, **environment).split() for _ in range(2))
    assert len(entries(tmp_path / "cache")) == 3  # two programs, and the functions of the team
    assert (first[1], second[1]) == ("3", "0")
    assert first[0] == second[0]
    assert first[3:] == second[3:]


def test_without_a_cache_nothing_is_written(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert output(PROGRAM.format(shared=False), WENGERT_CACHE="off", **home).startswith("1 ")
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_there_is_none_of() -> None:
    assert run("wg.jit(len)", WENGERT_LOG="git").stderr.splitlines() == [
        "WENGERT_LOG: must be 'jit' or unset; got 'git'"
    ]


def test_the_log_tells_of_each_compilation() -> None:
    program = "f = wg.jit(lambda x: x * 2)\nfor n in (1, 2, 2):\n    f(np.ones(n))\n"
    lines = run(program, WENGERT_LOG="jit").stderr.splitlines()
    assert [line.split(" in ")[0] for line in lines] == [
        "jit: compiled <lambda> for (f64[1])",
        "jit: compiled <lambda> for (f64[2])",
    ]
    assert run(program).stderr == ""


@pytest.mark.parametrize(
    ("edited", "empties"),
    [
        ("compiler/passes/fuse.py", True),
        ("compiler/steps.py", True),
        ("compiler/runtime/threads/team.py", True),
        ("engine/ops/shape.py", True),
        ("engine/primitive.py", True),
        ("nn/layers.py", False),
        ("report/run.py", False),
        ("compiler/report.py", False),
        ("compiler/jit.py", False),
    ],
)
def test_edits_of_what_code_depends_on_empty_the_cache(edited: str, empties: bool, tmp_path: Path) -> None:
    package = Path(wg.__file__).parent
    copy = tmp_path / "wengert"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = compiled._compiler(copy)
    (copy / edited).write_text((copy / edited).read_text("utf-8") + "\n", "utf-8")
    compiled._compiler.cache_clear()
    assert (compiled._compiler(copy) != before) == empties


def test_all_that_the_pipeline_and_code_generation_import_is_known_to_the_cache() -> None:
    package = Path(wg.__file__).parent
    known = {Path(name).as_posix() for name in compiled._sources(package)}
    waiting, reached = ["wengert.compiler.pipeline", "wengert.compiler.codegen.module"], set[str]()
    while waiting:
        module = waiting.pop()
        if module in FILES and module not in reached and module.count("."):
            reached.add(module)
            waiting += [name.target for name in contents(FILES[module]).imports]
    places = {module.removeprefix("wengert.").replace(".", "/") for module in reached}
    needed = {
        f"{place}.py" if (package / f"{place}.py").exists() else f"{place}/__init__.py" for place in places
    }
    assert needed - known == {"compiler/__init__.py"} & needed
